/**
 * Durations as people write them: a number and its unit. A number without a unit is refused, because keepalived's
 * seconds are easily confused with the centiseconds of the packet. This file knows nothing about the bounds of a key.
 */
import { type Millis, millis } from '../../wire/units.ts'

const UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

// A duration has at most six decimals. Six decimals are enough for every bound in use, and a double holds the
// milliseconds exactly.
export const DURATION = /^(?:\d{1,9}(?:\.\d{1,6})?(?:ms|s|m|h)){1,4}$/

/**
 * Returns the milliseconds of a duration text: `40.95s` gives 40950, `1m30s` gives 90000. `undefined` if the text is no
 * duration.
 */
export function parseDuration(text: string): Millis | undefined {
  if (!DURATION.test(text)) return undefined
  const parts = [...text.matchAll(/([\d.]+)([a-z]+)/g)].map(([, amount, unit = '']) => ({
    amount,
    factor: UNIT[unit] ?? 0,
  }))
  // Each unit of a duration must be smaller than the unit before it: 30s1m is an error.
  if (parts.some(({ factor }, i) => i > 0 && factor >= (parts[i - 1]?.factor ?? 0))) return undefined
  const sum = parts.reduce((total, { amount, factor }) => total + Number(amount) * factor, 0)
  return millis(Math.round(sum * 1e6) / 1e6)
}

/** Returns a duration text that parseDuration() converts to the same value. */
export function formatDuration(value: number): string {
  if (value >= 3_600_000 && value % 3_600_000 === 0) return `${value / 3_600_000}h`
  if (value >= 1000 && value % 10 === 0) return `${value / 1000}s`
  return `${value}ms`
}
