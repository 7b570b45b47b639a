/**
 * When a check runs next. Decided here: the grid of slots, how far a slot is put off, that a run still under way at
 * its slot costs the slot and not a second run beside it (VR-TRK-07), and how soon an event is looked into. Refuses to
 * know timers, random sources (a number from 0 to 1 is handed in) and what a result was.
 */
import { type Millis, millis, plus } from '../wire/units.ts'
import type { Cadence } from './check.ts'

export type Schedule = {
  /** On the grid, without jitter: a late timer does not move the slots after it. */
  readonly slot: Millis
  /** The next run is due. Means nothing while one is under way. */
  readonly dueAt: Millis
  readonly running: boolean
  /** The last look that an event got. */
  readonly promptedAt: Millis | undefined
  /** An event came while a run was under way: what it will say may be older than the event. */
  readonly again: boolean
  /** Further looks that an event gets at fastInterval, whatever the first one finds. */
  readonly looks: number
  /** Slots that passed while a run was under way. */
  readonly skipped: number
}

/**
 * A process that dies ends its connections one after the other, and the kernel may still complete a handshake for the
 * socket that it listens on: a look that comes that early finds it well.
 */
const LOOKS = 3

/** The first run is due at once: a router may be waiting for it (VR-TRK-05). */
export function startSchedule(now: Millis): Schedule {
  return { slot: now, dueAt: now, running: false, promptedAt: undefined, again: false, looks: 0, skipped: 0 }
}

export function isDue({ running, dueAt }: Schedule, now: Millis): boolean {
  return !running && now >= dueAt
}

export function beginRun(schedule: Schedule): Schedule {
  return { ...schedule, running: true }
}

/** `changing`: the result needs others like it before it counts. */
export function endRun(
  schedule: Schedule,
  { interval, fastInterval, jitter }: Cadence,
  changing: boolean,
  now: Millis,
  random: number,
): Schedule {
  const ended = { ...schedule, running: false, again: false, looks: Math.max(0, schedule.looks - 1) }
  // What it was due at has been served: a source that does not stop must not make it due for ever.
  if (schedule.again) return promptRun({ ...ended, dueAt: millis(Number.POSITIVE_INFINITY) }, fastInterval, now)
  const period = changing || ended.looks > 0 ? fastInterval : interval
  // The next slot that is still to come; those up to now were skipped.
  const steps = Math.max(1, Math.floor((now - schedule.slot) / period) + 1)
  const slot = plus(schedule.slot, steps * period)
  return { ...ended, slot, dueAt: plus(slot, jitter * period * random), skipped: schedule.skipped + steps - 1 }
}

/**
 * Something happened: look at once, and again. A source that does not stop gets one look per fastInterval; the first of them is
 * not put off by a poll that happened to run just before.
 */
export function promptRun(schedule: Schedule, fastInterval: Millis, now: Millis): Schedule {
  if (schedule.running) return { ...schedule, again: true }
  const { promptedAt } = schedule
  const at = promptedAt !== undefined && now < promptedAt + fastInterval ? plus(promptedAt, fastInterval) : now
  // A run that is due earlier anyway will see what happened.
  if (schedule.dueAt <= at) return { ...schedule, looks: LOOKS }
  return { ...schedule, slot: at, dueAt: at, promptedAt: at, looks: LOOKS }
}
