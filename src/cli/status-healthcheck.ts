/**
 * Health checks in `holdfast status`, and the effective priority as the sum that they make it. Decided here: the words
 * alone. Refuses to know where a snapshot comes from.
 */
import type { HealthcheckSnapshot } from '../daemon/healthcheck-snapshot.ts'
import type { RouterSnapshot } from '../daemon/snapshot.ts'

/** "90 = 40 + lb 50 + mcs 0"; the base alone where nothing has a weight. */
export function prioritySum({ priority, tracking, yieldingUntil }: RouterSnapshot): string {
  const { base, effective } = priority
  const { parts, sum } = tracking
  if (parts.length === 0) return effective === base ? `${effective}` : `${effective} (base ${base})`
  const terms = parts.map(({ adds, name }) => `${adds < 0 ? '-' : '+'} ${name} ${Math.abs(adds)}`)
  const added = `${sum} = ${base} ${terms.join(' ')}`
  if (effective === sum) return added
  return yieldingUntil === null ? `${effective} (${added}, kept between 1 and 254)` : `${effective}, otherwise ${added}`
}

export function formatHealthchecks(checks: readonly HealthcheckSnapshot[], now: number): string[] {
  return checks.flatMap((check) => ['', ...formatHealthcheck(check, now)])
}

function formatHealthcheck(check: HealthcheckSnapshot, now: number): string[] {
  const { heardMsAgo, kind, last, name, partOf, routers, since, standing, target, verdict, weight } = check
  const isCombination = kind === 'all' || kind === 'any'
  const counts = verdict === 'unknown' ? `, counts as ${standing === 'nothing' ? 'nothing' : standing}` : ''
  const lines = [`healthcheck ${name}: ${verdict}${counts} since ${since}`]
  lines.push(`  ${kind}${isCombination ? ' of' : ''} ${target}`)
  if (last !== null) {
    const found = last.ok || last.detail === undefined ? last.reason : `${last.reason} (${last.detail})`
    const ago = Math.max(0, now - Date.parse(last.at))
    lines.push(
      `  last result: ${found} in ${last.latencyMs} ms, ${ago} ms ago${weight === null ? '' : `, holds ${weight}`}`,
    )
  } else if (!isCombination) lines.push('  last result: none yet')
  if (!isCombination) lines.push(`  ${runsOf(check)}`)
  if (heardMsAgo !== null && heardMsAgo > SILENT) lines.push(`  NOT HEARD OF for ${heardMsAgo} ms`)
  for (const effect of routers) lines.push(`  ${effectOn(effect)}`)
  if (partOf.length > 0) lines.push(`  part of ${partOf.join(', ')}`)
  else if (routers.length === 0) lines.push('  tracked by no virtual router')
  return lines
}

/** The thread tells everything once a second. */
const SILENT = 3_000

function runsOf({ results, runs, skipped, watched }: HealthcheckSnapshot): string {
  const failed = Object.entries(results).flatMap(([reason, count]) => (reason === 'ok' ? [] : [`${reason} ${count}`]))
  return [
    `${runs} ${runs === 1 ? 'run' : 'runs'}`,
    ...(failed.length === 0 ? [] : [`of them failed: ${failed.join(', ')}`]),
    ...(skipped === 0 ? [] : [`${skipped} skipped`]),
    ...(watched ? ['watched between runs'] : []),
  ].join(', ')
}

function effectOn({ adds, fault, required, router }: HealthcheckSnapshot['routers'][number]): string {
  if (fault?.startsWith('healthcheckUndecided:') === true) return `keeps ${router} waiting for its first result`
  if (fault !== null) return `KEEPS ${router} IN FAULT`
  if (required) return `${router} needs it`
  if (adds === 0) return `adds nothing to ${router}`
  return adds > 0 ? `adds ${adds} to ${router}` : `takes ${-adds} from ${router}`
}
