/**
 * The deadline of one run. Decided here: a thread that slept through it first reads what came meanwhile, and gives back
 * what it slept: a stall of ours is no failure of the target (ground rule 2, "a packet that is waiting
 * counts", for checks). Refuses to know what is ended.
 */
import type { Millis } from '../wire/units.ts'
import { monotonicNow } from './probe.ts'

/** Timers are a few ms late on a busy machine; more than this is a thread that did not run. */
const SLEPT = 20

/** Calls `onPassed` once unless the returned function was called before. */
export function startDeadline(timeout: Millis, onPassed: () => void): () => void {
  let over = false
  let timer: NodeJS.Timeout
  const arm = (after: number, mayExtend: boolean) => {
    const dueAt = monotonicNow() + after
    timer = setTimeout(() => {
      const late = monotonicNow() - dueAt
      if (mayExtend && late > SLEPT) arm(Math.min(late, timeout), false)
      // After the sockets had their turn: timers come before them in a round of the event loop.
      else setImmediate(() => over || onPassed())
    }, after)
  }
  arm(timeout, true)
  return () => {
    over = true
    clearTimeout(timer)
  }
}
