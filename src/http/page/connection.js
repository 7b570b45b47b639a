/**
 * The page's line to its node: the status every few seconds and after each event, the other nodes, and the journal, as
 * it goes where the node offers that. Decided here: how often is asked, and what is said when there is no answer. Refuses
 * to know what the answers mean.
 */
import { Turns } from './turns.js'

/** @typedef {import('./memory.js').Memory} Memory */
/** @typedef {import('../../events/event.ts').JournalEvent} JournalEvent */
/** @typedef {import('../../events/event-page.ts').EventPage} EventPage */
/** @typedef {import('../../daemon/telemetry/snapshot.ts').Snapshot} Snapshot */
/** @typedef {import('../peers/peers.ts').PeersAnswer} PeersAnswer */
/**
 * `lost`: nobody answers; `silent`: the node answers that its engine does not. `since`: of the last answer.
 * @typedef {{ readonly state: 'connecting' | 'connected' | 'silent' | 'lost', readonly since: number, readonly why: string, readonly live: boolean }} Line
 */

const EVERY = 2_000
/** Events say when there is something to ask for. */
const EVERY_WHEN_LIVE = 5_000
/** More than the node takes when its engine does not answer. */
const PATIENCE = 4_000
/** The node asks the others one after the other question, and not more often than it likes. */
const PATIENCE_WITH_PEERS = 10_000
/** Several events come together. */
const SOON = 50
/** Before a page asks once more to listen where too many do. */
const LISTEN_AGAIN = 30_000
/** A node gives out a part of its journal at a time. */
const MOST_PARTS = 20

export class Connection {
  #memory
  #onChange
  /** @type {Line} */
  line = { state: 'connecting', since: Date.now(), why: '', live: false }
  /** @type {EventSource | undefined} */
  #stream
  #listenFrom = 0
  /** False: this node says nothing of its journal. */
  #hasJournal = true
  /** A node ends each connection after a while, perhaps while it is asked. */
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

  /** Nobody looks at a hidden page, and a node has room for few who listen. */
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

  /** From what is known on. */
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
      // The same node says more of what is wrong when it is asked for its own status.
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
      // Refused, as when too many listen: then there are only questions for a while.
      if (stream.readyState === EventSource.CLOSED) {
        this.#stream = undefined
        this.#listenFrom = Date.now() + LISTEN_AGAIN
      }
      this.#own.next(SOON)
    }
  }
}

const NOT_THERE = 404

/** The node answers, but not with what was asked for. */
class Refused extends Error {
  /** @param {number} status @param {string} words */
  constructor(status, words) {
    super(words)
    this.status = status
  }
}

/**
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
    throw new Error(late ? `no answer within ${within / 1_000} s` : 'nobody answers there')
  }
  if (response.ok) return await response.json()
  throw new Refused(response.status, (await response.text()).trim())
}
