/**
 * Whether a figure stays what it is: memory by medians of two windows, counts by two looks at rest. Pure: does not know
 * where the figures come from. The rule is written down in docs/soak.md.
 */

/** `at`: seconds since the beginning. */
export type Point = { readonly at: number; readonly value: number }
export type Series = { readonly name: string; readonly points: readonly Point[] }

export type Windows = {
  /** Seconds: where the first window begins, how long both are, where the last one ends. */
  readonly from: number
  readonly length: number
  readonly to: number
}

export type Growth = {
  readonly name: string
  readonly first: number
  readonly last: number
  /** Of what is between the beginning of the first and the end of the last window, per hour: Theil and Sen's line. */
  readonly perHour: number
  readonly allowed: number
  readonly flat: boolean
}

/** Warm-up and windows: a sixth each, ten minutes of an hour. Shorter than this nothing can be said: V8 still warms up. */
export const LEAST_SECONDS = 1_800
export const windowsOf = (seconds: number): Windows => ({ from: seconds / 6, length: seconds / 6, to: seconds })

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other)
  const middle = (sorted.length - 1) / 2
  const [low, high] = [sorted[Math.floor(middle)], sorted[Math.ceil(middle)]]
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2
}

/** The median of all slopes between two points: no single one of them, and no saw tooth, decides. */
export function slopePerHour(points: readonly Point[]): number {
  const slopes = points.flatMap((one, i) =>
    points.slice(i + 1).map((other) => (3_600 * (other.value - one.value)) / (other.at - one.at)),
  )
  return median(slopes)
}

/** For a slope a point a minute is enough. */
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
  // Without figures in a window nothing is known, and so it is not flat.
  return { name, first, last, perHour: slopePerHour(minutes), allowed, flat: last - first <= allowed }
}

export type Counts = Readonly<Record<string, number>>

/**
 * May be fewer: a check that had to wait for an answer gives the idle connection beside its polls up for a while, up to an hour.
 */
const MAY_BE_FEWER = new Set(['tcp', 'descriptors'])

/** In words, what is more or less than it was; a process that is there at one look only counts as well. */
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
