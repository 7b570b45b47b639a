/**
 * Queue of events for the API. This file decides how often an event is sent, how many events may wait, and for how
 * long. The oldest event is sent first, and dropped events are counted. After the API was unreachable for an hour, the
 * status names the holder, so old events are not needed. Times are CLOCK_MONOTONIC in milliseconds.
 */

export type Waiting<E> = { readonly name: string; readonly event: E; readonly since: number }

export type EventQueue<E> = {
  readonly waiting: readonly Waiting<E>[]
  /** Names of the last events that were queued, so that no event is queued twice. */
  readonly names: readonly string[]
  /** Number of Kubernetes events that may be sent without waiting (rate limit). */
  readonly credit: number
  readonly creditAt: number
  readonly told: number
  readonly dropped: number
}

export const MOST_WAITING = 32
export const OLDEST = 600_000
const BURST = 5
/** Milliseconds until one more event may be sent. */
const EVERY = 10_000
const REMEMBERED = 256

export const emptyQueue = (now: number): EventQueue<never> => ({
  ...{ waiting: [], names: [], credit: BURST, creditAt: now, told: 0, dropped: 0 },
})

/** Adds an event to the queue, unless an event with the same name is or was in the queue. */
export function offer<E>(queue: EventQueue<E>, name: string, event: E, now: number): EventQueue<E> {
  if (queue.names.includes(name)) return queue
  const waiting = [...queue.waiting, { name, event, since: now }]
  const names = [...queue.names, name].slice(-REMEMBERED)
  const over = Math.max(0, waiting.length - MOST_WAITING)
  return { ...queue, names, waiting: waiting.slice(over), dropped: queue.dropped + over }
}

/** Returns the queue without events that are too old, and with the credit that has accumulated. */
export function aged<E>(queue: EventQueue<E>, now: number): EventQueue<E> {
  const waiting = queue.waiting.filter(({ since }) => now - since <= OLDEST)
  const earned = Math.floor((now - queue.creditAt) / EVERY)
  return {
    ...queue,
    waiting,
    dropped: queue.dropped + queue.waiting.length - waiting.length,
    credit: Math.min(BURST, queue.credit + earned),
    creditAt: queue.creditAt + earned * EVERY,
  }
}

/** Returns the next event to send; `undefined` if no event may be sent now. The queue must come from `aged`. */
export const nextOf = <E>({ credit, waiting }: EventQueue<E>): Waiting<E> | undefined =>
  credit > 0 ? waiting[0] : undefined

/** Removes an event that the API has accepted or refused. */
export const settled = <E>(queue: EventQueue<E>, name: string, ended: 'told' | 'dropped'): EventQueue<E> => ({
  ...queue,
  waiting: queue.waiting.filter((one) => one.name !== name),
  credit: queue.credit - 1,
  [ended]: queue[ended] + 1,
})
