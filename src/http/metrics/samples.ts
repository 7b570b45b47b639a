/** Converts the snapshot to metric samples: which value belongs to which row of metrics/names.ts. */
import type { HealthcheckSnapshot } from '../../daemon/health/healthcheck-snapshot.ts'
import type { ConfigSnapshot, RouterSnapshot, Snapshot } from '../../daemon/telemetry/snapshot.ts'
import type { MetricName } from '../../metrics/names.ts'
import type { Sample as AnySample } from '../../metrics/registry.ts'

type Sample = AnySample<MetricName>

const STATES = ['Initialize', 'Backup', 'Active', 'Leaving', 'Returning']

const sample = (name: MetricName, value: number, labels: Sample['labels'] = {}): Sample => ({ name, labels, value })

export function samplesOf(snapshot: Snapshot, version: string): readonly Sample[] {
  return [
    sample('holdfast_build_info', 1, { version, node: process.version }),
    sample('holdfast_start_time_seconds', Date.parse(snapshot.startedAt) / 1000),
    sample('holdfast_time_seconds', Date.parse(snapshot.takenAt) / 1000),
    sample('holdfast_cleanup_plan_armed', snapshot.guardian === 'none' ? 0 : 1),
    sample('holdfast_engine_restarts_total', snapshot.engineRestarts),
    sample('holdfast_log_records_lost_total', snapshot.logRecordsLost),
    ...Object.entries(snapshot.turns).map(([cause, count]) => sample('holdfast_engine_turns_total', count, { cause })),
    sample('holdfast_control_refused_total', snapshot.controlRefused),
    ...configSamples(snapshot.config),
    ...webhookSamples(snapshot.webhook),
    ...journalSamples(snapshot.journal),
    ...snapshot.routers.flatMap(routerSamples),
    ...snapshot.healthchecks.flatMap(healthcheckSamples),
    ...snapshot.notifications.flatMap(({ kind, name, runs, waiting }) => [
      sample('holdfast_notify_waiting', waiting, { kind, name }),
      ...byKey('holdfast_notify_runs_total', { kind, name }, 'result', runs),
    ]),
    ...snapshot.interfaces.flatMap(({ name, discarded, overflowed, announced }) => [
      sample('holdfast_vrrp_receive_overflow_total', overflowed, { interface: name }),
      ...byKey('holdfast_vrrp_advertisements_discarded_total', { interface: name }, 'reason', discarded),
      ...byKey('holdfast_vrrp_announcements_sent_total', { interface: name }, 'kind', announced),
    ]),
  ]
}

function webhookSamples(webhook: Snapshot['webhook']): Sample[] {
  if (webhook === null) return []
  const { delivered, expired, failedAttempts, overflow, refused, waiting } = webhook
  return [
    ...byKey('holdfast_webhook_events_total', {}, 'result', { delivered, expired, overflow, refused }),
    sample('holdfast_webhook_failed_attempts_total', failedAttempts),
    sample('holdfast_webhook_waiting', waiting),
  ]
}

function journalSamples(journal: Snapshot['journal']): Sample[] {
  if (journal === null) return []
  return [
    sample('holdfast_journal_failing', journal.problem === null ? 0 : 1),
    sample('holdfast_journal_events_lost_total', journal.lost),
  ]
}

function healthcheckSamples(snapshot: HealthcheckSnapshot): Sample[] {
  const { name: check, results, routers, since, countsAs, result } = snapshot
  return [
    sample('holdfast_healthcheck_up', countsAs === 'up' ? 1 : 0, { check }),
    sample('holdfast_healthcheck_unknown', result === 'unknown' || result === 'undecided' ? 1 : 0, { check }),
    sample('holdfast_healthcheck_since_timestamp_seconds', Date.parse(since) / 1000, { check }),
    ...routers
      .filter(({ required }) => !required)
      .map(({ router, adds }) => sample('holdfast_healthcheck_adds', adds, { check, router })),
    ...byKey('holdfast_healthcheck_results_total', { check }, 'reason', results),
  ]
}

/** Returns the metric samples of the HTTP port itself. */
export const portSamples = ({ connections }: { readonly connections: number }): readonly Sample[] => [
  sample('holdfast_port_connections_refused_total', connections),
]

