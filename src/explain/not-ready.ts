/**
 * A router that has no address of its own to send from. Decided here: when that is the wait for an address that is to come
 * (IPv6 checks it for duplicates first, RFC 4862 §5.4), when it is only a consequence of a lost link, and when the address
 * was lost. PURE.
 */
import type { EventOf } from '../events/event.ts'
import type { Cause } from './cause.ts'
import { isKind, type Told } from './timeline.ts'

type Fault = Told<EventOf<'faultChanged'>>

/** Milliseconds: duplicate address detection ends after 1 to 2 s. */
export const USUAL_WAIT = 5_000
/** Faults of one change are raised in one turn. */
const SAME_MOMENT = 100
const GROUP = 'syncGroup:'

/** Returns the cause of the fault `sourceAddressMissing`; `undefined`: the lost link is told. */
export function causeOfMissingSource(missing: Fault): Cause | undefined {
  const { at, node } = missing
  const { router } = missing.event
  const isOf = (told: Told): boolean => 'router' in told.event && told.event.router === router
  const isConsequence = node.told.some(
    (told) =>
      isKind(told, 'faultChanged') &&
      isOf(told) &&
      told.event.present &&
      (told.event.fault === 'linkDown' || told.event.fault === 'interfaceMissing') &&
      Math.abs(told.at - at) <= SAME_MOMENT,
  )
  if (isConsequence) return undefined
  const before = node.told.findLast(
    (told) =>
      told.event.seq < missing.event.seq && (isKind(told, 'started') || (isKind(told, 'transition') && isOf(told))),
  )
  const hasRun = before !== undefined && isKind(before, 'transition') && before.event.to !== 'Initialize'
  return hasRun ? 'networkMoved' : 'addressNotReady'
}

/** Reports whether the fault is that of a sync group of which another member waits for its address. */
export function followsMissingSource({ at, event, node }: Fault): boolean {
  const member = event.fault.startsWith(GROUP) ? event.fault.slice(GROUP.length) : undefined
  return node.told.some(
    (told) =>
      isKind(told, 'faultChanged') &&
      told.event.router === member &&
      told.event.fault === 'sourceAddressMissing' &&
      told.event.present &&
      Math.abs(told.at - at) <= SAME_MOMENT &&
      causeOfMissingSource(told) === 'addressNotReady',
  )
}

/** Returns the milliseconds until the router had its address; `undefined` while it has none. */
export function readyAfter({ at, event, node }: Told): number | undefined {
  if (event.kind !== 'faultChanged') return undefined
  const over = node.told.find(
    (told) =>
      isKind(told, 'faultChanged') &&
      told.event.router === event.router &&
      told.event.fault === event.fault &&
      told.event.seq > event.seq,
  )
  return over === undefined ? undefined : over.at - at
}

/** Reports whether the address came as soon as one usually does: then there is nothing to do. */
export function cameSoon(missing: Told | undefined): boolean {
  const after = missing === undefined ? undefined : readyAfter(missing)
  return after !== undefined && after <= USUAL_WAIT
}
