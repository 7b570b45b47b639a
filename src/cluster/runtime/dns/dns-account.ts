/** Counts actions and observations of `holdfast corednsmonitor`, for `/metrics`. */
import { type AgentMetric, metricsText } from '../account-metrics.ts'
import { FAILURE_KINDS, type FailureKind } from '../api/api-failure.ts'

export const DNS_METRICS = {
  holdfast_dns_api_failures_total: {
    kind: 'counter',
    help: 'Failed requests to the API of the cluster',
    label: 'kind',
  },
  holdfast_dns_coredns_healthy: { kind: 'gauge', help: '1 if CoreDNS answers at its health port' },
  holdfast_dns_corefile_kept: {
    kind: 'gauge',
    help: '1 if the Corefile in force stays, because no other one can be made',
  },
  holdfast_dns_corefile_writes_total: { kind: 'counter', help: 'Written Corefiles', label: 'result' },
  holdfast_dns_dnsmasq_registered: {
    kind: 'gauge',
    help: '1 if dnsmasq forwards the names of the cluster to CoreDNS; absent without dnsmasq',
  },
  holdfast_dns_records: { kind: 'gauge', help: 'Names and addresses of nodes in the Corefile' },
  holdfast_dns_upstreams: { kind: 'gauge', help: 'Upstream DNS servers in the Corefile' },
} as const satisfies Readonly<Record<`holdfast_dns_${string}`, AgentMetric>>

export class DnsAccount {
  readonly failures = new Map<FailureKind, number>()
  readonly writes = { written: 0, failed: 0 }
  isHealthy = false
  isKept = false
  /** `undefined` if dnsmasq does not run on this node. */
  isRegistered: boolean | undefined
  records = 0
  upstreams = 0

  failed(kind: FailureKind): void {
    this.failures.set(kind, (this.failures.get(kind) ?? 0) + 1)
  }

  text(): string {
    const failures = FAILURE_KINDS.map((kind) => [kind, this.failures.get(kind) ?? 0] as const)
    const samples: Readonly<Record<keyof typeof DNS_METRICS, Readonly<Record<string, number>>>> = {
      holdfast_dns_api_failures_total: Object.fromEntries(failures),
      holdfast_dns_coredns_healthy: { '': Number(this.isHealthy) },
      holdfast_dns_corefile_kept: { '': Number(this.isKept) },
      holdfast_dns_corefile_writes_total: this.writes,
      holdfast_dns_dnsmasq_registered: this.isRegistered === undefined ? {} : { '': Number(this.isRegistered) },
      holdfast_dns_records: { '': this.records },
      holdfast_dns_upstreams: { '': this.upstreams },
    }
    return metricsText(DNS_METRICS, samples)
  }
}
