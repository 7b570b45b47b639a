/**
 * The last report of one health check, as the engine keeps it, and the time until which the report is valid. Checks run
 * in another thread that may die or hang. Only held-health.ts notices that this thread sends no reports. Time is an
 * argument. `held-health.ts` knows no threads, weights and routers.
 */
import { type Millis, plus } from '../wire/units.ts'
import type { HealthRule } from './check.ts'
import type { CheckReport } from './check-report.ts'
import type { CheckResult, CountsAs } from './health.ts'

export type HeldHealth = {
  readonly report: CheckReport | undefined
  /** Time of the last report about this check; before the first report, the time at which the check was set up. */
  readonly heardAt: Millis
}

export function startHeld(now: Millis): HeldHealth {
  return { report: undefined, heardAt: now }
}

/**
 * Records a report about a check. A restarted worker without a result yet neither clears the last result nor extends
 * its validity. With an extension, workers that die one after the other would keep an old result valid forever. The
 * first result of the new worker counts.
 */
export function hearReport(held: HeldHealth, report: CheckReport, now: Millis): HeldHealth {
  const saysNothing = report.result === 'undecided' || report.runs === 0
  if (saysNothing && held.report !== undefined) return held
  return { report, heardAt: now }
}

/**
 * Returns the result of a check and how the check counts now. The reported result counts until no report has arrived
 * for longer than a result is valid.
 */
export function heldAt(held: HeldHealth, rule: HealthRule, now: Millis): { result: CheckResult; countsAs: CountsAs } {
  const { report } = held
  if (now < doubtAt(held, rule)) {
    return { result: report?.result ?? 'undecided', countsAs: report?.countsAs ?? 'nothing' }
  }
  return { result: 'unknown', countsAs: rule.onUnknown === 'fail' ? 'down' : (report?.countsAs ?? 'nothing') }
}

/** Returns the time at which the return value of heldAt changes if no report arrives. */
export function doubtAt({ heardAt }: HeldHealth, { unknownAfter }: HealthRule): Millis {
  return plus(heardAt, unknownAfter)
}
