/**
 * Computes the times at which a check runs. This file decides the grid of planned times, their random delay, and how
 * soon an event triggers a run. If a check still runs at its next planned time, that time is skipped (VR-TRK-07).
 * `schedule.ts` knows no timers, random sources and results; a random number from 0 to 1 is an argument.
 */
import { type Millis, millis, plus } from '../wire/units.ts'
import type { Cadence } from './check.ts'

export type Schedule = {
  /**
   * Planned time of the current run of the check, without random delay. Later planned times count from this time, so a
   * late timer does not move them.
   */
  readonly slot: Millis
  /** Time of the next run of the check. Not used during a run. */
  readonly dueAt: Millis
  readonly running: boolean
  /** Time of the last run of the check that an event triggered. */
  readonly promptedAt: Millis | undefined
  /**
   * Whether an event came during a run of the check. The result of that run may be older than the event, so one more
   * run follows.
   */
  readonly again: boolean
  /** Number of further runs of the check at fastInterval after an event, whatever the first run finds. */
  readonly looks: number
  /** Number of planned run times that passed while the check still ran. */
  readonly skipped: number
}

/**
 * Number of runs of a check after an event. A dying process ends its connections one after the other, and the kernel
 * may still accept connections on its socket. An early run would therefore find the service up.
 */
const LOOKS = 3

/**
 * Returns the schedule at the start of a check. The first run of a check is due immediately, because a router may wait
 * for the result (VR-TRK-05).
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
 * Returns the schedule after a run of the check. `changing`: the current result is contradicted, but `rise` or `fall`
 * is not reached yet.
 */
export function endRun(
  schedule: Schedule,
  { interval, fastInterval, jitter }: Cadence,
  changing: boolean,
  now: Millis,
  random: number,
): Schedule {
  const ended = { ...schedule, running: false, again: false, looks: Math.max(0, schedule.looks - 1) }
  // The check ran once for the event that asked for a run. An endless source of events must not make the check run
  // without a pause.
  if (schedule.again) return promptRun({ ...ended, dueAt: millis(Number.POSITIVE_INFINITY) }, fastInterval, now)
  const period = changing || ended.looks > 0 ? fastInterval : interval
  // The next planned time in the future. Planned times in the past are skipped.
  const steps = Math.max(1, Math.floor((now - schedule.slot) / period) + 1)
  const slot = plus(schedule.slot, steps * period)
  return { ...ended, slot, dueAt: plus(slot, jitter * period * random), skipped: schedule.skipped + steps - 1 }
}

/**
 * Returns the schedule after an event: a run now, and a few runs after it. An endless source of events causes one run
 * per fastInterval. A regular run shortly before does not delay the first run.
 */
export function promptRun(schedule: Schedule, fastInterval: Millis, now: Millis): Schedule {
  if (schedule.running) return { ...schedule, again: true }
  const { promptedAt } = schedule
  const at = promptedAt !== undefined && now < promptedAt + fastInterval ? plus(promptedAt, fastInterval) : now
  // A run of the check is due earlier, and will notice the change.
  if (schedule.dueAt <= at) return { ...schedule, looks: LOOKS }
  return { ...schedule, slot: at, dueAt: at, promptedAt: at, looks: LOOKS }
}
