/**
 * Every metric of the agent in one table, like the engine's metrics in metrics/names.ts: name, kind, help and label.
 * The values come from account.ts. Documents, alert rules and tests use the names.
 */
/** A metric: kind, help and label. */
export type AgentMetric = { readonly kind: 'counter' | 'gauge'; readonly help: string; readonly label?: string }

export const AGENT_METRICS = {
  holdfast_agent_watch_state: {
    kind: 'gauge',
    help: 'State of the watch of the nodes: 1 for the present state, 0 for the others',
    label: 'state',
  },
  holdfast_agent_api_failures_total: {
    kind: 'counter',
    help: 'Failed requests for nodes to the API of the cluster',
    label: 'kind',
  },
  holdfast_agent_nodes: { kind: 'gauge', help: 'Nodes of the cluster' },
  holdfast_agent_last_list_age_seconds: {
    kind: 'gauge',
    help: 'Seconds since the last complete list of nodes; absent before the first list. No list is needed while a watch lasts',
  },
  holdfast_agent_malformed_fields_total: { kind: 'counter', help: 'Fields of node objects with an invalid value' },
  holdfast_agent_hand_overs_total: {
    kind: 'counter',
    help: 'Configurations handed to the engine',
    label: 'result',
  },
  holdfast_agent_engine_connected: { kind: 'gauge', help: '1 while the agent is connected to the engine' },
  holdfast_agent_engine_refuses: {
    kind: 'gauge',
    help: '1 if the engine refused the last configuration and uses the one before',
  },
  holdfast_agent_status_writes_total: {
    kind: 'counter',
    help: 'Writes of the status of HostedNetServices, and parts that others have overwritten; absent with --no-status',
    label: 'result',
  },
  holdfast_agent_status_watch_failures_total: {
    kind: 'counter',
    help: 'Failures of the watch of HostedNetServices',
    label: 'kind',
  },
  holdfast_agent_specs_refused_total: {
    kind: 'counter',
    help: 'Times that the spec of HostedNetServices was unreadable or invalid; absent with --no-status',
  },
  holdfast_agent_events_total: {
    kind: 'counter',
    help: 'Failover events that were sent to the API or dropped; absent with --no-status',
    label: 'result',
  },
  holdfast_agent_events_waiting: {
    kind: 'gauge',
    help: 'Failover events that wait to be sent; absent with --no-status',
  },
} as const satisfies Readonly<Record<`holdfast_agent_${string}`, AgentMetric>>

export type AgentMetricName = keyof typeof AGENT_METRICS
/** Values of each metric by the value of its label ('' for a metric without a label). */
export type AgentSamples = Readonly<Record<AgentMetricName, Readonly<Record<string, number>>>>

/** Returns the agent's metrics in Prometheus' text format. */
export const agentMetricsText = (samples: AgentSamples): string => metricsText(AGENT_METRICS, samples)

/** Returns the metrics of a table in Prometheus' text format. */
export function metricsText(
  metrics: Readonly<Record<string, AgentMetric>>,
  samples: Readonly<Record<string, Readonly<Record<string, number>>>>,
): string {
  const lines: string[] = []
  for (const [name, metric] of Object.entries(metrics)) {
    lines.push(`# HELP ${name} ${metric.help}.`, `# TYPE ${name} ${metric.kind}`)
    for (const [label, value] of Object.entries(samples[name] ?? {}))
      lines.push(`${name}${metric.label === undefined ? '' : `{${metric.label}="${label}"}`} ${value}`)
  }
  return `${lines.join('\n')}\n`
}
