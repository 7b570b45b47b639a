/**
 * RFC 9568 §6.4.3, the state Active: rows A1 to A8 of docs/rfc9568.md, and what an Active does about a rival that answers
 * or a peer that is reached again (docs/adr/0007, 0012, 0016). As fsm.ts it is told the time and asks for nothing.
 */
import { compareAddresses } from '../wire/address.ts'
import { centisToMillis, type Millis, millis, plus } from '../wire/units.ts'
import type { Effect } from './effect.ts'
import type { Event, StateEvent } from './event.ts'
import { leave, leavesAtOnce } from './leaving.ts'
import { isOwner, type Parameters } from './parameters.ts'
import { advertiseChange } from './reconfigure.ts'
import { comeBack } from './returning.ts'
import { announceOverRival, answerableAt, answerLate, rememberAnswer } from './rival.ts'
import type { Active } from './state.ts'
import { enterBackup, fail, type Step, stop } from './transition.ts'

type Received = Extract<Event, { kind: 'advertisementReceived' }>

export function stepActive(state: Active, event: StateEvent, parameters: Parameters, now: Millis): Step {
  const removeAll: Effect = { kind: 'removeAddresses', addresses: parameters.addresses }
  switch (event.kind) {
    case 'shutdown':
      // A1
      if (!leavesAtOnce(parameters)) return leave(parameters, now, 'shutdown')
      return stop('Active', 'shutdown', [{ kind: 'sendAdvertisement', priority: 0, reason: 'shutdown' }, removeAll])
    case 'yield':
      if (isOwner(parameters)) return [state, []]
      return parameters.knobs.leaving ? leave(parameters, now, 'yield') : yieldAtOnce(parameters, now, removeAll)
    case 'deadlineReached':
      // A2
      if (now < state.adverAt) return [state, []]
      return [
        { ...state, adverAt: nextAdvertisementAt(state.adverAt, parameters, now) },
        [{ kind: 'sendAdvertisement', priority: parameters.priority, reason: 'periodic' }],
      ]
    case 'advertisementReceived':
      return activeReceives(state, event, parameters, now)
    case 'rivalAnswered':
      return rivalAnswered(state, event, parameters, now)
    case 'peerReached':
      return peerReached(state, parameters, now)
    case 'absenceNoticed':
      return comeBack(state, event, parameters, now)
    case 'priorityChanged':
      return advertiseChange(state, parameters, now, 'priorityChanged')
    case 'faultRaised': {
      // Addresses first (design.md §3): whatever is wrong here, two hosts must not answer.
      const release: Effect[] = event.canSend ? [{ kind: 'sendAdvertisement', priority: 0, reason: 'fault' }] : []
      return fail('Active', event.fault, false, [removeAll, ...release])
    }
    case 'startup':
    case 'claimHeard':
    case 'checksAnswered':
    case 'faultCleared':
      return [state, []]
  }
}

/** Without Leaving a yield is the release of row A1 with another future: Backup, with the priority that was lowered. */
function yieldAtOnce(parameters: Parameters, now: Millis, removeAll: Effect): Step {
  const [next, entered] = enterBackup(parameters, now, {
    from: 'Active',
    reason: 'yield',
    active: undefined,
    activeAdverInterval: parameters.advertisementInterval,
    ownerChanged: true,
  })
  return [next, [{ kind: 'sendAdvertisement', priority: 0, reason: 'yield' }, removeAll, ...entered]]
}

/** On the grid of the previous deadline (VR-TM-09: no drift); ticks that were slept through are not made up for. */
function nextAdvertisementAt(previous: Millis, parameters: Parameters, now: Millis): Millis {
  const interval = centisToMillis(parameters.advertisementInterval)
  const next = plus(previous, (Math.floor((now - previous) / interval) + 1) * interval)
  // A clock's moments are no dyadic fractions: rounding must not make one tick two.
  return next > now ? next : plus(next, interval)
}

