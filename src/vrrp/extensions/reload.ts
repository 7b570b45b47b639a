/**
 * What a router owes the LAN when it was told new parameters while it runs: a reload, or an effective priority that
 * moved. Timers keep running and move by what changed (VR-TM-06, VR-CFG-08); what is not said in an advertisement and
 * names no address changes nothing here. Which changes make a router another one (VRID, interface, version, family) is
 * decided where configurations are compared; this file is never asked about those. Multicast or unicast is no such change: an Active stays
 * Active and is heard by whoever has changed as well (docs/adr/0008).
 */
import type { Address } from '../../wire/address.ts'
import { centisToMillis, type Millis, millis, plus } from '../../wire/units.ts'
import type { AdvertisementReason, Effect } from '../effect.ts'
import { ownsAddresses, type Parameters } from '../parameters.ts'
import type { Active, Backup, State } from '../state.ts'
import { activeDownDelay, type Step } from '../transition.ts'
import { priorityChangedInBackup } from './fast-preempt.ts'
import { isLingering, keepOnlyListed } from './grace-period.ts'
import { keepOnlyOurs } from './leaving.ts'

export function reconfigure(state: State, previous: Parameters, parameters: Parameters, now: Millis): Step {
  switch (state.name) {
    case 'Initialize':
    // It has no address and has said nothing.
    case 'Returning':
      return [state, []]
    case 'Backup': {
      const next = backupChanges(state, previous, parameters, now)
      return isLingering(next) ? keepOnlyListed(next, parameters) : [next, []]
    }
    case 'Active':
      return activeChanges(state, previous, parameters, now)
    case 'Leaving':
      return keepOnlyOurs(state, parameters, now)
  }
}

/** An extra advertisement for a change; at most one an interval, what changes in between the scheduled one carries. */
export function advertiseChange(
  state: Active,
  parameters: Parameters,
  now: Millis,
  reason: Extract<AdvertisementReason, 'priorityChanged' | 'parametersChanged'>,
): Step {
  // VR-TM-07 (rfc9568): the next scheduled advertisement carries it.
  if (!parameters.knobs.advertisePriorityChange) return [state, []]
  const interval = centisToMillis(parameters.advertisementInterval)
  if (state.changeSentAt !== undefined && now - state.changeSentAt < interval) return [state, []]
  return [{ ...state, changeSentAt: now }, [{ kind: 'sendAdvertisement', priority: parameters.priority, reason }]]
}

const without = (all: readonly Address[], those: readonly Address[]): Address[] =>
  all.filter((address) => !those.includes(address))

const isOtherTransport = (previous: Parameters, parameters: Parameters): boolean =>
  previous.transport.mode !== parameters.transport.mode

function activeChanges(state: Active, previous: Parameters, parameters: Parameters, now: Millis): Step {
  const removed = without(previous.addresses, parameters.addresses)
  const added = without(parameters.addresses, previous.addresses)
  const prioritySaid = previous.priority !== parameters.priority
  const restSaid =
    previous.advertisementInterval !== parameters.advertisementInterval ||
    isOtherTransport(previous, parameters) ||
    removed.length > 0 ||
    added.length > 0
  if (!prioritySaid && !restSaid) return [state, []]
  // Backups have learned the old interval: the next one must not be later than it, and need not be later than the new.
  const adverAt = Math.min(state.adverAt, now + centisToMillis(parameters.advertisementInterval))
  const sooner = adverAt < state.adverAt ? { ...state, adverAt: millis(adverAt) } : state
  const [next, said] = advertiseChange(sooner, parameters, now, restSaid ? 'parametersChanged' : 'priorityChanged')
  const effects: Effect[] = []
  // First, so that another router that is told to hold it finds nobody else here who answers.
  // What was the node's own stays there.
  if (removed.length > 0 && !ownsAddresses(previous)) effects.push({ kind: 'removeAddresses', addresses: removed })
  effects.push(...said)
  // They were the node's own; what it now holds as anybody else, it has to install.
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
    ? waitAnew({ ...state, activeAdverInterval: own }, parameters, now)
    : isOtherTransport(previous, parameters)
      ? // The Active may change a little later, and is not heard before.
        waitAnew(state, parameters, now)
      : state
  if (previous.priority === parameters.priority || timed.activeDownAt !== state.activeDownAt) return timed
  return priorityChangedInBackup(timed, previous.priority, parameters)
}

/** From now on: counted from the last advertisement a shorter wait could be over although the Active is well. */
function waitAnew(state: Backup, parameters: Parameters, now: Millis): Backup {
  const shortened = state.downReason === 'activeReleased' || state.regularDownAt !== undefined
  if (shortened) return state
  return {
    ...state,
    activeDownAt: plus(now, activeDownDelay(parameters, state.activeAdverInterval, state.active?.source)),
  }
}
