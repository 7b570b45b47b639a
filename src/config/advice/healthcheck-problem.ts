/**
 * Finds problems between health checks and their trackers: each name must exist, no combination may contain itself, and
 * the kind of check must allow the weight. A combination that cannot work is an error; a combination that works and may
 * surprise is a warning. This file knows nothing about the times of a check, and the node.
 */
import { refusedValue } from '../../base/refused-value.ts'
import type { CheckSpec } from '../../healthcheck/check.ts'
import { type Check, nameOf } from '../checks.ts'
import { type Locate, type Path, type Problem, problemAt, type Severity } from '../problem.ts'
import { formatDuration } from '../schema/duration.ts'
import { healthchecksIn, type Track, USUAL_WEIGHT } from '../schema/track.ts'
import { nearestWord } from '../text/spelling.ts'
import { repeated, type UniqueValue, usedTwice } from './cross-check.ts'

export type PlacedCheck = { readonly check: Check; readonly path: Path }
/** A virtual router or a sync group with its trackers. */
export type PlacedTrack = { readonly name: string; readonly track: readonly Track[]; readonly path: Path }

export type CheckSections = {
  readonly checks: readonly PlacedCheck[]
  readonly tracking: readonly PlacedTrack[]
  /** Names of all health checks, also of those with problems. */
  readonly names: ReadonlySet<string>
  /** True if the whole configuration could be read. Only then a health check without a tracker is reported. */
  readonly complete: boolean
}

type Report = (severity: Severity, at: Path, message: string) => void

/** Returns the problems of health checks and of the trackers that name them. */
export function healthcheckProblems(sections: CheckSections, locate: Locate): Problem[] {
  const { checks, complete } = sections
  const problems: Problem[] = []
  const report: Report = (severity, at, message) => problems.push(problemAt(locate, at, severity, message))
  checkProblems(sections, report)
  trackerProblems(sections, report)
  if (complete)
    for (const { check, path } of untracked(sections))
      report('warning', [...path, 'name'], `check "${nameOf(check)}" is not used by any router (add it under track:)`)
  return [...repeated(checks.map(nameValue), locate), ...problems]
}

function checkProblems({ checks, names }: CheckSections, report: Report): void {
  const byName = checksByName(checks)
  for (const { check, path } of checks) {
    if (check.kind === 'probe') {
      for (const [key, message] of surprises(check.spec)) report('warning', [...path, key], message)
      continue
    }
    const { name, mode, members } = check
    for (const [index, member] of members.entries()) {
      const at = [...path, mode, index]
      if (!names.has(member)) report('error', at, unknownCheck(`${mode} of "${name}"`, member, names))
      else if (leadsTo(member, name, byName))
        report(
          'error',
          at,
          refusedValue(`${mode} of "${name}"`, member, `a check that does not depend on "${name}" itself`),
        )
      else if (members.indexOf(member) < index)
        report('error', at, usedTwice(`${mode} of "${name}"`, `"${member}"`, 0, 'one entry for each check'))
    }
  }
}

function trackerProblems({ checks, names, tracking }: CheckSections, report: Report): void {
  const byName = checksByName(checks)
  for (const { name, track, path } of tracking) {
    for (const [index, tracker] of track.entries()) {
      if (!('healthcheck' in tracker)) continue
      const { healthcheck, weight } = tracker
      const at = [...path, 'track', index]
      if (!names.has(healthcheck))
        report('error', [...at, 'healthcheck'], unknownCheck(`track of "${name}"`, healthcheck, names))
      const check = byName.get(healthcheck)
      const probe = check?.kind === 'probe' ? check.spec.probe : undefined
      if (check !== undefined && Math.abs(weight) > USUAL_WEIGHT && probe?.kind !== 'file' && probe?.kind !== 'process')
        report(
          'error',
          [...at, 'weight'],
          refusedValue(
            `weight of "${healthcheck}"`,
            weight,
            `an integer from -${USUAL_WEIGHT} to ${USUAL_WEIGHT}; 254 is for files and processes only`,
          ),
        )
      if (probe?.kind === 'file' && probe.content === 'weight' && weight === 0)
        report(
          'warning',
          at,
          `"${name}" is in fault while the file of "${healthcheck}" contains another number than 0, because its weight is 0. ` +
            'Write "weight: 1" to add the number to the priority.',
        )
    }
  }
}

const checksByName = (checks: readonly PlacedCheck[]): ReadonlyMap<string, Check> =>
  new Map(checks.map(({ check }) => [nameOf(check), check]))

function unknownCheck(path: string, name: string, names: ReadonlySet<string>): string {
  const meant = nearestWord(name, [...names])
  const accepted = `the name of a health check${meant === undefined ? '' : `, did you mean "${meant}"?`}`
  return refusedValue(path, name, accepted)
}

function nameValue({ check, path }: PlacedCheck): UniqueValue {
  const message = (line: number) => usedTwice('name', `"${nameOf(check)}"`, line, 'another name for each health check')
  return { key: nameOf(check), path: [...path, 'name'], message }
}

/** Tells whether the health check `from` is the check `to`, or a combination that contains `to`. */
function leadsTo(from: string, to: string, byName: ReadonlyMap<string, Check>, seen = new Set<string>()): boolean {
  if (from === to) return true
  const check = byName.get(from)
  if (check?.kind !== 'combination' || seen.has(from)) return false
  seen.add(from)
  return check.members.some((member) => leadsTo(member, to, byName, seen))
}

function untracked({ checks, tracking }: CheckSections): readonly PlacedCheck[] {
  const used = new Set([
    ...tracking.flatMap(({ track }) => healthchecksIn(track).map(({ healthcheck }) => healthcheck)),
    ...checks.flatMap(({ check }) => (check.kind === 'combination' ? check.members : [])),
  ])
  return checks.filter(({ check }) => !used.has(nameOf(check)))
}

function surprises({ name, timeout, cadence, probe }: CheckSpec): readonly (readonly [key: string, message: string])[] {
  const { interval } = cadence
  const found: [string, string][] = []
  if (timeout > interval)
    found.push([
      'timeout',
      `the timeout of "${name}" (${formatDuration(timeout)}) is longer than its interval (${formatDuration(interval)}): ` +
        'a poll that is due while the check still runs is skipped',
    ])
  // A process check that does not find its process reads all processes of the node in each run.
  if (probe.kind === 'process' && interval < 1000)
    found.push([
      'interval',
      `"${name}" reads all processes of this node while the process is missing: an interval of 1s is often enough`,
    ])
  return found
}
