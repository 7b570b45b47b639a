/**
 * States of a virtual router on a node over time, from the node's journal and from what this page has seen. Values
 * only. This file decides that times without information stay empty.
 */

/** @typedef {import('./memory.js').Node} Node */
/** @typedef {import('../../events/event.ts').JournalEvent} JournalEvent */
/**
 * `away`: no daemon ran. `unheard`: the node does not answer. `from` and `to` are milliseconds by the clock of the node
 * that serves the page.
 * @typedef {{ readonly from: number, readonly to: number, readonly state: string, readonly reason: string }} Span
 */

/** Tolerance in milliseconds for the same moment in a journal and in a status. */
const SAME_MOMENT = 100

/**
 * Returns the states, the oldest first. Gaps are times without information.
 * @param {Node} node
 * @param {string} router by its name there
 * @param {number} now
 * @returns {readonly Span[]}
 */
export function spansOf(node, router, now) {
  const changes = changesOf(node, router)
  /** @type {Span[]} */
  const spans = []
  for (const [i, { at, reason, state }] of changes.entries()) {
    const to = changes[i + 1]?.at ?? now
    const last = spans.at(-1)
    if (last !== undefined && last.state === state && last.to === at) spans[spans.length - 1] = { ...last, to }
    else if (to > at) spans.push({ from: at, to, state, reason })
  }
  return node.problem === null ? spans : [...cutAt(spans, node.answeredAt ?? now), unheard(node, now)]
}

/** @typedef {{ readonly at: number, readonly state: string, readonly reason: string }} Change */

/**
 * @param {Node} node
 * @param {string} router
 * @returns {readonly Change[]}
 */
function changesOf(node, router) {
  const told = node.events.flatMap((event) => changeIn(event, router))
  const begin = told.length === 0 ? Number.POSITIVE_INFINITY : (told[0]?.at ?? 0)
  // The journal is exact, and states that the page has seen only fill its gaps. At the same moment the journal counts,
  // because a status may have a new state but not yet its time.
  const seen = (node.seen.get(router) ?? []).filter(
    ({ at }) => at < begin - SAME_MOMENT || !told.some((each) => near(each.at, at)),
  )
  return [...told, ...seen]
    .map(({ at, reason, state }) => ({ at: at - node.offsetMs, state, reason }))
    .toSorted((one, other) => one.at - other.at)
}

/** @param {number} one @param {number} other */
const near = (one, other) => Math.abs(one - other) < SAME_MOMENT

/**
 * @param {JournalEvent} event
 * @param {string} router
 * @returns {readonly Change[]}
 */
function changeIn(event, router) {
  const at = Date.parse(event.at)
  switch (event.kind) {
    case 'transition':
      return event.router === router ? [{ at, state: event.to, reason: event.reason }] : []
    case 'started':
      return [{ at, state: 'Initialize', reason: 'startup' }]
    case 'stopped':
      return [{ at, state: 'away', reason: 'stopped' }]
    case 'crashed':
      return [{ at, state: 'away', reason: 'crashed' }]
    case 'earlierLife':
      // The event is the last one of that run. The time at which the run ended is unknown.
      return event.ended === 'abruptly'
        ? [{ at: Date.parse(event.lastAt), state: 'away', reason: 'ended abruptly' }]
        : []
    default:
      return []
  }
}

/** @param {readonly Span[]} spans @param {number} end */
const cutAt = (spans, end) =>
  spans.filter(({ from }) => from < end).map((each) => ({ ...each, to: Math.min(each.to, end) }))

/** @param {Node} node @param {number} now @returns {Span} */
const unheard = (node, now) => ({ from: node.answeredAt ?? now, to: now, state: 'unheard', reason: node.problem ?? '' })

/**
 * Returns the part of the spans in a window, as shares of the window.
 * @param {readonly Span[]} spans
 * @param {{ readonly from: number, readonly to: number }} window
 */
export function inWindow(spans, { from, to }) {
  const share = (/** @type {number} */ at) => (Math.min(Math.max(at, from), to) - from) / (to - from)
  return spans
    .filter((each) => each.to > from && each.from < to)
    .map((each) => ({ ...each, start: share(each.from), width: share(each.to) - share(each.from) }))
}

const MINUTE = 60_000
/** Windows that a person can choose, by name. @type {Readonly<Record<string, number>>} */
export const WINDOWS = {
  '1 min': MINUTE,
  '5 min': 5 * MINUTE,
  '1 h': 60 * MINUTE,
  '12 h': 720 * MINUTE,
  '7 days': 10_080 * MINUTE,
}
/** Number of state changes that the automatic time window shows. */
const TELLING = 4

/**
 * Returns the chosen window, or the shortest one that shows the last changes.
 * @param {string} chosen `auto` or a name of a window
 * @param {readonly (readonly Span[])[]} lanes
 * @param {number} now
 */
export function windowOf(chosen, lanes, now) {
  const all = Object.entries(WINDOWS)
  const last = lanes.flatMap((spans) => spans.map(({ from }) => from)).toSorted((one, other) => other - one)
  const reach = now - (last[Math.min(TELLING, last.length) - 1] ?? now)
  const fitting = all.find(([, length]) => length > reach * 1.05) ?? all.at(-1)
  const [name, length] = all.find(([each]) => each === chosen) ?? fitting ?? ['1 min', MINUTE]
  return { name, from: now - length, to: now }
}
