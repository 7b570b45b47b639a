/**
 * The ways to enter a state, and to stay before its door, each with the effects that RFC 9568 §6.4 orders for it. Who may call them, and when,
 * is decided in fsm.ts and leaving.ts; this file does not judge.
 */
import type { Address } from '../wire/address.ts'
import { type Centis, centisToMillis, type Millis, plus } from '../wire/units.ts'
import type { AdvertisementReason, Effect, StateName, TransitionReason } from './effect.ts'
import type { Fault } from './event.ts'
import type { Parameters } from './parameters.ts'
import type { Backup, HeardActive, Kept, State } from './state.ts'
import { activeDownInterval, staggerDelay } from './timers.ts'

/** The next state, and what to do on the way there, in order. */
export type Step = readonly [State, readonly Effect[]]

/** From `heardAt` on: how long silence means that the Active is gone (RFC 9568 §6.1, plus the stagger). */
export function activeDownDelay(parameters: Parameters, interval: Centis, active: Address | undefined): number {
  const { priority, version } = parameters
  return activeDownInterval(priority, interval, version) + staggerDelay(parameters, interval, active)
}

export function becomeActive(
  parameters: Parameters,
  now: Millis,
  from: StateName,
  reason: TransitionReason,
  advertisement: AdvertisementReason = 'takeover',
): Step {
  const next: State = {
    name: 'Active',
    since: now,
    // Adver_Timer := Advertisement_Interval: our own, whatever was learned (RFC 9568 §6.4.2).
    adverAt: plus(now, centisToMillis(parameters.advertisementInterval) * (parameters.phase ?? 1)),
    changeSentAt: undefined,
    asserted: [],
    rivalAnnouncedAt: undefined,
  }
  const effects: Effect[] = [
    { kind: 'sendAdvertisement', priority: parameters.priority, reason: advertisement },
    { kind: 'installAddresses' },
    { kind: 'announce', reason: 'takeover' },
    { kind: 'transition', from, to: 'Active', reason },
  ]
  return [next, effects]
}

export type BackupEntry = {
  readonly from: StateName
  readonly reason: TransitionReason
  /** The router that we follow from now on; undefined at start, when none is known. */
  readonly active: HeardActive | undefined
  readonly activeAdverInterval: Centis
  /** We were the owner, or have just seen one: minHold starts. */
  readonly ownerChanged: boolean
  /** What it goes on answering for (lingering.ts). */
  readonly kept?: readonly Kept[] | undefined
}

/** Transition only: what a former Active owes the LAN comes before, from the caller. */
export function enterBackup(parameters: Parameters, now: Millis, entry: BackupEntry): Step {
  const { active, activeAdverInterval, from, reason } = entry
  const heardAt = active?.heardAt ?? now
  const next: State = {
    name: 'Backup',
    enteredAt: now,
    activeAdverInterval,
    activeDownAt: plus(heardAt, activeDownDelay(parameters, activeAdverInterval, active?.source)),
    downReason: 'activeSilent',
    regularDownAt: undefined,
    active,
    ownerChangedAt: entry.ownerChanged ? now : undefined,
    preemptAt: undefined,
    extended: false,
    ...(entry.kept === undefined ? {} : { kept: entry.kept }),
  }
  return [next, [{ kind: 'transition', from, to: 'Backup', reason, peer: active?.source }]]
}

/** VR-SG-03: the timer starts anew, nothing is sent, and the wish stays until an advertisement is accepted. */
export function hold(state: Backup, parameters: Parameters, now: Millis): Backup {
  const delay = activeDownDelay(parameters, state.activeAdverInterval, state.active?.source)
  return { ...state, activeDownAt: plus(now, delay), heldSince: state.heldSince ?? now }
}

/** Rows I1 and I2 of RFC 9568 §6.4.1. */
export function start(parameters: Parameters, now: Millis, reason: 'startup' | 'faultCleared'): Step {
  if (parameters.priority === 255) return becomeActive(parameters, now, 'Initialize', 'owner')
  return enterBackup(parameters, now, {
    from: 'Initialize',
    reason,
    active: undefined,
    activeAdverInterval: parameters.advertisementInterval,
    ownerChanged: false,
  })
}

export function stop(from: StateName, reason: TransitionReason, effects: readonly Effect[] = []): Step {
  const transition: Effect = { kind: 'transition', from, to: 'Initialize', reason }
  return [{ name: 'Initialize', faults: [], stopped: true }, [...effects, transition]]
}

/** FAULT of keepalived's users: Initialize with a reason. `stopped` when a shutdown was under way. */
export function fail(from: StateName, fault: Fault, stopped: boolean, effects: readonly Effect[] = []): Step {
  const transition: Effect = { kind: 'transition', from, to: 'Initialize', reason: fault }
  return [{ name: 'Initialize', faults: [fault], stopped }, [...effects, transition]]
}
