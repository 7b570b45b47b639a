/**
 * Reports changes of the effective priority of one router: a log line and an event for each. The lines for an unstable
 * check are limited, and the last line always shows the present priority. This file knows nothing about why a priority
 * changes.
 */
import { defined } from '../../base/defined.ts'
import type { EventOf } from '../../events/event.ts'
import { LOG } from '../../log/log.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import type { State } from '../../vrrp/state.ts'
import type { Millis } from '../../wire/units.ts'
import type { Recorder } from './recorder.ts'
import { RATES, TokenBucket } from './token-bucket.ts'

type Why = EventOf<'priorityChanged'>['why']

/** The router whose priority changes are reported. */
type Prioritized = {
  readonly name: string
  readonly title: string
  readonly parameters: Parameters
  readonly state: State
  /** Interface on which the router runs; `undefined` if the router has no interface. */
  readonly io: object | undefined
}

export class PriorityNews {
  readonly #recorder: Recorder
  readonly #bucket = new TokenBucket(RATES.priority)
  /** Priority in the last log line about this router's priority; `undefined` if that is the present priority. */
  #loggedLast: number | undefined

  constructor(recorder: Recorder) {
    this.#recorder = recorder
  }

  /** Reports a change of the effective priority. `before` is the former priority. */
  changed(router: Prioritized, before: number, why: 'tracking' | 'yieldOver', now: Millis): void {
    const { name, parameters, title } = router
    const { priority } = parameters
    const previous = this.#loggedLast ?? before
    if (!this.#bucket.has(now)) {
      this.#loggedLast = previous
      return
    }
    this.#loggedLast = undefined
    if (previous === priority) return
    this.#bucket.spend(now)
    const what = why === 'yieldOver' ? 'priority after yielding' : 'priority'
    this.#recorder.log(LOG.priorityChanged, `${title}: effective ${what} ${previous} → ${priority}`, {
      router: name,
      previous,
      priority,
    })
    this.record(router, why, previous, priority)
  }

  /** Logs the present priority if the last log line shows another one and the limit allows a line. */
  catchUp(router: Prioritized, now: Millis): void {
    if (this.#loggedLast !== undefined && this.#bucket.has(now)) this.changed(router, this.#loggedLast, 'tracking', now)
  }

  /** Records the event about a changed priority without a log line. */
  record({ io, name, parameters, state }: Prioritized, why: Why, from: number, to: number): void {
    this.#recorder.chronicle.record({
      ...{ kind: 'priorityChanged', router: name, from, to, why },
      ...defined({ self: io && parameters.primaryAddress }),
      active: state.name === 'Active',
    })
  }
}
