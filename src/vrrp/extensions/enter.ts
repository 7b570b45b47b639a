/**
 * The transitions of RFC 9568 for extensions that cause a transition outside of the RFC's lines. These transitions are
 * functions of fsm.ts. Each transition of this file adds the delays of stagger.ts and phase.ts to the new state.
 * `enter.ts` does not know the reason of a transition.
 */
import type { Millis } from '../../wire/units.ts'
import type { AdvertisementReason, StateName, TransitionReason } from '../effect.ts'
import * as rfc from '../fsm.ts'
import type { Parameters } from '../parameters.ts'
import { phaseEntry } from './phase.ts'
import { staggerEntry } from './stagger.ts'

export function becomeActive(
  parameters: Parameters,
  now: Millis,
  from: StateName,
  reason: TransitionReason,
  advertisement?: AdvertisementReason,
): rfc.Step {
  return phaseEntry(rfc.becomeActive(parameters, now, from, reason, advertisement), parameters, now)
}

export function enterBackup(parameters: Parameters, now: Millis, entry: rfc.BackupEntry): rfc.Step {
  return staggerEntry(rfc.enterBackup(parameters, now, entry), parameters, now)
}

export function start(parameters: Parameters, now: Millis, reason: 'startup' | 'faultCleared'): rfc.Step {
  return phaseEntry(staggerEntry(rfc.start(parameters, now, reason), parameters, now), parameters, now)
}
