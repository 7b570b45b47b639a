/**
 * Requests status and event journal of the other nodes (`api.peers`), for the status page. All nodes are asked at the
 * same time. This file decides that a node that does not answer delays no other one and is shown as silent, and the
 * number of its events that are kept.
 */
import { messageOf } from '../../base/message-of.ts'
import type { JournalEvent } from '../../events/event.ts'
import { readEvent } from '../../events/event.ts'
import { askPeer } from './peer-request.ts'
import { type PeerStatus, readPeerStatus } from './peer-status.ts'

export type PeerAnswer = {
  readonly url: string
  /** Text why the other node does not answer; `null` if it answers. */
  readonly problem: string | null
  readonly status: PeerStatus | null
  /** Events of the other node's journal, the oldest first. */
  readonly events: readonly JournalEvent[]
  /**
   * Wall clock of the other node minus that of this node, in milliseconds; `null` if not known. The error is at most
   * half of the round trip.
   */
  readonly clockOffsetMs: number | null
  readonly roundTripMs: number | null
}

/** The answer of /v1/peers. */
export type PeersAnswer = { readonly version: 1; readonly takenAt: string; readonly peers: readonly PeerAnswer[] }

/** Timeout of each of the two requests to a node, in milliseconds. */
const PATIENCE = 1_000
const MOST_EVENTS = 300

type Ask = (url: URL, within: number) => Promise<unknown>

export class Peers {
  readonly #peers: readonly Peer[]

  constructor(urls: readonly string[], ask: Ask = askPeer) {
    this.#peers = urls.map((url) => new Peer(url, ask))
  }

  /** Asks all peers. Never rejects, and takes at most twice the timeout. */
  async ask(): Promise<PeersAnswer> {
    const peers = await Promise.all(this.#peers.map((peer) => peer.ask()))
    return { version: 1, takenAt: new Date().toISOString(), peers }
  }
}

class Peer {
  readonly #url: string
  readonly #ask: Ask
  #events: readonly JournalEvent[] = []
  /**
   * Start of the daemon's run to which the events belong. In a journal without a file, each run counts from 1 again.
   */
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
      if (status === undefined) throw new Error('this version cannot read its status')
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

  /** Returns the events of another node. A node without a journal is shown by its status only. */
  async #journal({ startedAt }: PeerStatus): Promise<readonly JournalEvent[]> {
    if (startedAt !== this.#startedAt) this.#events = []
    this.#startedAt = startedAt
    const after = this.#events.at(-1)?.seq
    try {
      const question = after === undefined ? '' : `?after=${after}`
      const page = await this.#ask(new URL(`/v1/events${question}`, this.#url), PATIENCE)
      this.#events = [...this.#events, ...eventsOf(page)].slice(-MOST_EVENTS)
    } catch {
      // The events are missing, but the status shows that the node runs. The next request gets the missing events.
    }
    return this.#events
  }
}

function eventsOf(page: unknown): readonly JournalEvent[] {
  if (typeof page !== 'object' || page === null || !('events' in page) || !Array.isArray(page.events)) return []
  return page.events.slice(-MOST_EVENTS).flatMap((value: unknown) => readEvent(value) ?? [])
}

const tenths = (value: number) => Math.round(value * 10) / 10
