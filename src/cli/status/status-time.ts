/** Formats times in `holdfast status`, as on the status page: the local clock, and how long ago. PURE. */
import { clock, span } from '../../http/page/words.js'

/** Returns a point in time such as "12:14:05, 3 min ago", with the day if that is not today. */
export function moment(at: string, now: number): string {
  const time = Date.parse(at)
  return `${clock(time, now)}, ${ago(now - time)}`
}

export const ago = (ms: number): string => `${span(Math.max(0, ms))} ago`

/**
 * Returns a duration in seconds: "0.1 s", "3.4 s" or "13 s". Used for remaining times and for times since something
 * that changes every second.
 */
export const seconds = (ms: number): string =>
  Math.abs(ms) < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : span(Math.max(0, ms))
