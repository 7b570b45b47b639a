/**
 * The other nodes as the status page shows them (`api.peers`): each is asked for its status and its journal, all of them
 * at the same time. Decided here: that one who does not answer costs the others nothing and is said to be silent instead
 * of being quoted, and how much of a journal is kept. Refuses to know what is shown of it.
 */
import { messageOf } from '../../base/message-of.ts'
import type { JournalEvent } from '../../events/event.ts'
import { readEvent } from '../../events/event.ts'
import { askPeer } from './peer-request.ts'
import { type PeerStatus, readPeerStatus } from './peer-status.ts'

export type PeerAnswer = {
  readonly url: string
  /** In words, why there is no answer; null: there is one. */
  readonly problem: string | null
  readonly status: PeerStatus | null
  /** Of its journal, the oldest first. */
  readonly events: readonly JournalEvent[]
  /** Its wall clock minus that of this node; wrong by half of the round trip at most. */
  readonly clockOffsetMs: number | null
  readonly roundTripMs: number | null
}

/** The answer of /v1/peers. */
export type PeersAnswer = { readonly version: 1; readonly takenAt: string; readonly peers: readonly PeerAnswer[] }

/** For each of two questions. */
const PATIENCE = 1_000
const MOST_EVENTS = 300

type Ask = (url: URL, within: number) => Promise<unknown>

export class Peers {
  readonly #peers: readonly Peer[]

  constructor(urls: readonly string[], ask: Ask = askPeer) {
    this.#peers = urls.map((url) => new Peer(url, ask))
  }

  /** Never rejects, and takes twice the patience at most. */
  async ask(): Promise<PeersAnswer> {
    const peers = await Promise.all(this.#peers.map((peer) => peer.ask()))
    return { version: 1, takenAt: new Date().toISOString(), peers }
  }
}

class Peer {
  readonly #url: string
  readonly #ask: Ask
  #events: readonly JournalEvent[] = []
  /** Of the life that the events are of: numbers begin anew where a journal is in memory alone. */
  #startedAt = ''

  constructor(url: string, ask: Ask) {
    this.#url = url
    this.#ask = ask
  }

  async ask(): Promise<PeerAnswer> {
    const url = this.#url
    try {
      const sentAt = performance.now()
      const answer = await this.#ask(new URL('/v1/status', url), PATIENCE)
      const answeredAt = performance.now()
      const status = readPeerStatus(answer)
      if (status === undefined) throw new Error('its status is not one that this version can read')
      const roundTrip = answeredAt - sentAt
      const offset = Date.parse(status.takenAt) - (Date.now() - roundTrip / 2)
      return {
        ...{ url, problem: null, status, events: await this.#journal(status) },
        ...{ clockOffsetMs: tenths(offset), roundTripMs: tenths(roundTrip) },
      }
    } catch (error) {
      const problem = messageOf(error)
      return { url, problem, status: null, events: this.#events, clockOffsetMs: null, roundTripMs: null }
    }
  }

  /** A node without a journal is shown by its status alone. */
  async #journal({ startedAt }: PeerStatus): Promise<readonly JournalEvent[]> {
    if (startedAt !== this.#startedAt) this.#events = []
    this.#startedAt = startedAt
    const after = this.#events.at(-1)?.seq
    try {
      const question = after === undefined ? '' : `?after=${after}`
      const page = await this.#ask(new URL(`/v1/events${question}`, this.#url), PATIENCE)
      this.#events = [...this.#events, ...eventsOf(page)].slice(-MOST_EVENTS)
    } catch {
      // Its status says that it lives; what it has remembered comes with the next question.
    }
    return this.#events
  }
}

function eventsOf(page: unknown): readonly JournalEvent[] {
  if (typeof page !== 'object' || page === null || !('events' in page) || !Array.isArray(page.events)) return []
  return page.events.slice(-MOST_EVENTS).flatMap((value: unknown) => readEvent(value) ?? [])
}

const tenths = (value: number) => Math.round(value * 10) / 10
