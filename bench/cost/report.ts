/**
 * Writes the result of the cost benchmark as Markdown: each figure of holdfast beside the figure of keepalived, and
 * each cell that could not be measured. A pure function of the result. This file does not judge the figures: budgets.ts
 * compares them with the budgets, and docs/cost.md explains them.
 */
import { intervalText } from '../failover/report.ts'
import { spreadOf } from '../failover/statistics.ts'
import { budgetLines } from './budgets.ts'
import { checkLines } from './check-report.ts'
import { type Growth, growth, type Line } from './fit.ts'
import {
  type CellResult,
  type CostDaemon,
  cpuOf,
  memoryIn,
  NOISY_PRESSURE,
  type Result,
  START_KINDS,
} from './result.ts'
import { mib, rows, seconds, weatherText } from './table.ts'

/**
 * Returns a text with the memory of every process of the node, by process name, because a daemon's processes differ in
 * memory.
 */
function eachText(cell: CellResult, role: 'Active' | 'Backup'): string {
  const processes = memoryIn(cell, role)
  if (processes.length === 0) return '–'
  const each = processes.map(({ rssKiB, pssKiB }) => `${mib(rssKiB)} (${mib(pssKiB)})`)
  return each.join(' + ')
}

function remarkOf({ changes = 0, trouble }: CellResult): string {
  if (trouble !== undefined) return `not measurable: ${trouble.replaceAll('|', '/')}`
  return changes === 0 ? '' : `${changes} changes of state meanwhile`
}

function cellRow(cell: CellResult): readonly string[] {
  const cpu = (role: 'Active' | 'Backup') => {
    const value = cpuOf(cell, role)
    return value === undefined ? '–' : cell.trouble === undefined ? seconds(value) : `(${seconds(value)})`
  }
  const { pressure, load } = cell
  return [
    ...[intervalText(cell.intervalMs), `${cell.routers}`, `${cell.nodes}`, cell.daemon],
    ...[cpu('Active'), cpu('Backup'), eachText(cell, 'Active'), eachText(cell, 'Backup')],
    pressure === undefined || load === undefined ? '–' : weatherText({ pressure, load }),
    remarkOf(cell),
  ]
}

function idleLines({ cells }: Result): readonly string[] {
  const titles = ['interval', 'routers', 'nodes', 'daemon', 'Active CPU s/min', 'Backup CPU s/min']
  const more = ['Active RSS (PSS) MiB', 'Backup RSS (PSS) MiB', 'pressure, load', 'remark']
  return (['multicast', 'unicast'] as const).flatMap((transport) => {
    const mine = cells.filter((cell) => cell.transport === transport)
    return mine.length === 0
      ? []
      : ['', `## When nothing happens, ${transport}`, '', ...rows([...titles, ...more], mine.map(cellRow))]
  })
}

const lineText = ({ base, slope, off, points }: Line, text: (value: number) => string, each: string): string =>
  `${text(base)} ${slope < 0 ? '−' : '+'} ${text(Math.abs(slope))} ${each}${points > 2 ? ` (± ${text(off)})` : ''}`

function growthRow({ daemon, intervalMs, transport, along, fixed, role, cpu, rss }: Growth): readonly string[] {
  const each = along === 'routers' ? 'a router' : 'a node'
  const other = along === 'routers' ? `${fixed} nodes` : fixed === 1 ? 'one router' : `${fixed} routers`
  const figure = (value: number) => (Math.abs(value) < 10 ? Number(value.toPrecision(2)).toString() : value.toFixed(1))
  return [
    ...[intervalText(intervalMs), `${transport}, ${other}`, daemon, role],
    ...[lineText(cpu, figure, each), lineText(rss, figure, each)],
  ]
}

function growthLines({ cells }: Result): readonly string[] {
  const found = growth(cells)
  if (found.length === 0) return []
  const title = [
    '',
    '## How it grows',
    '',
    'A straight line (least squares) through the cells that were measurable; ± is its worst miss.',
    '',
  ]
  return [...title, ...rows(['interval', 'group', 'daemon', 'role', 'CPU s/min', 'RSS MiB'], found.map(growthRow))]
}

function startLines({ starts, startWeather }: Result): readonly string[] {
  if (starts.length === 0) return []
  const spread = (values: readonly number[]) => {
    const { min, median, max } = spreadOf(values)
    return [min, median, max].map((value) => value.toFixed(0)).join(' / ')
  }
  const lines = START_KINDS.flatMap((kind) => {
    const mine = starts.filter((start) => start.kind === kind)
    const [joined, backup] = [mine.map(({ joinedMs }) => joinedMs), mine.map(({ backupMs }) => backupMs)]
    const name = kind === 'engine' ? 'holdfast without its guardian' : kind
    return mine.length === 0 ? [] : [[name, `${mine.length}`, spread(joined), spread(backup)]]
  })
  return [
    ...['', '## Start', ''],
    `From before the process is made; min / median / max, ms.${startWeather === undefined ? '' : ` Pressure and load: ${weatherText(startWeather)}.`}`,
    '',
    ...rows(['started', 'runs', 'its interface has joined 224.0.0.18', 'Backup by its own account'], lines),
  ]
}

export function markdown(result: Result): string {
  const { machine, versions, startedAt, endedAt, command, loadBefore } = result
  const minute = (time: string) => time.slice(0, 16).replace('T', ' ')
  const daemons: readonly CostDaemon[] = ['holdfast', 'keepalived']
  const names = [...daemons, 'node'].filter((name) => versions[name] !== undefined)
  const head = [
    '# What it costs when nothing happens',
    '',
    `Linux ${machine.kernel}, ${machine.cpus} CPUs (${machine.processor}), ${machine.memoryMiB} MiB. Measured ${minute(startedAt)} to ${minute(endedAt)} UTC by \`${command}\`: ${names.map((name) => `${name} ${versions[name]}`).join(', ')}; load ${loadBefore.toFixed(2)} at the start.`,
    '',
    `- ${result.seconds} s counted after ${result.warmUpSeconds} s, the daemons in turn, or at the same time where the command says \`--groups\`. CPU: all processes and threads of a node's daemon; Backup: mean of the Backups. On a veth the sender pays for a part of what the receivers do.`,
    '- RSS (PSS) of each process, the parent first: the node that has most. PSS shares what several hold, and each other node of the group holds the same program.',
    '- `(…)`: of a group that was not as it should be; it says of what, and no line goes through it.',
    `- pressure: share of the time in which a task waited for a CPU; **noisy** above ${100 * NOISY_PRESSURE} %.`,
  ]
  const body = [
    ...budgetLines(result),
    ...idleLines(result),
    ...growthLines(result),
    ...startLines(result),
    ...checkLines(result),
  ]
  return `${[...head, ...body].join('\n')}\n`
}
