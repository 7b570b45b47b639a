/**
 * RFC 9568 §6.4.3, the state Active: rows A1 to A8 of docs/rfc9568.md. As fsm.ts it is told the time
 * and asks for nothing; rivals that do not speak are in silent-rival.ts.
 */
import { type Address, compareAddresses } from '../wire/address.ts'
import { centisToMillis, type Millis, millis, plus } from '../wire/units.ts'
import type { Effect } from './effect.ts'
import type { Event, StateEvent } from './event.ts'
import { announceOverRival, answerableAt, answerLate, rememberAnswer } from './extensions/competing-active.ts'
import { keptByLoser } from './extensions/grace-period.ts'
import { leave, leavesAtOnce } from './extensions/leaving.ts'
import { advertiseChange } from './extensions/reload.ts'
import { comeBack } from './extensions/returning.ts'
import { peerReached, rivalAnswered } from './extensions/silent-active.ts'
import { isOwner, type Parameters } from './parameters.ts'
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
      // Addresses first (docs/architecture.md, Protocol decisions): whatever is wrong here, two hosts must not answer.
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
  const send = (reason: 'rivalHeard' | 'lost'): Effect => ({
    kind: 'sendAdvertisement',
    priority: parameters.priority,
    reason,
  })
  // A8, VR-RX-16
  if (source === parameters.primaryAddress) return [state, [{ kind: 'refused', reason: 'self-originated', source }]]
  if (advertisement.priority === 0) return hearRelease(state, source, parameters, now)
  const above = advertisement.priority > parameters.priority
  const equal = advertisement.priority === parameters.priority
  if (above || (equal && compareAddresses(source, parameters.primaryAddress) > 0)) {
    // A4, A5: step down. The last advertisement tells the winner that clients may have been misled. Who answers until the
    // winner announces itself asks for that first; otherwise the addresses go first, so that its answer cannot be undone
    // by us (docs/architecture.md, Rivals; docs/adr/0045).
    const kept = keptByLoser(state, receivedAt, parameters, now)
    const [next, entered] = enterBackup(parameters, now, {
      from: 'Active',
      reason: above ? 'higherPriorityHeard' : 'higherAddressHeard',
      active: { source, priority: advertisement.priority, heardAt: receivedAt },
      activeAdverInterval: parameters.version === 3 ? advertisement.interval : parameters.advertisementInterval,
      ownerChanged: true,
      kept,
    })
    const last: Effect[] = parameters.knobs.lastAdvertisement ? [send('lost')] : []
    if (kept !== undefined) return [next, [...last, ...entered]]
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
  const [announced, announcement] = announceOverRival(next, parameters.family, now)
  return [announced, [...effects, ...announcement]]
}

/**
 * A3. Backups are silent, so who says priority 0 was Active beside us, and has led clients to itself (docs/adr/0053). What
 * it says too soon for another answer is answered late, not never, because a Backup may have cut its timer to Skew_Time.
 */
function hearRelease(state: Active, source: Address, parameters: Parameters, now: Millis): Step {
  const release = { to: 'release', source } as const
  const again = answerableAt(state, release, parameters)
  const effects: Effect[] = []
  let next: Active
  if (again > now) next = { ...state, adverAt: millis(Math.min(state.adverAt, again)) }
  else {
    const adverAt = plus(now, centisToMillis(parameters.advertisementInterval))
    next = { ...rememberAnswer(state, release, parameters, now), adverAt }
    effects.push({ kind: 'sendAdvertisement', priority: parameters.priority, reason: 'priorityZeroHeard' })
  }
  if (!parameters.knobs.announceOnRival) return [next, effects]
  const [announced, announcement] = announceOverRival(next, parameters.family, now)
  return [announced, [...effects, ...announcement]]
}
