/**
 * Returns the text of an event, without the node, which is its subject: `heard that r1 released the VIP (priority 0)`.
 * This file decides only the text. PURE.
 */
import { checkEffectText } from '../events/check-effect-text.ts'
import { probeReasonText } from '../events/check-reason-text.ts'
import type { EventOf, JournalEvent } from '../events/event.ts'
import { discardText, reasonText } from '../vrrp/reason-text.ts'

/** Returns the name of the node with this IP address, or the address itself. */
export type NameOf = (address: string) => string

export function eventText(event: JournalEvent, nameOf: NameOf): string {
  switch (event.kind) {
    case 'started':
      return `holdfast ${event.version} starts (pid ${event.pid})`
    case 'engineRestarted':
      return `engine crashed and was restarted by its guardian within ${time(event.tookMs)}${event.routers.length === 0 ? '' : `; ${event.routers.join(', ')} kept the addresses`}`
    case 'upgradeOrdered':
      return 'hands over to another engine, as an operator asked'
    case 'engineUpgraded':
      return `version ${event.to} replaced version ${event.from} within ${time(event.tookMs)}${event.routers.length === 0 ? '' : `; ${event.routers.join(', ')} kept the addresses`}`
    case 'earlierLife':
      return event.ended === 'cleanly'
        ? 'previous run ended cleanly'
        : `previous run (pid ${event.pid ?? 'unknown'}) crashed or was killed; last event ${event.lastSeq} at ${second(event.lastAt)}`
    case 'stopOrdered':
      return `stops: ${event.trigger}`
    case 'stopped':
      return 'has stopped'
    case 'crashed':
      return `crashes by an uncaught exception: ${event.error}`
    case 'guardianLost':
      return `stops: its guardian ${event.silentMs === undefined ? 'is gone' : `was silent for ${time(event.silentMs)}`}`
    case 'yieldOrdered':
      return `yields ${event.router} for ${time(event.forMs)}, as an operator asked`
    case 'transition':
      return transitionText(event, nameOf)
    case 'announced':
      return `announced ${plural(event.addresses, 'address', 'addresses')} to the LAN`
    case 'priorityChanged':
      return `${event.active ? 'advertises' : 'has'} priority ${event.to} instead of ${event.from} (${PRIORITY[event.why]})`
    case 'checkChanged':
      return `health check ${event.check}: ${checkResultText(event)}${found(event)}${effects(event)}`
    case 'linkChanged':
      return `${event.interface} ${event.exists ? (event.up ? (event.carrier ? 'has carrier' : 'has lost its carrier') : 'is turned off') : 'is gone'}`
    case 'interfaceMoved':
      return `moves from ${event.from} to ${event.to}${event.holding === undefined ? '' : `, where ${event.holding} is now`}, without an election`
    case 'addressNamed':
      return event.address === undefined
        ? `${event.file}: ${event.problem}`
        : `read ${event.address} from ${event.file}`
    case 'faultChanged':
      return faultText(event)
    case 'reloaded':
      if (!event.ok) return reasonOfFailedReload(event)
      return event.by === undefined
        ? `reloads its configuration: ${changes(event)}`
        : `takes a configuration from ${event.by}: ${changes(event)}`
    case 'journalGap':
      return `${plural(event.lost, 'event is', 'events are')} missing in the journal's file: ${event.why}`
    default:
      return observationText(event, nameOf)
  }
}

type Observation = EventOf<
  | 'peerHeard'
  | 'absence'
  | 'engineLate'
  | 'advertisementsMissed'
  | 'foreignChange'
  | 'duplicateHolder'
  | 'twoActives'
  | 'packetsDiscarded'
  | 'packetsLost'
>

/** Returns the text of an event that the node observed: other routers, other programs, or delays of its own. */
function observationText(event: Observation, nameOf: NameOf): string {
  switch (event.kind) {
    case 'peerHeard':
      return heardText(event, nameOf)
    case 'absence':
      return absenceText(event)
    case 'engineLate':
      return `engine woke ${time(event.lateMs)} late (no CPU, or the machine was paused)`
    case 'advertisementsMissed':
      return `missed advertisements of ${nameOf(event.peer)}${event.count > 1 ? `, ${event.count} times` : ''}: none for ${time(event.gapMs)}, at an interval of ${time(event.interval)}`
    case 'foreignChange':
      return `another program ${event.change} ${event.address} ${event.change === 'removed' ? 'from' : 'to'} ${event.interface}: ${ANSWER[event.answer]}`
    case 'duplicateHolder':
      return event.present
        ? `another host, ${event.mac}${event.peer === undefined ? ' (no VRRP heard from it)' : ` (${nameOf(event.peer)})`}, answers for ${event.address} as well: ${reactionText(event)}`
        : `${event.mac} no longer answers for ${event.address}`
    case 'twoActives':
      return activesText(event, nameOf)
    case 'packetsDiscarded':
      return `discards ${plural(event.count, 'packet', 'packets')} on ${event.interface}, the last of ${nameOf(event.source)}: ${discardText(event.reason)}`
    case 'packetsLost':
      return `the kernel dropped ${plural(event.count, 'packet', 'packets')} on ${event.interface}: the receive queue was full`
  }
}

const PRIORITY: Readonly<Record<EventOf<'priorityChanged'>['why'], string>> = {
  tracking: 'a tracked check or interface changed',
  reload: 'configuration reloaded',
  yield: 'yield',
  yieldOver: 'yield period ended',
}

