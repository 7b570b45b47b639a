/**
 * When did the kernel receive this packet, on the monotonic clock? Decided here: when a stamp may be believed
 * (ground rule 2). PURE: the clocks are arguments. The stamp is CLOCK_REALTIME, which people and NTP may step;
 * a wrong "earlier" would date a deadline into the past, so in doubt the answer is now.
 */
import { type Millis, millis } from '../../wire/units.ts'

/** Milliseconds of CLOCK_MONOTONIC and CLOCK_REALTIME, read together. */
export type ClockPair = { readonly monotonic: number; readonly realtime: number }

/** What the drain before this one left behind, or the opening of the socket. */
export type DrainMark = {
  /** Realtime minus monotonic. */
  readonly offset: number
  /** Read before the receive call that found the queue empty: nothing queued now is older. */
  readonly emptyAt: number
}

const MAX_OFFSET_CHANGE = 1

export const clockOffset = (clocks: ClockPair): number => clocks.realtime - clocks.monotonic

/** `stamp`: realtime milliseconds, 0 = the kernel gave none. */
export function receiveTime(stamp: number, clocks: ClockPair, last: DrainMark): Millis {
  const now = millis(clocks.monotonic)
  const offset = clockOffset(clocks)
  if (stamp === 0 || Math.abs(offset - last.offset) > MAX_OFFSET_CHANGE) return now
  const at = stamp - offset
  return at >= last.emptyAt && at <= now ? millis(at) : now
}
