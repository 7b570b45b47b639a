/**
 * Stores everything that the status page knows about each node. This file decides which values an answer replaces,
 * which values stay without an answer, and how much is kept.
 */

/** @typedef {import('../../daemon/telemetry/snapshot.ts').Snapshot} Snapshot */
/** @typedef {import('../../events/event.ts').JournalEvent} JournalEvent */
/** @typedef {import('../../events/event-page.ts').EventPage} EventPage */
/** @typedef {import('../peers/peer-status.ts').PeerStatus} NodeStatus */
/** @typedef {import('../peers/peers.ts').PeersAnswer} PeersAnswer */
/** @typedef {{ readonly at: number, readonly state: string, readonly reason: string }} Sighting */

/**
 * `status` is the last one; `problem` is the reason why there is no newer one. `offsetMs` is its clock minus that of the node that
 * serves this page, whose times are those of its logs.
 * `seen` has the states of its routers by name, for a node without a journal.
 * @typedef {{ readonly key: string, readonly name: string, readonly self: boolean, readonly url: string | null,
 *   readonly status: NodeStatus | null, readonly answeredAt: number | null, readonly problem: string | null,
 *   readonly offsetMs: number, readonly roundTripMs: number | null, readonly events: readonly JournalEvent[],
 *   readonly seen: ReadonlyMap<string, readonly Sighting[]> }} Node
 */

const MOST_EVENTS = 1_000
const MOST_SEEN = 100
/** Difference of two clocks in milliseconds that is below the accuracy of the measurement. */
const SAME_CLOCK = 5

export class Memory {
  /** @type {Snapshot | null} of the node that serves this page */
  own = null
  /** True if the other nodes have been asked. */
  knowsPeers = false
  /** Clock of the node that serves the page minus the browser's, in milliseconds. */
  skew = 0
  /** @type {Node} */
  #self = { ...nobody('self', null), self: true }
  /** @type {Map<string, Node>} */
  #peers = new Map()

  /** Nodes ordered by name, the same whichever node serves the page. @returns {readonly Node[]} */
  get nodes() {
    const peers = [...this.#peers.values()].filter((peer) => !this.#isSelf(peer))
    return withDistinctNames([this.#self, ...peers]).toSorted((one, other) =>
      one.name.localeCompare(other.name, 'en', { numeric: true }),
    )
  }

  get latestEvent() {
    return this.#self.events.at(-1)?.seq
  }

  /**
   * @param {Snapshot} snapshot
   * @param {number} now
   */
  status(snapshot, now) {
    this.skew = Date.parse(snapshot.takenAt) - now
    // In a journal without a file, each run of the daemon counts its events from 1 again.
    const events = snapshot.startedAt === this.own?.startedAt ? this.#self.events : []
    this.own = snapshot
    this.#self = answered({ ...this.#self, events }, snapshot, now + this.skew)
  }

  /** @param {string} problem */
  silent(problem) {
    this.#self = { ...this.#self, problem }
  }

  /** @param {readonly JournalEvent[]} events the oldest first */
  events(events) {
    this.#self = { ...this.#self, events: joined(this.#self.events, events) }
  }

  /**
   * @param {PeersAnswer} answer
   * @param {number} now
   */
  peers({ peers }, now) {
    this.knowsPeers = true
    const before = this.#peers
    this.#peers = new Map()
    for (const { url, problem, status, events, clockOffsetMs, roundTripMs } of peers) {
      const known = { ...(before.get(url) ?? nobody(url, new URL(url).host)), url }
      const node = status === null ? { ...known, problem: problem ?? 'no answer' } : answered(known, status, now)
      const offsetMs = clockOffsetMs === null ? known.offsetMs : significant(clockOffsetMs, roundTripMs ?? 0)
      this.#peers.set(url, { ...node, events, offsetMs, roundTripMs })
    }
  }

  /** Returns whether a peer is the node that serves the page: all nodes may have the same list. @param {Node} peer */
  #isSelf({ status }) {
    const own = this.#self.status
    return (
      status !== null &&
      own !== null &&
      status.hostname === own.hostname &&
      status.pid === own.pid &&
      status.startedAt === own.startedAt
    )
  }
}

/**
 * Nodes with one host name, as copies of one machine have, are told apart by their addresses.
 * @param {readonly Node[]} nodes
 * @returns {readonly Node[]}
 */
const withDistinctNames = (nodes) =>
  nodes.map((node) => {
    const { name, status, url } = node
    if (nodes.every((other) => other === node || other.name !== name)) return node
    const sources = (status?.routers ?? []).flatMap(({ source }) => source ?? [])
    // A link-local address is no name that people know, so another address is preferred.
    const known = sources.find((address) => !address.includes(':')) ?? (url === null ? sources[0] : new URL(url).host)
    return known === undefined ? node : { ...node, name: `${name} (${known})` }
  })

/**
 * @param {number} offsetMs
 * @param {number} roundTripMs
 */
const significant = (offsetMs, roundTripMs) => (Math.abs(offsetMs) > Math.max(SAME_CLOCK, roundTripMs) ? offsetMs : 0)

/**
 * @param {string} key
 * @param {string | null} name
 * @returns {Node}
 */
function nobody(key, name) {
  return {
    ...{ key, name: name ?? 'this node', self: false, url: null, status: null, answeredAt: null, problem: null },
    ...{ offsetMs: 0, roundTripMs: null, events: [], seen: new Map() },
  }
}

/**
 * @param {Node} node
 * @param {NodeStatus} status
 * @param {number} now
 * @returns {Node}
 */
function answered(node, status, now) {
  const seen = new Map()
  for (const { name, reason, since, state } of status.routers) {
    const before = node.seen.get(name) ?? []
    const last = before.at(-1)
    const at = Date.parse(since)
    const isNew = last === undefined || last.state !== state || last.at !== at
    seen.set(name, isNew ? [...before, { at, state, reason }].slice(-MOST_SEEN) : before)
  }
  return { ...node, name: status.hostname, status, answeredAt: now, problem: null, seen }
}

/**
 * @param {readonly JournalEvent[]} known
 * @param {readonly JournalEvent[]} more
 */
function joined(known, more) {
  const latest = known.at(-1)?.seq ?? 0
  return [...known, ...more.filter(({ seq }) => seq > latest)].slice(-MOST_EVENTS)
}
