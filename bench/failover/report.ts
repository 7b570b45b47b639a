/**
 * The benchmark's result as a Markdown table (for docs/) and as JSON (for later comparison). Decides what is shown of a
 * cell: every figure side by side with the other daemon's and with what the protocol alone makes of it.
 */
import type { DaemonKind } from '../../test/support/daemon.ts'
import type { Cell } from './accident.ts'
import type { Measurement } from './observation.ts'
import { theory, titleOf } from './scenario.ts'
import { spreadOf } from './statistics.ts'

export type CellResult = Cell & {
  readonly measurements: readonly Measurement[]
  /** Runs that did not get as far as a figure. */
  readonly failures: readonly string[]
  /** Per run: share of the time in which some task waited for a CPU. */
  readonly pressures: readonly number[]
}

export type Result = {
  readonly startedAt: string
  readonly node: string
  readonly kernel: string
  readonly cpus: number
  readonly loadBefore: number
  readonly versions: Readonly<Partial<Record<DaemonKind, string>>>
  readonly cells: readonly CellResult[]
}

const ms = (value: number) => (value < 100 ? value.toFixed(1) : value.toFixed(0))

function spread(values: readonly number[]): string {
  if (values.length === 0) return '–'
  const { min, median, p95, max } = spreadOf(values)
  return [min, median, p95, max].map(ms).join(' / ')
}

function theoryText(cell: Cell): string {
  const { from, to } = theory(cell)
  return from === to ? ms(to) : `${ms(from)} – ${ms(to)}`
}

function row(cell: CellResult): string {
  const { measurements: all } = cell
  const lost = spreadOf(all.map((m) => m.lost))
  const overlap = spreadOf(all.map((m) => m.overlapMs))
  const moved = all.flatMap(({ movedMs }) => (movedMs === undefined ? [] : [movedMs]))
  const columns = [
    `${cell.intervalMs} ms`,
    cell.lineUp,
    cell.failures.length === 0 ? `${all.length}` : `${all.length} (${cell.failures.length} failed)`,
    spread(all.map((m) => m.outageMs)),
    moved.length === all.length ? spread(moved) : `${spread(moved)} (${moved.length} of ${all.length})`,
    all.length === 0 ? '–' : `${lost.median} / ${lost.p95} / ${lost.max}`,
    all.length === 0 ? '–' : `${ms(overlap.median)} / ${ms(overlap.max)}`,
    `${all.filter((m) => m.stale).length}`,
    theoryText(cell),
    `${(100 * spreadOf(cell.pressures).median).toFixed(0)} %`,
  ]
  return `| ${columns.join(' | ')} |`
}

export function markdown(result: Result): string {
  const daemons = Object.entries(result.versions).map(([kind, version]) => `${kind} ${version}`)
  const head = [
    '# Failover as a client sees it',
    '',
    `${result.startedAt.slice(0, 16).replace('T', ' ')} UTC, ${daemons.join(', ')}, Node ${result.node}, Linux ${result.kernel}, ${result.cpus} CPUs, load ${result.loadBefore.toFixed(2)} at the start.`,
    'Three routers (200, 150, 100, preempting, multicast), one UDP probe a millisecond, one ARP request per 10 ms, `ip_forward` 0; the daemons take turns, run by run. `a+b`: a on the first router, b on the others.',
    'Outage: longest time between two replies. Moved: accident until the first reply of another router. Overlap: two routers answer ARP for the address (10 ms steps). Stale: runs in which both still did at the end. Protocol alone: what the timers of the successor make of it (RFC 9568) at a random phase: Active_Down_Interval, Skew_Time; where a service fails: polls and Active_Down_Interval.',
    'min / median / p95 / max in ms; probes lost and overlap as median / (p95 /) max. Pressure: median share of the time in which a task waited for a CPU.',
  ]
  const scenarios = [...new Set(result.cells.map(({ scenario }) => scenario))]
  const tables = scenarios.flatMap((scenario) => [
    '',
    `## ${titleOf(scenario)}`,
    '',
    '| interval | daemon | n | outage | moved | lost | overlap | stale | protocol alone | pressure |',
    '|---|---|---|---|---|---|---|---|---|---|',
    ...result.cells.filter((cell) => cell.scenario === scenario).map(row),
  ])
  return `${[...head, ...tables].join('\n')}\n`
}
