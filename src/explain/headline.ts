/**
 * Builds the first sentence of an incident: which VIP moved from which node to which node, and why. This file decides
 * the text for each cause. PURE.
 */
import type { EventKind, EventOf, JournalEvent } from '../events/event.ts'
import { discardText } from '../vrrp/reason-text.ts'
import type { Cause } from './cause.ts'
import { eventText, type NameOf, time } from './event-text.ts'
import type { Incident } from './incident.ts'
import { readyAfter } from './not-ready.ts'
import type { Entry } from './timeline.ts'

/** Number of names that a sentence lists. If there are more, the sentence lists the first ones and a count. */
const MOST_NAMED = 4

function listed(routers: readonly string[], addresses: readonly string[]): string {
  const [first = ''] = routers
  if (routers.length === 1) return `${first} (${shortened(addresses)})`
  return shortened(routers)
}

function shortened(names: readonly string[]): string {
  const more = names.length - MOST_NAMED
  return more > 0 ? `${names.slice(0, MOST_NAMED).join(', ')} and ${more} more` : names.join(', ')
}

export type Naming = {
  readonly nameOf: NameOf
  /** Returns "listed peer 10.0.0.2" if the configuration lists that address for the router, otherwise the name. */
  readonly titleOf: (router: string, address: string) => string
}

/** Returns the first sentence of an incident. `routers` are all routers that moved together. */
export function headline(incident: Incident, routers: readonly string[], { nameOf, titleOf }: Naming): string {
  const { cause, move, node, steps, twoHoldersMs } = incident
  if (twoHoldersMs !== undefined) {
    const peer = steps.flatMap(({ event }) => (event.kind === 'transition' ? (event.peer ?? []) : []))[0]
    return `${node.name} and ${peer === undefined ? 'another node' : nameOf(peer)} were both Active for ${time(twoHoldersMs)}: they hear each other again, and ${node.name} becomes Backup.`
  }
  if (move === undefined) {
    const last = incident.about ?? steps.at(-1)
    if (last === undefined) return ''
    const ending = ENDINGS[cause]?.(incident, last, nameOf) ?? ''
    const router = 'router' in last.event ? (last.event.router ?? '') : ''
    return `${node.name}: ${eventText(last.event, (address) => titleOf(router, address))}${ending}.`
  }
  const from = move.from === undefined ? undefined : nameOf(move.from)
  const to = move.to === undefined ? undefined : nameOf(move.to)
  const what = listed(routers, move.addresses)
  const observer = move.heardWithin !== undefined ? `, as ${node.name} heard` : ''
  return `${what} ${wayOf(from, to)}${observer}: ${reasonOf(incident, { nameOf, titleOf })}.`
}

function wayOf(from: string | undefined, to: string | undefined): string {
  if (to === undefined) return `left ${from}`
  return from === undefined || from === to ? `came to ${to}` : `moved from ${from} to ${to}`
}

function reasonOf(incident: Incident, { nameOf, titleOf }: Naming): string {
  const { cause, move, node, takeover } = incident
  const { from, router = '', to } = move ?? {}
  const other = to === undefined ? 'another node' : titleOf(router, to)
  // If the journal of the new holder is missing, the priority of that node is in the event of a node that received its
  // advertisement.
  if (takeover === undefined && to !== undefined && (cause === 'preempted' || cause === 'outranked')) {
    const took = `${other} has ${higherOf(incident)} and took over`
    return cause === 'preempted' ? took : `${took}; the journal of ${nameOf(to)} was not read`
  }
  const before = from === undefined ? 'the other node' : titleOf(router, from)
  if (cause === 'released') return releaseOf(incident, before)
  if (cause === 'silent' && from === undefined) return 'no other router was heard'
  if (cause === 'silent') return `no advertisement of ${before} arrived any more; ${ASK}`
  return why(
    cause,
    from === undefined ? before : nameOf(from),
    to === undefined ? node.name : nameOf(to),
    rootOf(incident),
  )
}

const ASK = 'for the reason read the journal of that node (--peer URL)'

