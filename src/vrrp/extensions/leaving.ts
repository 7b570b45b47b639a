/**
 * Leaving (docs/architecture.md, Protocol decisions): an Active that goes on purpose has said priority 0 and keeps answering for its addresses
 * until the successor is heard, so that a planned move loses nothing. Rivals are ignored and nothing but the second
 * priority 0 is sent. This file does not know why the operator wants to leave, only whether he stays (yield) or not.
 */
import { type Address, familyOf } from '../../wire/address.ts'
import { centisToMillis, type Millis, millis, plus } from '../../wire/units.ts'
import type { Effect } from '../effect.ts'
import type { StateEvent } from '../event.ts'
import { ownsAddresses, type Parameters } from '../parameters.ts'
import type { Leaving } from '../state.ts'
import { staggerStep } from '../timers.ts'
import { becomeActive, enterBackup, fail, type Step, stop } from '../transition.ts'
import { advance, bestOf, raceOn } from './succession.ts'

/** One lost packet must not cost a failover: priority 0 goes out twice (VR-TX-02). */
const REPEAT_AFTER = 2
/** The successor's gratuitous ARP has reached the LAN by then. */
const OFF_AFTER_CLAIM = 5
/**
 * Its addresses are installed by then (ground rule 6 gives it 10 ms), even if we missed its gratuitous ARP. A kernel under
 * load needs some 30 ms more before an IPv6 address answers, and its owner announces it only then (docs/adr/0013).
 */
const OFF_AFTER_ADVERTISEMENT = { ipv4: 20, ipv6: 100 } as const
const LONGEST = 10_000

/** Nobody can follow: the profile does not wait, there is no listed peer, or the addresses are the node's own. */
export function leavesAtOnce(parameters: Parameters): boolean {
  const { transport, knobs } = parameters
  return !knobs.leaving || ownsAddresses(parameters) || (transport.mode === 'unicast' && transport.peers.length === 0)
}

export function leave(parameters: Parameters, now: Millis, reason: 'shutdown' | 'yield'): Step {
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

export function stepLeaving(state: Leaving, event: StateEvent, parameters: Parameters, now: Millis): Step {
  switch (event.kind) {
    case 'advertisementReceived': {
      const { source, advertisement, receivedAt } = event
      if (source === parameters.primaryAddress) {
        return [state, [{ kind: 'refused', reason: 'self-originated', source }]]
      }
      if (advertisement.priority === 0) return [state, [{ kind: 'refused', reason: 'leaving', source }]]
      const heard = {
        source,
        priority: advertisement.priority,
        interval: advertisement.interval,
        heardAt: receivedAt,
      }
      const { remindSuccessor } = parameters.knobs
      const successor = remindSuccessor ? bestOf(state.successor, heard) : heard
      const next: Leaving = {
        ...state,
        successor,
        ...(remindSuccessor ? { succession: raceOn(state, heard) } : {}),
        repeatAt: undefined,
        kept: offBy(state.kept, ({ address }) => plus(receivedAt, offAfterAdvertisement(address, parameters))),
      }
      // Its claims were heard first and took every address: there is nothing left to wait for.
      return isOver(next) ? follow(next, successor, parameters, now) : [next, []]
    }
    case 'claimHeard':
      return [{ ...state, kept: offBy(state.kept, () => plus(event.heardAt, OFF_AFTER_CLAIM), event.address) }, []]
    case 'deadlineReached':
      return expire(state, event.receptionLost, parameters, now)
    case 'shutdown':
      return [{ ...state, reason: 'shutdown' }, []]
    case 'absenceNoticed':
      return event.cause === 'willExecuted' ? willExecuted(state, parameters, now) : [state, []]
    case 'faultRaised':
      return fail('Leaving', event.fault, state.reason === 'shutdown', removal(state.kept))
    case 'startup':
    case 'yield':
    case 'rivalAnswered':
    case 'peerReached':
    case 'checksAnswered':
    case 'priorityChanged':
    case 'faultCleared':
      return [state, []]
  }
}

/** After a reload: an address that is no longer ours goes at once, a new one is the successor's. Nothing is said. */
export function keepOnlyOurs(state: Leaving, parameters: Parameters, now: Millis): Step {
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
 * The guardian has taken the addresses off and said priority 0. Taking them back would undo what the operator wants: a
 * yield goes on waiting for its successor, without answering. The removal is for what the guardian could not take off.
 */
function willExecuted(state: Leaving, parameters: Parameters, now: Millis): Step {
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
  const effects: Effect[] = []
  if (state.repeatAt !== undefined && now >= state.repeatAt) {
    effects.push({ kind: 'sendAdvertisement', priority: 0, reason: state.reason })
  }
  const due = state.kept.filter(({ offAt }) => offAt !== undefined && now >= offAt)
  effects.push(...removal(due))
  const repeatAt = state.repeatAt !== undefined && now >= state.repeatAt ? undefined : state.repeatAt
  const next: Leaving = { ...state, repeatAt, kept: state.kept.filter((entry) => !due.includes(entry)) }
  if (successor === undefined) return [next, effects]
  const watched = watch(next, successor, parameters, now, effects)
  if (!isOver(watched)) return [watched, effects]
  // Ground rule 2: its later advertisements may be among the lost packets.
  return follow(state, receptionLost ? { ...successor, heardAt: now } : successor, parameters, now, effects)
}

const isOver = ({ kept, succession }: Leaving): boolean => kept.length === 0 && succession === undefined

function watch(
  state: Leaving,
  successor: NonNullable<Leaving['successor']>,
  parameters: Parameters,
  now: Millis,
  effects: Effect[],
): Leaving {
  if (state.succession === undefined) return state
  const [succession, due] = advance(state.succession, successor, parameters, now)
  effects.push(...due)
  return { ...state, succession }
}

/** Every address is off and the successor is known. */
function follow(
  state: Leaving,
  successor: NonNullable<Leaving['successor']>,
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
    ownerChanged: true,
  })
  return [next, [...effects, ...entered]]
}

/** Nobody took over here, but somebody did in another member of the sync group: the addresses go all the same. */
export function giveWay(state: Leaving, parameters: Parameters, now: Millis): Step {
  const [next, entered] = enterBackup(parameters, now, {
    from: 'Leaving',
    reason: 'noSuccessor',
    active: undefined,
    activeAdverInterval: parameters.advertisementInterval,
    ownerChanged: true,
  })
  return [next, [...removal(state.kept), ...entered]]
}

/** Nobody took over: a shutdown goes all the same, a yield is taken back. */
function giveUp(state: Leaving, parameters: Parameters, now: Millis): Step {
  if (state.reason === 'shutdown') return stop('Leaving', 'noSuccessor', removal(state.kept))
  return becomeActive(parameters, now, 'Leaving', 'noSuccessor', 'noSuccessor')
}
