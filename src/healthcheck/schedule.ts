/**
 * Times of a check's runs. Decided here: the grid of slots, their random delay, and how soon an event triggers a run.
 * If a run is still in progress at its next slot, that slot is skipped (VR-TRK-07). This file knows no timers, random
 * sources and results; a random number from 0 to 1 is an argument.
 */
import { type Millis, millis, plus } from '../wire/units.ts'
import type { Cadence } from './check.ts'

export type Schedule = {
  /**
   * Planned time of the current run, without random delay. The later planned times count from this one, so a late timer
   * does not move them.
   */
  readonly slot: Millis
  /** Time of the next run. Not used during a run. */
  readonly dueAt: Millis
  readonly running: boolean
  /** Time of the last run that an event triggered. */
  readonly promptedAt: Millis | undefined
  /**
   * Whether an event came during a run of the check. The result of that run may be older than the event, so one more
   * run follows.
   */
  readonly again: boolean
  /** Number of further runs at fastInterval after an event, whatever the first one finds. */
  readonly looks: number
  /** Number of slots that passed during a run. */
  readonly skipped: number
}

/**
 * Number of runs of a check after an event. A dying process ends its connections one after the other, and the kernel
 * may still accept connections on its socket. An early run would therefore find the service up.
 */
const LOOKS = 3

/**
 * Returns the schedule at the start of a check. The first run is due immediately, because a router may wait for its
 * result (VR-TRK-05).
 */
export function startSchedule(now: Millis): Schedule {
  return { slot: now, dueAt: now, running: false, promptedAt: undefined, again: false, looks: 0, skipped: 0 }
}

export function isDue({ running, dueAt }: Schedule, now: Millis): boolean {
  return !running && now >= dueAt
}

export function beginRun(schedule: Schedule): Schedule {
  return { ...schedule, running: true }
}

/**
 * Returns the schedule after a run of the check. `changing`: the result needs further equal results before it counts.
 */
export function endRun(
  schedule: Schedule,
  { interval, fastInterval, jitter }: Cadence,
  changing: boolean,
  now: Millis,
  random: number,
): Schedule {
  const ended = { ...schedule, running: false, again: false, looks: Math.max(0, schedule.looks - 1) }
  // The pending request is served. An endless source of events must not make runs due forever.
  if (schedule.again) return promptRun({ ...ended, dueAt: millis(Number.POSITIVE_INFINITY) }, fastInterval, now)
  const period = changing || ended.looks > 0 ? fastInterval : interval
  // The next planned time in the future. Planned times in the past are skipped.
  const steps = Math.max(1, Math.floor((now - schedule.slot) / period) + 1)
  const slot = plus(schedule.slot, steps * period)
  return { ...ended, slot, dueAt: plus(slot, jitter * period * random), skipped: schedule.skipped + steps - 1 }
}

/**
 * Returns the schedule after an event: a run now, and further ones. An endless source gets one run per fastInterval.
 * The first run is not delayed by a regular run shortly before.
 */
export function promptRun(schedule: Schedule, fastInterval: Millis, now: Millis): Schedule {
  if (schedule.running) return { ...schedule, again: true }
  const { promptedAt } = schedule
  const at = promptedAt !== undefined && now < promptedAt + fastInterval ? plus(promptedAt, fastInterval) : now
  // A run that is due earlier will notice the change.
  if (schedule.dueAt <= at) return { ...schedule, looks: LOOKS }
  return { ...schedule, slot: at, dueAt: at, promptedAt: at, looks: LOOKS }
}
