/**
 * What the weights of a router come to, judged: the warnings of `holdfast check` about moves that never happen, or late.
 * Decided here: against whom a priority is compared where the file does not say it. It knows the whole configuration and
 * no node but the one that it is asked about.
 */
import type { ProbeSpec } from '../healthcheck/check.ts'
import { type Check, checksOf } from './checks.ts'
import type { Config } from './config.ts'
import { formatDuration } from './duration.ts'
import type { NodeView } from './node-view.ts'
import { type PriorityRow, type PriorityTable, priorityTable } from './priority-table.ts'
import { type Locate, type Path, type Problem, problemAt } from './problem.ts'
import { type ResolvedRouter, resolveRouters } from './resolve.ts'
import { slowestPath } from './slowest-path.ts'

export type TrackReport = { readonly router: string; readonly table: PriorityTable }
export type TrackAdvice = { readonly tables: readonly TrackReport[]; readonly warnings: readonly Problem[] }

/** Longer than a client's patience with one request. */
const SLOW = 1000
const MOST_TOLD = 3

export function trackAdvice(config: Config, locate: Locate, node: NodeView = { interfaces: [] }): TrackAdvice {
  const checks = checksOf(config)
  const { routers } = resolveRouters(config, node)
  const reports = routers.map((router, index) => reportOf(router, checks, placeOf(config, index), locate))
  return {
    tables: reports.flatMap(({ report }) => report ?? []),
    warnings: reports.flatMap(({ warnings }) => warnings),
  }
}

/** Where what it tracks is written: at the router, or at its group. */
function placeOf({ virtualRouters, syncGroups }: Config, index: number): Path {
  const router = virtualRouters[index]
  const group = syncGroups.findIndex(({ members, track }) => track.length > 0 && members.includes(router?.name ?? ''))
  return [
    ...(group < 0 || (router?.track.length ?? 0) > 0 ? ['virtualRouters', index] : ['syncGroups', group]),
    'track',
  ]
}

type Report = { readonly report: TrackReport | undefined; readonly warnings: readonly Problem[] }

function reportOf(router: ResolvedRouter, checks: readonly Check[], path: Path, locate: Locate): Report {
  const { name, track, parameters } = router
  if (track.length === 0) return { report: undefined, warnings: [] }
  const warnings: Problem[] = []
  const warn = (message: string) => warnings.push(problemAt(locate, path, 'warning', message))
  const table = priorityTable(parameters.priority, track, checks)
  const best = table.rows.find(({ fault }) => !fault)?.priority ?? parameters.priority
  const weighs = parameters.priority !== 255 && track.some(({ weight }) => weight !== 0)
  const meant = { ...parameters, priority: best }
  if (weighs && !parameters.preempt)
    warn(
      `The weights of "${name}" move nothing while its Active lives: with "preempt: false" no Backup takes over from it, ` +
        'whatever its priority, and only what is tracked with weight 0 does',
    )
  else if (weighs) {
    const idle = neverMoves(router, table, best)
    if (idle !== undefined) warn(idle)
  }
  const slow = parameters.priority === 255 ? undefined : slowestPath(meant, track, checks)
  if (slow !== undefined && slow.ms > SLOW) {
    const parts = slow.parts.map(({ ms, what }) => `${shown(ms)} ${what}`).join(' + ')
    warn(
      `The addresses of "${name}" may take ${shown(slow.ms)} to move when "${slow.check.name}" fails without a sign: ` +
        `${parts}${signOf(slow.check.probe)}`,
    )
  }
  return { report: { router: name, table }, warnings }
}

/** What needs no poll. */
function signOf(probe: ProbeSpec): string {
  if ((probe.kind === 'http' || probe.kind === 'tcp') && probe.events)
    return '; a connection that ends is noticed at once'
  return probe.kind === 'file' ? '; the kernel usually tells of a change at once' : ''
}

const shown = (ms: number): string => formatDuration(ms < 1000 ? Math.round(ms) : Math.round(ms / 10) * 10)

/** Results with which another node could be better, and is not by enough. */
function neverMoves({ name, parameters }: ResolvedRouter, table: PriorityTable, best: number): string | undefined {
  const { priority: base, peers, margin = 0 } = parameters
  const listed = peers.flatMap(({ priority }) => priority ?? [])
  // What a peer adds to its own base when all is well there.
  const gain = best - base
  const peerBest = listed.length === 0 ? best : Math.min(254, Math.max(...listed) + gain)
  const idle = table.rows.filter(
    (row) => !row.fault && row.up.some((up, i) => up !== table.rows[0]?.up[i]) && row.priority + margin >= peerBest,
  )
  if (idle.length === 0) return undefined
  const told = idle.slice(0, MOST_TOLD).map((row) => wordsOf(row, table))
  const more = idle.length > told.length ? ` and ${idle.length - told.length} more` : ''
  const taken =
    listed.length === 0
      ? 'all nodes are taken to be alike'
      : 'peers are taken to have the priority that is listed, and the same checks'
  const wanted = margin === 0 ? '' : `, and "margin" wants ${margin} more`
  return (
    `${idle.length} of ${table.rows.length} results never move the addresses of "${name}": ${told.join(', ')}${more}; ` +
    `a peer has ${peerBest} at best${wanted} (${taken})`
  )
}

function wordsOf({ up, priority }: PriorityRow, { columns }: PriorityTable): string {
  const down = columns.filter((_, i) => !up[i])
  const what = down.length === 0 ? 'all up' : `${down.join(' and ')} down`
  return `${what} (${priority})`
}
