/**
 * The engine's memory of one check: what it was told last, and until when that stands. Results live in another thread
 * that may die or hang; its silence is noticed here and nowhere else. Rule: this file is told the time and knows no
 * threads, no weights and no routers.
 */
import { type Millis, plus } from '../wire/units.ts'
import type { HealthRule } from './check.ts'
import type { CheckReport } from './check-report.ts'
import type { Standing, Verdict } from './health.ts'

export type HeldHealth = {
  readonly report: CheckReport | undefined
  /** The last word of the thread about this check, or the moment it was set up. */
  readonly heardAt: Millis
}

export function startHeld(now: Millis): HeldHealth {
  return { report: undefined, heardAt: now }
}

/**
 * A change or a beat. A thread that began anew and has asked nothing yet does not take back what stands, nor does it buy
 * time for what it repeats: threads that die one after the other would keep it standing for ever. Its first result will.
 */
export function hearReport(held: HeldHealth, report: CheckReport, now: Millis): HeldHealth {
  const saysNothing = report.verdict === 'undecided' || report.runs === 0
  if (saysNothing && held.report !== undefined) return held
  return { report, heardAt: now }
}

/** What the check is and counts as now: as reported, until nothing was heard for longer than a result may stand. */
export function heldAt(held: HeldHealth, rule: HealthRule, now: Millis): { verdict: Verdict; standing: Standing } {
  const { report } = held
  if (now < doubtAt(held, rule)) {
    return { verdict: report?.verdict ?? 'undecided', standing: report?.standing ?? 'nothing' }
  }
  return { verdict: 'unknown', standing: rule.onUnknown === 'fail' ? 'down' : (report?.standing ?? 'nothing') }
}

/** When heldAt changes by itself: the alarm of whoever holds it. */
export function doubtAt({ heardAt }: HeldHealth, { unknownAfter }: HealthRule): Millis {
  return plus(heardAt, unknownAfter)
}