/** Returns text about the priorities of a move, such as `higher priority (150 > 120)`. */
function higherOf({ steps, move, node }: Incident): string {
  const heard = steps.findLast(({ event }) => event.kind === 'peerHeard' && event.news === 'active')?.event
  const theirs = heard?.kind === 'peerHeard' ? heard.priority : undefined
  const lost = steps.find((step) => step.node === node && step.event.kind === 'transition')?.event
  const before = heard?.kind === 'peerHeard' && move?.heardWithin !== undefined ? heard.previous?.priority : undefined
  const ours = before ?? (lost?.kind === 'transition' ? lost.priority : undefined)
  if (theirs === undefined || ours === undefined) return 'a higher priority'
  if (theirs === ours) return `the same priority (${theirs}) and a higher address`
  return theirs > ours ? `higher priority (${theirs} > ${ours})` : `priority ${theirs} (here ${ours})`
}

/**
 * Returns how the previous Active gave the VIP up, as the new Active received it: by priority 0, or by a lower
 * priority.
 */
function releaseOf({ steps }: Incident, before: string): string {
  const heard = steps.findLast(
    ({ event }) => event.kind === 'peerHeard' && (event.news === 'lowered' || event.news === 'released'),
  )?.event
  if (heard?.kind === 'peerHeard' && heard.news === 'lowered')
    return `${before} lowered its priority (${heard.previous?.priority ?? '?'} → ${heard.priority}); ${ASK}`
  return `${before} released the VIP (priority 0); ${ASK}`
}

/** Additional texts for causes that the text of the root event alone does not explain completely. */
const ENDINGS: Readonly<Partial<Record<Cause, (incident: Incident, about: Entry, nameOf: NameOf) => string>>> = {
  lossy: ({ sender }) =>
    sender === undefined
      ? ': lost on the way, or sent late'
      : `: lost on the way; ${sender.name} was neither late nor away`,
  rival: (_, { event }, nameOf) =>
    event.kind === 'peerHeard' ? `; the journal of ${nameOf(event.peer)} was not read` : '',
  died: (_, entry) => heldThen(entry),
  addressNotReady: (_, entry) => untilReady(readyAfter(entry)),
  twoActives: ({ steps }) => overAfter(steps.at(-1)),
}

/** Returns the duration of a problem that is over, otherwise an empty text. */
const overAfter = (last: Entry | undefined): string =>
  last?.event.kind === 'twoActives' && !last.event.present ? `; for ${time(last.event.forMs)}` : ''

const untilReady = (after: number | undefined): string =>
  after === undefined ? '; the router still has no address' : `; an address was ready after ${time(after)}`

/** Returns the VIPs that a crashed run of the daemon held when it ended. */
function heldThen({ event, node }: Entry): string {
  if (event.kind !== 'earlierLife') return ''
  const states = new Map<string, string>()
  for (const { event: each } of node.entries) {
    if (each.seq > event.lastSeq) break
    if (each.kind === 'started') states.clear()
    if (each.kind !== 'transition') continue
    if (each.to === 'Active') states.set(each.router, `${each.router} (${shortened(each.addresses)})`)
    else states.delete(each.router)
  }
  return states.size === 0 ? '' : `; this run was Active for ${shortened([...states.values()])}`
}

/**
 * Returns the step of an incident that is the root of its cause; the first step, if no event is the root of this cause.
 */
function rootOf({ cause, steps }: Incident): Entry | undefined {
  const kinds = ROOTS[cause] ?? []
  return steps.find(({ event }) => kinds.includes(event.kind)) ?? steps[0]
}

const ROOTS: Readonly<Partial<Record<Cause, readonly EventKind[]>>> = {
  stopped: ['stopOrdered'],
  engineDied: ['crashed'],
  yielded: ['yieldOrdered'],
  checkFailed: ['checkChanged'],
  checkPassed: ['checkChanged'],
  reloaded: ['reloaded'],
  interfaceTracked: ['linkChanged'],
  networkMoved: ['faultChanged'],
  discarded: ['packetsDiscarded'],
}

/** Nodes between which the VIP moved, and the event that caused the move. */
type Moved = {
  readonly from: string
  readonly to: string
  readonly event?: JournalEvent | undefined
  readonly at: string | undefined
}

const UNKNOWN = () => 'no journal has the reason'

