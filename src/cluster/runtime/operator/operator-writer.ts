/**
 * Writes ClusterOperator `cluster-hosted-net-services` by server-side apply, and reports changed conditions. This file
 * decides when the object is created, and that the same status is written again now and then, in case another client has
 * overwritten it.
 */
import { AGENT_LOG, type AgentLogging } from '../../../log/agent-events.ts'
import {
  changesOf,
  type KnownOperator,
  NO_OPERATOR,
  OPERATOR_NAME,
  readOperator,
} from '../../decisions/operator/cluster-operator.ts'
import { conditionEvent, type OperatorEvent } from '../../decisions/operator/operator-event.ts'
import { PartWriter } from '../status/part-writer.ts'
import type { StatusApi, Written } from '../status/status-api.ts'
import type { OperatorAccount } from './operator-account.ts'
import type { WriteCounters } from './write-counters.ts'

export type OperatorWriterOptions = {
  readonly api: Pick<StatusApi, 'write'>
  readonly writes: WriteCounters
  readonly account: OperatorAccount
  readonly log: AgentLogging
  /** Milliseconds after a write until the same status is written again. */
  readonly againMs: number
  readonly onEvent: (event: OperatorEvent) => void
  /** Called when the ClusterOperator of an earlier term is known. */
  readonly onKnown: () => void
}

const OPERATOR = `/apis/config.openshift.io/v1/clusteroperators/${OPERATOR_NAME}`
const MANAGER = new URLSearchParams({ fieldManager: 'holdfast-operator', force: 'true' }).toString()
const HEAD = { apiVersion: 'config.openshift.io/v1', kind: 'ClusterOperator', metadata: { name: OPERATOR_NAME } }
const READ_AGAIN = 5_000

export class OperatorWriter {
  readonly #options: OperatorWriterOptions
  readonly #part: PartWriter
  #known: KnownOperator | undefined
  /** Monotonic time of the last write; `undefined` while another one is due or has failed. */
  #writtenAt: number | undefined
  #ended = false

  constructor(options: OperatorWriterOptions) {
    this.#options = options
    this.#part = new PartWriter((body) => this.#write(body))
    void this.#read()
  }

  /** ClusterOperator as the API showed it last; `undefined` until the API has answered. */
  get known(): KnownOperator | undefined {
    return this.#known
  }

  /** Sets the status to write. */
  want(status: Readonly<Record<string, unknown>>): void {
    if (this.#ended) return
    if (this.#writtenAt !== undefined && performance.now() - this.#writtenAt >= this.#options.againMs) {
      this.#writtenAt = undefined
      this.#part.forget()
    }
    this.#part.want(JSON.stringify(status), true)
  }

  end(): void {
    this.#ended = true
    this.#part.end()
    this.#options.account.conditions = []
  }

  /** Reads the ClusterOperator of an earlier term, whose conditions keep their times. */
  async #read(): Promise<void> {
    const read = await this.#options.api.write({ method: 'GET', path: OPERATOR })
    if (this.#ended) return
    if (read.kind === 'failed') {
      setTimeout(() => void this.#read(), READ_AGAIN).unref()
      return
    }
    // Without the right to read the object, the times of its conditions begin with this term.
    this.#known = read.kind === 'done' ? readOperator(read.object) : NO_OPERATOR
    this.#options.onKnown()
  }

  async #write(body: string): Promise<Written> {
    let written = await this.#apply('/status', { status: JSON.parse(body) })
    if (written.kind === 'missing' && !this.#ended) {
      const created = await this.#apply('', { spec: {} })
      if (created.kind !== 'done') return created
      const { log } = this.#options
      log(AGENT_LOG.operatorCreated, `ClusterOperator ${OPERATOR_NAME} created`, { object: OPERATOR_NAME })
      written = await this.#apply('/status', { status: JSON.parse(body) })
    }
    if (written.kind === 'done' && !this.#ended) this.#told(written.object)
    return written
  }

  #apply(part: '' | '/status', fields: object): Promise<Written> {
    const { api, writes } = this.#options
    const path = `${OPERATOR}${part}?${MANAGER}`
    const apply = { method: 'PATCH', path, contentType: 'application/apply-patch+yaml' } as const
    return writes.of(api.write({ ...apply, body: { ...HEAD, ...fields } }), 'ClusterOperator')
  }

  #told(object: unknown): void {
    const { account, log, onEvent } = this.#options
    this.#writtenAt = performance.now()
    const before = this.#known ?? NO_OPERATOR
    this.#known = readOperator(object)
    account.conditions = this.#known.conditions
    for (const finding of changesOf(this.#known.conditions, before)) {
      const { message, reason, status, type } = finding
      log(AGENT_LOG.operatorConditionChanged, `${type} is ${status}: ${message}`, { type, status, reason })
      onEvent(conditionEvent(finding))
    }
  }
}
