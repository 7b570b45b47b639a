/**
 * The health of one check, computed from its runs: rise and fall, the first result, and the time after which the result
 * is unknown (VR-TRK-04, VR-TRK-05). All rules for the result of a check are in health.ts. This file does not know what
 * is probed, or how a result counts for a router. The time is an argument.
 */
import { type Millis, plus } from '../wire/units.ts'
import type { HealthRule } from './check.ts'

/** Outcome of one run of a check. `unknown`: the probe could not run, which shows nothing about the target. */
export type Outcome = 'ok' | 'fail' | 'unknown'
export type CheckResult = 'undecided' | 'up' | 'down' | 'unknown'
/** How a check counts for its routers. `nothing`: the check adds no weight and causes no fault. */
export type CountsAs = 'up' | 'down' | 'nothing'

export type Health =
  /** The check has had no result yet. At `staleAt` it becomes unknown. */
  | { readonly result: 'undecided'; readonly since: Millis; readonly staleAt: Millis }
  | {
      readonly result: 'up' | 'down'
      readonly since: Millis
      /** Number of runs in a row whose outcome contradicts the current result of the check. */
      readonly against: number
      readonly staleAt: Millis
    }
  | { readonly result: 'unknown'; readonly since: Millis; readonly countsAs: CountsAs }

export type HealthChange = {
  readonly from: CheckResult
  readonly to: CheckResult
  readonly countsAs: CountsAs
  readonly at: Millis
}

export type HealthStep = readonly [health: Health, change: HealthChange | undefined]

export function startHealth(rule: HealthRule, now: Millis): Health {
  return rule.initial === 'firstResult'
    ? { result: 'undecided', since: now, staleAt: plus(now, rule.unknownAfter) }
    : decided(rule.initial, 0, rule, now, now)
}

/** Returns the health of a check that starts again (new worker, reload) with its last result. */
export function resumeHealth(result: 'up' | 'down', since: Millis, rule: HealthRule, now: Millis): Health {
  return decided(result, 0, rule, since, now)
}

/**
 * Returns the health after one run of the check. If the current result is in `doubted`, one run with the opposite
 * outcome replaces that result, regardless of `rise` and `fall`. By this rule a Backup can repeat its checks once
 * before it takes over (docs/architecture.md, Protocol decisions).
 */
export function stepHealth(
  health: Health,
  outcome: Outcome,
  rule: HealthRule,
  now: Millis,
  doubted: readonly CountsAs[] = [],
): HealthStep {
  if (outcome === 'unknown') {
    // A run without a usable outcome changes nothing while an earlier result of the check is valid. A router that waits
    // for the first result, however, must not wait forever.
    return health.result === 'undecided' ? becomeUnknown(health, rule, now) : [health, undefined]
  }
  const says = outcome === 'ok' ? 'up' : 'down'
  const countsAs = countedAs(health)
  if (countsAs === 'nothing') return changed(health, decided(says, 0, rule, now, now))
  // The check has usable results again after it was unknown. `rise` and `fall` count from the way in which the check
  // counted while it was unknown.
  const since = health.result === countsAs ? health.since : now
  const before = health.result === 'up' || health.result === 'down' ? health.against : 0
  const against = says === countsAs ? 0 : before + 1
  const needed = countsAs === 'up' ? rule.fall : rule.rise
  const flips = against >= needed || (against > 0 && doubted.includes(countsAs))
  return changed(health, flips ? decided(says, 0, rule, now, now) : decided(countsAs, against, rule, since, now))
}

/** Returns the health of a check at `now`: unknown if the check has had no usable result for too long. */
export function expireHealth(health: Health, rule: HealthRule, now: Millis): HealthStep {
  if (health.result === 'unknown' || now < health.staleAt) return [health, undefined]
  return becomeUnknown(health, rule, now)
}

/** Returns the time at which expireHealth makes the health of a check unknown. `undefined`: never. */
export function healthDeadline(health: Health): Millis | undefined {
  return health.result === 'unknown' ? undefined : health.staleAt
}

/**
 * Tells whether the last runs contradict the current result, but are too few to replace it. The next run of the check
 * then comes soon.
 */
export function isChanging(health: Health): boolean {
  return (health.result === 'up' || health.result === 'down') && health.against > 0
}

export function countedAs(health: Health): CountsAs {
  if (health.result === 'unknown') return health.countsAs
  return health.result === 'undecided' ? 'nothing' : health.result
}

function decided(result: 'up' | 'down', against: number, rule: HealthRule, since: Millis, now: Millis): Health {
  return { result, since, against, staleAt: plus(now, rule.unknownAfter) }
}

function becomeUnknown(health: Health, { onUnknown }: HealthRule, now: Millis): HealthStep {
  const countsAs = onUnknown === 'fail' ? 'down' : countedAs(health)
  return changed(health, { result: 'unknown', since: now, countsAs })
}

function changed(from: Health, to: Health): HealthStep {
  if (from.result === to.result) return [to, undefined]
  return [to, { from: from.result, to: to.result, countsAs: countedAs(to), at: to.since }]
}
