/**
 * Converts the kernel's receive time of a packet to the monotonic clock. This file decides when a time stamp is trusted
 * (ground rule 2: a waiting packet counts). Pure: the clocks are arguments. The kernel's time stamp is CLOCK_REALTIME,
 * which operators and NTP may step. A wrong early time would move a deadline into the past, so a doubtful time stamp
 * counts as now. If the clock was stepped since the last drain, the packet came before the step or after it. The later of
 * the two times counts, unless it is in the future. This file does not notice a second step between two drains.
 */
import { type Millis, millis } from '../../wire/units.ts'

/** Milliseconds of CLOCK_MONOTONIC and CLOCK_REALTIME, read together. */
export type ClockPair = { readonly monotonic: number; readonly realtime: number }

/** Clocks when the queue of a socket was last found empty, or at the opening of the socket. */
export type DrainMark = {
  /** CLOCK_REALTIME minus CLOCK_MONOTONIC, in milliseconds. */
  readonly offset: number
  /** Time before the receive call that found the queue empty. No packet that is queued now is older. */
  readonly emptyAt: number
}

const MAX_OFFSET_CHANGE = 1

export const clockOffset = (clocks: ClockPair): number => clocks.realtime - clocks.monotonic

/**
 * Returns the receive time of a packet. `stamp`: CLOCK_REALTIME in milliseconds, 0 = the kernel gave none. `clocks` were
 * read before the receive call. `ended`: CLOCK_MONOTONIC after the receive call, when each packet of the call had come.
 */
export function receiveTime(stamp: number, clocks: ClockPair, last: DrainMark, ended: number): Millis {
  const now = millis(clocks.monotonic)
  const offset = clockOffset(clocks)
  if (stamp === 0) return now
  const isStepped = Math.abs(offset - last.offset) > MAX_OFFSET_CHANGE
  const times = [stamp - offset, stamp - (isStepped ? last.offset : offset)]
  const later = Math.max(...times)
  const at = later <= ended ? later : Math.min(...times)
  return at >= last.emptyAt && at <= now ? millis(at) : now
}
