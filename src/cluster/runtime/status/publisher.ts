/**
 * Keeps the status in the API equal to the fields of this node. Only changes are written. After the API was unreachable,
 * only the latest state is written. How long a failed write waits is decided in part-writer.ts.
 */

import { defined } from '../../../base/defined.ts'
import type { PublishedFields } from '../../decisions/status/holders.ts'
import type { Claims, Published } from '../../decisions/status/published-status.ts'
import { readPublished } from '../../decisions/status/published-status.ts'
import { PartWriter } from './part-writer.ts'
import { managerOf, SPEAKER, type StatusApi, type Written } from './status-api.ts'

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
  readonly #claims: PartWriter
  readonly #conditions: PartWriter
  #ended = false

  constructor(options: PublisherOptions) {
    this.#options = options
    this.#claims = new PartWriter((body) => this.#write('claims', managerOf(options.self), body), options.random)
    this.#conditions = new PartWriter((body) => this.#write('conditions', SPEAKER, body), options.random)
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

  #tell(part: PartWriter, body: string, isThere: boolean): void {
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
