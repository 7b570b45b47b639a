/**
 * Leaving: an Active that stops on purpose has sent priority 0. A router in Leaving keeps answering for its addresses
 * until the successor advertises, so that a planned move loses no packets. A router in Leaving ignores competing
 * routers and sends only a second priority 0. `leaving.ts` decides how the state Leaving begins, when each address is
 * removed, and what state follows. `leaving.ts` knows whether the router stays on the node (yield) or stops (shutdown),
 * but not why. Option: `leaving`. A reload that turns the option off does not end Leaving.
 */
import { type Address, familyOf } from '../../wire/address.ts'
import { centisToMillis, type Millis, millis, plus } from '../../wire/units.ts'
import type { Effect } from '../effect.ts'
import { type Step, stop } from '../fsm.ts'
import { isOwner, ownsAddresses, type Parameters } from '../parameters.ts'
import type { Leaving } from '../state.ts'
import { becomeActive, enterBackup } from './enter.ts'
import type { Extension } from './extension.ts'
import { fail } from './faults.ts'
import { staggerStep } from './stagger.ts'

/**
 * Milliseconds from the first priority 0 to the second one. Priority 0 is sent twice, so that one lost packet does not
 * prolong the failover (VR-TX-02).
 */
const REPEAT_AFTER = 2
/**
 * Milliseconds from the successor's gratuitous ARP to the removal of the address. The gratuitous ARP has then reached
 * the whole LAN.
 */
const OFF_AFTER_ANNOUNCEMENT = 5
/**
 * Milliseconds from the successor's advertisement to the removal of the addresses. The successor has installed its
 * addresses by then (ground rule 6: within 10 ms), even if we missed its gratuitous ARP. A kernel under load needs some
 * 30 ms more before an IPv6 address answers, and announces the address only then (docs/adr/0013).
 */
const OFF_AFTER_ADVERTISEMENT = { ipv4: 20, ipv6: 100 } as const
/** Upper limit of the time in Leaving without a successor, in milliseconds. */
const LONGEST = 10_000

export type Successor = NonNullable<Leaving['successor']>

export const leaving: Extension = {
  name: 'leaving',
  isOn: ({ extensions }) => extensions.leaving === true,
  isPending: { Leaving: () => true },
  wraps: {
    Active: {
      shutdown: (inner, state, event, parameters, now) => {
        return hasNoSuccessor(parameters) ? inner(state, event, parameters, now) : leave(parameters, now, 'shutdown')
      },
      yield: (inner, state, event, parameters, now) => {
        return isOwner(parameters) ? inner(state, event, parameters, now) : leave(parameters, now, 'yield')
      },
    },
    Leaving: {
      advertisementReceived: (_inner, state, event, parameters, now) => {
        const { source, advertisement } = event
        if (source === parameters.primaryAddress) {
          return [state, [{ kind: 'refused', reason: 'self-originated', source }]]
        }
        if (advertisement.priority === 0) return [state, [{ kind: 'refused', reason: 'leaving', source }]]
        const { interval, priority } = advertisement
        const successor = { source, priority, interval, heardAt: event.receivedAt }
        const next = hearSuccessor(state, successor, event.receivedAt, parameters)
        // The successor's announcements arrived before its advertisement, and this router has already removed every
        // address.
        return isOver(next) ? follow(next, successor, parameters, now) : [next, []]
      },
      announcementHeard: (_inner, state, { address, heardAt }) => {
        return [
          { ...state, stillAnswered: offBy(state.stillAnswered, () => plus(heardAt, OFF_AFTER_ANNOUNCEMENT), address) },
          [],
        ]
      },
      deadlineReached: (_inner, state, event, parameters, now) => expire(state, event.receptionLost, parameters, now),
      shutdown: (_inner, state) => [{ ...state, reason: 'shutdown' }, []],
      absenceNoticed: (_inner, state, event, parameters, now) => {
        return event.cause === 'willExecuted' ? planExecuted(state, parameters, now) : [state, []]
      },
      faultRaised: (_inner, state, event) => {
        return fail('Leaving', event.fault, state.reason === 'shutdown', removal(state.stillAnswered))
      },
      parametersChanged: (_inner, state, _event, parameters, now) => keepOnlyOurs(state, parameters, now),
    },
  },
}

