/**
 * Health checks against each other and against whoever tracks them: that what is named is there, that a combination
 * comes to an end, that a weight is one that this kind may have. Decided here: what cannot work is an error, what works
 * and surprises a warning. This file knows neither the times of a check nor the node.
 */
import type { CheckSpec } from '../../healthcheck/check.ts'
import { type Check, nameOf } from '../checks.ts'
import { type Locate, type Path, type Problem, problemAt, type Severity } from '../problem.ts'
import { formatDuration } from '../schema/duration.ts'
import { healthchecksIn, type Track, USUAL_WEIGHT } from '../schema/track.ts'
import { nearestWord } from '../text/spelling.ts'
import { already, type Claim, repeated } from './cross-check.ts'

export type PlacedCheck = { readonly check: Check; readonly path: Path }
/** Routers and sync groups alike. */
export type PlacedTrack = { readonly name: string; readonly track: readonly Track[]; readonly path: Path }

export type CheckSections = {
  readonly checks: readonly PlacedCheck[]
  readonly tracking: readonly PlacedTrack[]
  /** Also of checks that have problems of their own. */
  readonly names: ReadonlySet<string>
  /** Everything could be read: then what nobody tracks is tracked by nobody. */
  readonly complete: boolean
}

export function healthcheckProblems(sections: CheckSections, locate: Locate): Problem[] {
  const { checks, names, tracking, complete } = sections
  const problems: Problem[] = []
  const say = (severity: Severity, at: Path, message: string) => problems.push(problemAt(locate, at, severity, message))
  const stranger = (name: string) => {
    const meant = nearestWord(name, [...names])
    return `there is no such health check${meant === undefined ? '' : `, did you mean "${meant}"?`}`
  }
  const byName = new Map(checks.map(({ check }) => [nameOf(check), check]))

  for (const { check, path } of checks) {
    if (check.kind === 'probe') {
      for (const [key, message] of surprises(check.spec)) say('warning', [...path, key], message)
      continue
    }
    const { name, mode, members } = check
    for (const [index, member] of members.entries()) {
      const at = [...path, mode, index]
      if (!names.has(member)) say('error', at, `Cannot combine "${member}" in "${name}": ${stranger(member)}`)
      else if (leadsTo(member, name, byName))
        say('error', at, `Cannot combine "${member}" in "${name}": "${name}" would depend on itself`)
      else if (members.indexOf(member) < index) say('error', at, `Cannot combine "${member}" twice in "${name}"`)
    }
  }

  for (const { name, track, path } of tracking) {
    for (const [index, tracker] of track.entries()) {
      if (!('healthcheck' in tracker)) continue
      const { healthcheck, weight } = tracker
      const at = [...path, 'track', index]
      if (!names.has(healthcheck))
        say('error', [...at, 'healthcheck'], `Cannot track "${healthcheck}" in "${name}": ${stranger(healthcheck)}`)
      const check = byName.get(healthcheck)
      const probe = check?.kind === 'probe' ? check.spec.probe : undefined
      if (check !== undefined && Math.abs(weight) > USUAL_WEIGHT && probe?.kind !== 'file' && probe?.kind !== 'process')
        say(
          'error',
          [...at, 'weight'],
          `Cannot use ${weight} as the weight of "${healthcheck}": a whole number from -${USUAL_WEIGHT} to ` +
            `${USUAL_WEIGHT} wanted, 254 is for files and processes`,
        )
      if (probe?.kind === 'file' && probe.content === 'weight' && weight === 0)
        say(
          'warning',
          at,
          `"${name}" is in fault while the file of "${healthcheck}" holds anything but 0, because 0 times that is ` +
            'nothing: write "weight: 1" to add what it holds',
        )
    }
  }

  if (complete)
    for (const { check, path } of untracked(sections))
      say('warning', [...path, 'name'], `check "${nameOf(check)}" is not used by any router (add it under track:)`)
  return [...repeated(checks.map(nameClaim), locate), ...problems]
}

function nameClaim({ check, path }: PlacedCheck): Claim {
  const message = (line: number) =>
    `Cannot use "${nameOf(check)}" as the name of two health checks: it is used ${already(line)}`
  return { key: nameOf(check), path: [...path, 'name'], message }
}

/** Whether `from` is `to`, or is made of it. */
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
      `"${name}" may run for ${formatDuration(timeout)} and is due every ${formatDuration(interval)}: ` +
        'a slot that comes while it runs is skipped',
    ])
  // Every poll of a process that is not there is a walk over all of them.
  if (probe.kind === 'process' && interval < 1000)
    found.push([
      'interval',
      `"${name}" looks through all processes of this node when it finds none: 1s is often enough`,
    ])
  return found
}