function configSamples({ hash, loadedAt, reloads, lastReload, managed }: ConfigSnapshot): Sample[] {
  return [
    sample('holdfast_config_hash', hash === null ? 0 : Number.parseInt(hash, 16)),
    sample('holdfast_config_loaded_timestamp_seconds', Date.parse(loadedAt) / 1000),
    sample('holdfast_config_reload_success', lastReload?.ok === false ? 0 : 1),
    ...byKey('holdfast_config_reloads_total', {}, 'result', reloads),
    ...(managed === null
      ? []
      : [
          ...byKey('holdfast_config_hand_overs_total', {}, 'result', managed.handOvers),
          sample('holdfast_config_kept', managed.notKept === null ? 1 : 0),
        ]),
  ]
}

function routerSamples(snapshot: RouterSnapshot): Sample[] {
  const router = snapshot.name
  const { counters, priority } = snapshot
  const identity = { router, vrid: String(snapshot.vrid), interface: snapshot.interface ?? '' }
  return [
    ...STATES.map((state) => sample('holdfast_vrrp_state', snapshot.state === state ? 1 : 0, { ...identity, state })),
    sample('holdfast_vrrp_priority', priority.base, { router, kind: 'base' }),
    sample('holdfast_vrrp_priority', priority.effective, { router, kind: 'effective' }),
    ...snapshot.tracking.parts.map(({ adds, kind, name }) =>
      sample('holdfast_vrrp_priority_part', adds, { router, kind, name }),
    ),
    ...snapshot.faults.map((fault) => sample('holdfast_vrrp_fault', 1, { router, fault })),
    sample('holdfast_vrrp_advertisement_interval_seconds', snapshot.advertisementIntervalMs / 1000, { router }),
    sample('holdfast_vrrp_yielding', snapshot.yieldingUntil === null ? 0 : 1, { router }),
    ...(snapshot.group === null
      ? []
      : [sample('holdfast_vrrp_sync_group_member', 1, { group: snapshot.group, router })]),
    ...counters.transitions.map(({ count, ...labels }) =>
      sample('holdfast_vrrp_transitions_total', count, { router, ...labels }),
    ),
    sample('holdfast_vrrp_advertisements_received_total', counters.received, { router }),
    sample('holdfast_vrrp_competing_answers_total', counters.competingAnswers, { router }),
    sample('holdfast_vrrp_cleanup_plans_executed_total', counters.cleanupPlansExecuted, { router }),
    ...byKey('holdfast_vrrp_advertisements_sent_total', { router }, 'kind', counters.sent),
    sample('holdfast_vrrp_clock_armed', snapshot.clock.armed ? 1 : 0, { router }),
    sample('holdfast_vrrp_clock_rounds_total', snapshot.clock.rounds, { router }),
    sample('holdfast_vrrp_clock_failed_rounds_total', snapshot.clock.failed, { router }),
    sample('holdfast_vrrp_clock_lateness_max_seconds', snapshot.clock.latestMs / 1000, { router }),
    ...byKey('holdfast_vrrp_advertisements_send_failures_total', { router }, 'code', counters.sendFailures),
    ...byKey('holdfast_vrrp_advertisements_refused_total', { router }, 'reason', counters.refused),
    ...byKey('holdfast_vrrp_moves_suppressed_total', { router }, 'reason', counters.suppressed),
    ...byKey('holdfast_vrrp_foreign_changes_total', { router }, 'kind', counters.foreignChanges),
    ...byKey(
      'holdfast_vrrp_mismatched_routers',
      { router },
      'reason',
      countBy(snapshot.mismatchedRouters.map(({ reason }) => reason)),
    ),
    sample('holdfast_vrrp_other_actives', snapshot.otherActives.length, { router }),
    sample('holdfast_vrrp_restorations_paused', snapshot.restorationsPaused === null ? 0 : 1, { router }),
    ...snapshot.addresses.map(({ address }) => {
      const isDuplicate = snapshot.duplicates.some((duplicate) => duplicate.address === address)
      return sample('holdfast_vrrp_duplicate_holder', isDuplicate ? 1 : 0, { router, address })
    }),
    ...snapshot.addresses.map(({ address, present }) =>
      sample('holdfast_vrrp_address_present', present ? 1 : 0, { router, address }),
    ),
  ]
}

function byKey(name: MetricName, labels: Sample['labels'], key: string, counts: Readonly<Record<string, number>>) {
  return Object.entries(counts).map(([value, count]) => sample(name, count, { ...labels, [key]: value }))
}

function countBy(keys: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const key of keys) counts[key] = (counts[key] ?? 0) + 1
  return counts
}
