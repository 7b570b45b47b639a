/**
 * Plays a vector's events on src/vrrp by the vector's own clock (whole microseconds). The replay returns the effects in
 * the vector's terms. Deadlines fire where the vectors put them: truncated to a microsecond, after an event of the same
 * moment. This file knows no expectation.
 */
import type { Effect } from '../../src/vrrp/effect.ts'
import type { Event } from '../../src/vrrp/event.ts'
import { extendedStep as step } from '../../src/vrrp/extensions/index.ts'
import type { Parameters } from '../../src/vrrp/parameters.ts'
import { INITIAL_STATE, nextDeadline, type State } from '../../src/vrrp/state.ts'
import { type Address, addressBytes, addressFromBytes } from '../../src/wire/address.ts'
import { type Millis, millis } from '../../src/wire/units.ts'

/** An effect with its time in whole microseconds and the state before it. */
export type Happened = { readonly at: number; readonly effect: Effect; readonly before: State; readonly after: State }

export const truncated = (at: Millis): number => Math.floor(at * 1000)

export class Replay {
  state: State = INITIAL_STATE
  parameters: Parameters

  constructor(parameters: Parameters) {
    this.parameters = parameters
  }

  post(event: Event, at: number, now: Millis = millis(at / 1000)): Happened[] {
    const before = this.state
    const [after, effects] = step(before, event, this.parameters, now)
    this.state = after
    return effects.map((effect) => ({ at, effect, before, after }))
  }

  setPriority(priority: number, at: number): Happened[] {
    const previous = this.parameters.priority
    this.parameters = { ...this.parameters, priority }
    return this.post({ kind: 'priorityChanged', previous }, at)
  }

  /** Handles every deadline up to `until`, each at its own time; `inclusive` for a tick, not for an event. */
  expire(until: number, inclusive: boolean): Happened[] {
    const happened: Happened[] = []
    for (let fired = 0; ; fired++) {
      const due = nextDeadline(this.state)
      if (due === undefined) return happened
      const at = truncated(due)
      if (inclusive ? at > until : at >= until) return happened
      if (fired > 100_000)
        throw new Error(`Cannot reach ${until} us: ${fired} deadlines fired, the next is at ${at} us`)
      happened.push(...this.post({ kind: 'deadlineReached', receptionLost: false }, at, due))
    }
  }
}

/**
 * Returns the groups of RFC 4291 §2.7.1: ff02::1:ff and the low 24 bits. Written here again so that the vectors judge
 * arp/ independently.
 */
export function solicitedNodeGroups(addresses: readonly Address[]): Address[] {
  const groups = addresses.map((address) => {
    const low = addressBytes(address).subarray(13)
    return addressFromBytes(Uint8Array.of(0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, ...low))
  })
  return [...new Set(groups)]
}
