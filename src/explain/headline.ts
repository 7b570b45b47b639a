/**
 * The first sentence of an incident: what moved from where to where, and why. Decided here: the words of each cause. PURE.
 */
import type { EventKind } from '../journal/event.ts'
import type { Cause } from './cause.ts'
import type { Incident } from './incident.ts'
import type { Told } from './timeline.ts'
import { type NameOf, time, wordsOf } from './words.ts'

/** Named in a sentence; of more the first, and how many. */
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

/** `routers`: all that moved with it. */
export function headline(incident: Incident, routers: readonly string[], nameOf: NameOf): string {
  const { cause, node, steps, takeover, twoOwnersMs } = incident
  if (cause === 'outranked') return outranked(incident, nameOf)
  if (twoOwnersMs !== undefined) {
    const peer = steps.flatMap(({ event }) => (event.kind === 'transition' ? (event.peer ?? []) : []))[0]
    return `${node.name} and ${peer === undefined ? 'another node' : nameOf(peer)} were both Active for ${time(twoOwnersMs)}: they hear each other again, and ${node.name} lets go.`
  }
  if (takeover === undefined) {
    const last = incident.about ?? steps.at(-1)
    if (last === undefined) return ''
    const ending = ENDINGS[cause]?.(incident, last, nameOf) ?? ''
    return `${node.name}: ${wordsOf(last.event, nameOf)}${ending}.`
  }
  const what = listed(routers, takeover.event.addresses)
  const from = takeover.before?.name ?? takeover.peer
  const move =
    from === undefined || from === node.name
      ? `${what} came to ${node.name}`
      : `${what} moved from ${from} to ${node.name}`
  return `${move}: ${why(cause, from ?? 'the other node', node.name, rootOf(incident))}.`
}

/** It went to somebody who has told us nothing but that. */
function outranked({ node, steps }: Incident, nameOf: NameOf): string {
  const lost = steps.find(({ event }) => event.kind === 'transition')?.event
  if (lost?.kind !== 'transition') return ''
  const by = nameOf(lost.peer ?? 'somebody else')
  const said = steps.flatMap(({ event }) => (event.kind === 'peerHeard' ? event.priority : []))[0]
  const priority = said === undefined ? 'the higher priority' : `priority ${said}`
  return `${listed([lost.router], lost.addresses)} moved from ${node.name} to ${by}: ${by}, whose journal is not here, says that it is Active with ${priority}.`
}

/** What the words of the event alone do not say. */
const ENDINGS: Readonly<Partial<Record<Cause, (incident: Incident, about: Told, nameOf: NameOf) => string>>> = {
  lossy: ({ sender }) =>
    sender === undefined
      ? ': lost on the way, or sent late'
      : `: lost on the way, for ${sender.name} was neither late nor away`,
  rival: (_, { event }, nameOf) =>
    event.kind === 'peerHeard' ? `; the journal of ${nameOf(event.peer)} is not here` : '',
}

/** The step where it began, as far as the cause is one that a journal has. */
function rootOf({ cause, steps }: Incident): Told | undefined {
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

/** The end of the sentence that says why an address has moved. */
function why(cause: Cause, from: string, to: string, first: Told | undefined): string {
  const event = first?.event
  switch (cause) {
    case 'started':
      return `${to} had started and nobody else was Active`
    case 'stopped':
      return `${from} was told to stop${event?.kind === 'stopOrdered' ? ` (${event.trigger})` : ''}`
    case 'yielded':
      return event?.kind === 'yieldOrdered'
        ? `an operator had ${from} yield`
        : 'nobody took over, or the time of yielding was over'
    case 'engineDied':
      return event?.kind === 'crashed'
        ? `the engine of ${from} died of an exception that nobody caught (${event.error}), and its guardian let go of the address for it`
        : `the engine of ${from} died without a word, and its guardian let go of the address for it`
    case 'engineAway':
      return `the engine of ${from} stood still`
    case 'nodeDied':
      return `${from} died with everything on it that speaks VRRP: engine and guardian at once, or the whole machine`
    case 'cut':
      return `what ${from} said did not reach ${to}, although ${from} was Active all the time: the network between them was cut`
    case 'lossy':
      return `advertisements of ${from} were lost on the way to ${to}, although ${from} was Active all the time: the network between them loses some of what is sent`
    case 'discarded':
      return `${to} does not listen to what another router says${event?.kind === 'packetsDiscarded' ? ` (${event.reason})` : ''}`
    case 'carrierLost':
      return `${from} lost its link`
    case 'interfaceGone':
      return `the interface of ${from} was removed`
    case 'networkMoved':
      return `the network of ${from} was moved to another interface, or taken off the one it had${event?.kind === 'faultChanged' ? ` (${event.fault})` : ''}`
    case 'forged':
      return `somebody said in the name of ${from} that it lets go (priority 0), which ${from} did not: forged`
    case 'checkFailed':
      return event?.kind === 'checkChanged'
        ? `health check ${event.check} failed on ${first?.node.name}`
        : `a health check failed on ${from}`
    case 'checkPassed':
      return event?.kind === 'checkChanged'
        ? `health check ${event.check} passed on ${first?.node.name}`
        : `a health check passed on ${to}`
    case 'interfaceTracked':
      return `an interface that is tracked changed on ${first?.node.name ?? to}`
    case 'reloaded':
      return `another configuration was loaded on ${first?.node.name ?? from}`
    case 'preempted':
      return `${to} has the higher priority`
    case 'fault':
      return `${from} was in fault`
    case 'guardianLost':
      return `${from} had lost its guardian`
    case 'duplicateOwner':
      return `another host had the address of ${from} as well`
    case 'foreignChange':
      return `somebody kept removing the address on ${from}`
    case 'released':
      return `${from} let go of it, or lowered its priority, for a reason that only its own journal has`
    case 'silent':
      return `${from} fell silent, for a reason that only its own journal has`
    case 'died':
      return `${from} died without a word`
    case 'rejected':
    case 'outranked':
    case 'rival':
    case 'healed':
    case 'reloadFailed':
    case 'unknown':
      return 'nobody has written down why'
  }
}
