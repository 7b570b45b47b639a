/**
 * Events that are to be told to the API. Decided here: how often, how many may wait, and how long; the oldest goes first,
 * and what is dropped is counted. An API that was gone for an hour wants to know who holds the address, which the status
 * says, not each time that it moved. Times are CLOCK_MONOTONIC in milliseconds.
 */

export type Waiting<E> = { readonly name: string; readonly event: E; readonly since: number }

export type EventQueue<E> = {
  readonly waiting: readonly Waiting<E>[]
  /** Of the last ones, so that the same one is not taken twice. */
  readonly names: readonly string[]
  /** How many may be told at once. */
  readonly credit: number
  readonly creditAt: number
  readonly told: number
  readonly dropped: number
}

export const MOST_WAITING = 32
export const OLDEST = 600_000
const BURST = 5
/** For one more. */
const EVERY = 10_000
const REMEMBERED = 256

export const emptyQueue = (now: number): EventQueue<never> => ({
  ...{ waiting: [], names: [], credit: BURST, creditAt: now, told: 0, dropped: 0 },
})

export function offer<E>(queue: EventQueue<E>, name: string, event: E, now: number): EventQueue<E> {
  if (queue.names.includes(name)) return queue
  const waiting = [...queue.waiting, { name, event, since: now }]
  const names = [...queue.names, name].slice(-REMEMBERED)
  const over = Math.max(0, waiting.length - MOST_WAITING)
  return { ...queue, names, waiting: waiting.slice(over), dropped: queue.dropped + over }
}

/** Without those that are too old, and with the credit of the time that has gone by. */
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

/** Undefined: nothing may be told now. Ask of what has been `aged`. */
export const nextOf = <E>({ credit, waiting }: EventQueue<E>): Waiting<E> | undefined =>
  credit > 0 ? waiting[0] : undefined

/** It is there, or the API does not want it. */
export const settled = <E>(queue: EventQueue<E>, name: string, ended: 'told' | 'dropped'): EventQueue<E> => ({
  ...queue,
  waiting: queue.waiting.filter((one) => one.name !== name),
  credit: queue.credit - 1,
  [ended]: queue[ended] + 1,
})
