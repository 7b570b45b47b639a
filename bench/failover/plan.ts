/**
 * Plans which cells are measured how often: the cells of the command line, or the whole table of docs/performance.md.
 * This file decides the order of the runs (daemons alternate run by run, so that noise affects all alike), and how long
 * a run will take. Pure. This file does not know what happens in a run.
 */
import type { Cell, Company, LineUp } from './accident.ts'
import type { Family } from './observation.ts'
import { isSlow, keyOf, type RunRecord } from './result.ts'

export type Request = {
  readonly scenarios: readonly string[]
  readonly lineUps: readonly LineUp[]
  readonly intervals: readonly number[]
  readonly families: readonly Family[]
  /** Number of runs of each cell; for cells with an interval of 1 s or more, `slowRuns` runs. */
  readonly runs: number
  readonly slowRuns: number
}

/** Scenarios that `make bench` measures without options. The default scenarios take an hour. */
export const USUAL = ['engine', 'group', 'sigterm', 'yield', 'cut', 'equal', 'heal', 'frozen', 'reload'] as const

const ALL: readonly LineUp[] = ['holdfast', 'keepalived', 'frr']
const TWO: readonly LineUp[] = ['holdfast', 'keepalived']

/**
 * Returns the cells of the table in docs/performance.md. At an interval of 100 ms every scenario is measured. Intervals
 * of 10 ms and 1 s are measured if the interval decides the figure. IPv6 is measured if other code runs. FRR is
 * measured if something fails, because holdfast does not replace FRR.
 */
export function wholeTable(known: readonly string[], runs = 20, slowRuns = 10): readonly Request[] {
  const starting = (...words: readonly string[]) => known.filter((name) => words.some((word) => name.startsWith(word)))
  const moves = ['engine', 'group', 'sigterm', 'yield', 'cut', 'carrier']
  const returns = ['failback', 'frozen', 'heal', 'reload', 'equal', 'partition']
  const fast = { intervals: [100], runs, slowRuns, lineUps: TWO, families: [4] as const }
  const slow = { ...fast, intervals: [1_000] }
  // Each of these runs takes as long as a run with an interval of 1 s.
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

/**
 * Returns the cells in the order in which one round measures them. If two requests name the same cell, the larger
 * number of runs counts.
 */
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
 * Divides the runs of a round into groups that are measured at the same time. A group has at most `labs` runs of
 * similar length that may run together.
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

/**
 * Milliseconds that a run needs besides its measuring window: to create namespaces and start daemons until a Backup has
 * settled, and to end all processes.
 */
const AROUND = 4_500
/** Assumed length in milliseconds of a run whose length is not known. */
const UNKNOWN = 25_000

/** Returns the median length of this cell's earlier runs in ms; without an earlier run, the expected length. */
export function expectedMs({ intervalMs }: Cell, lengthMs: number | undefined, before: readonly RunRecord[]): number {
  const took = before.map(({ tookMs }) => tookMs).sort((a, b) => a - b)
  return took[Math.floor(took.length / 2)] ?? AROUND + 4 * intervalMs + (lengthMs ?? UNKNOWN)
}

export function durationText(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  if (minutes < 1) return `${Math.round(ms / 1_000)} s`
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${`${minutes % 60}`.padStart(2, '0')} min`
}
