/**
 * Keeps the one clock of a simulation, and its planned events. Events run in order of time. Events at the same time run
 * in the order in which they were planned. Because of this order, a simulation depends neither on chance nor on the
 * machine.
 */

export type Cancel = () => void
type Planned = { readonly at: number; readonly order: number; readonly act: () => void; cancelled: boolean }

const before = (one: Planned, other: Planned): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order)

export class VirtualTime {
  /**
   * Milliseconds since the start of the simulation. The value is rounded to microseconds, because sums of fractions
   * must not drift apart.
   */
  now = 0
  /** Number of events that have run in the simulation. */
  steps = 0
  #order = 0
  /** Planned events, as a binary heap ordered by time. */
  readonly #planned: Planned[] = []

  /** Plans an event for the time `at`; for now if `at` has passed. Returns the function that cancels the event. */
  at(at: number, act: () => void): Cancel {
    const planned: Planned = {
      at: Math.max(this.now, wholeMicroseconds(at)),
      order: this.#order++,
      act,
      cancelled: false,
    }
    this.#push(planned)
    return () => {
      planned.cancelled = true
    }
  }

  after(wait: number, act: () => void): Cancel {
    return this.at(this.now + wait, act)
  }

  run(until: number): void {
    for (let next = this.#planned[0]; next !== undefined && next.at <= until; next = this.#planned[0]) {
      this.#pop()
      if (next.cancelled) continue
      this.now = next.at
      this.steps++
      next.act()
    }
    this.now = Math.max(this.now, until)
  }

  #push(planned: Planned): void {
    const heap = this.#planned
    let i = heap.push(planned) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      const above = heap[parent]
      if (above === undefined || !before(planned, above)) break
      heap[i] = above
      i = parent
    }
    heap[i] = planned
  }

  #pop(): void {
    const heap = this.#planned
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let i = 0
    for (;;) {
      const left = 2 * i + 1
      let child = heap[left]
      if (child === undefined) break
      let at = left
      const right = heap[left + 1]
      if (right !== undefined && before(right, child)) {
        child = right
        at = left + 1
      }
      if (!before(child, last)) break
      heap[i] = child
      i = at
    }
    heap[i] = last
  }
}

const wholeMicroseconds = (at: number): number => Math.round(at * 1_000) / 1_000
