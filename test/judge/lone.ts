/**
 * Result of one accident alone: the LAN is otherwise at rest, the node holds the address, and its successor is known.
 * The bounds of this file are narrower than those of bounds.ts, and name the node that must answer in the end. The
 * bounds follow from the protocol and from promises in docs/, and none from a measurement. This file does not know runs
 * and results. Pure.
 *
 * With I the interval:
 * - a dead engine's addresses are off within 50 ms, and priority 0 moves them after Skew_Time (docs/performance.md, budgets);
 * - the deadline is 3 × I after the last advertisement, which is at most I old when the fault begins (docs/failures.md);
 * - the successor alone waits Active_Down_Interval from that advertisement (RFC 9568 §6.1);
 * - where no process of the node runs, the kernel drops the addresses, counted from a renewal that is at most a third old;
 * - a clean leave (SIGTERM, guardian lost) overlaps 10 ms at most and loses 2 probes at most (docs/performance.md, budgets).
 */
import { BEAT, lifetimeOf, patienceOf, RELEASED } from './bounds.ts'

type ProcessState = 'lives' | 'dies' | 'stops'
/** A fault of one node: what happens to engine and guardian. `ms`: time for which the stopped processes do not run. */
export type NodeFault = {
  readonly name: string
  readonly engine: ProcessState
  readonly guardian: ProcessState
  readonly ms: number
}

export type Setting = {
  readonly interval: number
  /** Active_Down_Interval of the node itself; Skew_Time and Active_Down_Interval of the successor. ms. */
  readonly own: { readonly down: number }
  readonly next: { readonly skew: number; readonly down: number }
  /** Case: the group has no other node. */
  readonly alone: boolean
  /** The guardian's clock advertises for an engine that stands still, until the lease ends (docs/adr/0089). */
  readonly leased: boolean
  readonly handover: number
}

export type Outcome = {
  /** In one piece, in ms: two answer; no node answers. */
  readonly overlap: number
  readonly absence: number
  /** ms after the fault at which the node no longer has the address; undefined: it need not go. */
  readonly gone: number | undefined
  /** The node may do nothing: no program runs, no packet is sent, no address is removed. */
  readonly stays: boolean
  /** Node that answers in the end. */
  readonly holder: 'itself' | 'successor' | 'nobody'
  /** Time after the end of the fault until that node answers, ms. */
  readonly settled: number
}

const CLEAN_OVERLAP = 10
/** Probes that may be lost. */
const CLEAN_LOSS = 2
/**
 * Delay with which the kernel removes an expired address. The kernel rounds the check to a whole second that is less
 * than HZ / 4 away (ADDRCONF_TIMER_FUZZ). The kernel's timer has steps of 64 to 80 ms at this distance, and the work
 * runs in a queue. Without holdfast, a lifetime of 2 s lasted 2.00 to 2.39 s.
 */
const EXPIRY = 400
/** Of the router with the shortest lifetime, whichever address is looked at: all are of one engine. */
const PATIENCE = patienceOf(2_000)
/** Leaving: off 20 ms after the successor's first advertisement at the latest (docs/adr/0045). */
const LEAVE = 20
/** Shortest and longest time in ms until the lease of an engine that stands still is over (docs/adr/0086). */
const LEASE = { least: 600, most: 1_200 } as const
/** Returning: the addresses are asked for so long (docs/failures.md). */
const QUESTION = 20

const positive = (ms: number): number => Math.max(0, ms)

/**
 * Returns the earliest and the latest time in ms after which a node whose engine stands still has lost its addresses.
 * Three intervals after the last advertisement follow the lease. A stopped guardian has no clock.
 */
function absenceOf(
  { guardian }: NodeFault,
  { interval, leased }: Setting,
): { readonly from: number; readonly by: number } {
  const hasClock = leased && guardian !== 'stops'
  return { from: 2 * interval + (hasClock ? LEASE.least : 0), by: 3 * interval + (hasClock ? LEASE.most : 0) }
}

const QUIET: Outcome = { overlap: 0, absence: 0, gone: undefined, stays: true, holder: 'itself', settled: 0 }

/** No node follows, and it has its addresses back when it has asked for them. */
function aloneOutcome(fault: NodeFault, setting: Setting): Outcome {
  const { engine, guardian, ms } = fault
  const { handover, interval, own } = setting
  const { by, from } = absenceOf(fault, setting)
  const lifetime = lifetimeOf(own.down)
  const lost = (gone: number): Outcome => {
    const absence = Number.POSITIVE_INFINITY
    return { overlap: 0, absence, gone, stays: false, holder: 'nobody', settled: gone }
  }
  if (engine === 'lives') {
    if (guardian === 'stops' && ms < PATIENCE) return QUIET
    // Case: the node waits for a successor in vain.
    return lost((guardian === 'dies' ? 0 : PATIENCE) + BEAT + 2 * interval + handover)
  }
  if (engine === 'dies') return lost(guardian === 'dies' ? lifetime + EXPIRY : RELEASED)
  if (ms < from) return QUIET
  const surely = ms >= by
  const kept = guardian === 'stops' ? (2 / 3) * lifetime : from
  const gone = guardian === 'stops' ? Math.min(ms + RELEASED, lifetime + EXPIRY) : by + RELEASED
  const settled = QUESTION + handover
  const absence = positive(ms - kept) + settled
  return { overlap: 0, absence, gone: surely ? gone : undefined, stays: false, holder: 'itself', settled }
}

export function outcomeOf(fault: NodeFault, setting: Setting): Outcome {
  if (setting.alone) return aloneOutcome(fault, setting)
  const { engine, guardian, ms } = fault
  const { handover, interval, next, own } = setting
  const { by: deadline, from } = absenceOf(fault, setting)
  const earliest = next.down - interval
  const lifetime = lifetimeOf(own.down)
  const expired = lifetime + EXPIRY
  const released = next.skew + handover
  /** The address may expire before the successor comes: a renewal was due at two thirds of it. */
  const gap = positive(next.down + handover - (2 / 3) * lifetime)
  const moved = (overlap: number, absence: number, gone: number, settled = gone): Outcome => {
    return { overlap, absence, gone, stays: false, holder: 'successor', settled }
  }

  if (engine === 'lives') {
    if (guardian === 'stops' && ms < PATIENCE) return QUIET
    const noticed = guardian === 'dies' ? BEAT : PATIENCE + BEAT
    return moved(CLEAN_OVERLAP, CLEAN_LOSS, noticed + released + LEAVE)
  }
  if (engine === 'dies') {
    if (guardian === 'dies') return moved(positive(expired - earliest), gap, expired)
    // Case: the engine may be late before it is dead: a heap that fills up.
    const overlap = positive(RELEASED - (ms > 0 ? next.skew : earliest))
    const gone = ms > 0 ? Math.max(deadline, ms) + RELEASED : RELEASED
    return moved(overlap, released, gone, ms + released + RELEASED)
  }
  // No node can miss it if it sleeps for less than two intervals, with the lease. Below three it depends on the moment.
  if (ms < from) return QUIET
  const surely = ms >= deadline
  const absence = (surely ? next.skew : Math.max(next.skew, QUESTION)) + handover
  const both = guardian === 'stops'
  const gone = both ? Math.min(ms + RELEASED, expired) : deadline + RELEASED
  return {
    overlap: positive(both ? gone - earliest : RELEASED - next.skew),
    absence: Math.max(absence, both && ms > (2 / 3) * lifetime ? gap : 0),
    gone: surely ? gone : undefined,
    ...{ stays: false, holder: 'itself', settled: own.down + handover },
  }
}
