/**
 * What the results of one check come to: rise and fall, the first result, and the time after which nothing is known
 * any more (VR-TRK-04, VR-TRK-05). Rule 1: everything that decides a verdict is in this file. Rule 2: it does not know
 * what was asked, what a verdict is worth, or what the time is; it is told.
 */
import { type Millis, plus } from '../wire/units.ts'
import type { HealthRule } from './check.ts'

/** What one run says; `unknown`: it could not ask, which says nothing about the target. */
export type Outcome = 'ok' | 'fail' | 'unknown'
export type Verdict = 'undecided' | 'up' | 'down' | 'unknown'
/** What a verdict counts as. `nothing`: it adds no weight and is no fault. */
export type Standing = 'up' | 'down' | 'nothing'

export type Health =
  /** Nothing has come back yet. */
  | { readonly verdict: 'undecided'; readonly since: Millis; readonly staleAt: Millis }
  | {
      readonly verdict: 'up' | 'down'
      readonly since: Millis
      /** Results in a row that speak against the verdict. */
      readonly against: number
      readonly staleAt: Millis
    }
  | { readonly verdict: 'unknown'; readonly since: Millis; readonly standing: Standing }

export type HealthChange = {
  readonly from: Verdict
  readonly to: Verdict
  readonly standing: Standing
  readonly at: Millis
}

export type HealthStep = readonly [health: Health, change: HealthChange | undefined]

export function startHealth(rule: HealthRule, now: Millis): Health {
  return rule.initial === 'firstResult'
    ? { verdict: 'undecided', since: now, staleAt: plus(now, rule.unknownAfter) }
    : decided(rule.initial, 0, rule, now, now)
}

/** What is already known when checks start again, so that rise and fall go on counting from there. */
export function resumeHealth(verdict: 'up' | 'down', since: Millis, rule: HealthRule, now: Millis): Health {
  return decided(verdict, 0, rule, since, now)
}

/**
 * One result. `doubted`: what the check counts as is believed no longer than until the first result against it, whatever
 * `rise` and `fall` say (docs/architecture.md, Protocol decisions: the check that a Backup re-runs before it takes over).
 */
export function stepHealth(
  health: Health,
  outcome: Outcome,
  rule: HealthRule,
  now: Millis,
  doubted: readonly Standing[] = [],
): HealthStep {
  if (outcome === 'unknown') {
    // Nothing stands yet that could stand for a while: whoever waits for a first result would wait in vain.
    return health.verdict === 'undecided' ? becomeUnknown(health, rule, now) : [health, undefined]
  }
  const says = outcome === 'ok' ? 'up' : 'down'
  const standing = standingOf(health)
  if (standing === 'nothing') return changed(health, decided(says, 0, rule, now, now))
  // Results again after a silence: they count from what the check counted as meanwhile.
  const since = health.verdict === standing ? health.since : now
  const before = health.verdict === 'up' || health.verdict === 'down' ? health.against : 0
  const against = says === standing ? 0 : before + 1
  const needed = standing === 'up' ? rule.fall : rule.rise
  const flips = against >= needed || (against > 0 && doubted.includes(standing))
  return changed(health, flips ? decided(says, 0, rule, now, now) : decided(standing, against, rule, since, now))
}

/** Nothing usable has come for too long. */
export function expireHealth(health: Health, rule: HealthRule, now: Millis): HealthStep {
  if (health.verdict === 'unknown' || now < health.staleAt) return [health, undefined]
  return becomeUnknown(health, rule, now)
}

/** When expireHealth has something to do; undefined = never. */
export function healthDeadline(health: Health): Millis | undefined {
  return health.verdict === 'unknown' ? undefined : health.staleAt
}

/** A result spoke against the verdict and more are needed: look again soon. */
export function isChanging(health: Health): boolean {
  return (health.verdict === 'up' || health.verdict === 'down') && health.against > 0
}

export function standingOf(health: Health): Standing {
  if (health.verdict === 'unknown') return health.standing
  return health.verdict === 'undecided' ? 'nothing' : health.verdict
}

function decided(verdict: 'up' | 'down', against: number, rule: HealthRule, since: Millis, now: Millis): Health {
  return { verdict, since, against, staleAt: plus(now, rule.unknownAfter) }
}

function becomeUnknown(health: Health, { onUnknown }: HealthRule, now: Millis): HealthStep {
  const standing = onUnknown === 'fail' ? 'down' : standingOf(health)
  return changed(health, { verdict: 'unknown', since: now, standing })
}

function changed(from: Health, to: Health): HealthStep {
  if (from.verdict === to.verdict) return [to, undefined]
  return [to, { from: from.verdict, to: to.verdict, standing: standingOf(to), at: to.since }]
}
