/**
 * Which cells are measured how often: those of the command line, or the whole table of docs/performance.md. This file
 * decides the order (daemons in turn, run by run, so that noise affects all), and how long a run will take. Pure. This
 * file does not know what happens in a run.
 */
import type { Cell, Company, LineUp } from './accident.ts'
import type { Family } from './observation.ts'
import { isSlow, keyOf, type RunRecord } from './result.ts'

export type Request = {
  readonly scenarios: readonly string[]
  readonly lineUps: readonly LineUp[]
  readonly intervals: readonly number[]
  readonly families: readonly Family[]
  /** Runs of each cell, and of each cell of 1 s or more. */
  readonly runs: number
  readonly slowRuns: number
}

/** Scenarios of `make bench` without options: an hour. */
export const USUAL = ['engine', 'group', 'sigterm', 'yield', 'cut', 'equal', 'heal', 'frozen', 'reload'] as const

const ALL: readonly LineUp[] = ['holdfast', 'keepalived', 'frr']
const TWO: readonly LineUp[] = ['holdfast', 'keepalived']

/**
 * The table of docs/performance.md. 100 ms has all scenarios. 10 ms and 1 s are used if the interval decides, and IPv6
 * if it takes another path of the code. FRR is used if something fails, because holdfast does not replace it.
 */
export function wholeTable(known: readonly string[], runs = 20, slowRuns = 10): readonly Request[] {
  const starting = (...words: readonly string[]) => known.filter((name) => words.some((word) => name.startsWith(word)))
  const moves = ['engine', 'group', 'sigterm', 'yield', 'cut', 'carrier']
  const returns = ['failback', 'frozen', 'heal', 'reload', 'equal', 'partition']
  const fast = { intervals: [100], runs, slowRuns, lineUps: TWO, families: [4] as const }
  const slow = { ...fast, intervals: [1_000] }
  // Each takes as long as one at 1 s.
  const long = { ...fast, runs: slowRuns }
  const requests: Request[] = [
    { ...fast, scenarios: ['engine', 'sigterm', 'cut'], lineUps: ALL },
    { ...fast, scenarios: [...moves, ...returns] },
    { ...fast, scenarios: ['sigterm', 'heal'], families: [6] },
    { ...fast, scenarios: ['engine', 'cut'], intervals: [10] },
    { ...long, scenarios: ['heal-forward', 'heal-fresh', 'partition-forward', 'partition-fresh'] },
    { ...long, scenarios: ['loss5', 'loss20'] },
    { ...slow, scenarios: ['sigterm', 'cut', ...starting('check-'), 'openshift-killed', 'all255-sigterm'] },
    { ...long, scenarios: starting('load2'), intervals: [10] },
  ]
  return requests.map((request) => ({
    ...request,
    scenarios: request.scenarios.filter((name) => known.includes(name)),
  }))
}

export type Planned = { readonly cell: Cell; readonly runs: number }

/** Returns the cells in the order of a round. If two requests name a cell, the larger number of runs counts. */
export function planned(requests: readonly Request[]): readonly Planned[] {
  const cells = new Map<string, Planned>()
  for (const { scenarios, intervals, families, lineUps, runs, slowRuns } of requests)
    for (const scenario of scenarios)
      for (const intervalMs of intervals)
        for (const family of families)
          for (const lineUp of lineUps) {
            const cell = { scenario, intervalMs, family, lineUp }
            const wanted = isSlow(cell) ? slowRuns : runs
            const before = cells.get(keyOf(cell))?.runs ?? 0
            cells.set(keyOf(cell), { cell, runs: Math.max(before, wanted) })
          }
  return [...cells.values()]
}

/**
 * Divides a round into parts that are measured at the same time, each with at most `labs` runs of similar length that
 * may run together.
 */
export function companies(
  round: readonly Planned[],
  labs: number,
  { companyOf, lengthOf }: { companyOf: (cell: Cell) => Company; lengthOf: (one: Planned) => number },
): readonly (readonly Planned[])[] {
  const groups = new Map<string, { readonly most: number; readonly members: Planned[] }>()
  for (const one of round) {
    const { kind, most } = companyOf(one.cell)
    const key = `${kind} ${one.cell.intervalMs}`
    const group = groups.get(key) ?? { most, members: [] }
    group.members.push(one)
    groups.set(key, group)
  }
  return [...groups.values()].flatMap(({ most, members }) => {
    const size = Math.min(labs, most)
    const sorted = members.toSorted((one, other) => lengthOf(one) - lengthOf(other))
    return Array.from({ length: Math.ceil(sorted.length / size) }, (_, i) => sorted.slice(i * size, (i + 1) * size))
  })
}

/** Milliseconds around the window: namespaces, daemons and a settled Backup before it, the end of all after it. */
const AROUND = 4_500
/** Milliseconds of a run of unknown length. */
const UNKNOWN = 25_000

/** Returns the median length of earlier runs of this cell, or the expected one, ms. */
export function expectedMs({ intervalMs }: Cell, lengthMs: number | undefined, before: readonly RunRecord[]): number {
  const took = before.map(({ tookMs }) => tookMs).sort((a, b) => a - b)
  return took[Math.floor(took.length / 2)] ?? AROUND + 4 * intervalMs + (lengthMs ?? UNKNOWN)
}

export function durationText(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  if (minutes < 1) return `${Math.round(ms / 1_000)} s`
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${`${minutes % 60}`.padStart(2, '0')} min`
}
