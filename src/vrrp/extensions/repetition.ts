/**
 * Repetition: decides whether a Backup may be left alone while its Active repeats one advertisement (docs/adr/0087). A
 * Backup may be left alone if the advertisement only moves Active_Down_Timer. The decision is made by the state machine
 * itself: the last advertisement is stepped once more at its own time, and must change nothing. This file does not wrap
 * `step`, and does not know how repetitions are recognized.
 */
import { type Millis, millis, plus } from '../../wire/units.ts'
import type { Event } from '../event.ts'
import type { Parameters } from '../parameters.ts'
import type { Backup, HeardActive, State } from '../state.ts'
import { extendedStep } from './index.ts'
import { activeDownDelay } from './stagger.ts'

/** The fields of an advertisement that say the same in each repetition. */
export type Repeated = Pick<Extract<Event, { kind: 'advertisementReceived' }>, 'advertisement' | 'source'>

/** How repetitions move the timer of a Backup. Times are monotonic milliseconds. */
export type Repetition = {
  /** Time after which a repetition may do more than move the timer. */
  readonly until: Millis
  /** Time from an advertisement to the takeover: Active_Down_Interval and the stagger. */
  readonly delay: Millis
}

/**
 * Tells whether repetitions of an advertisement only move the timer of this router; `undefined` if they do more. In a
 * sync group the answer holds while every member is Backup.
 */
export function repetitionOf(state: State, repeated: Repeated, parameters: Parameters): Repetition | undefined {
  // A repeated priority 0 changes nothing either, but it does not restart the timer.
  if (repeated.advertisement.priority === 0) return undefined
  if (state.name !== 'Backup' || state.active?.source !== repeated.source) return undefined
  const { heardAt, source } = state.active
  const again = { kind: 'advertisementReceived', ...repeated, receivedAt: heardAt } as const
  const [next, effects] = extendedStep(state, again, parameters, heardAt)
  if (effects.length > 0 || next.name !== 'Backup' || !isSameState(state, next)) return undefined
  // The first advertisement after the delay is refused, line (470).
  const until = state.preemptAt ?? millis(Number.POSITIVE_INFINITY)
  return { until, delay: millis(activeDownDelay(parameters, state.activeAdverInterval, source)) }
}

/** Returns the Backup after its Active has repeated its advertisement until `heardAt`. */
export function repeatedTo(state: Backup, heardAt: Millis, delay: Millis): Backup {
  return state.active === undefined
    ? state
    : { ...state, active: { ...state.active, heardAt }, activeDownAt: plus(heardAt, delay) }
}

function isSameState(one: Backup, other: Backup): boolean {
  const { active, ...rest } = one
  const { active: otherActive, ...otherRest } = other
  return isSame(rest, otherRest) && isSameActive(active, otherActive)
}

const isSameActive = (one: HeardActive | undefined, other: HeardActive | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && isSame(one, other))

/** Compares the fields of two values. A field that is absent equals one that is `undefined`. */
function isSame(one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): boolean {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].every((key) => one[key] === other[key])
}
