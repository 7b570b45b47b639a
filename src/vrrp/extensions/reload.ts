/**
 * Reload: a router gets new parameters while it runs. Running timers are moved, not restarted (VR-TM-06, VR-CFG-08).
 * Only advertised parameters and addresses matter to this extension. The caller replaces the router if its VRID,
 * interface, version or address family changes. A change between multicast and unicast does not replace the router. The
 * Active stays Active, and the other nodes receive its advertisements after the same reload (docs/adr/0008). The
 * extension is on in every profile.
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

/**
 * Handles a reload in Backup and Active. `leaving.ts` and grace-period.ts handle addresses that a router still answers
 * for after it stopped being Active. All other states have no addresses and have advertised nothing.
 */
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
  // Backups have learned the old interval. The next advertisement must not be later than the old interval allows, and
  // not later than the new interval.
  const adverAt = Math.min(state.adverAt, now + centisToMillis(parameters.advertisementInterval))
  const sooner = adverAt < state.adverAt ? { ...state, adverAt: millis(adverAt) } : state
  const [next, sent] = advertiseSoon(sooner, parameters, now, othersChanged ? 'parametersChanged' : 'priorityChanged')
  const effects: Effect[] = []
  // The removal comes before the installation. If another router of this node gets the address, no second host answers
  // for it. An address that was the node's own stays.
  if (removed.length > 0 && !ownsAddresses(previous)) effects.push({ kind: 'removeAddresses', addresses: removed })
  effects.push(...sent)
  // Before the reload the addresses were the node's own. From now on this router has to install them.
  const disowned = ownsAddresses(previous) && !ownsAddresses(parameters)
  if (added.length > 0 || disowned) effects.push({ kind: 'installAddresses' })
  // A removal also causes an announcement, so that its repeats do not contain the removed address.
  if (added.length > 0 || removed.length > 0) effects.push({ kind: 'announce', reason: 'takeover' })
  return [next, effects]
}

function backupChanges(before: Backup, previous: Parameters, parameters: Parameters, now: Millis): Backup {
  const longer = parameters.preemptDelay - previous.preemptDelay
  // The preemption delay began with the first advertisement of the lower Active, whatever the configured delay was
  // then.
  const { preemptAt } = before
  const state = longer === 0 || preemptAt === undefined ? before : { ...before, preemptAt: plus(preemptAt, longer) }
  const own = parameters.advertisementInterval
  // Version 2 waits three of our own intervals, version 3 three intervals of the Active, if an Active is known
  // (VR-TM-03).
  const usesOwn = parameters.version === 2 || state.active === undefined
  const changed = previous.advertisementInterval !== own && usesOwn
  const timed = changed
    ? waitAgain({ ...state, activeAdverInterval: own }, parameters, now)
    : isOtherTransport(previous, parameters)
      ? // The Active may change its transport a little later. Until this change its advertisements do not arrive.
        waitAgain(state, parameters, now)
      : state
  if (previous.priority === parameters.priority || timed.activeDownAt !== state.activeDownAt) return timed
  return moveTimer(timed, previous.priority, parameters)
}

/**
 * Starts Active_Down_Timer again from now. Counted from the last advertisement, a shorter Active_Down_Interval could be
 * over although the Active is well.
 */
function waitAgain(state: Backup, parameters: Parameters, now: Millis): Backup {
  const shortened = state.downReason === 'activeReleased' || state.regularDownAt !== undefined
  if (shortened) return state
  return {
    ...state,
    activeDownAt: plus(now, activeDownDelay(parameters, state.activeAdverInterval, state.active?.source)),
  }
}
