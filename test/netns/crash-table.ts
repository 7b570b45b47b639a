/** Builds the tables of docs/crash-matrix.md from the cells of many runs. Pure: cells in, Markdown out. */
import { NOISE } from '../../src/lab/watch/history.ts'
import { quantiles, table } from '../judge/report.ts'
import { pressureOf } from '../judge/time.ts'
import type { Cell } from './crash-judge.ts'

/** Returns a bound for the table: a dash if there is no bound, because no other node is there to end the outage. */
const bound = (ms: readonly number[]): string => {
  const most = Math.max(NOISE, ...ms)
  return Number.isFinite(most) ? most.toFixed(0) : '–'
}

export function crashTable(cells: readonly Cell[]): string {
  const names = new Set(cells.map(({ column, row }) => JSON.stringify([row, column])))
  const rows = [...names].map((name) => {
    const own = cells.filter(({ column, row }) => JSON.stringify([row, column]) === name)
    const [row, column]: [string, string] = JSON.parse(name)
    return [
      ...[row, column, own.length],
      ...[quantiles(own.map(({ overlap }) => overlap)), bound(own.map(({ bounds }) => bounds.overlap))],
      ...[quantiles(own.map(({ absence }) => absence)), bound(own.map(({ bounds }) => bounds.absence))],
      own.filter(({ late, unseen, wrong }) => late.length + unseen.length + wrong.length > 0).length,
    ]
  })
  const pressure = cells.reduce((sum, { loss }) => sum + pressureOf(loss), 0) / Math.max(1, cells.length)
  const head = ['fault', 'adverts', 'runs', 'two answer: median / p95 / max', 'bound']
  const more = ['no node answers: median / p95 / max', 'bound', 'missed']
  return `${table([...head, ...more], rows)}\n\nCPU pressure during these runs: ${pressure.toFixed(0)} % on average.\n`
}