/** Tells whether no router can take over: no peer is listed, or the addresses are the node's own. */
function hasNoSuccessor(parameters: Parameters): boolean {
  const { transport } = parameters
  return ownsAddresses(parameters) || (transport.mode === 'unicast' && transport.peers.length === 0)
}

function leave(parameters: Parameters, now: Millis, reason: 'shutdown' | 'yield'): Step {
  const { advertisementInterval, peers, addresses } = parameters
  const slowest = peers.length * staggerStep(advertisementInterval, peers.length)
  const longest = Math.min(2 * centisToMillis(advertisementInterval) + slowest, LONGEST)
  const next: Leaving = {
    name: 'Leaving',
    reason,
    until: plus(now, longest),
    repeatAt: plus(now, REPEAT_AFTER),
    successor: undefined,
    stillAnswered: addresses.map((address) => ({ address, offAt: undefined })),
  }
  const effects: Effect[] = [
    { kind: 'sendAdvertisement', priority: 0, reason },
    { kind: 'transition', from: 'Active', to: 'Leaving', reason },
  ]
  return [next, effects]
}

/**
 * Notes the successor and the time at which each address is removed. `heardAt` is the time of the successor's
 * advertisement, or of the advertisement of a router that competes with the successor (succession.ts).
 */
export function hearSuccessor(state: Leaving, successor: Successor, heardAt: Millis, parameters: Parameters): Leaving {
  return {
    ...state,
    successor,
    repeatAt: undefined,
    stillAnswered: offBy(state.stillAnswered, ({ address }) =>
      plus(heardAt, offAfterAdvertisement(address, parameters)),
    ),
  }
}

/**
 * Handles a reload in Leaving: an address that is no longer ours is removed immediately. An added address belongs to
 * the successor. The router sends nothing.
 */
function keepOnlyOurs(state: Leaving, parameters: Parameters, now: Millis): Step {
  const stillAnswered = state.stillAnswered.filter(({ address }) => parameters.addresses.includes(address))
  if (stillAnswered.length === state.stillAnswered.length) return [state, []]
  const removed = removal(state.stillAnswered.filter((entry) => !stillAnswered.includes(entry)))
  const next = { ...state, stillAnswered }
  // This router answers for no address any longer.
  if (stillAnswered.length === 0 && state.successor !== undefined) {
    return follow(next, state.successor, parameters, now, removed)
  }
  return [next, removed]
}

/**
 * Handles an executed cleanup plan: the guardian has removed the addresses and sent priority 0. Installing the
 * addresses again would undo what the operator wants. A router that yields still waits for its successor, without
 * answering for the addresses. The engine removes the addresses again, in case the guardian could not remove some of
 * them.
 */
function planExecuted(state: Leaving, parameters: Parameters, now: Millis): Step {
  const removed = removal(state.stillAnswered)
  if (state.reason === 'shutdown') return stop('Leaving', 'willExecuted', removed)
  const next: Leaving = { ...state, stillAnswered: [], repeatAt: undefined }
  return state.successor === undefined ? [next, removed] : follow(next, state.successor, parameters, now, removed)
}

/**
 * Returns the milliseconds until a router in Leaving removes an address. An address that is not in the advertisement
 * may be of the other family.
 */
const offAfterAdvertisement = (address: Address, { family }: Parameters): number =>
  Math.max(OFF_AFTER_ADVERTISEMENT[family], OFF_AFTER_ADVERTISEMENT[familyOf(address)])

/**
 * Sets the removal time of addresses in Leaving, and never makes a known time later. The first packet of the successor
 * sets the time; later packets can only make it earlier.
 */
