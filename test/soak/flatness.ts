/**
 * Decides whether a figure stays constant: memory by the medians of two windows, counts by two measurements at rest. Pure: does not know
 * the origin of the figures. docs/soak.md has the rule.
 */

/** A figure and its time; `at` in seconds since the beginning. */
export type Point = { readonly at: number; readonly value: number }
export type Series = { readonly name: string; readonly points: readonly Point[] }

export type Windows = {
  /** Seconds at which the first window begins and the last window ends, and the length of both windows. */
  readonly from: number
  readonly length: number
  readonly to: number
}

export type Growth = {
  readonly name: string
  readonly first: number
  readonly last: number
  /** Growth per hour from the beginning of the first window to the end of the last one, by the line of Theil and Sen. */
  readonly perHour: number
  readonly allowed: number
  readonly flat: boolean
}

/**
 * Shortest judged soak in seconds. Warm-up and windows are a sixth each, ten minutes of an hour. A shorter soak shows nothing, because V8
 * still warms up.
 */
export const LEAST_SECONDS = 1_800
export const windowsOf = (seconds: number): Windows => ({ from: seconds / 6, length: seconds / 6, to: seconds })

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other)
  const middle = (sorted.length - 1) / 2
  const [low, high] = [sorted[Math.floor(middle)], sorted[Math.ceil(middle)]]
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2
}

/** Returns the median of all slopes between two points, so that no single point and no saw tooth decides. */
export function slopePerHour(points: readonly Point[]): number {
  const slopes = points.flatMap((one, i) =>
    points.slice(i + 1).map((other) => (3_600 * (other.value - one.value)) / (other.at - one.at)),
  )
  return median(slopes)
}

/** Seconds between two points of the slope. */
const MINUTE = 60

export function growthOf({ name, points }: Series, { from, length, to }: Windows, allowed: number): Growth {
  const within = (begin: number, end: number) => points.filter(({ at }) => at >= begin && at < end)
  const middleOf = (some: readonly Point[]) => median(some.map(({ value }) => value))
  const [first, last] = [middleOf(within(from, from + length)), middleOf(within(to - length, to))]
  const minutes: Point[] = []
  for (let begin = from; begin < to; begin += MINUTE) {
    const value = middleOf(within(begin, begin + MINUTE))
    if (!Number.isNaN(value)) minutes.push({ at: begin + MINUTE / 2, value })
  }
  // A window without figures shows nothing, so the figure does not count as flat.
  return { name, first, last, perHour: slopePerHour(minutes), allowed, flat: last - first <= allowed }
}

export type Counts = Readonly<Record<string, number>>

/** Kinds that may decrease. A check that had to wait for an answer gives up the idle connection beside its polls for up to an hour. */
const MAY_BE_FEWER = new Set(['tcp', 'descriptors'])

/** Returns the differences as text. A process that exists in only one of the measurements also counts. */
export function differences(before: ReadonlyMap<string, Counts>, after: ReadonlyMap<string, Counts>): string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort()
  return names.flatMap((name) => {
    const [one, other] = [before.get(name), after.get(name)]
    if (one === undefined || other === undefined)
      return [
        `${name}: expected it at both looks at rest, saw it only ${one === undefined ? 'at the end' : 'at the beginning'}`,
      ]
    const kinds = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort()
    return kinds
      .filter((kind) => {
        const more = (other[kind] ?? 0) - (one[kind] ?? 0)
        return more > 0 || (more < 0 && !MAY_BE_FEWER.has(kind))
      })
      .map((kind) => `${name}: expected ${one[kind] ?? 0} ${kind} at rest as at the beginning, saw ${other[kind] ?? 0}`)
  })
}
