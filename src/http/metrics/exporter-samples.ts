/**
 * Converts the snapshot to the samples that the keepalived exporter would give for the same daemon (`metricsCompat`),
 * so that its dashboards and alerts continue to work. Names are in metrics/exporter-names.ts, counts in
 * keepalived/counts.ts: dumps and metrics agree.
 */
import type { RouterSnapshot, Snapshot } from '../../daemon/telemetry/snapshot.ts'
import { keepalivedCounts, keepalivedState } from '../../keepalived/counts.ts'
import type { ExporterMetricName } from '../../metrics/exporter-names.ts'
import type { Sample } from '../../metrics/registry.ts'

type ExporterSample = Sample<ExporterMetricName>

export function exporterSamples({ healthchecks, routers }: Snapshot): readonly ExporterSample[] {
  return [
    { name: 'keepalived_up', labels: {}, value: 1 },
    ...routers.flatMap(routerSamples),
    ...healthchecks.flatMap(({ name, countsAs, result }): ExporterSample[] => [
      { name: 'keepalived_script_status', labels: { name }, value: countsAs === 'up' ? 1 : 0 },
      { name: 'keepalived_script_state', labels: { name }, value: result === 'unknown' ? 1 : 0 },
    ]),
  ]
}

function routerSamples(router: RouterSnapshot): ExporterSample[] {
  const labels = { iname: router.name, intf: router.interface ?? '', vrid: String(router.vrid) }
  const counts = keepalivedCounts(router)
  const counted: readonly (readonly [ExporterMetricName, number])[] = [
    ['keepalived_advertisements_received_total', counts.received],
    ['keepalived_advertisements_sent_total', counts.sent],
    ['keepalived_become_master_total', counts.begun],
    ['keepalived_release_master_total', counts.ended],
    ['keepalived_packet_length_errors_total', counts.length],
    ['keepalived_ip_ttl_errors_total', counts.ttl],
    ['keepalived_invalid_type_received_total', counts.type],
    ['keepalived_advertisements_interval_errors_total', counts.interval],
    ['keepalived_address_list_errors_total', counts.addressList],
    ['keepalived_authentication_invalid_total', counts.authenticationInvalid],
    ['keepalived_authentication_mismatch_total', counts.authenticationMismatch],
    ['keepalived_authentication_failure_total', counts.authenticationFailure],
    ['keepalived_priority_zero_received_total', counts.zeroReceived],
    ['keepalived_priority_zero_sent_total', counts.zeroSent],
  ]
  const state = keepalivedState(router)
  return [
    ...router.addresses.map(({ address }): ExporterSample => {
      return { name: 'keepalived_vrrp_state', labels: { ...labels, ip_address: address }, value: state }
    }),
    ...counted.map(([name, value]) => ({ name, labels, value })),
  ]
}
