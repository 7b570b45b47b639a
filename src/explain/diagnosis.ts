/**
 * Finds why a router became Active. The evidence comes from the journals of all available nodes. The search begins at
 * the reason in the transition and ends at an event on the previous holder. This file decides which of several
 * explanations counts. A cause without a recorded event stays unknown; no cause is guessed. PURE.
 */
import type { EventOf } from '../events/event.ts'
import { type Cause, ofFault } from './cause.ts'
import { isExplainedBySender } from './missed.ts'
import { USUAL_WAIT } from './not-ready.ts'
import {
  beganAway,
  chainOf,
  type Entry,
  hadDied,
  isKind,
  type Node,
  nodeAt,
  routersOf,
  stateAt,
  subjectOf,
  type Timeline,
} from './timeline.ts'

export type Takeover = Entry<EventOf<'transition'>>

export type Diagnosis = {
  readonly cause: Cause
  /**
   * Previous holder of the VIP. `undefined` if the journal of that node is not available; `peer` may still have its
   * address.
   */
  readonly before: Node | undefined
  readonly peer: string | undefined
  /** Events on both nodes that led to the takeover, the earliest first. */
  readonly evidence: readonly Entry[]
}

/**
 * Tolerance for different clocks and busy machines, in milliseconds. The tolerance is added to times that follow from
 * the interval.
 */
const SLACK_MS = 1_500
const UNSURE_MS = 100
/** Greatest distance between two reports of discarded packets of the same burst, in milliseconds. */
const BURST_MS = 10_000
/** Two losses of advertisements within this time (milliseconds) mean packet loss on the path, not a cut cable. */
const LOSSY_MS = 4_000

export function diagnose(timeline: Timeline, takeover: Takeover): Diagnosis {
  const { heard, peer: named } = takeover.event
  const chain = chainOf(takeover)
  const saidTo = (router?: string) =>
    chain.find(
      (entry): entry is Entry<EventOf<'peerHeard'>> =>
        isKind(entry, 'peerHeard') && (router === undefined || entry.event.router === router),
    )?.event.peer
  // The peer address of another sync group member is used last, because a node may have a different address on that
  // member's network.
  const peer = named ?? saidTo(takeover.event.router) ?? heard?.peer ?? saidTo()
  const before = peer === undefined ? undefined : nodeAt(timeline, peer)
  const known = { before, peer }
  const from = (cause: Cause, ...evidence: readonly Entry[]): Diagnosis => ({
    cause,
    ...known,
    evidence: [...evidence, ...since(chain, evidence)],
  })
  switch (takeover.event.reason) {
    case 'activeReleased':
      return before === undefined ? from('released') : ofPeer(timeline, before, takeover, from, 'engineDied')
    case 'activeSilent':
      return ofSilence(timeline, before, takeover, from)
    case 'activeDemoted':
    case 'lowerPriorityActive':
      return ofPriorities(before, takeover, from)
    default:
      return ofItself(takeover, chain, from)
  }
}

/** Drops events that ended well before the evidence began, because they are not the cause. */
function since(chain: readonly Entry[], evidence: readonly Entry[]): readonly Entry[] {
  const began = Math.min(...evidence.map((entry) => beganAway(entry) ?? entry.at))
  return evidence.length === 0 ? chain : chain.filter(({ at }, i) => i === 0 || at >= began - UNSURE_MS)
}

type From = (cause: Cause, ...evidence: readonly Entry[]) => Diagnosis

function ofSilence(timeline: Timeline, before: Node | undefined, takeover: Takeover, from: From): Diagnosis {
  const { heard } = takeover.event
  const discarded = discardedBefore(takeover)
  const isOurs = discarded === undefined ? undefined : from('discarded', discarded)
  if (heard === undefined) return isOurs ?? from(hadJustStarted(takeover) ? 'started' : 'silent')
  const found = before === undefined ? from('silent') : ofPeer(timeline, before, takeover, from, 'nodeDied')
  return isOurs !== undefined && ONLY_SILENT.has(found.cause) ? isOurs : found
}

/**
 * Causes for which only the silence of the other node is known. A lost link, or the end of that node, is preferred to
 * packets that arrived before.
 */
const ONLY_SILENT: ReadonlySet<Cause> = new Set(['silent', 'cut', 'lossy'])

/** An advertisement that was accepted later shows that packets were no longer discarded. */
function discardedBefore({ at, event: { heard, router }, node }: Takeover): Entry | undefined {
  const since = heard === undefined ? Number.NEGATIVE_INFINITY : at - heard.agoMs - UNSURE_MS
  return node.entries.find(
    (entry) =>
      isKind(entry, 'packetsDiscarded') &&
      entry.event.router === router &&
      (heard === undefined || entry.event.source === heard.peer) &&
      entry.at >= since &&
      Math.abs(entry.at - at) <= BURST_MS,
  )
}

