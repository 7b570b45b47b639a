/**
 * Leaving: an Active that stops on purpose has sent priority 0 and goes on answering for its addresses until the successor is
 * heard, so that a planned move loses nothing. Competing routers are ignored, and only the second priority 0 is sent.
 * Decided here: how it begins, when each address goes, and what comes after. Refuses to know why the operator wants it,
 * only whether the router stays (yield) or not. Option: `leaving`. A reload that turns it off ends no Leaving.
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

/** One lost packet must not cost a failover: priority 0 goes out twice (VR-TX-02). */
const REPEAT_AFTER = 2
/** The successor's gratuitous ARP has reached the LAN by then. */
const OFF_AFTER_CLAIM = 5
/**
 * Its addresses are installed by then (ground rule 6 gives it 10 ms), even if we missed its gratuitous ARP. A kernel under
 * load needs some 30 ms more before an IPv6 address answers, and its holder announces it only then (docs/adr/0013).
 */
const OFF_AFTER_ADVERTISEMENT = { ipv4: 20, ipv6: 100 } as const
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
        // Its claims were heard first and took every address: there is nothing left to wait for.
        return isOver(next) ? follow(next, successor, parameters, now) : [next, []]
      },
      claimHeard: (_inner, state, { address, heardAt }) => {
        return [{ ...state, kept: offBy(state.kept, () => plus(heardAt, OFF_AFTER_CLAIM), address) }, []]
      },
      deadlineReached: (_inner, state, event, parameters, now) => expire(state, event.receptionLost, parameters, now),
      shutdown: (_inner, state) => [{ ...state, reason: 'shutdown' }, []],
      absenceNoticed: (_inner, state, event, parameters, now) => {
        return event.cause === 'willExecuted' ? planExecuted(state, parameters, now) : [state, []]
      },
      faultRaised: (_inner, state, event) => {
        return fail('Leaving', event.fault, state.reason === 'shutdown', removal(state.kept))
      },
      parametersChanged: (_inner, state, _event, parameters, now) => keepOnlyOurs(state, parameters, now),
    },
  },
}

/** No peer is listed, or the addresses are the node's own. */
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
    kept: addresses.map((address) => ({ address, offAt: undefined })),
  }
  const effects: Effect[] = [
    { kind: 'sendAdvertisement', priority: 0, reason },
    { kind: 'transition', from: 'Active', to: 'Leaving', reason },
  ]
  return [next, effects]
}

/** `heardAt`: of the advertisement that it is known from, or that competes with it (succession.ts). */
export function hearSuccessor(state: Leaving, successor: Successor, heardAt: Millis, parameters: Parameters): Leaving {
  return {
    ...state,
    successor,
    repeatAt: undefined,
    kept: offBy(state.kept, ({ address }) => plus(heardAt, offAfterAdvertisement(address, parameters))),
  }
}

/** After a reload: an address that is no longer ours goes immediately, a new one is the successor's. Nothing is sent. */
function keepOnlyOurs(state: Leaving, parameters: Parameters, now: Millis): Step {
  const kept = state.kept.filter(({ address }) => parameters.addresses.includes(address))
  if (kept.length === state.kept.length) return [state, []]
  const removed = removal(state.kept.filter((entry) => !kept.includes(entry)))
  const next = { ...state, kept }
  // Nothing is left to wait for.
  if (kept.length === 0 && state.successor !== undefined) {
    return follow(next, state.successor, parameters, now, removed)
  }
  return [next, removed]
}

/**
 * The guardian has executed the cleanup plan: the addresses are off, and priority 0 is sent. Taking them back would undo what the
 * operator wants: a yield goes on waiting for its successor, without answering. The removal is for what the guardian could
 * not take off.
 */
function planExecuted(state: Leaving, parameters: Parameters, now: Millis): Step {
  const removed = removal(state.kept)
  if (state.reason === 'shutdown') return stop('Leaving', 'willExecuted', removed)
  const next: Leaving = { ...state, kept: [], repeatAt: undefined }
  return state.successor === undefined ? [next, removed] : follow(next, state.successor, parameters, now, removed)
}

/** An excluded address may be of the other family. */
const offAfterAdvertisement = (address: Address, { family }: Parameters): number =>
  Math.max(OFF_AFTER_ADVERTISEMENT[family], OFF_AFTER_ADVERTISEMENT[familyOf(address)])

/** A deadline that is known is never moved back: the first sign of the successor counts, a nearer one shortens. */
function offBy(
  kept: Leaving['kept'],
  off: (entry: Leaving['kept'][number]) => Millis,
  only?: Address,
): Leaving['kept'] {
  return kept.map((entry) => {
    if (only !== undefined && entry.address !== only) return entry
    const at = off(entry)
    return { address: entry.address, offAt: entry.offAt === undefined ? at : millis(Math.min(entry.offAt, at)) }
  })
}

export function removal(kept: readonly { readonly address: Address }[]): Effect[] {
  return kept.length === 0 ? [] : [{ kind: 'removeAddresses', addresses: kept.map(({ address }) => address) }]
}

function expire(state: Leaving, receptionLost: boolean, parameters: Parameters, now: Millis): Step {
  const { successor } = state
  if (successor === undefined && now >= state.until) return giveUp(state, parameters, now)
  const [next, effects] = removeDue(state, now)
  if (successor === undefined || !isOver(next)) return [next, effects]
  return follow(state, asHeard(successor, receptionLost, now), parameters, now, effects)
}

/** The second priority 0, and the addresses whose time is over. */
export function removeDue(state: Leaving, now: Millis): readonly [Leaving, readonly Effect[]] {
  const isRepeat = state.repeatAt !== undefined && now >= state.repeatAt
  const effects: Effect[] = isRepeat ? [{ kind: 'sendAdvertisement', priority: 0, reason: state.reason }] : []
  const due = state.kept.filter(({ offAt }) => offAt !== undefined && now >= offAt)
  const kept = state.kept.filter((entry) => !due.includes(entry))
  return [{ ...state, repeatAt: isRepeat ? undefined : state.repeatAt, kept }, [...effects, ...removal(due)]]
}

/** Ground rule 2: its later advertisements may be among the lost packets. */
export const asHeard = (successor: Successor, receptionLost: boolean, now: Millis): Successor =>
  receptionLost ? { ...successor, heardAt: now } : successor

/** Every address is off, and no race of successors is watched. */
export const isOver = ({ kept, succession }: Leaving): boolean => kept.length === 0 && succession === undefined

/** Every address is off and the successor is known. */
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

/** No router took over here, but one did in another member of the sync group: the addresses go too. */
export function giveWay(state: Leaving, parameters: Parameters, now: Millis): Step {
  const [next, entered] = enterBackup(parameters, now, {
    from: 'Leaving',
    reason: 'noSuccessor',
    active: undefined,
    activeAdverInterval: parameters.advertisementInterval,
    holderChanged: true,
  })
  return [next, [...removal(state.kept), ...entered]]
}

/** No router took over: a shutdown goes on, a yield is taken back. */
function giveUp(state: Leaving, parameters: Parameters, now: Millis): Step {
  if (state.reason === 'shutdown') return stop('Leaving', 'noSuccessor', removal(state.kept))
  return becomeActive(parameters, now, 'Leaving', 'noSuccessor', 'noSuccessor')
}
