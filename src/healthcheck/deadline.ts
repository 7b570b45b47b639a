/**
 * The deadline of one run of a check. This file decides that if the thread did not run at the deadline, it first reads
 * the octets that have arrived, and extends the deadline by the lost time. A delay of this process is not a failure of
 * the target (ground rule 2, a waiting packet counts, applied to checks).
 */
import type { Millis } from '../wire/units.ts'
import { monotonicNow } from './probe.ts'

/**
 * Milliseconds. Timers may be a few milliseconds late on a busy machine. A longer delay means that the thread did not
 * run.
 */
const SLEPT = 20

/** Calls `onPassed` once after the timeout, unless the returned function is called before. */
export function startDeadline(timeout: Millis, onPassed: () => void): () => void {
  let over = false
  let timer: NodeJS.Timeout
  const arm = (after: number, mayExtend: boolean) => {
    const dueAt = monotonicNow() + after
    timer = setTimeout(() => {
      const late = monotonicNow() - dueAt
      if (mayExtend && late > SLEPT) arm(Math.min(late, timeout), false)
      // Sockets with unread data are read before the deadline counts: in the event loop, timers run before sockets.
      else setImmediate(() => over || onPassed())
    }, after)
  }
  arm(timeout, true)
  return () => {
    over = true
    clearTimeout(timer)
  }
}
