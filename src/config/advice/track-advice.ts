/**
 * Judges the weights of a router: the warnings and notes of `holdfast check` about moves that never happen, or happen
 * late. This file decides the priorities of other nodes with which a router is compared if the configuration does not
 * list them. This file reads the whole configuration and facts about this node, but not about other nodes.
 */
import type { ProbeSpec } from '../../healthcheck/check.ts'
import { type Check, checksOf } from '../checks.ts'
import type { Config } from '../config.ts'
import type { NodeView } from '../node-view.ts'
import {
  formatProblem,
  isNote,
  isProblem,
  type Locate,
  type Note,
  noteAt,
  type Path,
  type Problem,
  problemAt,
  type Remark,
} from '../problem.ts'
import { type ResolvedRouter, resolveRouters } from '../resolve.ts'
import { formatDuration } from '../schema/duration.ts'
import { type Track, trackedName } from '../schema/track.ts'
import { type PriorityRow, type PriorityTable, priorityTable } from './priority-table.ts'
import { slowestPath } from './slowest-path.ts'

export type TrackReport = { readonly router: string; readonly table: PriorityTable }
export type TrackAdvice = {
  readonly tables: readonly TrackReport[]
  readonly warnings: readonly Problem[]
  /** Notes: the time that a move takes, and questions that the configuration of this node cannot answer. */
  readonly notes: readonly Note[]
}

/** Time in milliseconds after which a client usually gives up a request. */
const SLOW = 1000
const MOST_TOLD = 3

/** Returns the priority table of each router, with warnings and notes about the weights of the router's trackers. */
export function trackAdvice(config: Config, locate: Locate, node: NodeView = { interfaces: [] }): TrackAdvice {
  const checks = checksOf(config)
  const { routers } = resolveRouters(config, node)
  const reports = routers.map((router, index) => {
    const known = peerPriorities(router, routers)
    const isHere = node.interfaces.length > 0
    return reportOf({ router, known, isHere, checks, path: placeOf(config, index), locate })
  })
  // Members of one sync group share the trackers of the group, so each warning or note is reported once.
  const told = [
    ...new Map(reports.flatMap(({ remarks }) => remarks).map((each) => [formatProblem(each), each])).values(),
  ]
  return {
    tables: reports.flatMap(({ report }) => report ?? []),
    warnings: told.filter(isProblem),
    notes: told.filter(isNote),
  }
}

/** Returns the base priorities of the peers. This router lists them, or another member of its sync group. */
function peerPriorities(router: ResolvedRouter, all: readonly ResolvedRouter[]): readonly number[] {
  const mates = router.group === undefined ? [] : all.filter(({ group }) => group === router.group)
  const lists = [router, ...mates].map(({ parameters }) => parameters.peers.flatMap(({ priority }) => priority ?? []))
  return lists.find((list) => list.length > 0) ?? []
}

/** Returns the path of a router's trackers in the configuration: at the router, or at its sync group. */
function placeOf({ virtualRouters, syncGroups }: Config, index: number): Path {
  const router = virtualRouters[index]
  const group = syncGroups.findIndex(({ members, track }) => track.length > 0 && members.includes(router?.name ?? ''))
  return [
    ...(group < 0 || (router?.track.length ?? 0) > 0 ? ['virtualRouters', index] : ['syncGroups', group]),
    'track',
  ]
}

type Report = { readonly report: TrackReport | undefined; readonly remarks: readonly Remark[] }
type Tracking = {
  readonly router: ResolvedRouter
  /** Base priorities of the router's peers that the configuration lists. */
  readonly known: readonly number[]
  /**
   * True if the configuration was resolved on a known node. On a known node the list of peers does not contain the node
   * itself.
   */
  readonly isHere: boolean
  readonly checks: readonly Check[]
  readonly path: Path
  readonly locate: Locate
}

