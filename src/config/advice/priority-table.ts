/**
 * The effective priority of a router for each combination of results of what it tracks: what `holdfast check` prints, and
 * what advice about weights is judged by. Decided here: what is asked once counts as one, so that no row is shown that
 * cannot come about. This file does not know peers, times, or what is up now.
 */
import { type Check, nameOf } from '../checks.ts'
import type { Track } from '../schema/track.ts'
import { isInterface, trackedName } from '../schema/track.ts'
import { type Contribution, effectivePriority } from '../weights.ts'

/** 2^8 combinations. */
export const MOST_INDEPENDENT = 8

export type PriorityRow = {
  /** As in `columns`. */
  readonly up: readonly boolean[]
  readonly priority: number
  readonly fault: boolean
}

export type PriorityTable = {
  readonly base: number
  /** What is tracked, as it is called in the file. */
  readonly columns: readonly string[]
  /** The best first, faults last. */
  readonly rows: readonly PriorityRow[]
  /** Probes and interfaces behind the columns. */
  readonly independent: number
  /** False: there are too many; then the rows are all up, each one down alone, and all down. */
  readonly complete: boolean
  /**
   * Files that hold a weight: taken to hold 0, and what they hold comes on top, times this weight; where that is 0 it
   * decides about a fault alone (VR-TRK-09).
   */
  readonly files: readonly { readonly name: string; readonly weight: number; readonly reverse: boolean }[]
}

type Results = ReadonlyMap<string, boolean>

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

/** A key for what is asked: an interface and a check may have the same name. */
const linkKey = (name: string): string => `interface ${name}`

export const holdsWeight = (check: Check | undefined): boolean =>
  check?.kind === 'probe' && check.spec.probe.kind === 'file' && check.spec.probe.content === 'weight'

function leavesOf(tracker: Track, byName: ReadonlyMap<string, Check>): readonly string[] {
  return isInterface(tracker) ? [linkKey(tracker.interface)] : probesBehind(tracker.healthcheck, byName)
}

/** The probes that a check is, or is made of. */
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

/** Of equals the one with less down, so that the first row is how things should be. */
function bestFirst(a: PriorityRow, b: PriorityRow): number {
  const downs = (row: PriorityRow) => row.up.filter((up) => !up).length
  return Number(a.fault) - Number(b.fault) || b.priority - a.priority || downs(a) - downs(b)
}
