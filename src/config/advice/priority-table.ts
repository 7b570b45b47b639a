/**
 * Computes the effective priority of a router for each combination of results of its trackers. `holdfast check` prints
 * this table, and the advice about weights uses it. A probe that several trackers use counts once, so the table has no
 * impossible row. This file knows nothing about peers, times, and present results of checks.
 */
import { type Check, nameOf } from '../checks.ts'
import type { Track } from '../schema/track.ts'
import { isInterface, trackedName } from '../schema/track.ts'
import { type Contribution, effectivePriority } from '../weights.ts'

/** Largest number of independent probes for which all combinations are shown: 2^8 rows. */
export const MOST_INDEPENDENT = 8

export type PriorityRow = {
  /** For each tracker, in the order of `columns`: true if the tracker is up in this row. */
  readonly up: readonly boolean[]
  readonly priority: number
  readonly fault: boolean
}

export type PriorityTable = {
  readonly base: number
  /** Name of the tracker of each column, as in the configuration. */
  readonly columns: readonly string[]
  /** Rows of the table. The best priority is first, faults are last. */
  readonly rows: readonly PriorityRow[]
  /** Number of different probes and interfaces on which the columns of the table depend. */
  readonly independent: number
  /**
   * True if the table has every combination of results. If the table is shortened, the rows are: all probes up, each
   * probe down alone, and all probes down.
   */
  readonly complete: boolean
  /**
   * Checks of files that contain a number. The table assumes the number 0 for each file; the number times `weight` is
   * added to the priority. With weight 0, the number only decides about a fault (VR-TRK-09).
   */
  readonly files: readonly { readonly name: string; readonly weight: number; readonly reverse: boolean }[]
}

type Results = ReadonlyMap<string, boolean>

/** Returns the effective priorities of a router with these trackers. */
export function priorityTable(base: number, track: readonly Track[], checks: readonly Check[]): PriorityTable {
  const byName = new Map(checks.map((check) => [nameOf(check), check]))
  const weighing = (tracker: Track) => !isInterface(tracker) && holdsWeight(byName.get(tracker.healthcheck))
  const files = track.filter(weighing).map((tracker) => ({
    name: trackedName(tracker),
    weight: 'reverse' in tracker && tracker.reverse ? -tracker.weight : tracker.weight,
    reverse: 'reverse' in tracker && tracker.reverse,
  }))
  const shown = track.filter((tracker) => !weighing(tracker))
  const leaves = [...new Set(shown.flatMap((tracker) => leavesOf(tracker, byName)))]
  const complete = leaves.length <= MOST_INDEPENDENT
  const rows = new Map<string, PriorityRow>()
  for (const results of complete ? everyCombination(leaves) : oneDown(leaves)) {
    const row = rowOf(base, shown, results, byName)
    rows.set(row.up.join(), row)
  }
  return {
    base,
    columns: shown.map(trackedName),
    rows: [...rows.values()].sort(bestFirst),
    independent: leaves.length,
    complete,
    files,
  }
}

/**
 * Returns the key of an interface in the table. The key differs from the key of a check, because an interface and a
 * check may have the same name.
 */
const linkKey = (name: string): string => `interface ${name}`

/** Tells whether the check reads a number from a file, which the weight multiplies. */
export const holdsWeight = (check: Check | undefined): boolean =>
  check?.kind === 'probe' && check.spec.probe.kind === 'file' && check.spec.probe.content === 'weight'

function leavesOf(tracker: Track, byName: ReadonlyMap<string, Check>): readonly string[] {
  return isInterface(tracker) ? [linkKey(tracker.interface)] : probesBehind(tracker.healthcheck, byName)
}

/**
 * Returns the names of the probes behind a check: the check's own name, or the names of all probes in a combination.
 */
export function probesBehind(name: string, byName: ReadonlyMap<string, Check>): readonly string[] {
  const check = byName.get(name)
  if (check?.kind !== 'combination') return check === undefined ? [] : [name]
  return [...new Set(check.members.flatMap((member) => probesBehind(member, byName)))]
}

function everyCombination(leaves: readonly string[]): readonly Results[] {
  return leaves.reduce<Results[]>(
    (all, leaf) => all.flatMap((results) => [true, false].map((up) => new Map([...results, [leaf, up]]))),
    [new Map()],
  )
}

function oneDown(leaves: readonly string[]): readonly Results[] {
  const allBut = (down: readonly string[]): Results => new Map(leaves.map((leaf) => [leaf, !down.includes(leaf)]))
  return [allBut([]), ...leaves.map((leaf) => allBut([leaf])), allBut(leaves)]
}

function rowOf(
  base: number,
  track: readonly Track[],
  results: Results,
  byName: ReadonlyMap<string, Check>,
): PriorityRow {
  const contributions = track.map((tracker): Contribution => {
    const up = isInterface(tracker)
      ? (results.get(linkKey(tracker.interface)) ?? false)
      : isUp(tracker.healthcheck, results, byName)
    return { weight: tracker.weight, reverse: 'reverse' in tracker && tracker.reverse, up }
  })
  const { priority, fault } = effectivePriority(base, contributions)
  return { up: contributions.map((each) => 'up' in each && each.up), priority, fault }
}

function isUp(name: string, results: Results, byName: ReadonlyMap<string, Check>): boolean {
  const check = byName.get(name)
  if (check?.kind !== 'combination') return results.get(name) ?? false
  const up = (member: string) => isUp(member, results, byName)
  return check.mode === 'all' ? check.members.every(up) : check.members.some(up)
}

/**
 * Sorts rows by priority. Among rows of equal priority, the row with fewer failures comes first, so that the first row
 * is the normal case.
 */
function bestFirst(a: PriorityRow, b: PriorityRow): number {
  const downs = (row: PriorityRow) => row.up.filter((up) => !up).length
  return Number(a.fault) - Number(b.fault) || b.priority - a.priority || downs(a) - downs(b)
}
