/**
 * Computes statistics of a small sample. Only order statistics are used, because a smoothed figure was never measured.
 */

export type Spread = {
  readonly count: number
  readonly min: number
  readonly median: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

/**
 * Returns the value at the nearest rank, so that the returned value was measured. The median of an even number of
 * values is the lower one in the middle.
 */
function atRank(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  return {
    count: sorted.length,
    min: atRank(sorted, 0),
    median: atRank(sorted, 0.5),
    p95: atRank(sorted, 0.95),
    p99: atRank(sorted, 0.99),
    max: atRank(sorted, 1),
  }
}
