/**
 * Reload: a router gets new parameters while it runs. Timers keep running and move by what changed (VR-TM-06, VR-CFG-08); what
 * no advertisement carries and names no address changes nothing here. The caller decides which changes make a router
 * another one (VRID, interface, version, family); those do not come here. Multicast or unicast is no such change: an
 * Active stays Active and is heard by the routers that have changed as well (docs/adr/0008). In every profile.
 */
import type { Address } from '../../wire/address.ts'
import { centisToMillis, type Millis, millis, plus } from '../../wire/units.ts'
import type { Effect } from '../effect.ts'
import type { Step } from '../fsm.ts'
import { ownsAddresses, type Parameters } from '../parameters.ts'
import type { Active, Backup } from '../state.ts'
import { always, type Extension } from './extension.ts'
import { advertiseSoon, moveTimer } from './priority-change.ts'
import { activeDownDelay } from './stagger.ts'

/** What a Leaving keeps is in leaving.ts, the grace period's in grace-period.ts; the other states hold nothing and have sent nothing. */
export const reload: Extension = {
  name: 'reload',
  isOn: always,
  wraps: {
    Backup: {
      parametersChanged: (_inner, state, event, parameters, now) => {
        return [backupChanges(state, event.previous, parameters, now), []]
      },
    },
    Active: {
      parametersChanged: (_inner, state, event, parameters, now) => {
        return activeChanges(state, event.previous, parameters, now)
      },
    },
  },
}

const without = (all: readonly Address[], those: readonly Address[]): Address[] =>
  all.filter((address) => !those.includes(address))

const isOtherTransport = (previous: Parameters, parameters: Parameters): boolean =>
  previous.transport.mode !== parameters.transport.mode

function activeChanges(state: Active, previous: Parameters, parameters: Parameters, now: Millis): Step {
  const removed = without(previous.addresses, parameters.addresses)
  const added = without(parameters.addresses, previous.addresses)
  const priorityChanged = previous.priority !== parameters.priority
  const othersChanged =
    previous.advertisementInterval !== parameters.advertisementInterval ||
    isOtherTransport(previous, parameters) ||
    removed.length > 0 ||
    added.length > 0
  if (!priorityChanged && !othersChanged) return [state, []]
  // Backups have learned the old interval: the next one must not be later than it, and need not be later than the new.
  const adverAt = Math.min(state.adverAt, now + centisToMillis(parameters.advertisementInterval))
  const sooner = adverAt < state.adverAt ? { ...state, adverAt: millis(adverAt) } : state
  const [next, sent] = advertiseSoon(sooner, parameters, now, othersChanged ? 'parametersChanged' : 'priorityChanged')
  const effects: Effect[] = []
  // First, so that another router of this node that is to hold it finds no other one that answers.
  // What was the node's own stays there.
  if (removed.length > 0 && !ownsAddresses(previous)) effects.push({ kind: 'removeAddresses', addresses: removed })
  effects.push(...sent)
  // They were the node's own; what it now holds as any other router, it has to install.
  const disowned = ownsAddresses(previous) && !ownsAddresses(parameters)
  if (added.length > 0 || disowned) effects.push({ kind: 'installAddresses' })
  // Also after a removal: what is still to be repeated must not name an address that is gone.
  if (added.length > 0 || removed.length > 0) effects.push({ kind: 'announce', reason: 'takeover' })
  return [next, effects]
}

function backupChanges(before: Backup, previous: Parameters, parameters: Parameters, now: Millis): Backup {
  const longer = parameters.preemptDelay - previous.preemptDelay
  // The delay began when the lower Active was first heard, whatever it was then.
  const { preemptAt } = before
  const state = longer === 0 || preemptAt === undefined ? before : { ...before, preemptAt: plus(preemptAt, longer) }
  const own = parameters.advertisementInterval
  // Version 2 waits three times its own interval, version 3 three times the Active's, where one is known (VR-TM-03).
  const usesOwn = parameters.version === 2 || state.active === undefined
  const changed = previous.advertisementInterval !== own && usesOwn
  const timed = changed
    ? waitAgain({ ...state, activeAdverInterval: own }, parameters, now)
    : isOtherTransport(previous, parameters)
      ? // The Active may change a little later, and is not heard before.
        waitAgain(state, parameters, now)
      : state
  if (previous.priority === parameters.priority || timed.activeDownAt !== state.activeDownAt) return timed
  return moveTimer(timed, previous.priority, parameters)
}

/** From now on: counted from the last advertisement a shorter wait could be over although the Active is well. */
function waitAgain(state: Backup, parameters: Parameters, now: Millis): Backup {
  const shortened = state.downReason === 'activeReleased' || state.regularDownAt !== undefined
  if (shortened) return state
  return {
    ...state,
    activeDownAt: plus(now, activeDownDelay(parameters, state.activeAdverInterval, state.active?.source)),
  }
}
