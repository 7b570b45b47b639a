/** Counts what an operator does, for `/metrics`. */
import type { Finding } from '../../decisions/status/condition.ts'
import { type AgentMetric, metricsText } from '../account-metrics.ts'
import { FAILURE_KINDS, type FailureKind } from '../api/api-failure.ts'

export const OPERATOR_METRICS = {
  holdfast_operator_leading: { kind: 'gauge', help: '1 while this operator holds the Lease' },
  holdfast_operator_condition: {
    kind: 'gauge',
    help: 'Conditions of ClusterOperator cluster-hosted-net-services: 1 if True, 0 if False, -1 if Unknown; absent while another operator works',
    label: 'type',
  },
  holdfast_operator_api_failures_total: {
    kind: 'counter',
    help: 'Failed requests to the API of the cluster',
    label: 'kind',
  },
  holdfast_operator_writes_total: { kind: 'counter', help: 'Writes to the API of the cluster', label: 'result' },
} as const satisfies Readonly<Record<`holdfast_operator_${string}`, AgentMetric>>

const WRITE_RESULTS = ['done', 'missing', 'conflict', 'refused', 'failed'] as const
export type WriteResult = (typeof WRITE_RESULTS)[number]
const VALUES: Readonly<Record<Finding['status'], number>> = { True: 1, False: 0, Unknown: -1 }

export class OperatorAccount {
  isLeading = false
  /** Conditions as they were written last; empty while another operator works. */
  conditions: readonly Pick<Finding, 'type' | 'status'>[] = []
  readonly #failures = new Map<FailureKind, number>()
  readonly #writes = new Map<WriteResult, number>()

  failed(kind: FailureKind): void {
    this.#failures.set(kind, (this.#failures.get(kind) ?? 0) + 1)
  }

  wrote(result: WriteResult): void {
    this.#writes.set(result, (this.#writes.get(result) ?? 0) + 1)
  }

  text(): string {
    return metricsText(OPERATOR_METRICS, {
      holdfast_operator_leading: { '': Number(this.isLeading) },
      holdfast_operator_condition: Object.fromEntries(
        this.conditions.map(({ status, type }) => [type, VALUES[status]]),
      ),
      holdfast_operator_api_failures_total: countsOf(FAILURE_KINDS, this.#failures),
      holdfast_operator_writes_total: countsOf(WRITE_RESULTS, this.#writes),
    })
  }
}

const countsOf = <Key extends string>(keys: readonly Key[], counts: ReadonlyMap<Key, number>): Record<string, number> =>
  Object.fromEntries(keys.map((key) => [key, counts.get(key) ?? 0]))