/** Second half of an incident's first sentence: why the VIP moved. */
const WHY: Readonly<Record<Cause, (moved: Moved) => string>> = {
  started: ({ to }) => `${to} had started and no other router was Active`,
  stopped: ({ from, event }) =>
    `${from} was ordered to stop${event?.kind === 'stopOrdered' ? ` (${event.trigger})` : ''}`,
  yielded: ({ from, to, event, at = to }) =>
    event?.kind === 'yieldOrdered' ? `an operator ordered ${from} to yield` : `yield period ended on ${at}`,
  engineDied: ({ from, event }) =>
    event?.kind === 'crashed'
      ? `the engine of ${from} crashed by an uncaught exception (${event.error}); its guardian released the VIP`
      : `the engine of ${from} crashed or was killed; its guardian released the VIP`,
  engineAway: ({ from }) => `the engine of ${from} did not run (frozen, no CPU, or the machine was paused)`,
  nodeDied: ({ from }) => `${from} died: engine and guardian together, or the whole machine`,
  cut: ({ from, to }) =>
    `advertisements of ${from} did not reach ${to}, although ${from} was Active all the time: the network between them was cut`,
  lossy: ({ from, to }) =>
    `advertisements of ${from} were lost on the way to ${to}, although ${from} was Active all the time: the network between them loses packets`,
  discarded: ({ to, event }) =>
    `${to} discards the advertisements of another router${event?.kind === 'packetsDiscarded' ? `: ${discardText(event.reason)}` : ''}`,
  carrierLost: ({ from }) => `${from} lost its link`,
  interfaceGone: ({ from }) => `the interface of ${from} was removed`,
  networkMoved: ({ from, event }) =>
    `the interface of ${from} lost its own address, or became the port of a bridge or bond${event?.kind === 'faultChanged' ? ` (${event.fault})` : ''}`,
  addressNotReady: ({ from }) => `${from} had no address of its own to send from yet`,
  forged: ({ from }) => `a forged release (priority 0) was sent in the name of ${from}, which had not sent it`,
  checkFailed: ({ from, event, at }) =>
    event?.kind === 'checkChanged' ? failureText(event, at) : `a health check failed on ${from}`,
  checkPassed: ({ to, event, at }) =>
    event?.kind === 'checkChanged' ? `health check ${event.check} passed on ${at}` : `a health check passed on ${to}`,
  interfaceTracked: ({ to, at = to }) => `a tracked interface changed on ${at}`,
  reloaded: ({ from, at = from }) => `a reload changed the configuration on ${at}`,
  preempted: ({ to }) => `${to} has the higher priority`,
  fault: ({ from }) => `${from} was in fault`,
  engineRestarted: ({ from, at = from, event }) =>
    event?.kind === 'engineRestarted'
      ? `the engine of ${at} crashed and was restarted by its guardian after ${event.tookMs} ms; the addresses stayed`
      : `the engine of ${at} crashed and was restarted by its guardian`,
  engineUpgraded: ({ from, at = from, event }) =>
    event?.kind === 'engineUpgraded'
      ? `version ${event.to} replaced version ${event.from} on ${at} within ${event.tookMs} ms; the addresses stayed`
      : `another version replaced the one on ${at}`,
  guardianLost: ({ from }) => `${from} lost its guardian and stopped`,
  duplicateHolder: ({ from }) => `another host had the address of ${from} as well`,
  foreignChange: ({ from }) => `another program kept removing the address on ${from}`,
  died: ({ from }) => `${from} crashed or was killed`,
  released: UNKNOWN,
  silent: UNKNOWN,
  rejected: UNKNOWN,
  outranked: UNKNOWN,
  rival: UNKNOWN,
  healed: UNKNOWN,
  twoActives: UNKNOWN,
  reloadFailed: UNKNOWN,
  unknown: UNKNOWN,
}

/** Meaning of a failed check of the preset `openshift-api`, by its name. */
const PRESET_FAILURES: Readonly<Record<string, string>> = {
  'openshift-haproxy': 'HAProxy did not answer',
  'openshift-iptables': 'no rule sent the API to HAProxy',
}

/** Returns which check failed on a node; of a combination, also its checks that failed. */
function failureText({ check, failed = [] }: EventOf<'checkChanged'>, node: string | undefined): string {
  const meaning = PRESET_FAILURES[failed[0] ?? check]
  const checks = failed.length === 0 ? check : `${check}: ${failed.join(' and ')}`
  return meaning === undefined
    ? `health check ${checks} failed on ${node}`
    : `${meaning} on ${node} (health check ${checks})`
}

const why = (cause: Cause, from: string, to: string, first: Entry | undefined): string =>
  WHY[cause]({ from, to, event: first?.event, at: first?.node.name })
