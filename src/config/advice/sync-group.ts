/**
 * Sync groups against the routers they name (VR-SG-01..06): who may be a member, and what members should have in
 * common. Decided here: what keeps a group from being what it says is an error, what makes it wait is a warning.
 * This file does not know how a group moves.
 */
import type { SyncGroup } from '../config.ts'
import { type Locate, type Path, type Problem, problemAt, type Severity } from '../problem.ts'
import { trackerPath } from '../schema/preset.ts'
import { trackedName, trackerKey, trackerKind } from '../schema/track.ts'
import { nearestWord } from '../text/spelling.ts'
import type { Placed } from './contradiction.ts'
import { already, type Claim, repeated, trackerClaims } from './cross-check.ts'

export type PlacedGroup = { readonly group: SyncGroup; readonly path: Path }

/** `names`: also of routers that have problems of their own, which are no strangers to their group for that. */
export function groupProblems(
  groups: readonly PlacedGroup[],
  routers: readonly Placed[],
  names: ReadonlySet<string>,
  locate: Locate,
): Problem[] {
  const byName = new Map(routers.map((placed) => [placed.router.name, placed]))
  return [
    ...repeated(groups.map(nameClaim), locate),
    ...repeated(groups.flatMap(memberClaims), locate),
    ...groups.flatMap((placed) => [
      ...repeated(trackerClaims(placed.group, placed.path), locate),
      ...memberProblems(placed, names, locate),
      ...differences(placed, byName, locate),
      ...trackProblems(placed, byName, locate),
    ]),
  ]
}

function nameClaim({ group, path }: PlacedGroup): Claim {
  const message = (line: number) =>
    `Cannot use "${group.name}" as the name of two sync groups: it is used ${already(line)}`
  return { key: group.name, path: [...path, 'name'], message }
}

function memberClaims({ group, path }: PlacedGroup): Claim[] {
  return group.members.map((member, index) => ({
    key: member,
    path: [...path, 'members', index],
    message: (line) => `Cannot list "${member}" in sync group "${group.name}": it is a member ${already(line)}`,
  }))
}

function memberProblems({ group, path }: PlacedGroup, names: ReadonlySet<string>, locate: Locate): Problem[] {
  const problems: Problem[] = group.members.flatMap((member, index) => {
    if (names.has(member)) return []
    const meant = nearestWord(member, [...names])
    const advice = meant === undefined ? '' : `, did you mean "${meant}"?`
    const message = `Cannot list "${member}" in sync group "${group.name}": there is no such virtual router${advice}`
    return [problemAt(locate, [...path, 'members', index], 'error', message)]
  })
  if (group.members.length === 1)
    problems.push(
      problemAt(
        locate,
        [...path, 'members'],
        'warning',
        `Sync group "${group.name}" has one member, which moves as it would without a group`,
      ),
    )
  return problems
}

/** A member becomes Active when all want to: what makes one of them want later, or never, holds up the others. */
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

/** VR-SG-04, VR-SG-05. */
function trackProblems({ group, path }: PlacedGroup, byName: ReadonlyMap<string, Placed>, locate: Locate): Problem[] {
  const problems: Problem[] = []
  const say = (severity: Severity, at: Path, message: string) => problems.push(problemAt(locate, at, severity, message))
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
        say(
          'error',
          at(trackerKind(tracker)),
          `Cannot track "${trackedName(tracker)}" in "${member}": its sync group "${group.name}" tracks it ${already(line)}`,
        )
      else if (tracker.weight !== 0 && placed.router.priority !== 255)
        say(
          'warning',
          at('weight'),
          `The weight of "${trackedName(tracker)}" has no effect in "${member}", a member of sync group "${group.name}": ` +
            'track it at the group, whose members all follow',
        )
    }
    if (placed.router.priority === 255 && group.track.some(({ weight }) => weight !== 0))
      say(
        'warning',
        [...path, 'track'],
        `Weights have no effect on "${member}": the priority of an address owner is always 255`,
      )
  }
  return problems
}
