/**
 * Holds the Lease of the operator, so that one of several operators works. This file decides when the Lease is asked for,
 * and that an operator stops its work in time if it cannot renew the Lease. The content of the Lease is
 * decided in decisions/operator/lease.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  LEASE_TIMES,
  type LeaseTimes,
  leaseOrder,
  releasedLease,
  type SeenLease,
} from '../../decisions/operator/lease.ts'
import type { StatusApi, Written } from '../status/status-api.ts'

export const LEASE_NAME = 'cluster-hosted-net-services-operator'

export type LeaseOptions = {
  readonly api: Pick<StatusApi, 'write'>
  /** Name of this operator, different for each process. */
  readonly self: string
  readonly namespace: string
  readonly times?: LeaseTimes
  /** Called when the work begins and ends. The Lease is given back after the returned promise has settled. */
  readonly onLeading: (isLeading: boolean) => unknown
  /** Called when another operator holds the Lease, once for each holder. */
  readonly onOther: (holder: string) => void
  readonly onFailure: (written: Exclude<Written, { kind: 'done' }>) => void
}

export class LeaderLease {
  readonly #options: LeaseOptions
  readonly #times: LeaseTimes
  readonly #path: string
  #seen: SeenLease | undefined
  #isLeading = false
  /** Result of onLeading. */
  #change: unknown
  #other = ''
  #deadline: NodeJS.Timeout | undefined

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#times = options.times ?? LEASE_TIMES
    this.#path = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(options.namespace)}/leases`
  }

  /** Asks for the Lease until `signal` is aborted, and gives it back then. */
  async run(signal: AbortSignal): Promise<void> {
    const { onFailure } = this.#options
    while (!signal.aborted) {
      const written = await this.#turn()
      // The work ends with the signal, also if this answer arrives later.
      if (signal.aborted) break
      if (written !== undefined && written.kind !== 'done' && written.kind !== 'conflict') onFailure(written)
      await sleep(this.#times.renewEvery, undefined, { signal }).catch(() => {})
    }
    this.#lead(false)
    await this.#change
    await this.#release()
  }

  /** Reads the Lease, and writes it if this operator may. Returns the outcome; `undefined` if another one holds it. */
  async #turn(): Promise<Written | undefined> {
    const { api, namespace, onOther, self } = this.#options
    const startedAt = performance.now()
    const read = await api.write({ method: 'GET', path: `${this.#path}/${LEASE_NAME}` })
    if (read.kind !== 'done' && read.kind !== 'missing') return read
    const order = leaseOrder(
      {
        lease: read.kind === 'done' ? read.object : undefined,
        ...{ seen: this.#seen, self, name: LEASE_NAME, namespace },
        ...{ monotonicMs: performance.now(), epochMs: Date.now() },
      },
      this.#times,
    )
    if (order.do === 'wait') {
      this.#seen = order.seen
      this.#lead(false)
      if (order.holder !== this.#other) onOther(order.holder)
      this.#other = order.holder
      return undefined
    }
    const written = await api.write(
      order.do === 'create'
        ? { method: 'POST', path: this.#path, body: order.object }
        : { method: 'PUT', path: `${this.#path}/${LEASE_NAME}`, body: order.object },
    )
    if (written.kind === 'done') this.#renewed(startedAt)
    return written
  }

  #renewed(startedAt: number): void {
    this.#other = ''
    clearTimeout(this.#deadline)
    const left = this.#times.renewWithin - (performance.now() - startedAt)
    if (left <= 0) return this.#lead(false)
    this.#lead(true)
    this.#deadline = setTimeout(() => this.#lead(false), left)
    this.#deadline.unref()
  }

  #lead(isLeading: boolean): void {
    if (!isLeading) clearTimeout(this.#deadline)
    if (isLeading === this.#isLeading) return
    this.#isLeading = isLeading
    this.#change = this.#options.onLeading(isLeading)
  }

  async #release(): Promise<void> {
    const { api, self } = this.#options
    const path = `${this.#path}/${LEASE_NAME}`
    const read = await api.write({ method: 'GET', path })
    const body = read.kind === 'done' ? releasedLease(read.object, self) : undefined
    if (body !== undefined) await api.write({ method: 'PUT', path, body })
  }
}
