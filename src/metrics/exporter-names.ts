/**
 * Metrics of the keepalived exporter (github.com/mehdy/keepalived-exporter) that holdfast can provide, in one table
 * like names.ts. The names and labels are those of that exporter, so that its dashboards work. In these metrics a state
 * is a number; holdfast's own metrics use one series per state.
 */
import type { MetricRow } from './names.ts'

const ROUTER = ['iname', 'intf', 'vrid'] as const

export const EXPORTER_METRICS = {
  keepalived_up: { kind: 'gauge', help: 'Always 1: an engine that does not answer is a failed scrape', labels: [] },
  keepalived_vrrp_state: {
    kind: 'gauge',
    help: 'State of the virtual router: 0 waiting for its first checks, 1 Backup or Returning, 2 Active or Leaving, 3 in fault',
    labels: [...ROUTER, 'ip_address'],
  },
  keepalived_advertisements_received_total: { kind: 'counter', help: 'Valid advertisements received', labels: ROUTER },
  keepalived_advertisements_sent_total: {
    kind: 'counter',
    help: 'Advertisements sent, one per destination, without those of priority 0',
    labels: ROUTER,
  },
  keepalived_become_master_total: { kind: 'counter', help: 'Transitions to Active', labels: ROUTER },
  keepalived_release_master_total: { kind: 'counter', help: 'Transitions from Active', labels: ROUTER },
  keepalived_packet_length_errors_total: {
    kind: 'counter',
    help: 'Packets for this virtual router that were too short or too long',
    labels: ROUTER,
  },
  keepalived_ip_ttl_errors_total: { kind: 'counter', help: 'Packets with a TTL that is not accepted', labels: ROUTER },
  keepalived_invalid_type_received_total: { kind: 'counter', help: 'Packets of an unknown type', labels: ROUTER },
  keepalived_advertisements_interval_errors_total: {
    kind: 'counter',
    help: 'Advertisements with another interval, including accepted ones',
    labels: ROUTER,
  },
  keepalived_address_list_errors_total: {
    kind: 'counter',
    help: 'Advertisements with other addresses, including accepted ones',
    labels: ROUTER,
  },
  keepalived_authentication_invalid_total: {
    kind: 'counter',
    help: 'Always 0: packets with an unknown type of authentication count as mismatches',
    labels: ROUTER,
  },
  keepalived_authentication_mismatch_total: {
    kind: 'counter',
    help: 'Packets with another type of authentication',
    labels: ROUTER,
  },
  keepalived_authentication_failure_total: { kind: 'counter', help: 'Packets with another password', labels: ROUTER },
  keepalived_priority_zero_received_total: {
    kind: 'counter',
    help: 'Advertisements received with priority 0',
    labels: ROUTER,
  },
  keepalived_priority_zero_sent_total: { kind: 'counter', help: 'Advertisements sent with priority 0', labels: ROUTER },
  keepalived_script_status: { kind: 'gauge', help: '1 while the health check counts as up', labels: ['name'] },
  keepalived_script_state: {
    kind: 'gauge',
    help: '1 while the health check has no current result, otherwise 0',
    labels: ['name'],
  },
} as const satisfies Record<string, MetricRow>

export type ExporterMetricName = keyof typeof EXPORTER_METRICS
