/**
 * Every metric of the agent in one table, as metrics/names.ts has the engine's: name, kind, help, label. account.ts gives the
 * values; documents, alert rules and tests read the names.
 */
type AgentMetric = { readonly kind: 'counter' | 'gauge'; readonly help: string; readonly label?: string }

export const AGENT_METRICS = {
  holdfast_agent_watch_state: { kind: 'gauge', help: 'Where the watch of the nodes is, one-hot', label: 'state' },
  holdfast_agent_api_failures_total: {
    kind: 'counter',
    help: 'Answers of the API of the cluster about nodes that could not be used',
    label: 'kind',
  },
  holdfast_agent_nodes: { kind: 'gauge', help: 'Nodes of the cluster by the last list and all since' },
  holdfast_agent_last_list_age_seconds: {
    kind: 'gauge',
    help: 'Since the nodes were listed whole; none before the first time. A watch that lasts lists nothing',
  },
  holdfast_agent_malformed_fields_total: { kind: 'counter', help: 'Fields of node objects that made no sense' },
  holdfast_agent_hand_overs_total: {
    kind: 'counter',
    help: 'Configurations handed to the engine',
    label: 'result',
  },
  holdfast_agent_engine_connected: { kind: 'gauge', help: '1 while the engine is there' },
  holdfast_agent_engine_refuses: {
    kind: 'gauge',
    help: '1 while what was handed over last has been refused, and the engine runs with what it had',
  },
  holdfast_agent_status_writes_total: {
    kind: 'counter',
    help: 'Writes of the status of HostedNetServices, and what others overwrote of it; none with --no-status',
    label: 'result',
  },
  holdfast_agent_status_watch_failures_total: {
    kind: 'counter',
    help: 'Failures of the watch of HostedNetServices',
    label: 'kind',
  },
  holdfast_agent_specs_refused_total: {
    kind: 'counter',
    help: 'Times that the spec of HostedNetServices could not be read or was wrong; none with --no-status',
  },
  holdfast_agent_events_total: {
    kind: 'counter',
    help: 'Events of failovers, told to the API or dropped; none with --no-status',
    label: 'result',
  },
  holdfast_agent_events_waiting: { kind: 'gauge', help: 'Events of failovers to be told; none with --no-status' },
} as const satisfies Readonly<Record<`holdfast_agent_${string}`, AgentMetric>>

export type AgentMetricName = keyof typeof AGENT_METRICS
/** Of each metric, by its label's value ('' where it has none). */
export type AgentSamples = Readonly<Record<AgentMetricName, Readonly<Record<string, number>>>>

/** Prometheus' text format. */
export function agentMetricsText(samples: AgentSamples): string {
  const lines: string[] = []
  for (const [name, metric] of Object.entries<AgentMetric>(AGENT_METRICS)) {
    lines.push(`# HELP ${name} ${metric.help}.`, `# TYPE ${name} ${metric.kind}`)
    for (const [label, value] of Object.entries(new Map(Object.entries(samples)).get(name) ?? {}))
      lines.push(`${name}${metric.label === undefined ? '' : `{${metric.label}="${label}"}`} ${value}`)
  }
  return `${lines.join('\n')}\n`
}
