/**
 * Computes what the trackers of a virtual router mean: its effective priority as a sum with a name for each part, and
 * the faults (VR-TRK-01 to VR-TRK-09). Trackers of interfaces and of health checks are in one list. All functions work
 * on values only. This file knows nothing about the source of a state, or the effect of a changed priority or a fault.
 */
import { isInterface, type Track, type TrackedHealthcheck } from '../../config/schema/track.ts'
import { type Contribution, contributionOf, effectivePriority } from '../../config/weights.ts'
import type { Fault } from '../../vrrp/event.ts'
import type { CheckState } from './check-board.ts'

export type TrackedStates = {
  readonly isUp: (interfaceName: string) => boolean
  /** Returns the state of a check; `undefined` if no check has this name. */
  readonly check: (name: string) => CheckState | undefined
}

export type TrackedFault = { readonly fault: Fault; readonly present: boolean; readonly canSend: true }

/** Contribution of one tracker with a weight to the priority. */
export type Part = {
  readonly kind: 'interface' | 'healthcheck'
  readonly name: string
  /** Present contribution of the tracker to the priority. */
  readonly adds: number
}

/** Trackers that a reload removed. Removed trackers count until the trackers of the new configuration have results. */
export type Replaced = {
  /** Contributions to the priority that the removed trackers had at the time of the reload. */
  readonly parts: readonly Part[]
  /**
   * Health checks of the new trackers that have no result yet. No new tracker counts before each of these checks has a
   * result.
   */
  readonly by: readonly string[]
}

/** Health checks that raise the priority: checks that are up, and reversed checks that are down. */
export type Lifting = { readonly up: readonly string[]; readonly down: readonly string[] }

export type Tracking = {
  readonly priority: number
  /** Base priority plus the contributions of all trackers, before clamping to 1–254. */
  readonly sum: number
  readonly parts: readonly Part[]
  readonly faults: readonly TrackedFault[]
  /** Health checks that raise the priority now. If one of their results changed, the priority would fall. */
  readonly lifting: Lifting
  /** Priority of the router if the results of all checks in `lifting` changed. */
  readonly assured: number
}

export const untracked = (priority: number): Tracking => ({
  priority,
  sum: priority,
  parts: [],
  faults: [],
  lifting: { up: [], down: [] },
  assured: priority,
})

/**
 * Computes the effective priority and the faults of a router. `starts` is true for a router in Initialize. The router
 * waits there for the first result of a check without weight (VR-TRK-05). A running router that gets a check without
 * weight by a reload continues until the check has a result. `replaced` has the contributions of removed trackers,
 * which a running router uses until the new trackers have results. Without `replaced` the priority of a router could
 * fall for a moment, and the VIPs would move.
 */
export function trackingOf(
  base: number,
  track: readonly Track[],
  states: TrackedStates,
  starts: boolean,
  replaced?: Replaced,
): Omit<Tracking, 'assured'> {
  const parts: Part[] = []
  const faults: TrackedFault[] = []
  const contributions: Contribution[] = []
  const lifting: { up: string[]; down: string[] } = { up: [], down: [] }
  const awaited =
    replaced?.by.some((name) => states.check(name)?.result === 'undecided') === true ? replaced : undefined
  for (const part of awaited?.parts ?? []) {
    contributions.push({ weight: part.adds, up: part.adds > 0 })
    parts.push(part)
  }
  // VR-TRK-08: weights do not change the priority of an owner.
  const weighs = (tracker: Track) => base !== 255 && tracker.weight !== 0
  for (const tracker of track) {
    if (isInterface(tracker)) {
      const { interface: name, weight } = tracker
      const contribution = { weight, up: states.isUp(name) }
      if (weight === 0) faults.push({ fault: `trackedInterfaceDown:${name}`, present: !contribution.up, canSend: true })
      if (!weighs(tracker)) continue
      contributions.push(contribution)
      parts.push({ kind: 'interface', name, adds: addsOf(contribution) })
      continue
    }
    const { healthcheck: name, weight } = tracker
    const state = states.check(name)
    if (state === undefined) continue
    const contribution = awaited?.by.includes(name) === true ? undefined : whatItSays(tracker, state)
    const isFault = contribution !== undefined && contributionOf(contribution) === 'fault'
    if (weight === 0 || (weighs(tracker) && state.weight !== undefined)) {
      faults.push({ fault: `healthcheckDown:${name}`, present: isFault, canSend: true })
    }
    if (weight === 0) {
      const present = starts && state.result === 'undecided'
      faults.push({ fault: `healthcheckUndecided:${name}`, present, canSend: true })
    }
    if (!weighs(tracker)) continue
    if (contribution !== undefined) contributions.push(contribution)
    const adds = addsOf(contribution)
    parts.push({ kind: 'healthcheck', name, adds })
    if (contribution === undefined || state.countsAs === 'nothing') continue
    const other = state.countsAs === 'up' ? 'down' : 'up'
    if (adds > addsOf(whatItSays(tracker, { ...state, countsAs: other }))) lifting[state.countsAs].push(name)
  }
  const { priority, sum } = effectivePriority(base, contributions)
  return { priority, sum, parts, faults, lifting }
}

/** Returns which of two states is worse for a router that tracks the check. */
export function worseOf(tracker: TrackedHealthcheck, one: CheckState, other: CheckState): CheckState {
  return addsOf(whatItSays(tracker, one)) <= addsOf(whatItSays(tracker, other)) ? one : other
}

/**
 * Returns the contribution of a check to the priority; `undefined` for a check without a result, which contributes no
 * weight (VR-TRK-05). A file of weights that cannot be read counts as a check that is down.
 */
function whatItSays({ weight, reverse }: TrackedHealthcheck, state: CheckState): Contribution | undefined {
  if (state.countsAs === 'nothing') return undefined
  if (state.weight !== undefined && state.countsAs === 'up') return { weight, reverse, content: state.weight }
  return { weight, reverse, up: state.countsAs === 'up' }
}

function addsOf(contribution: Contribution | undefined): number {
  const adds = contribution === undefined ? 0 : contributionOf(contribution)
  return adds === 'fault' ? 0 : adds
}
