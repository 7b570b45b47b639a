/**
 * The connection of the page to its node: status every few seconds and after each event, the other nodes, and the event
 * journal as a stream if the node offers one. This file decides how often the page asks, and what it shows without an
 * answer. This file does not know the meaning of answers.
 */
import { Turns } from './turns.js'

/** @typedef {import('./memory.js').Memory} Memory */
/** @typedef {import('../../events/event.ts').JournalEvent} JournalEvent */
/** @typedef {import('../../events/event-page.ts').EventPage} EventPage */
/** @typedef {import('../../daemon/telemetry/snapshot.ts').Snapshot} Snapshot */
/** @typedef {import('../peers/peers.ts').PeersAnswer} PeersAnswer */
/**
 * `lost`: the node does not answer. `silent`: the node answers that its engine does not. `since` is the time of the
 * last answer.
 * @typedef {{ readonly state: 'connecting' | 'connected' | 'silent' | 'lost', readonly since: number, readonly why: string, readonly live: boolean }} Line
 */

const EVERY = 2_000
/** Milliseconds between requests for the status while a stream reports events. */
const EVERY_WHEN_LIVE = 5_000
/** Timeout of a request in milliseconds. The node needs less time to report that its engine does not answer. */
const PATIENCE = 4_000
/** Timeout in milliseconds for the other nodes: the node limits how often it asks them. */
const PATIENCE_WITH_PEERS = 10_000
/** Milliseconds to wait after an event, because several events come together. */
const SOON = 50
/** Milliseconds until the page tries again to open a stream, if the node had too many. */
const LISTEN_AGAIN = 30_000
/** Limit of pages of events that are read. A node gives its journal page by page. */
const MOST_PARTS = 20

export class Connection {
  #memory
  #onChange
  /** @type {Line} */
  line = { state: 'connecting', since: Date.now(), why: '', live: false }
  /** @type {EventSource | undefined} */
  #stream
  #listenFrom = 0
  /** False if the node offers no event journal. */
  #hasJournal = true
  /** True after one failed request. A node closes each connection after a while, perhaps during a request. */
  #isDoubted = false
  #own = new Turns(() => this.#ask())
  #others = new Turns(() => this.#askOthers())

  /**
   * @param {Memory} memory
   * @param {() => void} onChange
   */
  constructor(memory, onChange) {
    this.#memory = memory
    this.#onChange = onChange
  }

  /** Starts the requests of the page. A hidden page sends none, because a node has few streams. */
  watch() {
    document.addEventListener('visibilitychange', () => (document.hidden ? this.#rest() : this.#begin()))
    this.#begin()
  }

  #begin() {
    this.#own.next(0)
    this.#others.next(0)
  }

  #rest() {
    this.#own.end()
    this.#others.end()
    this.#hangUp()
  }

  #hangUp() {
    this.#stream?.close()
    this.#stream = undefined
    this.line = { ...this.line, live: false }
  }

  /** @returns {Promise<number>} when to ask again */
  async #ask() {
    try {
      /** @type {Snapshot} */
      const status = await answerOf('/v1/status', PATIENCE)
      this.#memory.status(status, Date.now())
      this.#isDoubted = false
      this.line = { ...this.line, state: 'connected', since: Date.now(), why: '' }
      this.#onChange()
      await this.#journal()
      this.#listen()
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      if (!this.#isDoubted && !(error instanceof Refused)) {
        this.#isDoubted = true
        return SOON
      }
      this.#hangUp()
      this.#memory.silent(why)
      this.line = { ...this.line, state: error instanceof Refused ? 'silent' : 'lost', why }
    }
    this.#onChange()
    return this.line.live ? EVERY_WHEN_LIVE : EVERY
  }

  /** Reads the events after the last known event. */
  async #journal() {
    if (!this.#hasJournal || (this.line.live && this.#memory.latestEvent !== undefined)) return
    try {
      for (let parts = 0; parts < MOST_PARTS; parts++) {
        /** @type {EventPage} */
        const page = await answerOf(`/v1/events?after=${this.#memory.latestEvent ?? 0}`, PATIENCE)
        this.#memory.events(page.events)
        this.#onChange()
        if (page.events.length === 0 || this.#memory.latestEvent === page.latest) return
      }
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      this.#hasJournal = error.status !== NOT_THERE
    }
  }

  /** @returns {Promise<number>} when to ask again */
  async #askOthers() {
    try {
      /** @type {PeersAnswer} */
      const answer = await answerOf('/v1/peers', PATIENCE_WITH_PEERS)
      this.#memory.peers(answer, Date.now() + this.#memory.skew)
      this.#onChange()
      if (answer.peers.length > 0) return EVERY
    } catch {
      // The request for the node's own status shows the problem in more detail.
    }
    return EVERY_WHEN_LIVE
  }

  #listen() {
    if (!this.#hasJournal || this.#stream !== undefined || document.hidden || Date.now() < this.#listenFrom) return
    const after = this.#memory.latestEvent
    const stream = new EventSource(after === undefined ? '/v1/events' : `/v1/events?after=${after}`)
    this.#stream = stream
    stream.onopen = () => {
      this.line = { ...this.line, live: true }
      this.#onChange()
    }
    stream.onmessage = ({ data }) => {
      /** @type {JournalEvent} */
      const event = JSON.parse(data)
      this.#memory.events([event])
      this.#onChange()
      this.#own.next(SOON)
      this.#others.next(SOON)
    }
    stream.onerror = () => {
      this.line = { ...this.line, live: false }
      // The node refused the stream, perhaps because it has too many. For a while the page only sends requests.
      if (stream.readyState === EventSource.CLOSED) {
        this.#stream = undefined
        this.#listenFrom = Date.now() + LISTEN_AGAIN
      }
      this.#own.next(SOON)
    }
  }
}

const NOT_THERE = 404

/** The node answered with an error status. */
class Refused extends Error {
  /** @param {number} status @param {string} words */
  constructor(status, words) {
    super(words)
    this.status = status
  }
}

/**
 * Returns the JSON answer of this node.
 * @template T what this node is known to answer there
 * @param {string} path
 * @param {number} within ms
 * @returns {Promise<T>}
 */
async function answerOf(path, within) {
  /** @type {Response} */
  let response
  try {
    response = await fetch(path, { signal: AbortSignal.timeout(within), cache: 'no-store', redirect: 'error' })
  } catch (error) {
    const late = error instanceof DOMException && error.name === 'TimeoutError'
    throw new Error(late ? `no answer within ${within / 1_000} s` : 'the node does not answer')
  }
  if (response.ok) return await response.json()
  throw new Refused(response.status, (await response.text()).trim())
}