/** Tells whether this takeover is the first transition of the router since its start. */
function hadJustStarted({ at, node, event }: Takeover): boolean {
  const before = node.entries.findLast(
    (entry): entry is Takeover =>
      isKind(entry, 'transition') && entry.event.router === event.router && entry.event.seq < event.seq,
  )
  if (before === undefined || before.event.reason === 'startup') return true
  // The start of the router waited for the node's own address.
  const started = node.entries.findLast((entry) => isKind(entry, 'started') && entry.event.seq < event.seq)
  const patience = USUAL_WAIT + toleranceOf(event)
  return before.event.reason === 'faultCleared' && started !== undefined && at - started.at <= patience
}

/** Finds the cause in the journal of the previous holder. `death` is the cause if that journal ends without a stop. */
function ofPeer(timeline: Timeline, before: Node, takeover: Takeover, from: From, death: Cause): Diagnosis {
  const subject = subjectOf(takeover.event)
  const since = takeover.at - toleranceOf(takeover.event)
  const until = takeover.at + SLACK_MS
  const left = before.entries.findLast(
    (entry): entry is Takeover =>
      isKind(entry, 'transition') &&
      subjectOf(entry.event) === subject &&
      entry.event.from === 'Active' &&
      entry.at >= since &&
      entry.at <= until,
  )
  const away = before.entries.find((entry) => entry.at >= since && isAwayFor(entry, takeover))
  if (
    away !== undefined &&
    (left === undefined || (isKind(away, 'absence') && left.event.reason === away.event.cause))
  ) {
    return from('engineAway', away, ...(left === undefined ? [] : [left]))
  }
  if (left !== undefined) {
    const gone = left.event.reason === 'linkDown' ? removalOf(left) : undefined
    return from(
      gone === undefined ? ofLeaving(left) : 'interfaceGone',
      ...chainOf(left),
      ...(gone === undefined ? [] : [gone]),
    )
  }
  // `died` tells whether the previous holder died after its last packet arrived.
  const died = hadDied(before, takeover.at - (takeover.event.heard?.agoMs ?? 0) - UNSURE_MS, takeover.at)
  const crash = before.entries.findLast((entry) => isKind(entry, 'crashed') && entry.at >= since && entry.at <= until)
  if (crash !== undefined) return from('engineDied', crash)
  if (died === true) return from(death)
  const was = stateAt(before, subject, takeover.at)
  // The engine of the previous holder does not answer now, and has recorded nothing after the takeover. From this
  // follows that the guardian of the previous holder released the VIP.
  if (before.stuck && was === 'Active' && (before.entries.at(-1)?.at ?? 0) < takeover.at) return from('engineAway')
  if (was === 'Active' && died === false && takeover.event.reason === 'activeSilent') {
    const missed = missedOf(timeline, before, takeover.at)
    return missed === undefined ? from('cut') : from('lossy', missed)
  }
  // The previous holder recorded no release, so another host sent priority 0 in the name of that node.
  if (was === 'Active' && died === false && takeover.event.reason === 'activeReleased') return from('forged')
  // Without a journal it is unknown whether the daemon of the previous holder ran at that time.
  return from(takeover.event.reason === 'activeSilent' ? 'silent' : 'released')
}

/**
 * Tells whether the engine did not run when an advertisement was due. A short delay before or after that is no cause.
 */
function isAwayFor(entry: Entry, { at, event: { interval } }: Takeover): boolean {
  const began = beganAway(entry)
  if (began === undefined) return false
  if (entry.event.kind === 'absence') return began - SLACK_MS <= at
  return entry.at - began >= 2 * interval && began <= at - interval && entry.at >= at - interval - UNSURE_MS
}

/**
 * Returns the event that an interface was removed. The kernel first reports the interface as down, and then as removed.
 */
export function removalOf(left: Takeover): Entry | undefined {
  return left.node.entries.find(
    (entry) => isKind(entry, 'linkChanged') && !entry.event.exists && Math.abs(entry.at - left.at) <= SLACK_MS,
  )
}

/** Returns an event that shows partial loss: a node missed advertisements of `speaker` and then received them again. */
function missedOf(timeline: Timeline, speaker: Node, at: number): Entry | undefined {
  return timeline.entries.find(
    (each) =>
      isKind(each, 'advertisementsMissed') &&
      speaker.addresses.has(each.event.peer) &&
      Math.abs(each.at - at) <= LOSSY_MS &&
      !isExplainedBySender(timeline, each, each.event),
  )
}

