/**
 * An event as a sentence about the node where it happened, without its subject: `hears that r1 lets go (priority 0)`.
 * Decided here: the words, and nothing else. PURE.
 */
import type { EventOf, JournalEvent } from '../journal/event.ts'

/** How the story calls whoever has this address. */
export type NameOf = (address: string) => string

export function wordsOf(event: JournalEvent, nameOf: NameOf): string {
  switch (event.kind) {
    case 'started':
      return `holdfast ${event.version} starts (pid ${event.pid})`
    case 'earlierLife':
      return event.ended === 'cleanly'
        ? 'finds that its earlier life ended as it should'
        : `finds that its earlier life (pid ${event.pid ?? 'unknown'}) ended without a word, after its event ${event.lastSeq}`
    case 'stopOrdered':
      return `is told to leave: ${event.trigger}`
    case 'stopped':
      return 'has left'
    case 'crashed':
      return `dies of an exception that nobody caught: ${event.error}`
    case 'guardianLost':
      return `loses its guardian, which ${event.silentMs === undefined ? 'is gone' : `was silent for ${time(event.silentMs)}`}, and leaves`
    case 'yieldOrdered':
      return `is told to hand ${event.router} over for ${time(event.forMs)}`
    case 'transition':
      return transitionWords(event, nameOf)
    case 'announced':
      return `has announced ${plural(event.addresses, 'address', 'addresses')} to the LAN`
    case 'priorityChanged':
      return `${event.active ? 'advertises' : 'has'} priority ${event.to} instead of ${event.from} (${PRIORITY[event.why]})`
    case 'checkChanged':
      return `health check ${event.check}: ${event.from} → ${event.to}${found(event)}${effects(event)}`
    case 'linkChanged':
      return `${event.interface} ${event.exists ? (event.up ? (event.carrier ? 'has carrier' : 'has lost its carrier') : 'is turned off') : 'is gone'}`
    case 'interfaceMoved':
      return `goes from ${event.from} to ${event.to}${event.holding === undefined ? '' : `, where ${event.holding} is now`}, without an election`
    case 'addressNamed':
      return event.address === undefined ? `${event.file}: ${event.problem}` : `${event.file} says ${event.address}`
    case 'faultChanged':
      return `${event.present ? 'fault' : 'no fault any more'}: ${event.fault}${event.words === undefined ? '' : ` (${event.words})`}`
    case 'peerHeard':
      return heardWords(event, nameOf)
    case 'absence':
      return absenceWords(event)
    case 'engineLate':
      return `woke ${time(event.lateMs)} late: its engine did not run`
    case 'advertisementsMissed':
      return `has missed advertisements of ${nameOf(event.peer)}${event.count > 1 ? `, ${event.count} times` : ''}: nothing for ${time(event.gapMs)}, at an interval of ${time(event.interval)}`
    case 'foreignChange':
      return `somebody else has ${event.change} ${event.address} ${event.change === 'removed' ? 'from' : 'to'} ${event.interface}: ${ANSWER[event.answer]}`
    case 'duplicateOwner':
      return event.present
        ? `another host, ${event.mac}${event.peer === undefined ? ', from which no VRRP is heard' : ` (${nameOf(event.peer)})`}, answers for ${event.address} as well: ${reactionWords(event.reaction)}`
        : `${event.mac} answers for ${event.address} no more`
    case 'packetsDiscarded':
      return `discards ${plural(event.count, 'packet', 'packets')} on ${event.interface}, the last of ${nameOf(event.source)}: ${event.reason}`
    case 'packetsLost':
      return `the kernel has dropped ${plural(event.count, 'packet', 'packets')} on ${event.interface}: the receive queue was full`
    case 'reloaded':
      if (event.by !== undefined)
        return event.ok
          ? `is configured by ${event.by}: ${changes(event)}`
          : `cannot be configured by ${event.by} (${event.reason})`
      return event.ok
        ? `reloads its configuration: ${changes(event)}`
        : `cannot reload its configuration (${event.reason})`
    case 'journalGap':
      return `${plural(event.lost, 'event is', 'events are')} missing in its file: ${event.why}`
  }
}

const PRIORITY: Readonly<Record<EventOf<'priorityChanged'>['why'], string>> = {
  tracking: 'what it tracks has changed',
  reload: 'another configuration',
  yield: 'it yields',
  yieldOver: 'its time of yielding is over',
}