function activeReceives(state: Active, event: Received, parameters: Parameters, now: Millis): Step {
  const { source, advertisement, receivedAt } = event
  const send = (reason: 'priorityZeroHeard' | 'rivalHeard' | 'lost'): Effect => ({
    kind: 'sendAdvertisement',
    priority: parameters.priority,
    reason,
  })
  // A8, VR-RX-16
  if (source === parameters.primaryAddress) return [state, [{ kind: 'refused', reason: 'self-originated', source }]]
  if (advertisement.priority === 0) {
    const release = { to: 'release', source } as const
    const again = answerableAt(state, release, parameters)
    // A3. Too soon for another answer: then it is late, not lost, because a Backup may have cut its timer to Skew_Time.
    if (again > now) return [{ ...state, adverAt: millis(Math.min(state.adverAt, again)) }, []]
    const adverAt = plus(now, centisToMillis(parameters.advertisementInterval))
    return [{ ...rememberAnswer(state, release, parameters, now), adverAt }, [send('priorityZeroHeard')]]
  }
  const above = advertisement.priority > parameters.priority
  const equal = advertisement.priority === parameters.priority
  if (above || (equal && compareAddresses(source, parameters.primaryAddress) > 0)) {
    // A4, A5: step down. The last advertisement tells the winner that clients may have been misled; it comes after
    // the addresses are off, so that the winner's answer to it cannot be undone by us (design.md §3, Rivals).
    const [next, entered] = enterBackup(parameters, now, {
      from: 'Active',
      reason: above ? 'higherPriorityHeard' : 'higherAddressHeard',
      active: { source, priority: advertisement.priority, heardAt: receivedAt },
      activeAdverInterval: parameters.version === 3 ? advertisement.interval : parameters.advertisementInterval,
      ownerChanged: true,
    })
    const last: Effect[] = parameters.knobs.lastAdvertisement ? [send('lost')] : []
    return [next, [{ kind: 'removeAddresses', addresses: parameters.addresses }, ...last, ...entered]]
  }
  // A6, A7: a rival.
  const effects: Effect[] = [{ kind: 'refused', reason: equal ? 'lower-address' : 'lower-priority', source }]
  const rival = { to: 'rival', source } as const
  let next = state
  if (parameters.knobs.assertOnLower) {
    if (answerableAt(state, rival, parameters) <= now) {
      effects.push(send('rivalHeard'))
      next = rememberAnswer(next, rival, parameters, now)
    } else next = answerLate(next, rival, parameters, now)
  }
  if (!parameters.knobs.announceOnRival) return [next, effects]
  const [announced, announcement] = announceOverRival(next, now)
  return [announced, [...effects, ...announcement]]
}

/** As long as it answers we ask again and again; the announcements of one batch last a while. */
const ANSWER_SPACING = 1_000
/** The last repeat of a batch (arp/announcement.ts). */
const REPEATS_TAKE = 200
/** Intervals until an Active has advertised for certain although its first advertisement was lost. */
const MUTE_START = 1.2
type RivalAnswered = Extract<Event, { readonly kind: 'rivalAnswered' }>

/**
 * Our question has found another host that has our address. Whether it yields is told by its advertisement, if ever.
 * FRR's first IPv6 advertisement never gets out: for an interval it has the address and only its Neighbor Advertisement
 * has said so. Who answers like FRR is given that interval, or our announcement would be the last word of a loser.
 */
function rivalAnswered(state: Active, event: RivalAnswered, parameters: Parameters, now: Millis): Step {
  if (!parameters.knobs.probeRivals) return [state, []]
  const { rivalAnsweredAt, ...before } = state
  const { rivalAnnouncedAt } = before
  if (rivalAnnouncedAt !== undefined && now - rivalAnnouncedAt < ANSWER_SPACING) {
    // A question without an answer in between: that one has gone, and this is another cut that was healed.
    const silence = now - Math.max(rivalAnnouncedAt, rivalAnsweredAt ?? rivalAnnouncedAt)
    const unasked = Math.max(1.5 * centisToMillis(parameters.advertisementInterval), REPEATS_TAKE)
    if (silence < unasked) return [{ ...state, rivalAnsweredAt: now }, []]
  }
  const [next, effects] = announceOverRival(before, now)
  if (event.virtualMac !== true || parameters.family !== 'ipv6') return [next, effects]
  const after = millis(centisToMillis(parameters.advertisementInterval) * MUTE_START)
  return [next, effects.map((effect) => (effect.kind === 'announce' ? { ...effect, after } : effect))]
}

/** The takeover's own announcements are not over: who is first spoken to now has heard, or will hear them. */
const TAKEOVER_TAKES = 50

/**
 * A unicast peer that could not be reached may have been Active beside us, and has our advertisement now: one that had
 * waited, before which nobody was asked. If it yields to it in silence no question will find it any more.
 */
function peerReached(state: Active, parameters: Parameters, now: Millis): Step {
  if (!parameters.knobs.probeRivals || now - state.since < TAKEOVER_TAKES) return [state, []]
  return announceOverRival(state, now)
}