function reportOf({ router, known, isHere, checks, path, locate }: Tracking): Report {
  const { name, track, parameters } = router
  if (track.length === 0) return { report: undefined, remarks: [] }
  const remarks: Remark[] = []
  const warn = (message: string) => remarks.push(problemAt(locate, path, 'warning', message))
  const note = (message: string) => remarks.push(noteAt(locate, path, message))
  const table = priorityTable(parameters.priority, track, checks)
  const best = table.rows.find(({ fault }) => !fault)?.priority ?? parameters.priority
  const weighing = parameters.priority === 255 ? [] : track.filter(({ weight }) => weight !== 0)
  const small = weighing.length === 0 || !parameters.preempt ? [] : tooSmall(router, known, table, best)
  if (weighing.length > 0 && !parameters.preempt)
    warn(
      `The weights of "${name}" do not move the addresses: with "preempt: false", no Backup takes over from a working Active, ` +
        'whatever its priority. Use weight 0 to release the addresses when a check fails.',
    )
  for (const message of small) warn(message)
  // The configuration may have the same peer list on every node. In a list that is the same on every node, a peer with
  // the priority of this router may be this node itself.
  const own = isHere || small.length > 0 || !parameters.preempt ? -1 : known.indexOf(parameters.priority)
  const others = own < 0 ? [] : known.toSpliced(own, 1)
  const unless = others.length === 0 || weighing.length === 0 ? [] : tooSmall(router, others, table, best)
  for (const message of unless)
    warn(
      `${message}, if the listed peer with priority ${parameters.priority} is this node itself (use --node to find out)`,
    )
  const isKnown = known.length > 0 && small.length === 0 && unless.length === 0
  const shown = weighing.filter((tracker) => table.columns.includes(trackedName(tracker)))
  if (parameters.preempt && small.length === 0 && known.length === 0 && shown.length > 0)
    note(
      `cannot tell whether ${weightsOf(shown)} ${shown.length === 1 ? 'is' : 'are'} enough: no peer priorities are listed`,
    )
  // The note about the time of a move is given only where a failure certainly moves the addresses.
  const moving = isKnown ? track : track.filter(({ weight }) => weight === 0)
  const slow = parameters.priority === 255 ? undefined : slowestPath({ ...parameters, priority: best }, moving, checks)
  if (slow !== undefined && slow.ms > SLOW) {
    const parts = slow.parts.map(({ ms, what }) => `${timeShown(ms)} ${what}`).join(' + ')
    note(
      `The addresses of "${name}" may take ${timeShown(slow.ms)} to move when "${slow.check.name}" stops answering: ` +
        `${parts}${signOf(slow.check.probe)}`,
    )
  }
  return { report: { router: name, table }, remarks }
}

const weightsOf = (track: readonly Track[]): string =>
  track.map((tracker) => `weight ${tracker.weight} of ${trackedName(tracker)}`).join(' and ')

/** Returns the text about events that show a failure before the next run of the check. */
function signOf(probe: ProbeSpec): string {
  if ((probe.kind === 'http' || probe.kind === 'tcp') && probe.events)
    return '; a connection that ends is noticed immediately'
  return probe.kind === 'file' ? '; the kernel usually reports a change immediately' : ''
}

const timeShown = (ms: number): string => formatDuration(ms < 1000 ? Math.round(ms) : Math.round(ms / 10) * 10)

/**
 * Returns a warning for each row of the priority table in which this router stays above every peer although its service
 * is down. Without peer priorities, all nodes count as equal.
 */
function tooSmall(router: ResolvedRouter, known: readonly number[], table: PriorityTable, best: number): string[] {
  const { track, parameters } = router
  const { priority: base, margin = 0 } = parameters
  // Priority of the best peer while all its checks are up.
  const peerBest = known.length === 0 ? best : Math.min(254, Math.max(...known) + best - base)
  const downIn = (row: PriorityRow) => table.columns.filter((_, i) => row.up[i] !== table.rows[0]?.up[i])
  const stays = table.rows.filter((row) => !row.fault && downIn(row).length > 0 && row.priority + margin >= peerBest)
  const place = (row: PriorityRow) => table.columns.indexOf(downIn(row)[0] ?? '')
  const alone = stays.filter((row) => downIn(row).length === 1).sort((a, b) => place(a) - place(b))
  const told = (alone.length > 0 ? alone : stays).map((row) => {
    const down = downIn(row)
    const tracker = track.find((each) => trackedName(each) === down[0])
    const isOne = down.length === 1 && tracker !== undefined && tracker.weight !== 0
    const subject = isOne
      ? `weight ${tracker.weight} of ${down[0]} is too small`
      : `the weights of ${down.join(' and ')} together are too small`
    const above = row.priority - peerBest
    const relation = above > 0 ? 'above' : above === 0 ? 'equal to' : `within the margin (${margin}) of`
    const cure = isOne ? cureOf(tracker.weight, above + margin + 1, row.priority) : ''
    return `${subject}: ${row.priority} is still ${relation} the best peer (${peerBest})${cure}`
  })
  const more = told.length - MOST_TOLD
  return more > 0 ? [...told.slice(0, MOST_TOLD), `${more} more weights of "${router.name}" are too small`] : told
}

function cureOf(weight: number, missing: number, priority: number): string {
  // A sum above 254 counts as 254, so a greater weight changes nothing.
  if (priority === 254) return '; a sum above 254 counts as 254: use a lower base priority'
  const enough = weight < 0 ? weight - missing : weight + missing
  if (Math.abs(enough) > 253) return '; no weight is enough: bring the base priorities closer together'
  return weight < 0 ? `; use ${enough} or less` : `; use ${enough} or more`
}
