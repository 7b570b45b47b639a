/**
 * What everything that a virtual router tracks comes to: its effective priority as a sum with a name for each part, and
 * the faults (VR-TRK-01…09). Interfaces and health checks are one list here. Values only: this file does not know where
 * a state comes from, nor what a changed priority or a fault leads to.
 */
import { isInterface, type Track, type TrackedHealthcheck } from '../config/track.ts'
import { type Contribution, contributionOf, effectivePriority } from '../config/weights.ts'
import type { Fault } from '../vrrp/event.ts'
import type { CheckState } from './check-board.ts'

export type TrackedStates = {
  readonly isUp: (interfaceName: string) => boolean
  /** Undefined: there is no such check. */
  readonly check: (name: string) => CheckState | undefined
}

export type TrackedFault = { readonly fault: Fault; readonly present: boolean; readonly canSend: true }

/** Of a weight that is not 0. */
export type Part = {
  readonly kind: 'interface' | 'healthcheck'
  readonly name: string
  /** To the priority, now. */
  readonly adds: number
}

export type Tracking = {
  readonly priority: number
  /** Before clamping: base and all parts. */
  readonly sum: number
  readonly parts: readonly Part[]
  readonly faults: readonly TrackedFault[]
  /** Checks that are up and whose failing would lower the priority. */
  readonly lifting: readonly string[]
  /** What the priority would be if all of those failed. */
  readonly assured: number
}

export const untracked = (priority: number): Tracking => ({
  priority,
  sum: priority,
  parts: [],
  faults: [],
  lifting: [],
  assured: priority,
})

/**
 * `starts`: the router is in Initialize. There it waits for the first result of a check without weight (VR-TRK-05); one
 * that runs when a reload makes it track such a check goes on until there is a result.
 */
export function trackingOf(
  base: number,
  track: readonly Track[],
  states: TrackedStates,
  starts: boolean,
): Omit<Tracking, 'assured'> {
  const parts: Part[] = []
  const faults: TrackedFault[] = []
  const contributions: Contribution[] = []
  const lifting: string[] = []
  // VR-TRK-08: an owner's priority is a fact, weights leave it alone.
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
    const contribution = whatItSays(tracker, state)
    const isFault = contribution !== undefined && contributionOf(contribution) === 'fault'
    if (weight === 0 || (weighs(tracker) && state.weight !== undefined)) {
      faults.push({ fault: `healthcheckDown:${name}`, present: isFault, canSend: true })
    }
    if (weight === 0) {
      const present = starts && state.verdict === 'undecided'
      faults.push({ fault: `healthcheckUndecided:${name}`, present, canSend: true })
    }
    if (!weighs(tracker)) continue
    if (contribution !== undefined) contributions.push(contribution)
    const adds = addsOf(contribution)
    parts.push({ kind: 'healthcheck', name, adds })
    const failed = whatItSays(tracker, { ...state, standing: 'down' })
    if (state.standing === 'up' && adds > addsOf(failed)) lifting.push(name)
  }
  const { priority, sum } = effectivePriority(base, contributions)
  return { priority, sum, parts, faults, lifting }
}

/** Nothing known says nothing (VR-TRK-05). A file of weights that cannot be read counts as any check that is down. */
function whatItSays({ weight, reverse }: TrackedHealthcheck, state: CheckState): Contribution | undefined {
  if (state.standing === 'nothing') return undefined
  if (state.weight !== undefined && state.standing === 'up') return { weight, reverse, content: state.weight }
  return { weight, reverse, up: state.standing === 'up' }
}

function addsOf(contribution: Contribution | undefined): number {
  const adds = contribution === undefined ? 0 : contributionOf(contribution)
  return adds === 'fault' ? 0 : adds
}
