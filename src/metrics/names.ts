/**
 * All metrics in one table: name, kind, help, labels and buckets. Code, docs and tests read this table; no other file
 * spells a name. States are one-hot, never numbers. No label is called `instance`, which belongs to Prometheus. The
 * file is longer than others because the whole table is in one place.
 */
type Described = { readonly help: string; readonly labels: readonly string[] }
export type MetricRow = Described &
  (
    | { readonly kind: 'gauge' | 'counter' }
    /** Largest value of each bucket of a histogram, ascending. The bucket without a bound is added automatically. */
    | { readonly kind: 'histogram'; readonly buckets: readonly number[] }
  )

/**
 * Bounds for the lateness of the engine in seconds, from normal delays of a shared machine to a machine that stood
 * still.
 */
const LATENESS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5]
const TAKEOVER = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5]
/**
 * Bounds for the gaps between advertisements in seconds. The bounds lie between the usual intervals and their
 * multiples, so that punctual advertisements fall into one bucket.
 */
const GAP = [0.015, 0.025, 0.035, 0.05, 0.15, 0.25, 0.35, 0.5, 1.5, 2.5, 3.5, 5, 15, 50, 150]
/** Bounds for gaps in intervals, up to 4: a Backup takes over after 3 to 4 intervals (Active_Down_Interval). */
const GAP_RATIO = [0.5, 0.9, 1.1, 1.25, 1.5, 2, 2.5, 3, 4]
const CHECK = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export const METRICS = {
  holdfast_build_info: { kind: 'gauge', help: 'Always 1; the version is the label', labels: ['version', 'node'] },
  holdfast_start_time_seconds: {
    kind: 'gauge',
    help: 'Time at which the engine started, in seconds since the epoch',
    labels: [],
  },
  holdfast_time_seconds: {
    kind: 'gauge',
    help: 'Wall clock of the node when the engine answered, seconds since the epoch',
    labels: [],
  },
  holdfast_engine_timer_lateness_seconds: {
    kind: 'histogram',
    help: 'Delay with which the engine woke for its next deadline; timers have a resolution of 1 ms',
    labels: [],
    buckets: LATENESS,
  },
  holdfast_engine_turns_total: {
    kind: 'counter',
    help: 'Turns of the engine in JavaScript by cause; an advertisement that was only repeated causes none with lease: on',
    labels: ['cause'],
  },
  holdfast_cleanup_plan_armed: {
    kind: 'gauge',
    help: '1 while a guardian holds the cleanup plan of this engine',
    labels: [],
  },
  holdfast_engine_restarts_total: {
    kind: 'counter',
    help: 'Restarts of the engine by its guardian after a crash, without a move of the addresses (`onCrash: restart`)',
    labels: [],
  },
  holdfast_log_records_lost_total: {
    kind: 'counter',
    help: 'Log records dropped because the reader was too slow',
    labels: [],
  },
  holdfast_journal_failing: {
    kind: 'gauge',
    help: '1 while the event journal cannot be written to its file; no series without a file',
    labels: [],
  },
  holdfast_journal_events_lost_total: {
    kind: 'counter',
    help: 'Events missing in the file of the event journal, because it could not be written; no series without a file',
    labels: [],
  },
  holdfast_control_refused_total: {
    kind: 'counter',
    help: 'Connections to the control socket by users without permission; each got status 403',
    labels: [],
  },
  holdfast_port_connections_refused_total: {
    kind: 'counter',
    help: 'Connections to the port that were closed immediately because there were too many',
    labels: [],
  },
  holdfast_config_hash: {
    kind: 'gauge',
    help: 'The first 48 bits of the SHA-256 of the configuration file in force, as a number; 0: no file is in force',
    labels: [],
  },
  holdfast_config_loaded_timestamp_seconds: {
    kind: 'gauge',
    help: 'Time at which the configuration in force was loaded, in seconds since the epoch',
    labels: [],
  },
  holdfast_config_reload_success: {
    kind: 'gauge',
    help: '0 after a failed reload or hand-over, with the old configuration still in force; otherwise 1',
    labels: [],
  },
  holdfast_config_reloads_total: {
    kind: 'counter',
    help: 'Reloads; result is ok or failed',
    labels: ['result'],
  },
  holdfast_config_hand_overs_total: {
    kind: 'counter',
    help: 'Configurations that were handed over to an engine with --managed; result is ok, unchanged (no effect), invalid or failed',
    labels: ['result'],
  },
  holdfast_config_kept: {
    kind: 'gauge',
    help: 'For an engine with --managed: 0 while the configuration in force is not in its file, so a restart would lose it; otherwise 1',
    labels: [],
  },
  holdfast_vrrp_state: {
    kind: 'gauge',
    help: '1 for the current state of the virtual router (RFC 9568 section 6.3), 0 for the other states',
    labels: ['router', 'vrid', 'interface', 'state'],
  },
  holdfast_vrrp_priority: {
    kind: 'gauge',
    help: 'Priority of the virtual router; kind is base or effective',
    labels: ['router', 'kind'],
  },
  holdfast_vrrp_priority_part: {
    kind: 'gauge',
    help: 'Current effect of one tracker on the priority, negative if it lowers it; kind is interface or healthcheck',
    labels: ['router', 'kind', 'name'],
  },
  holdfast_vrrp_fault: {
    kind: 'gauge',
    help: 'Always 1: the virtual router has this fault; there is no series for other faults',
    labels: ['router', 'fault'],
  },
  holdfast_vrrp_advertisement_interval_seconds: {
    kind: 'gauge',
    help: 'Advertisement_Interval in the configuration; it should be the same on all nodes of a virtual router',
    labels: ['router'],
  },
  holdfast_vrrp_yielding: {
    kind: 'gauge',
    help: '1 while the virtual router yields because of holdfast yield; its effective priority is then 1',
    labels: ['router'],
  },
  holdfast_vrrp_sync_group_member: {
    kind: 'gauge',
    help: 'Always 1: the virtual router is a member of this sync group',
    labels: ['group', 'router'],
  },
  holdfast_vrrp_transitions_total: {
    kind: 'counter',
    help: 'State transitions by states and reason',
    labels: ['router', 'from', 'to', 'reason'],
  },
  holdfast_vrrp_advertisements_sent_total: {
    kind: 'counter',
    help: 'Advertisements sent, one per destination; kind is advertisement or priorityZero',
    labels: ['router', 'kind'],
  },
  holdfast_vrrp_clock_armed: {
    kind: 'gauge',
    help: '1 while the guardian repeats the advertisements of the router, and the engine sends none',
    labels: ['router'],
  },
  holdfast_vrrp_clock_rounds_total: {
    kind: 'counter',
    help: 'Advertisements that the guardian repeated, one for all destinations; holdfast_vrrp_advertisements_sent_total contains them',
    labels: ['router'],
  },
  holdfast_vrrp_clock_failed_rounds_total: {
    kind: 'counter',
    help: 'Advertisements that the guardian could not send to any destination; the engine then sends them',
    labels: ['router'],
  },
  holdfast_vrrp_clock_lateness_max_seconds: {
    kind: 'gauge',
    help: 'Greatest delay of an advertisement that the guardian repeated',
    labels: ['router'],
  },
  holdfast_vrrp_advertisements_send_failures_total: {
    kind: 'counter',
    help: 'Advertisements that the kernel refused to send, by error code',
    labels: ['router', 'code'],
  },
  holdfast_vrrp_advertisements_received_total: {
    kind: 'counter',
    help: 'Valid advertisements received',
    labels: ['router'],
  },
  holdfast_vrrp_advertisements_discarded_total: {
    kind: 'counter',
    help: 'Packets that failed a check of RFC 9568 section 7.1, by the first check that failed',
    labels: ['interface', 'reason'],
  },
  holdfast_vrrp_advertisements_refused_total: {
    kind: 'counter',
    help: 'Valid advertisements that were ignored, by the rule of RFC 9568 section 6.4',
    labels: ['router', 'reason'],
  },
  holdfast_vrrp_moves_suppressed_total: {
    kind: 'counter',
    help: 'Suppressed or delayed takeovers from an Active with a lower priority, by reason',
    labels: ['router', 'reason'],
  },
  holdfast_vrrp_mismatched_routers: {
    kind: 'gauge',
    help: 'VRRP routers heard with this VRID whose version, authentication, interval or address list differs',
    labels: ['router', 'reason'],
  },
  holdfast_vrrp_advertisement_gap_seconds: {
    kind: 'histogram',
    help: 'Time between two advertisements of the Active that this Backup follows, as the kernel received them',
    labels: ['router'],
    buckets: GAP,
  },
  holdfast_vrrp_advertisement_gap_ratio: {
    kind: 'histogram',
    help: 'The same time divided by the interval that the Active advertises: above 2 an advertisement was missing; at 3 to 4 this router takes over',
    labels: ['router'],
    buckets: GAP_RATIO,
  },
  holdfast_vrrp_takeover_duration_seconds: {
    kind: 'histogram',
    help: 'Time from the decision to become Active until the phase was reached; all virtual routers together',
    labels: ['phase'],
    buckets: TAKEOVER,
  },
  holdfast_vrrp_receive_overflow_total: {
    kind: 'counter',
    help: 'Packets that the kernel dropped because the receive queue was full',
    labels: ['interface'],
  },
  holdfast_vrrp_announcements_sent_total: {
    kind: 'counter',
    help: 'Gratuitous ARP and Neighbor Advertisement frames sent',
    labels: ['interface', 'kind'],
  },
  holdfast_vrrp_address_present: {
    kind: 'gauge',
    help: '1 while the virtual address is on this node',
    labels: ['router', 'address'],
  },
  holdfast_vrrp_duplicate_holder: {
    kind: 'gauge',
    help: '1 while another host answers for the virtual address that this node holds or has released to that host',
    labels: ['router', 'address'],
  },
  holdfast_vrrp_other_actives: {
    kind: 'gauge',
    help: 'Routers that advertise as Active besides this router, or besides the Active that it follows',
    labels: ['router'],
  },
  holdfast_vrrp_competing_answers_total: {
    kind: 'counter',
    help: 'Answers of another host for an address that this node held as Active',
    labels: ['router'],
  },
  holdfast_vrrp_cleanup_plans_executed_total: {
    kind: 'counter',
    help: 'Cleanup plans that the guardian executed because the engine missed the deadline of an advertisement: addresses removed, priority 0 sent',
    labels: ['router'],
  },
  holdfast_vrrp_foreign_changes_total: {
    kind: 'counter',
    help: 'Virtual addresses that another program added or removed on this node',
    labels: ['router', 'kind'],
  },
  holdfast_healthcheck_up: {
    kind: 'gauge',
    help: '1 while the health check counts as up; also 0 without a result',
    labels: ['check'],
  },
  holdfast_healthcheck_unknown: {
    kind: 'gauge',
    help: '1 while the health check has no first result, or no result for too long',
    labels: ['check'],
  },
  holdfast_healthcheck_since_timestamp_seconds: {
    kind: 'gauge',
    help: 'Time of the last change of the health check: up, down, undecided or unknown',
    labels: ['check'],
  },
  holdfast_healthcheck_adds: {
    kind: 'gauge',
    help: 'Current effect of the health check on the priority of the router, negative if it lowers it',
    labels: ['check', 'router'],
  },
  holdfast_healthcheck_results_total: {
    kind: 'counter',
    help: 'Runs of the health check by result; starts again at 0 when its thread restarts',
    labels: ['check', 'reason'],
  },
  holdfast_healthcheck_duration_seconds: {
    kind: 'histogram',
    help: 'Time from the start of a run of the health check to its result; starts again at 0 when its thread restarts',
    labels: ['check'],
    buckets: CHECK,
  },
  holdfast_notify_runs_total: {
    kind: 'counter',
    help: 'Notify programs of virtual routers and sync groups (kind), by result; superseded ones were not run, postedAgain ones were queued again',
    labels: ['kind', 'name', 'result'],
  },
  holdfast_notify_waiting: {
    kind: 'gauge',
    help: 'Notifications that run or wait',
    labels: ['kind', 'name'],
  },
  holdfast_webhook_events_total: {
    kind: 'counter',
    help: 'Events for the webhook by result: delivered, refused by the receiver, expired, overflow (too many waited)',
    labels: ['result'],
  },
  holdfast_webhook_failed_attempts_total: {
    kind: 'counter',
    help: 'Failed attempts to post an event that were followed by another attempt',
    labels: [],
  },
  holdfast_webhook_waiting: {
    kind: 'gauge',
    help: 'Events that wait for delivery to the webhook',
    labels: [],
  },
  holdfast_vrrp_restorations_paused: {
    kind: 'gauge',
    help: '1 while the router has resigned because another program keeps removing its addresses',
    labels: ['router'],
  },
} as const satisfies Record<string, MetricRow>

export type MetricName = keyof typeof METRICS

/** Former names of metrics, which are exposed beside the new ones until 0.3.0. */
export const FORMER_NAMES: Readonly<Record<string, MetricName>> = {
  holdfast_last_will_armed: 'holdfast_cleanup_plan_armed',
  holdfast_vrrp_strangers: 'holdfast_vrrp_mismatched_routers',
  holdfast_vrrp_duplicate_owner: 'holdfast_vrrp_duplicate_holder',
  holdfast_vrrp_rival_answers_total: 'holdfast_vrrp_competing_answers_total',
  holdfast_vrrp_wills_executed_total: 'holdfast_vrrp_cleanup_plans_executed_total',
}
export type HistogramName = {
  [name in MetricName]: (typeof METRICS)[name]['kind'] extends 'histogram' ? name : never
}[MetricName]