const ANSWER: Readonly<Record<EventOf<'foreignChange'>['answer'], string>> = {
  addedAgain: 'added again',
  removedAgain: 'removed again',
  left: 'left so, because it happens too often',
}

/** Of a transition, as the end of a sentence; a fault is its own word. */
const REASONS: Readonly<Record<string, string>> = {
  startup: 'it has started',
  owner: 'the addresses are its own',
  activeSilent: 'the Active is silent',
  activeReleased: 'the Active has let go',
  lowerPriorityActive: 'the Active has a lower priority',
  activeDemoted: 'the Active has lowered its priority below ours',
  higherPriorityHeard: 'a higher priority is heard',
  higherAddressHeard: 'the same priority with a higher address is heard',
  shutdown: 'it leaves',
  yield: 'it yields',
  successorHeard: 'the successor is heard',
  noSuccessor: 'nobody has taken over',
  faultCleared: 'no fault is left',
  willExecuted: 'its guardian has acted for it',
  stalled: 'it was away for too long',
  nobodyElse: 'nobody else has the addresses',
  activeHeard: 'another router is Active',
  addressClaimed: 'another host has an address',
  receptionLost: 'what was said meanwhile may be lost',
  linkWasDown: 'the link was down meanwhile',
}

function transitionWords(
  { from, group, heard, peer, priority, reason, router, to }: EventOf<'transition'>,
  nameOf: NameOf,
) {
  const subject = group === undefined ? router : `${router} (${group})`
  const who = peer === undefined ? '' : ` from ${nameOf(peer)}`
  const silence =
    reason !== 'activeSilent'
      ? ''
      : heard === undefined
        ? ', nobody has been heard'
        : `, ${nameOf(heard.peer)} has not been heard for ${time(heard.agoMs)}`
  return `${subject} ${from} → ${to} with priority ${priority}: ${REASONS[reason] ?? `fault ${reason}`}${who}${silence}`
}

function heardWords({ news, peer, previous, priority }: EventOf<'peerHeard'>, nameOf: NameOf): string {
  const who = nameOf(peer)
  switch (news) {
    case 'active':
      return `hears that ${who} is Active with priority ${priority}`
    case 'released':
      return `hears that ${who} lets go (priority 0)`
    case 'lowered':
    case 'raised':
      return `hears that ${who} has priority ${priority} instead of ${previous?.priority ?? 'another'}`
    case 'rival':
      return `is Active and hears that ${who} is so as well, with priority ${priority}`
  }
}

function absenceWords({ agoMs, cause, silentMs }: EventOf<'absence'>): string {
  const silent = silentMs === undefined ? 'for too long' : `for ${time(silentMs)}`
  return cause === 'stalled'
    ? `runs again: it had not advertised ${silent}`
    : `runs again: it had not advertised ${silent}, and its guardian has taken the addresses off ${time(agoMs ?? 0)} ago`
}

function reactionWords(reaction: string | undefined): string {
  if (reaction === 'announce') return 'announced over'
  return reaction === 'yield' ? 'it would win, so this router yields' : 'nothing is done about it'
}

const found = ({ detail, reason }: EventOf<'checkChanged'>): string =>
  reason === undefined ? '' : `, ${reason}${detail === undefined || detail === '' ? '' : ` (${detail})`}`

function effects({ effects }: EventOf<'checkChanged'>): string {
  const told = effects.map(({ adds, fault, router }) =>
    fault === undefined
      ? `adds ${adds === undefined || adds === 0 ? 'nothing' : adds} to ${router}`
      : fault
        ? `${router} is in fault for it`
        : `no fault of ${router}`,
  )
  return told.length === 0 ? '' : `; ${told.join(', ')}`
}

function changes({ changes = [], checksChanged = [] }: EventOf<'reloaded'>): string {
  const done = changes.map(({ change, router }) => `${router} ${change}`)
  if (checksChanged.length > 0) done.push(`health checks ${checksChanged.join(' and ')} changed`)
  return done.length === 0 ? 'nothing that means anything else' : done.join(', ')
}

/** `4.2 s`, `310 ms`: as exact as it is of use. */
export function time(ms: number): string {
  if (ms < 0) return `-${time(-ms)}`
  if (ms < 10) return `${Math.round(ms * 10) / 10} ms`
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${Math.round(ms / 100) / 10} s`
  const minutes = Math.round(ms / 60_000)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export const plural = (count: number, one: string, more: string): string => `${count} ${count === 1 ? one : more}`
