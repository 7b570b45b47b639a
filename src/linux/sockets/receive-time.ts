/**
 * Converts the kernel's receive time of a packet to the monotonic clock. This file decides when a time stamp is trusted
 * (ground rule 2: a waiting packet counts). Pure: the clocks are arguments. The kernel's time stamp is CLOCK_REALTIME,
 * which operators and NTP may step. A wrong early time would move a deadline into the past, so a doubtful time stamp
 * counts as now.
 */
import { type Millis, millis } from '../../wire/units.ts'

/** Milliseconds of CLOCK_MONOTONIC and CLOCK_REALTIME, read together. */
export type ClockPair = { readonly monotonic: number; readonly realtime: number }

/** Clocks at the last drain of a socket, or at its opening. */
export type DrainMark = {
  /** CLOCK_REALTIME minus CLOCK_MONOTONIC, in milliseconds. */
  readonly offset: number
  /** Time before the receive call that found the queue empty. No packet that is queued now is older. */
  readonly emptyAt: number
}

const MAX_OFFSET_CHANGE = 1

export const clockOffset = (clocks: ClockPair): number => clocks.realtime - clocks.monotonic

/** Returns the receive time of a packet. `stamp`: CLOCK_REALTIME in milliseconds, 0 = the kernel gave none. */
export function receiveTime(stamp: number, clocks: ClockPair, last: DrainMark): Millis {
  const now = millis(clocks.monotonic)
  const offset = clockOffset(clocks)
  if (stamp === 0 || Math.abs(offset - last.offset) > MAX_OFFSET_CHANGE) return now
  const at = stamp - offset
  return at >= last.emptyAt && at <= now ? millis(at) : now
}
