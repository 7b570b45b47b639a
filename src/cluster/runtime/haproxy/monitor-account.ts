/** Counts what HAProxy's monitor does and sees, for `/metrics`. */
import { type AgentMetric, metricsText } from '../account-metrics.ts'

export const MONITOR_METRICS = {
  holdfast_monitor_backends: { kind: 'gauge', help: 'API servers in the configuration of HAProxy' },
  holdfast_monitor_configuration_refused: {
    kind: 'gauge',
    help: '1 if the last configuration was refused and HAProxy uses the one before',
  },
  holdfast_monitor_configurations_total: {
    kind: 'counter',
    help: 'Configurations of HAProxy by result',
    label: 'result',
  },
  holdfast_monitor_haproxy_usable: { kind: 'gauge', help: '1 while HAProxy answers and has a backend' },
  holdfast_monitor_haproxy_losses_total: { kind: 'counter', help: 'Times that HAProxy became unusable' },
  holdfast_monitor_redirect: {
    kind: 'gauge',
    help: '1 while the rules send the VIPs of this family to HAProxy',
    label: 'family',
  },
  holdfast_monitor_redirect_failures_total: { kind: 'counter', help: 'Failed changes of the rules' },
  holdfast_monitor_reloads_total: { kind: 'counter', help: 'Orders to reload that HAProxy received' },
} as const satisfies Readonly<Record<`holdfast_monitor_${string}`, AgentMetric>>

const RESULTS = ['written', 'same', 'unchecked', 'refused'] as const
type Result = (typeof RESULTS)[number]

export class MonitorAccount {
  backends = 0
  isUsable = false
  losses = 0
  failures = 0
  reloads = 0
  readonly redirects = new Map<string, boolean>()
  readonly #configurations = new Map<Result, number>()
  #isRefused = false

  configured(result: Result): void {
    this.#configurations.set(result, (this.#configurations.get(result) ?? 0) + 1)
    this.#isRefused = result === 'refused'
  }

  text(): string {
    return metricsText(MONITOR_METRICS, {
      holdfast_monitor_backends: { '': this.backends },
      holdfast_monitor_configuration_refused: { '': Number(this.#isRefused) },
      holdfast_monitor_configurations_total: Object.fromEntries(
        RESULTS.map((result) => [result, this.#configurations.get(result) ?? 0]),
      ),
      holdfast_monitor_haproxy_usable: { '': Number(this.isUsable) },
      holdfast_monitor_haproxy_losses_total: { '': this.losses },
      holdfast_monitor_redirect: Object.fromEntries(
        [...this.redirects].map(([family, isThere]) => [family, Number(isThere)]),
      ),
      holdfast_monitor_redirect_failures_total: { '': this.failures },
      holdfast_monitor_reloads_total: { '': this.reloads },
    })
  }
}
