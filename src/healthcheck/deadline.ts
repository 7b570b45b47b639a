/**
 * The deadline of one run. Decided here: if the thread did not run at the deadline, it first reads what has arrived,
 * and extends the deadline by the time that it lost. A delay of this process is not a failure of the target (ground
 * rule 2, applied to checks).
 */
import type { Millis } from '../wire/units.ts'
import { monotonicNow } from './probe.ts'

/**
 * Milliseconds. Timers may be a few milliseconds late on a busy machine; a longer delay means that the thread did not
 * run.
 */
const SLEPT = 20

/** Calls `onPassed` once, unless the returned function is called before. */
export function startDeadline(timeout: Millis, onPassed: () => void): () => void {
  let over = false
  let timer: NodeJS.Timeout
  const arm = (after: number, mayExtend: boolean) => {
    const dueAt = monotonicNow() + after
    timer = setTimeout(() => {
      const late = monotonicNow() - dueAt
      if (mayExtend && late > SLEPT) arm(Math.min(late, timeout), false)
      // Waiting sockets are read before the deadline counts: in the event loop, timers run before sockets.
      else setImmediate(() => over || onPassed())
    }, after)
  }
  arm(timeout, true)
  return () => {
    over = true
    clearTimeout(timer)
  }
}
