/**
 * Finds the event that caused a new event of the journal, among the events just before. Because of this search, the
 * code that records an event need not know the cause. This file decides which kinds of events can cause which other
 * kinds, and how long before. Only events of this node are searched. If another node's packet is the cause, the reason
 * for that packet is in the journal of the other node.
 */
import type { Fact, JournalEvent } from './event.ts'

/**
 * Milliseconds before an event in which its cause may lie. A failed check changes a priority within a turn. After the
 * loss of the guardian the engine waits a little.
 */
const WITHIN_MS = 10_000
/** Number of events to look back, so that a flood does not make recording expensive. */
const LOOK_BACK = 64

/**
 * Returns the number of the latest event that explains the new event; `undefined` if no event does. The first element
 * of `events` is the oldest event.
 */
export function causeOf(fact: Fact, events: readonly JournalEvent[], monotonicMs: number): number | undefined {
  const isCause = lookingFor(fact)
  if (isCause === undefined) return undefined
  for (let i = events.length - 1; i >= Math.max(0, events.length - LOOK_BACK); i--) {
    const event = events[i]
    if (event === undefined || monotonicMs - event.monotonicMs > WITHIN_MS) return undefined
    if (isCause(event)) return event.seq
  }
  return undefined
}

type Test = (event: JournalEvent) => boolean

function lookingFor(fact: Fact): Test | undefined {
  switch (fact.kind) {
    case 'transition':
      return causeOfTransition(fact)
    case 'announced':
      return (event) => event.kind === 'transition' && event.to === 'Active' && event.router === fact.router
    case 'priorityChanged':
      return causeOfPriority(fact)
    case 'faultChanged':
      return causeOfFault(fact.fault, fact.router)
    case 'stopped':
    case 'stopOrdered':
      return ({ kind }) => kind === 'guardianLost' || (fact.kind === 'stopped' && kind === 'stopOrdered')
    default:
      return undefined
  }
}

function causeOfPriority({ router, why }: Extract<Fact, { kind: 'priorityChanged' }>): Test {
  return (event) => {
    switch (event.kind) {
      case 'checkChanged':
        return why === 'tracking' && event.effects.some((effect) => effect.router === router)
      case 'linkChanged':
        return why === 'tracking'
      case 'reloaded':
        return event.ok && why !== 'yield' && why !== 'yieldOver'
      case 'yieldOrdered':
        return why === 'yield'
      default:
        return false
    }
  }
}

function causeOfTransition({
  group,
  reason,
  router,
  peer,
  to,
  ...at
}: Extract<Fact, { kind: 'transition' }>): Test | undefined {
  const heard: Test = (event) =>
    event.kind === 'peerHeard' &&
    // An event about another Active while we are Active is not the cause of becoming Active.
    (event.news !== 'rival' || to !== 'Active') &&
    // An advertisement to one member decides for its whole sync group.
    (event.router === router || group !== undefined) &&
    (peer === undefined || event.peer === peer)
  switch (reason) {
    case 'startup':
      return ({ kind }) => kind === 'started' || kind === 'reloaded'
    case 'activeReleased':
    case 'activeDemoted':
    case 'lowerPriorityActive':
    case 'higherPriorityHeard':
    case 'higherAddressHeard':
    case 'activeHeard':
    case 'successorHeard':
      return heard
    case 'yield':
      return ({ kind }) => kind === 'yieldOrdered'
    case 'shutdown':
      return ({ kind }) => kind === 'stopOrdered' || kind === 'reloaded' || kind === 'guardianLost'
    case 'noSuccessor':
      return (event) => event.kind === 'transition' && event.router === router && event.to === 'Leaving'
    case 'willExecuted':
    case 'stalled':
      return (event) => event.kind === 'absence' && event.cause === reason
    case 'nobodyElse':
    case 'addressClaimed':
    case 'receptionLost':
      return ({ kind }) => kind === 'absence'
    case 'faultCleared':
      return (event) => event.kind === 'faultChanged' && event.router === router && !event.present
    case 'activeSilent':
      return undefined
    default:
      return to === 'Initialize' ? orFaultOf(router, causeOfFault(reason, router, at.interface)) : undefined
  }
}

/** The fault of the router is recorded before the transition, and has a cause of its own. */
function orFaultOf(router: string, other: Test): Test {
  return (event) => (event.kind === 'faultChanged' && event.present && event.router === router) || other(event)
}

/** Finds the cause of a fault. The name of some faults has an object behind a colon. */
function causeOfFault(fault: string, router: string, own?: string): Test {
  const [kind = '', about = ''] = split(fault)
  switch (kind) {
    case 'linkDown':
    case 'interfaceMissing':
    case 'interfaceIsPort':
    case 'sourceAddressMissing':
    case 'socketFailed':
      return (event) => event.kind === 'linkChanged' && (own === undefined || event.interface === own)
    case 'trackedInterfaceDown':
    case 'addressInterfaceDown':
      return (event) => event.kind === 'linkChanged' && event.interface === about
    case 'healthcheckDown':
    case 'healthcheckUndecided':
      return (event) => event.kind === 'checkChanged' && event.check === about
    case 'syncGroup':
      return (event) =>
        (event.kind === 'faultChanged' && event.present && event.router === about) ||
        (event.kind === 'transition' && event.router === about)
    case 'duplicateHolder':
      return (event) => event.kind === 'duplicateHolder' && event.router === router
    case 'restorationsPaused':
      return (event) => event.kind === 'foreignChange' && event.router === router
    default:
      return ({ kind }) => kind === 'reloaded'
  }
}

function split(fault: string): readonly [string, string] {
  const at = fault.indexOf(':')
  return at === -1 ? [fault, ''] : [fault.slice(0, at), fault.slice(at + 1)]
}
