/**
 * Which cells are measured how often: what was asked on the command line, or the whole table of docs/performance.md. Decides
 * the order (the daemons by turns, run by run, so that noise hits all) and how long a run will take. Pure; refuses to
 * know what happens in a run.
 */
import type { Cell, LineUp } from './accident.ts'
import type { Family } from './observation.ts'
import { isSlow, keyOf, type RunRecord } from './result.ts'

export type Request = {
  readonly scenarios: readonly string[]
  readonly lineUps: readonly LineUp[]
  readonly intervals: readonly number[]
  readonly families: readonly Family[]
  /** Per cell, and per cell of 1 s or more. */
  readonly runs: number
  readonly slowRuns: number
}

/** What `make bench` measures without options: an hour. */
export const USUAL = ['engine', 'group', 'sigterm', 'yield', 'cut', 'equal', 'heal', 'frozen', 'reload'] as const

const ALL: readonly LineUp[] = ['holdfast', 'keepalived', 'frr']
const TWO: readonly LineUp[] = ['holdfast', 'keepalived']

/**
 * docs/performance.md. 10 ms where the interval decides; IPv6 where another path of the code answers; FRR at 100 ms, since
 * it is no daemon that holdfast replaces.
 */
export function wholeTable(known: readonly string[], runs = 20, slowRuns = 10): readonly Request[] {
  const starting = (...words: readonly string[]) => known.filter((name) => words.some((word) => name.startsWith(word)))
  const moves = ['engine', 'group', 'sigterm', 'yield', 'cut', 'carrier', 'interface-down']
  const returns = ['failback', 'frozen', 'heal', 'reload', 'reload-changed']
  const crowds = ['equal', 'partition']
  const variants = [...starting('heal-', 'partition-')]
  const slow = { intervals: [1_000], runs, slowRuns }
  const fast = { intervals: [100], runs, slowRuns }
  const requests: Request[] = [
    { ...fast, scenarios: [...moves, ...returns, ...crowds], lineUps: ALL, families: [4] },
    { ...fast, scenarios: ['engine', 'sigterm', 'yield', 'cut', 'heal', 'equal'], lineUps: TWO, families: [6] },
    { ...fast, intervals: [10], scenarios: [...moves, 'heal'], lineUps: TWO, families: [4] },
    { ...slow, scenarios: [...moves, 'heal', ...starting('check-', 'openshift-')], lineUps: TWO, families: [4] },
    { ...fast, scenarios: variants, lineUps: TWO, families: [4] },
    // 20 s each: as few as of the slow ones.
    { ...fast, intervals: [10], scenarios: starting('load'), lineUps: TWO, families: [4], runs: slowRuns },
    { ...fast, scenarios: ['loss5', 'loss10', 'loss20'], lineUps: TWO, families: [4], runs: slowRuns },
    { ...slow, scenarios: starting('all255'), lineUps: TWO, families: [4] },
  ]
  return requests.map((request) => ({
    ...request,
    scenarios: request.scenarios.filter((name) => known.includes(name)),
  }))
}

export type Planned = { readonly cell: Cell; readonly runs: number }

/** Cells in the order of a round; one that two requests name is measured as often as the greater says. */
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

/** Before the window: namespaces, daemons, a Backup that has to have been one for a while; after it, the end of all. */
const AROUND = 4_500
/** Where nobody says how long it is. */
const UNKNOWN = 25_000

/** What runs of this cell took in the middle, or what one will take, ms. */
export function expectedMs({ intervalMs }: Cell, lengthMs: number | undefined, before: readonly RunRecord[]): number {
  const took = before.map(({ tookMs }) => tookMs).sort((a, b) => a - b)
  return took[Math.floor(took.length / 2)] ?? AROUND + 4 * intervalMs + (lengthMs ?? UNKNOWN)
}

export function durationText(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  if (minutes < 1) return `${Math.round(ms / 1_000)} s`
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${`${minutes % 60}`.padStart(2, '0')} min`
}