function offBy(
  stillAnswered: Leaving['stillAnswered'],
  off: (entry: Leaving['stillAnswered'][number]) => Millis,
  only?: Address,
): Leaving['stillAnswered'] {
  return stillAnswered.map((entry) => {
    if (only !== undefined && entry.address !== only) return entry
    const at = off(entry)
    return { address: entry.address, offAt: entry.offAt === undefined ? at : millis(Math.min(entry.offAt, at)) }
  })
}

/** Returns the effect that removes these addresses; no effect for an empty list. */
export function removal(stillAnswered: readonly { readonly address: Address }[]): Effect[] {
  return stillAnswered.length === 0
    ? []
    : [{ kind: 'removeAddresses', addresses: stillAnswered.map(({ address }) => address) }]
}

function expire(state: Leaving, receptionLost: boolean, parameters: Parameters, now: Millis): Step {
  const { successor } = state
  if (successor === undefined && now >= state.until) return giveUp(state, parameters, now)
  const [next, effects] = removeDue(state, now)
  if (successor === undefined || !isOver(next)) return [next, effects]
  return follow(state, asHeard(successor, receptionLost, now), parameters, now, effects)
}

/** Sends the second priority 0 when it is due, and removes the addresses whose time is over. */
export function removeDue(state: Leaving, now: Millis): readonly [Leaving, readonly Effect[]] {
  const isRepeat = state.repeatAt !== undefined && now >= state.repeatAt
  const effects: Effect[] = isRepeat ? [{ kind: 'sendAdvertisement', priority: 0, reason: state.reason }] : []
  const due = state.stillAnswered.filter(({ offAt }) => offAt !== undefined && now >= offAt)
  const stillAnswered = state.stillAnswered.filter((entry) => !due.includes(entry))
  return [{ ...state, repeatAt: isRepeat ? undefined : state.repeatAt, stillAnswered }, [...effects, ...removal(due)]]
}

/**
 * Returns the successor with the time of its last advertisement. If packets were lost, that time is now, because a
 * later advertisement of the successor may be among them (ground rule 2: a waiting packet counts).
 */
export const asHeard = (successor: Successor, receptionLost: boolean, now: Millis): Successor =>
  receptionLost ? { ...successor, heardAt: now } : successor

/** Tells whether a router in Leaving has removed every address and observes no race of several successors. */
export const isOver = ({ stillAnswered, succession }: Leaving): boolean =>
  stillAnswered.length === 0 && succession === undefined

/** Ends Leaving after every address is removed and the successor is known. */
export function follow(
  state: Leaving,
  successor: Successor,
  parameters: Parameters,
  now: Millis,
  effects: readonly Effect[] = [],
): Step {
  if (state.reason === 'shutdown') return stop('Leaving', 'successorHeard', effects)
  const [next, entered] = enterBackup(parameters, now, {
    from: 'Leaving',
    reason: 'successorHeard',
    active: { source: successor.source, priority: successor.priority, heardAt: successor.heardAt },
    activeAdverInterval: parameters.version === 3 ? successor.interval : parameters.advertisementInterval,
    holderChanged: true,
  })
  return [next, [...effects, ...entered]]
}

/**
 * Ends Leaving because a router took over from another member of the sync group, but none from this member. The
 * addresses are removed, too.
 */
export function giveWay(state: Leaving, parameters: Parameters, now: Millis): Step {
  const [next, entered] = enterBackup(parameters, now, {
    from: 'Leaving',
    reason: 'noSuccessor',
    active: undefined,
    activeAdverInterval: parameters.advertisementInterval,
    holderChanged: true,
  })
  return [next, [...removal(state.stillAnswered), ...entered]]
}

/** Ends Leaving because no router took over: a shutdown continues, and a yield is undone. */
function giveUp(state: Leaving, parameters: Parameters, now: Millis): Step {
  if (state.reason === 'shutdown') return stop('Leaving', 'noSuccessor', removal(state.stillAnswered))
  return becomeActive(parameters, now, 'Leaving', 'noSuccessor', 'noSuccessor')
}
