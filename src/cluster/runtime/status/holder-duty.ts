/**
 * Publishes the holders of the cluster's addresses: it asks this node's engine, decides with cluster/decisions/status,
 * and writes to the API. This file decides when the engine is asked (after each event of its journal, and every few
 * seconds), and the order of the steps. If the API is away, only the status is late. This file does not know how nodes
 * and objects are watched.
 */
import { messageOf } from '../../../base/message-of.ts'
import type { ClusterNode } from '../../decisions/cluster-node.ts'
import type { Elsewhere } from '../../decisions/engine/platform.ts'
import { type EngineReport, readEngineReport } from '../../decisions/status/engine-report.ts'
import { failoverEvent, failoversIn } from '../../decisions/status/failover.ts'
import type { Circumstances } from '../../decisions/status/finding.ts'
import { FIRST_HOLDERS, needsProbe, type ServiceVip, stepHolders } from '../../decisions/status/holders.ts'
import { type Published, readPublished } from '../../decisions/status/published-status.ts'
import { askEngine, EngineStream } from '../engine-source.ts'
import { EventPublisher } from './event-publisher.ts'
import { Publisher, type PublisherNews } from './publisher.ts'
import type { StatusApi } from './status-api.ts'

/** Milliseconds between two requests to the engine. */
const LOOK_EVERY = 5_000
/** Milliseconds to wait after an event, because an election gives several events. */
const GATHER = 20
const LOOK_AGAIN = 1_000

export type HolderDutyOptions = {
  readonly self: string
  readonly vips: readonly ServiceVip[]
  /** Path of the engine's control socket. */
  readonly socket: string
  readonly api: StatusApi
  readonly circumstances: () => Circumstances
  /** Called when `circumstances` needs, or no longer needs, the answers of kube-api. */
  readonly onProbeNeeded: (isNeeded: boolean) => void
  readonly onNews: (news: PublisherNews | { readonly kind: 'engine'; readonly why: string | undefined }) => void
}

export class HolderDuty {
  readonly publisher: Publisher
  readonly #options: HolderDutyOptions
  readonly #stream: EngineStream
  readonly #events: EventPublisher
  #nodes: readonly ClusterNode[] = []
  #elsewhere: Elsewhere | undefined
  #memory = FIRST_HOLDERS
  #published: Published | undefined
  #report: EngineReport | undefined
  #timer: NodeJS.Timeout | undefined
  #isLooking = false
  #hasLooked = false
  #ended = false

  constructor(options: HolderDutyOptions) {
    this.#options = options
    const { api, onNews, self, socket } = options
    this.publisher = new Publisher({ self, api, onNews, onObject: (object) => this.objectIs(object) })
    this.#events = new EventPublisher(api)
    this.#stream = new EngineStream(
      socket,
      (event) => this.#heard(event),
      () => this.#lookIn(GATHER),
    )
    this.#lookIn(0)
  }

  end(): void {
    this.#ended = true
    clearTimeout(this.#timer)
    this.#stream.end()
    this.publisher.end()
    this.#events.end()
  }

  get events(): EventPublisher['counts'] {
    return this.#events.counts
  }

  nodesAre(nodes: readonly ClusterNode[]): void {
    this.#nodes = nodes
    this.#decide()
  }

  elsewhereIs(elsewhere: Elsewhere | undefined): void {
    this.#elsewhere = elsewhere
    this.#decide()
  }

  /** Takes the object of the API. An object older than the known one, from a watch that is behind, is ignored. */
  objectIs(object: unknown): void {
    const published = readPublished(object)
    if (published === undefined || isOlder(published, this.#published)) return
    this.#published = published
    // #decide() runs in a later turn of the event loop, because the answer of the API must not call it recursively.
    setImmediate(() => this.#decide())
  }

  circumstancesChanged(): void {
    this.#decide()
  }

  objectIsGone(): void {
    this.#published = undefined
  }

  #heard(event: unknown): void {
    const { self, vips } = this.#options
    for (const failover of failoversIn(event, { nodes: this.#nodes, self, vips }))
      this.#events.offer(failoverEvent(failover, this.#published?.uid))
    this.#lookIn(GATHER)
    void this.#events.send()
  }

  #lookIn(ms: number): void {
    if (this.#ended) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#look(), ms)
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return this.#lookIn(GATHER)
    this.#isLooking = true
    let why: string | undefined
    try {
      this.#report = readEngineReport(await askEngine(this.#options.socket, '/v1/status'))
      if (this.#report === undefined) why = 'this version cannot read the status of the engine'
    } catch (error) {
      this.#report = undefined
      why = messageOf(error)
    }
    this.#isLooking = false
    this.#hasLooked = true
    if (this.#ended) return
    this.#options.onNews({ kind: 'engine', why })
    this.#decide()
    void this.#events.send()
    this.#lookIn(this.#report === undefined ? LOOK_AGAIN : LOOK_EVERY)
  }

  #decide(): void {
    if (this.#ended) return
    const { circumstances, onProbeNeeded, self, vips } = this.#options
    const now = { monotonicMs: performance.now(), epochMs: Date.now() }
    const [memory, statement] = stepHolders(
      this.#memory,
      {
        ...{ self, vips, nodes: this.#nodes, report: this.#report, published: this.#published },
        ...{ elsewhere: this.#elsewhere, circumstances: circumstances() },
      },
      now,
    )
    this.#memory = memory
    this.publisher.say(statement, this.#published)
    // Before the first answer of the engine, its state is unknown, and not silent.
    if (this.#hasLooked) onProbeNeeded(needsProbe(memory, { report: this.#report, vips }))
  }
}

/**
 * Returns whether one version is older. Versions are opaque; if both are numbers, as with etcd, the lower one is older.
 */
function isOlder(one: Published, known: Published | undefined): boolean {
  if (known === undefined || one.uid !== known.uid) return false
  const [a, b] = [Number(one.resourceVersion), Number(known.resourceVersion)]
  return Number.isSafeInteger(a) && Number.isSafeInteger(b) && a < b
}