/** Returns the cause for which a router stopped being Active. */
export function ofLeaving(left: Takeover): Cause {
  const chain = chainOf(left)
  const has = (kind: Entry['event']['kind']) => chain.some(({ event }) => event.kind === kind)
  const { reason } = left.event
  if (has('guardianLost')) return 'guardianLost'
  if (reason === 'shutdown') return has('reloaded') ? 'reloaded' : 'stopped'
  if (reason === 'yield') return 'yielded'
  if (reason === 'duplicateHolder') return 'duplicateHolder'
  if (reason === 'restorationsPaused') return 'foreignChange'
  if (reason.startsWith('healthcheckDown:')) return 'checkFailed'
  if (reason.startsWith('trackedInterfaceDown:')) return 'interfaceTracked'
  if (reason.startsWith('syncGroup:')) return ofChain(chain) ?? 'fault'
  if (reason === 'higherPriorityHeard' || reason === 'higherAddressHeard') return ofChain(chain) ?? 'preempted'
  return ofFault(reason)
}

/** Tells whether the previous Active lowered its priority or this node raised its own priority. */
function ofPriorities(before: Node | undefined, takeover: Takeover, from: From): Diagnosis {
  const fell =
    before === undefined ? undefined : changeOf(before, takeover, ({ active, from, to }) => active && to < from)
  if (fell !== undefined) return from(ofChange(fell), ...chainOf(fell))
  const rose = changeOf(takeover.node, takeover, ({ from, to }) => to > from)
  if (rose !== undefined) return from(ofChange(rose), ...chainOf(rose))
  const lowered = chainOf(takeover).some((entry) => isKind(entry, 'peerHeard') && entry.event.news === 'lowered')
  return from(lowered ? 'released' : 'preempted')
}

/** Returns the latest change of priority that may explain the move of the VIP. `undefined` if no change explains it. */
export function changeOf(
  node: Node,
  move: Takeover,
  isIt: (change: EventOf<'priorityChanged'>) => boolean,
): Entry<EventOf<'priorityChanged'>> | undefined {
  const since = move.at - toleranceOf(move.event)
  const routers = routersOf(node, subjectOf(move.event))
  return node.entries.findLast(
    (entry): entry is Entry<EventOf<'priorityChanged'>> =>
      isKind(entry, 'priorityChanged') &&
      entry.at >= since &&
      entry.at <= move.at + SLACK_MS &&
      routers.has(entry.event.router) &&
      isIt(entry.event),
  )
}

export function ofChange(change: Entry<EventOf<'priorityChanged'>>): Cause {
  const { from, to, why } = change.event
  if (why === 'reload') return 'reloaded'
  if (why === 'yield' || why === 'yieldOver') return 'yielded'
  const chain = chainOf(change)
  const check = chain.find((entry): entry is Entry<EventOf<'checkChanged'>> => isKind(entry, 'checkChanged'))
  // A first result of a check means that the node has just started, and that its priority is higher than that of the
  // Active.
  if (check?.event.from === 'undecided' && to > from) return 'preempted'
  if (check !== undefined) return to < from ? 'checkFailed' : 'checkPassed'
  if (chain.some((entry) => isKind(entry, 'linkChanged'))) return 'interfaceTracked'
  return chain.some((entry) => isKind(entry, 'reloaded')) ? 'reloaded' : 'unknown'
}

/** Returns the cause of a takeover for which no other router is the reason. */
function ofItself({ event: { reason } }: Takeover, chain: readonly Entry[], from: From): Diagnosis {
  if (reason === 'owner' || reason === 'startup') return from('started')
  if (reason === 'noSuccessor') return from('yielded')
  return from(ofChain(chain) ?? 'unknown')
}

function ofChain(chain: readonly Entry[]): Cause | undefined {
  for (const { event } of chain) {
    if (event.kind === 'absence') return 'engineAway'
    if (event.kind === 'checkChanged') return event.to === 'up' ? 'checkPassed' : 'checkFailed'
    if (event.kind === 'linkChanged') return 'carrierLost'
    if (event.kind === 'duplicateHolder') return 'duplicateHolder'
    if (event.kind === 'foreignChange') return 'foreignChange'
    if (event.kind === 'stopOrdered') return 'stopped'
    if (event.kind === 'yieldOrdered') return 'yielded'
    if (event.kind === 'reloaded') return 'reloaded'
  }
  return undefined
}

/** Returns how long before a takeover its cause may have happened, in milliseconds: four intervals plus a tolerance. */
export const toleranceOf = ({ interval }: EventOf<'transition'>): number => 4 * interval + SLACK_MS
