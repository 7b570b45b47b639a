/**
 * Keeps the status in the API equal to the fields of this node. Only changes are written. After the API was
 * unreachable, only the latest state is written. This file decides how long a failed write waits, and how slowly fields
 * are written again that another client keeps overwriting.
 */

import { defined } from '../../../base/defined.ts'
import type { PublishedFields } from '../../decisions/status/holders.ts'
import type { Claims, Published } from '../../decisions/status/published-status.ts'
import { readPublished } from '../../decisions/status/published-status.ts'
import { managerOf, SPEAKER, type StatusApi, type Written } from './status-api.ts'

/** Delays in milliseconds after a failed write; they double up to the longest, and half of each is random. */
const RETRY = { first: 250, longest: 30_000 }
/** Delays for writes of fields that were refused, or that another client keeps overwriting. */
const PATIENT = { first: 1_000, longest: 60_000 }
const FORGIVEN_AFTER = 300_000

export type PublisherNews =
  | { readonly kind: 'published'; readonly part: PartName; readonly body: string }
  | { readonly kind: 'refused' | 'failed' | 'conflict' | 'missing'; readonly part: PartName; readonly why: string }

type PartName = 'claims' | 'conditions'

export type PublisherOptions = {
  readonly self: string
  readonly api: StatusApi
  /** Called with the object in each answer of the API. */
  readonly onObject: (object: unknown) => void
  readonly onNews: (news: PublisherNews) => void
  readonly random?: () => number
}

export class Publisher {
  readonly counters = { written: 0, failed: 0, refused: 0, conflicts: 0, overwritten: 0 }
  readonly #options: PublisherOptions
  readonly #claims: Part
  readonly #conditions: Part
  #ended = false

  constructor(options: PublisherOptions) {
    this.#options = options
    this.#claims = new Part('claims', (body) => this.#write('claims', managerOf(options.self), body), options.random)
    this.#conditions = new Part('conditions', (body) => this.#write('conditions', SPEAKER, body), options.random)
  }

  /**
   * Publishes the status fields of this node. `published`: the Kubernetes object as far as it is known. The first write
   * of an agent removes entries of the agent's earlier run.
   */
  say({ claims, conditions, observedGeneration }: PublishedFields, published: Published | undefined): void {
    if (this.#ended) return
    const hasClaims = published === undefined || areThere(claims, published)
    if (published !== undefined) for (const part of [this.#claims, this.#conditions]) part.found()
    this.#tell(this.#claims, JSON.stringify(claims), hasClaims)
    if (conditions === undefined) return this.#conditions.forget()
    const body = { conditions, ...defined({ observedGeneration }) }
    const hasConditions =
      published === undefined ||
      conditions.every(({ type, status, reason, message }) =>
        published.conditions.some(
          (one) => one.type === type && one.status === status && one.reason === reason && one.message === message,
        ),
      )
    this.#tell(this.#conditions, JSON.stringify(body), hasConditions)
  }

  #tell(part: Part, body: string, isThere: boolean): void {
    if (part.want(body, isThere)) this.counters.overwritten++
  }

  end(): void {
    this.#ended = true
    this.#claims.end()
    this.#conditions.end()
  }

  async #write(part: PartName, manager: string, body: string): Promise<Written> {
    const { api, onNews, onObject } = this.#options
    const written = await api.applyStatus(manager, JSON.parse(body))
    if (this.#ended) return written
    switch (written.kind) {
      case 'done':
        this.counters.written++
        onNews({ kind: 'published', part, body })
        if (readPublished(written.object) !== undefined) onObject(written.object)
        break
      case 'conflict':
        this.counters.conflicts++
        onNews({ kind: 'conflict', part, why: written.why })
        break
      case 'missing':
        onNews({ kind: 'missing', part, why: 'the object HostedNetServices "cluster" does not exist' })
        break
      default:
        this.counters[written.kind]++
        onNews({ kind: written.kind, part, why: written.why })
    }
    return written
  }
}

function areThere({ apiServerInternalIpOwner, holders, ingressIpOwner }: Claims, published: Published): boolean {
  if (apiServerInternalIpOwner !== undefined && published.apiServerInternalIpOwner !== apiServerInternalIpOwner)
    return false
  if (ingressIpOwner !== undefined && published.ingressIpOwner !== ingressIpOwner) return false
  return holders.every((holder) => {
    const there = published.holders.find(({ address }) => address === holder.address)
    return there !== undefined && there.node === holder.node && there.since === holder.since
  })
}

/**
 * Writes the fields that belong to one field manager (server-side apply). One write runs at a time, and each write has the
 * latest state.
 */
class Part {
  readonly name: PartName
  readonly #write: (body: string) => Promise<Written>
  readonly #random: () => number
  #wanted: string | undefined
  /** JSON of the status fields that the API accepted last from this agent; `undefined` if it accepted none. */
  #applied: string | undefined
  #isWriting = false
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #isMissing = false
  #overwritten = 0
  #overwrittenAt = 0

  constructor(name: PartName, write: (body: string) => Promise<Written>, random: () => number = Math.random) {
    this.name = name
    this.#write = write
    this.#random = random
  }

  /**
   * Sets the fields to write. Tells whether another client has overwritten the fields, so that they must be written
   * again.
   */
  want(body: string, isThere: boolean): boolean {
    if (body !== this.#wanted) {
      this.#wanted = body
      // After a failure, the new state waits like the old one, because the reason of the failure may still exist.
      if (this.#failures === 0 && !this.#isWriting) this.#pump(0)
      return false
    }
    if (this.#isWriting || this.#timer !== undefined || body !== this.#applied || isThere) return false
    const now = performance.now()
    if (now - this.#overwrittenAt > FORGIVEN_AFTER) this.#overwritten = 0
    this.#overwrittenAt = now
    this.#pump(this.#pause(PATIENT, this.#overwritten++))
    return true
  }

  /** Reports that the HostedNetServices object exists now, so a write that found no object is tried again. */
  found(): void {
    if (this.#isMissing && this.#timer !== undefined) this.#pump(0)
    this.#isMissing = false
  }

  /** Stops writing these fields, because another node writes them now. */
  forget(): void {
    this.#wanted = undefined
    this.#applied = undefined
    this.#failures = 0
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  end(): void {
    this.forget()
  }

  #pause({ first, longest }: typeof RETRY, times: number): number {
    const full = Math.min(longest, first * 2 ** Math.min(times, 16))
    return full / 2 + (full / 2) * this.#random()
  }

  #pump(after: number): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (after <= 0) return void this.#run()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#run()
    }, after)
    this.#timer.unref()
  }

  async #run(): Promise<void> {
    const body = this.#wanted
    if (body === undefined || this.#isWriting) return
    this.#isWriting = true
    const written = await this.#write(body)
    this.#isWriting = false
    this.#isMissing = written.kind === 'missing'
    if (written.kind === 'done') {
      this.#failures = 0
      this.#applied = body
    } else {
      this.#failures++
    }
    if (this.#wanted === undefined) return
    if (written.kind !== 'done')
      return this.#pump(
        this.#pause(['refused', 'missing'].includes(written.kind) ? PATIENT : RETRY, this.#failures - 1),
      )
    if (this.#wanted !== body) this.#pump(0)
  }
}
