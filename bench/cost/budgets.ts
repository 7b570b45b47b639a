/**
 * Compares the budgets of an idle daemon (docs/cost.md, Budgets) with the measured costs of holdfast and keepalived.
 * This file decides which measured cell belongs to each budget. A budget without a measurement is neither met nor
 * missed. Pure.
 */
import { spreadOf } from '../failover/statistics.ts'
import { priceOf } from './check-report.ts'
import { type CellResult, type CostDaemon, cpuOf, memoryIn, NOISY_PRESSURE, type Result, rssMiB } from './result.ts'
import { rows, seconds } from './table.ts'

type Figure = { readonly value: number; readonly pressure?: number | undefined }
type Budget = {
  readonly of: string
  readonly limit: number
  readonly text: (value: number) => string
  readonly figure: (result: Result, daemon: CostDaemon) => Figure | undefined
}

/**
 * Returns the measured cell of this daemon with multicast and the fewest nodes. Budgets do not cover how cost grows
 * with the number of nodes.
 */
function cellOf({ cells }: Result, daemon: CostDaemon, intervalMs: number, routers: number): CellResult | undefined {
  const [fewest] = cells
    .filter((cell) => cell.daemon === daemon && cell.intervalMs === intervalMs && cell.routers === routers)
    .filter(({ transport, trouble }) => transport === 'multicast' && trouble === undefined)
    .sort((one, other) => one.nodes - other.nodes)
  return fewest
}

const cpu = (intervalMs: number, routers: number, limit: number): Budget => ({
  of: `CPU s/min, ${routers === 1 ? 'one router' : `${routers} routers`}, Active at ${intervalMs} ms`,
  ...{ limit, text: seconds },
  figure: (result, daemon) => {
    const cell = cellOf(result, daemon, intervalMs, routers)
    const value = cell === undefined ? undefined : cpuOf(cell, 'Active')
    return value === undefined ? undefined : { value, pressure: cell?.pressure }
  },
})

const check = (asks: string, limit: number): Budget => ({
  ...{ of: `CPU s/min, one ${asks} check at 1 s`, limit, text: seconds },
  figure: ({ checks, checkWeather }, daemon) => {
    const cost = checks.find((one) => one.daemon === daemon && one.asks === asks && one.count === 1)
    const value = cost === undefined ? undefined : priceOf(cost, checks)?.each
    return value === undefined ? undefined : { value, pressure: checkWeather?.pressure }
  },
})

const largest = (values: readonly number[]): Figure | undefined =>
  values.length === 0 ? undefined : { value: Math.max(...values) }

/** Budgets for memory. The memory of a daemon does not depend on other processes that need a CPU. */
const MEMORY: readonly Budget[] = [
  {
    ...{ of: 'RSS MiB, one router, the largest of all nodes', limit: 70, text: (value) => value.toFixed(1) },
    figure: ({ cells }, daemon) =>
      largest(
        cells
          .filter((cell) => cell.daemon === daemon && cell.routers === 1 && cell.nodesCost.length > 0)
          .map((cell) => Math.max(rssMiB(memoryIn(cell, 'Active')), rssMiB(memoryIn(cell, 'Backup')))),
      ),
  },
  {
    ...{ of: 'RSS MiB with https checks', limit: 110, text: (value) => value.toFixed(1) },
    figure: ({ checks }, daemon) =>
      largest(
        checks.filter((one) => one.daemon === daemon && one.asks === 'https').map(({ memory }) => rssMiB(memory)),
      ),
  },
]

const BUDGETS: readonly Budget[] = [
  ...[cpu(1_000, 1, 0.1), cpu(100, 1, 0.3), cpu(10, 1, 2), cpu(1_000, 255, 3)],
  ...[check('http', 0.05), check('https', 0.15), ...MEMORY],
  {
    ...{ of: 'start to Backup, ms, median', limit: 150, text: (value) => value.toFixed(0) },
    figure: ({ starts, startWeather }, daemon) => {
      const mine = starts.filter(({ kind }) => kind === daemon).map(({ backupMs }) => backupMs)
      return mine.length === 0 ? undefined : { value: spreadOf(mine).median, pressure: startWeather?.pressure }
    },
  },
]

function judgement(limit: number, figure: Figure | undefined): string {
  if (figure === undefined) return 'not measured'
  const text = figure.value <= limit ? 'kept' : '**missed**'
  return (figure.pressure ?? 0) > NOISY_PRESSURE ? `${text}, on a noisy machine` : text
}

export function budgetLines(result: Result): readonly string[] {
  const lines = BUDGETS.map(({ of, limit, text, figure }) => {
    const [ours, theirs] = [figure(result, 'holdfast'), figure(result, 'keepalived')]
    const shown = (one: Figure | undefined) => (one === undefined ? '–' : text(one.value))
    return [of, `${limit}`, shown(ours), shown(theirs), judgement(limit, ours)]
  })
  return ['', '## Budgets', '', ...rows(['of', 'at most', 'holdfast', 'keepalived', 'budget'], lines)]
}
