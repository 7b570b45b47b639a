/** Prints health checks in `holdfast status`, and the effective priority as a sum. This file decides only the text. */
import type { HealthcheckSnapshot } from '../../daemon/health/healthcheck-snapshot.ts'
import type { RouterSnapshot, Snapshot } from '../../daemon/telemetry/snapshot.ts'
import { probeReasonText } from '../../events/check-reason-text.ts'
import { moment, seconds } from './status-time.ts'

/**
 * Returns the priority as a sum: "90 = 150 - 60 (web down)" or "150 (web up; -60 if it fails)". Returns the base
 * priority alone if no tracker has a weight.
 */
export function prioritySum(
  { priority, tracking, yieldingUntil }: RouterSnapshot,
  checks: readonly HealthcheckSnapshot[],
): string {
  const { base, effective } = priority
  const { parts, sum } = tracking
  const terms = parts.filter(({ adds }) => adds !== 0)
  const idle = parts.filter(({ adds }) => adds === 0).map((part) => idleText(part, checks))
  const rest = idle.length === 0 ? '' : ` (${idle.join(', ')})`
  if (terms.length === 0) return effective === base ? `${effective}${rest}` : `${effective} (base ${base})${rest}`
  const added = `${sum} = ${base} ${terms.map(termText).join(' ')}${rest}`
  if (effective === sum) return added
  return yieldingUntil === null ? `${effective} (${added}, kept between 1 and 254)` : `${effective}, otherwise ${added}`
}

type Part = RouterSnapshot['tracking']['parts'][number]

/**
 * Returns the text of one term in the sum of a priority, such as `- 60 (web down)`. The weight implies the state: a
 * positive weight counts while the check is up, a negative weight while it is down.
 */
function termText({ adds, name, weight }: Part): string {
  const state = weight == null ? '' : weight > 0 ? ' up' : ' down'
  return `${adds < 0 ? '-' : '+'} ${Math.abs(adds)} (${name}${state})`
}

function idleText({ kind, name, weight }: Part, checks: readonly HealthcheckSnapshot[]): string {
  const check = kind === 'healthcheck' ? checks.find((each) => each.name === name) : undefined
  const result = check?.result
  // The number in a file is multiplied by the weight, so no fixed effect can be shown.
  if (weight == null || (check !== undefined && check.weight !== null))
    return `${name}${result === undefined ? '' : ` ${result}`}`
  return weight < 0
    ? `${name} ${result ?? 'up'}; ${weight} if it fails`
    : `${name} ${result ?? 'down'}; +${weight} when it is up`
}

export function formatHealthchecks({ healthchecks, routers }: Snapshot, now: number): string[] {
  return healthchecks.flatMap((check) => ['', ...formatHealthcheck(check, routers, now)])
}

function formatHealthcheck(check: HealthcheckSnapshot, tracking: readonly RouterSnapshot[], now: number): string[] {
  const { heardMsAgo, kind, last, name, partOf, routers, since, countsAs, target, result, weight } = check
  const isCombination = kind === 'all' || kind === 'any'
  const counts = result === 'unknown' ? `, counts as ${countsAs === 'nothing' ? 'neither up nor down' : countsAs}` : ''
  const lines = [`healthcheck ${name}: ${result}${counts} since ${moment(since, now)}`]
  lines.push(`  ${kind}${isCombination ? ' of' : ''} ${target}`)
  if (last !== null) {
    const text = probeReasonText(last.reason)
    const found = last.ok || last.detail === undefined ? text : `${text} (${last.detail})`
    // The age of the last run is not shown: the check worker reports to the engine only every few seconds, even if the
    // check runs more often.
    lines.push(`  last result: ${found} in ${last.latencyMs} ms${weight === null ? '' : `, value ${weight}`}`)
  } else if (!isCombination) lines.push('  last result: none yet')
  if (!isCombination) lines.push(`  ${runsOf(check)}`)
  if (heardMsAgo !== null && heardMsAgo > SILENT)
    lines.push(`  NO RESULT for ${seconds(heardMsAgo)}, still counted as ${countsAs}`)
  for (const effect of routers) {
    const parts = tracking.find((router) => router.name === effect.router)?.tracking.parts ?? []
    const tracked = parts.find((part) => part.kind === 'healthcheck' && part.name === name)?.weight ?? 0
    lines.push(`  ${effectOn(effect, weight === null ? tracked : 0)}`)
  }
  if (partOf.length > 0) lines.push(`  part of ${partOf.join(', ')}`)
  else if (routers.length === 0) lines.push('  tracked by no virtual router')
  return lines
}

/** Milliseconds without a report of the check worker that are normal. The worker reports every check once a second. */
const SILENT = 3_000

function runsOf({ results, runs, skipped, watched }: HealthcheckSnapshot): string {
  const failed = Object.entries(results).flatMap(([reason, count]) =>
    reason === 'ok' ? [] : [`${count} × ${probeReasonText(reason)}`],
  )
  return [
    `${runs} ${runs === 1 ? 'run' : 'runs'}`,
    ...(failed.length === 0 ? [] : [`failed: ${failed.join(', ')}`]),
    ...(skipped === 0 ? [] : [`${skipped} skipped`]),
    ...(watched ? ['watched between runs'] : []),
  ].join(', ')
}

function effectOn({ adds, fault, required, router }: HealthcheckSnapshot['routers'][number], weight: number): string {
  if (fault?.startsWith('healthcheckUndecided:') === true) return `keeps ${router} waiting for its first result`
  if (fault !== null) return `KEEPS ${router} IN FAULT`
  if (required) return `required by ${router}`
  if (adds !== 0) return adds > 0 ? `raises ${router} by ${adds}` : `lowers ${router} by ${-adds}`
  if (weight === 0) return `does not change ${router} now`
  return weight < 0 ? `lowers ${router} by ${-weight} if it fails` : `raises ${router} by ${weight} when it is up`
}
