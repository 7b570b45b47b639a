/**
 * What led to a fact, among the events just before it: so that whoever records a fact need not know why it became one.
 * Decided here: which kinds can lead to which, and how long before. Refuses to look further than this node: that another
 * one said something has its own reason in that one's journal.
 */
import type { Fact, JournalEvent } from './event.ts'

/** A check that fails makes a priority fall within a turn; a guardian that is lost is waited for a little. */
const WITHIN_MS = 10_000
/** A flood must not make recording dear. */
const LOOK_BACK = 64

/** The number of the latest event that explains it. `events`: the oldest first. */
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
    // That hears an Active, which had become one before.
    (event.news !== 'rival' || to !== 'Active') &&
    // What one member hears decides for its sync group.
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

/** Its fault comes first, and has its own cause. */
function orFaultOf(router: string, other: Test): Test {
  return (event) => (event.kind === 'faultChanged' && event.present && event.router === router) || other(event)
}

/** A name, and for some what it is about behind a colon. */
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