const ANSWER: Readonly<Record<EventOf<'foreignChange'>['answer'], string>> = {
  addedAgain: 'holdfast added the address again',
  removedAgain: 'holdfast removed the address again',
  left: 'holdfast no longer repairs such changes, because they happen too often',
}

function transitionText(event: EventOf<'transition'>, nameOf: NameOf): string {
  const { from, group, priority, router, to } = event
  const subject = group === undefined ? router : `${router} (${group})`
  return `${subject} ${from} → ${to} with priority ${priority}: ${whyText(event, nameOf)}`
}

function whyText({ group, heard, peer, reason }: EventOf<'transition'>, nameOf: NameOf): string {
  if (reason === 'activeSilent' && heard !== undefined)
    return `the Active is silent: ${nameOf(heard.peer)} has not been heard for ${time(heard.agoMs)}`
  if (reason === 'activeDemoted' && heard !== undefined)
    return `${nameOf(heard.peer)} dropped its priority to ${heard.priority}`
  const follows = reason.startsWith(FOLLOWS) ? reason.slice(FOLLOWS.length) : undefined
  if (follows !== undefined) return `it follows ${follows}${group === undefined ? '' : ` (sync group ${group})`}`
  return `${reasonText(reason)}${peer === undefined ? '' : ` (${nameOf(peer)})`}`
}

/** Prefix of a reason, before the name of the sync group member that caused the transition. */
const FOLLOWS = 'syncGroup:'

function heardText({ heldBy, news, peer, previous, priority }: EventOf<'peerHeard'>, nameOf: NameOf): string {
  const other = nameOf(peer)
  switch (news) {
    case 'active':
      return `heard that ${other} is Active with priority ${priority}`
    case 'released':
      return `heard that ${other} released the VIP (priority 0)`
    case 'lowered':
    case 'raised':
      return `heard that ${other} has priority ${priority} instead of ${previous?.priority ?? 'another'}${heldBy === undefined ? '' : `; ${holdText(heldBy)}`}`
    case 'rival':
      return `is Active, and heard that ${other} is Active too, with priority ${priority}`
  }
}

const holdText = ({ forMs, movedAgoMs }: NonNullable<EventOf<'peerHeard'>['heldBy']>): string =>
  `fast takeover is off for ${time(forMs)} after a move (minHold), and the VIP moved ${time(movedAgoMs)} ago`

function absenceText({ agoMs, cause, silentMs }: EventOf<'absence'>): string {
  const silent = silentMs === undefined ? 'for too long' : `for ${time(silentMs)}`
  return cause === 'stalled'
    ? `runs again: had not advertised ${silent}`
    : `runs again: had not advertised ${silent}; its guardian removed the addresses ${time(agoMs ?? 0)} ago`
}

function reactionText({ address, reaction }: EventOf<'duplicateHolder'>): string {
  if (reaction === 'announce') return `${address.includes(':') ? 'unsolicited NA' : 'gratuitous ARP'} sent again`
  return reaction === 'yield' ? 'this router releases the address to the other host' : 'no reaction'
}

function activesText({ actives, forMs, present, router }: EventOf<'twoActives'>, nameOf: NameOf): string {
  const who = actives.map(({ peer, priority }) => `${nameOf(peer)} (priority ${priority})`).join(' and ')
  return present
    ? `hears ${actives.length} routers advertise as Active for ${router}: ${who}`
    : `${router}: no longer several Actives, after ${time(forMs)}: they were ${who}`
}

function checkResultText({ from, to }: EventOf<'checkChanged'>): string {
  if (to === 'unknown') return 'no result'
  return from === 'undecided' ? `first result: ${to}` : `${from} → ${to}`
}

const found = ({ detail, reason }: EventOf<'checkChanged'>): string =>
  reason === undefined
    ? ''
    : `, ${probeReasonText(reason)}${detail === undefined || detail === '' ? '' : ` (${detail})`}`

function effects(event: EventOf<'checkChanged'>): string {
  const texts = event.effects.map((effect) => checkEffectText(effect, event))
  return texts.length === 0 ? '' : `; ${texts.join(', ')}`
}

export const faultText = ({ fault, present, router, words }: EventOf<'faultChanged'>): string =>
  `${router}: ${present ? 'fault' : 'fault cleared'}: ${fault} (${words ?? reasonText(fault)})`

export const reasonOfFailedReload = ({ by, reason }: EventOf<'reloaded'>): string =>
  by === undefined ? `cannot reload its configuration (${reason})` : `refuses a configuration from ${by} (${reason})`

function changes({ changes = [], checksChanged = [] }: EventOf<'reloaded'>): string {
  const done = changes.map(({ change, router }) => `${router} ${change}`)
  if (checksChanged.length > 0) done.push(`health checks ${checksChanged.join(' and ')} changed`)
  return done.length === 0 ? 'no change with an effect' : done.join(', ')
}

/** Returns a point in time (ISO 8601) without the fraction of a second. */
const second = (at: string): string => at.replace(/\.\d+Z$/, 'Z')

/** Returns a duration such as `4.2 s` or `310 ms`, rounded. */
export function time(ms: number): string {
  if (ms < 0) return `-${time(-ms)}`
  if (ms < 10) return `${Math.round(ms * 10) / 10} ms`
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${Math.round(ms / 100) / 10} s`
  const minutes = Math.round(ms / 60_000)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export const plural = (count: number, one: string, more: string): string => `${count} ${count === 1 ? one : more}`
