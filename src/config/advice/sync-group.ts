/**
 * Finds problems between sync groups and their member routers (VR-SG-01..06). A mistake that breaks a group is an
 * error; a mistake that only makes a group wait is a warning.
 */
import { refusedValue } from '../../base/refused-value.ts'
import type { SyncGroup } from '../config.ts'
import { type Locate, type Path, type Problem, problemAt, type Severity } from '../problem.ts'
import { trackerPath } from '../schema/preset.ts'
import { trackedName, trackerKey, trackerKind } from '../schema/track.ts'
import { nearestWord } from '../text/spelling.ts'
import type { Placed } from './contradiction.ts'
import { repeated, trackerValues, type UniqueValue, usedTwice } from './cross-check.ts'

export type PlacedGroup = { readonly group: SyncGroup; readonly path: Path }

/**
 * Returns the problems of sync groups. `names` has all router names, also those of routers with problems, so that a
 * missing name is reported only if no router has it.
 */
export function groupProblems(
  groups: readonly PlacedGroup[],
  routers: readonly Placed[],
  names: ReadonlySet<string>,
  locate: Locate,
): Problem[] {
  const byName = new Map(routers.map((placed) => [placed.router.name, placed]))
  return [
    ...repeated(groups.map(nameValue), locate),
    ...repeated(groups.flatMap(memberValues), locate),
    ...groups.flatMap((placed) => [
      ...repeated(trackerValues(placed.group, placed.path), locate),
      ...memberProblems(placed, names, locate),
      ...differences(placed, byName, locate),
      ...trackProblems(placed, byName, locate),
    ]),
  ]
}

function nameValue({ group, path }: PlacedGroup): UniqueValue {
  const message = (line: number) => usedTwice('name', `"${group.name}"`, line, 'another name for each sync group')
  return { key: group.name, path: [...path, 'name'], message }
}

function memberValues({ group, path }: PlacedGroup): UniqueValue[] {
  return group.members.map((member, index) => ({
    key: member,
    path: [...path, 'members', index],
    message: (line) =>
      usedTwice(`members of "${group.name}"`, `"${member}"`, line, 'each virtual router in one group only'),
  }))
}

function memberProblems({ group, path }: PlacedGroup, names: ReadonlySet<string>, locate: Locate): Problem[] {
  const problems: Problem[] = group.members.flatMap((member, index) => {
    if (names.has(member)) return []
    const meant = nearestWord(member, [...names])
    const accepted = `the name of a virtual router${meant === undefined ? '' : `, did you mean "${meant}"?`}`
    const message = refusedValue(`members of "${group.name}"`, member, accepted)
    return [problemAt(locate, [...path, 'members', index], 'error', message)]
  })
  if (group.members.length === 1)
    problems.push(
      problemAt(
        locate,
        [...path, 'members'],
        'warning',
        `Sync group "${group.name}" has one member only, so it has no effect`,
      ),
    )
  return problems
}

/**
 * Warns about members that differ. A member becomes Active only when all members are ready, so the slowest member
 * delays the group.
 */
function differences({ group, path }: PlacedGroup, byName: ReadonlyMap<string, Placed>, locate: Locate): Problem[] {
  const members = group.members.flatMap((member) => byName.get(member)?.router ?? [])
  const [first] = members
  if (first === undefined) return []
  const should = (what: string, of: (router: Placed['router']) => unknown): Problem[] => {
    const other = members.find((member) => of(member) !== of(first))
    if (other === undefined) return []
    const message =
      `"${first.name}" and "${other.name}" of sync group "${group.name}" differ in ${what} ` +
      `(${String(of(first))} and ${String(of(other))}): the group waits for the slowest of its members`
    return [problemAt(locate, [...path, 'members'], 'warning', message)]
  }
  return [
    ...should('priority', ({ priority }) => priority),
    ...should('preempt', ({ preempt }) => preempt),
    ...should('profile', ({ profile }) => profile),
  ]
}

/** Finds problems with the trackers of a sync group and of its members (VR-SG-04, VR-SG-05). */
function trackProblems({ group, path }: PlacedGroup, byName: ReadonlyMap<string, Placed>, locate: Locate): Problem[] {
  const problems: Problem[] = []
  const report = (severity: Severity, at: Path, message: string) =>
    problems.push(problemAt(locate, at, severity, message))
  const lines = new Map(
    group.track.map((tracker, index) => [
      trackerKey(tracker),
      locate(trackerPath(group, path, index, trackerKind(tracker))).line,
    ]),
  )
  for (const member of group.members) {
    const placed = byName.get(member)
    if (placed === undefined) continue
    for (const [index, tracker] of placed.router.track.entries()) {
      const at = (key: string) => trackerPath(placed.router, placed.path, index, key)
      const line = lines.get(trackerKey(tracker))
      if (line !== undefined)
        report(
          'error',
          at(trackerKind(tracker)),
          usedTwice(
            `track of "${member}"`,
            `"${trackedName(tracker)}"`,
            line,
            `one entry, in the router or in its sync group "${group.name}"`,
          ),
        )
      else if (tracker.weight !== 0 && placed.router.priority !== 255)
        report(
          'warning',
          at('weight'),
          `The weight of "${trackedName(tracker)}" has no effect in "${member}", because it is a member of sync group "${group.name}": ` +
            'track it in the group, so that all members follow',
        )
    }
    if (placed.router.priority === 255 && group.track.some(({ weight }) => weight !== 0))
      report(
        'warning',
        [...path, 'track'],
        `Weights have no effect on "${member}": the priority of an address owner is always 255`,
      )
  }
  return problems
}
