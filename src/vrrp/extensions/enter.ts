/**
 * The RFC's transitions for extensions that cause one outside of the RFC's lines. They are the functions of fsm.ts,
 * with the additions of stagger and phase to a state that was just entered. This file does not know the reason of a
 * transition.
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
