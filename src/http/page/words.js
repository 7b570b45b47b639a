/**
 * Texts of the page for names in the API: reasons of states, events, times and durations. An unknown name is shown
 * unchanged. This file does not know the layout.
 */

import { NAMED_FAULTS, REASONS, RESULTS } from './reasons.js'

/** @typedef {import('../../events/event.ts').JournalEvent} JournalEvent */

/** @param {number} value @param {number} digits */
const padded = (value, digits) => String(value).padStart(digits, '0')

/**
 * Returns a local time of the reader, with the day if it is not today.
 * @param {number} at milliseconds since the epoch
 * @param {number} now
 * @param {boolean} [exact] with milliseconds
 */
export function clock(at, now, exact = false) {
  const date = new Date(at)
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map((value) => padded(value, 2)).join(':')
  const precise = exact ? `${time}.${padded(date.getMilliseconds(), 3)}` : time
  return date.toDateString() === new Date(now).toDateString() ? precise : `${dayOf(date)} ${precise}`
}

/** @param {Date} date */
const dayOf = (date) => `${date.getFullYear()}-${padded(date.getMonth() + 1, 2)}-${padded(date.getDate(), 2)}`

/** @param {number} at "UTC", "UTC+02:00" */
export function zone(at) {
  const minutes = -new Date(at).getTimezoneOffset()
  const size = Math.abs(minutes)
  if (size === 0) return 'UTC'
  return `UTC${minutes < 0 ? '−' : '+'}${padded(Math.floor(size / 60), 2)}:${padded(size % 60, 2)}`
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** @param {number} ms how long something has lasted */
export function span(ms) {
  if (ms < SECOND) return 'under 1 s'
  if (ms < 2 * MINUTE) return `${Math.floor(ms / SECOND)} s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min`
  return `${Math.floor(ms / DAY)} days`
}

/** @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = `${one}s`) => (count === 1 ? `1 ${one}` : `${count} ${many}`)

/**
 * Returns an entry. A daemon of a later version may use unknown names.
 * @template T
 * @param {Readonly<Record<string, T>>} table
 * @param {string} name
 * @returns {T | undefined}
 */
const entry = (table, name) => (Object.hasOwn(table, name) ? table[name] : undefined)

/**
 * Returns the reason of a transition, or the fault, as text after "because".
 * @param {string} code
 */
export function reasonWords(code) {
  const at = code.indexOf(':')
  const named = at < 0 ? undefined : entry(NAMED_FAULTS, code.slice(0, at))
  return named === undefined ? (entry(REASONS, code) ?? code) : named.replace('NAME', () => code.slice(at + 1))
}

/**
 * Returns the reason of a check's result as text.
 * @param {string} code
 */
export const resultWords = (code) => entry(RESULTS, code) ?? code

/**
 * Returns the reason with the name of the previous Active, which the journal has.
 * @param {Extract<JournalEvent, { kind: 'transition' }>} event
 * @param {(address: string) => string} nameOf
 */
export function transitionWords(event, nameOf) {
  const { heard, peer, reason, to } = event
  if (to === 'Active' && heard !== undefined) {
    const before = nameOf(heard.peer)
    if (reason === 'activeSilent') return `${before} fell silent`
    if (reason === 'activeReleased') return `${before} released it (priority 0)`
    if (reason === 'activeDemoted') return `${before} dropped its priority to ${heard.priority}`
    if (reason === 'lowerPriorityActive') return `${before} had the lower priority ${heard.priority}`
  }
  if (peer !== undefined && reason === 'higherPriorityHeard') return `it heard ${nameOf(peer)} with a higher priority`
  if (peer !== undefined && reason === 'successorHeard') return `${nameOf(peer)} has taken over`
  if (peer !== undefined && reason === 'activeHeard') return `${nameOf(peer)} advertised while it did not run`
  return reasonWords(reason)
}

/**
 * Returns why another node lowered its priority: "check web failed on node1 (150 → 90)".
 * @param {JournalEvent} lowered
 * @param {JournalEvent | undefined} cause in the journal of the same node
 * @param {string} node
 */
export function demotionWords(lowered, cause, node) {
  const change = lowered.kind === 'priorityChanged' ? ` (${lowered.from} → ${lowered.to})` : ''
  if (cause?.kind === 'checkChanged')
    return `check ${cause.check} ${cause.to === 'down' ? 'failed' : `is ${cause.to}`} on ${node}${change}`
  if (cause?.kind === 'linkChanged') return `${cause.interface} went down on ${node}${change}`
  if (cause?.kind === 'reloaded') return `the configuration of ${node} was changed${change}`
  return `${node} lowered its priority${change}`
}

/** "a", "a and b", "a, b and c". @param {readonly string[]} names */
export const listed = (names) =>
  names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

/** @type {Readonly<Record<string, (address: string, priority: number) => string>>} */
const HEARD = {
  active: (who, priority) => `follows ${who}, priority ${priority}`,
  raised: (who, priority) => `heard ${who} raise its priority to ${priority}`,
  lowered: (who, priority) => `heard ${who} lower its priority to ${priority}`,
  released: (who) => `heard ${who} release it (priority 0)`,
  rival: (who, priority) => `heard a competing Active, ${who}, priority ${priority}`,
}

/** @type {Readonly<Record<string, string>>} */
const WHY_PRIORITY = {
  tracking: 'because of tracked checks or interfaces',
  reload: 'by a reload',
  yield: 'to yield',
  yieldOver: 'after the yield',
}

/**
 * Returns an event as a sentence whose subject is the node, without its end.
 * @param {JournalEvent} event
 * @param {(address: string) => string} nameOf
 * @returns {string}
 */
export function eventWords(event, nameOf) {
  switch (event.kind) {
    case 'started':
      return `started (pid ${event.pid}, holdfast ${event.version})`
    case 'earlierLife':
      return event.ended === 'abruptly' ? 'its previous run crashed or was killed' : 'its previous run ended cleanly'
    case 'stopOrdered':
      return `was ordered to stop (${event.trigger})`
    case 'stopped':
      return 'stopped'
    case 'crashed':
      return `crashed with an uncaught exception: ${event.error}`
    case 'guardianLost':
      return event.silentMs === undefined ? 'lost its guardian' : `lost its guardian, silent for ${event.silentMs} ms`
    case 'yieldOrdered':
      return `was ordered to yield for ${span(event.forMs)}`
    case 'transition':
      return `${event.from} → ${event.to}: ${transitionWords(event, nameOf)}`
    case 'announced':
      return `announced ${counted(event.addresses, 'address', 'addresses')}`
    case 'priorityChanged':
      return `priority ${event.from} → ${event.to} ${WHY_PRIORITY[event.why] ?? event.why}`
    case 'checkChanged':
      return `check ${event.check}: ${event.from} → ${event.to}${event.reason === undefined ? '' : ` (${event.reason})`}`
    case 'linkChanged':
      return `${event.interface}: ${event.exists ? (event.up && event.carrier ? 'up' : event.up ? 'no carrier' : 'down') : 'gone'}`
    case 'interfaceMoved':
      return `moves from ${event.from} to ${event.to}${event.holding === undefined ? '' : ` with ${event.holding}`}`
    case 'addressNamed':
      return `${event.file}: ${event.address ?? event.problem}`
    case 'faultChanged':
      return event.present
        ? `fault: ${reasonWords(event.fault)}`
        : `fault cleared: ${event.fault} (${reasonWords(event.fault)})`
    case 'peerHeard':
      return HEARD[event.news]?.(nameOf(event.peer), event.priority) ?? `heard ${nameOf(event.peer)}: ${event.news}`
    case 'absence':
      return event.cause === 'stalled'
        ? 'found that its engine had not run for too long'
        : 'found that its guardian had removed its addresses'
    case 'foreignChange':
      return `another program ${event.change} ${event.address} on ${event.interface}; ${ANSWERS[event.answer] ?? event.answer}`
    case 'duplicateHolder':
      return `${event.mac} ${event.present ? 'also answers' : 'no longer answers'} for ${event.address}`
    case 'twoActives': {
      const who = event.actives.map(({ peer }) => nameOf(peer)).join(' and ')
      return event.present
        ? `heard ${who} advertise as Active at the same time`
        : `no longer heard several Actives (${who})`
    }
    case 'packetsDiscarded':
      return `discarded ${counted(event.count, 'packet')} on ${event.interface}: ${event.reason}, last from ${event.source}`
    case 'engineLate':
      return `woke ${Math.round(event.lateMs)} ms late`
    case 'advertisementsMissed':
      return `${event.router} heard nothing from ${nameOf(event.peer)} for ${Math.round(event.gapMs)} ms`
    case 'packetsLost':
      return `${counted(event.count, 'packet')} lost on ${event.interface}: its queue was full`
    case 'reloaded':
      return event.ok
        ? 'reloaded its configuration'
        : `could not reload its configuration: ${event.reason ?? 'no reason'}`
    case 'journalGap':
      return `did not record ${counted(event.lost, 'event')}: ${event.why}`
    default:
      // The event has an unknown kind, because its node runs a later version.
      return String(Object.getOwnPropertyDescriptor(event, 'kind')?.value)
  }
}

/** @type {Readonly<Record<string, string>>} */
const ANSWERS = {
  addedAgain: 'it was added again',
  removedAgain: 'it was removed again',
  left: 'not repaired, because it happens too often',
}
