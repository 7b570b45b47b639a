/**
 * Finds why a source address is missing. This file decides whether the router waits for a new address (IPv6 first
 * checks an address for duplicates, RFC 4862 §5.4), whether a lost link is the cause, or whether the address was
 * removed. PURE.
 */
import type { EventOf } from '../events/event.ts'
import type { Cause } from './cause.ts'
import { type Entry, isKind } from './timeline.ts'

type Fault = Entry<EventOf<'faultChanged'>>

/** Milliseconds until a new IPv6 address can normally be used. Duplicate address detection ends after 1 to 2 s. */
export const USUAL_WAIT = 5_000
/** Milliseconds within which a single change raises all its faults. */
const SAME_MOMENT = 100
const GROUP = 'syncGroup:'

/** Returns the cause of the fault `sourceAddressMissing`. `undefined` if a lost link is reported instead. */
export function causeOfMissingSource(missing: Fault): Cause | undefined {
  const { at, node } = missing
  const { router } = missing.event
  const isOf = (entry: Entry): boolean => 'router' in entry.event && entry.event.router === router
  const isConsequence = node.entries.some(
    (entry) =>
      isKind(entry, 'faultChanged') &&
      isOf(entry) &&
      entry.event.present &&
      (entry.event.fault === 'linkDown' || entry.event.fault === 'interfaceMissing') &&
      Math.abs(entry.at - at) <= SAME_MOMENT,
  )
  if (isConsequence) return undefined
  const before = node.entries.findLast(
    (entry) =>
      entry.event.seq < missing.event.seq && (isKind(entry, 'started') || (isKind(entry, 'transition') && isOf(entry))),
  )
  const hasRun = before !== undefined && isKind(before, 'transition') && before.event.to !== 'Initialize'
  return hasRun ? 'networkMoved' : 'addressNotReady'
}

/** Tells whether the router is in fault only because another member of its sync group waits for a source address. */
export function followsMissingSource({ at, event, node }: Fault): boolean {
  const member = event.fault.startsWith(GROUP) ? event.fault.slice(GROUP.length) : undefined
  return node.entries.some(
    (entry) =>
      isKind(entry, 'faultChanged') &&
      entry.event.router === member &&
      entry.event.fault === 'sourceAddressMissing' &&
      entry.event.present &&
      Math.abs(entry.at - at) <= SAME_MOMENT &&
      causeOfMissingSource(entry) === 'addressNotReady',
  )
}

/**
 * Returns the milliseconds from this fault until the router had its source address. `undefined` if the router still has
 * no source address.
 */
export function readyAfter({ at, event, node }: Entry): number | undefined {
  if (event.kind !== 'faultChanged') return undefined
  const over = node.entries.find(
    (entry) =>
      isKind(entry, 'faultChanged') &&
      entry.event.router === event.router &&
      entry.event.fault === event.fault &&
      entry.event.seq > event.seq,
  )
  return over === undefined ? undefined : over.at - at
}

/**
 * Tells whether the address arrived within the usual time. If the address arrived in time, the user need not do
 * anything.
 */
export function cameSoon(missing: Entry | undefined): boolean {
  const after = missing === undefined ? undefined : readyAfter(missing)
  return after !== undefined && after <= USUAL_WAIT
}
