/**
 * Many runs of the crash matrix as the tables of docs/reliability.md. PURE: cells in, Markdown out.
 */
import { NOISE } from '../../src/lab/watch/witness.ts'
import type { Cell } from './crash-judge.ts'

function quantiles(values: readonly number[]): string {
  const sorted = [...values].sort((one, other) => one - other)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0
  return [0.5, 0.95, 1].map((share) => at(share).toFixed(0)).join(' / ')
}

/** Nobody is there to end it. */
const bound = (ms: number): string => (Number.isFinite(ms) ? Math.max(NOISE, ms).toFixed(0) : '–')

export function crashTable(cells: readonly Cell[]): string {
  const lines = [
    '| fault | adverts | runs | two answer: median / p95 / max | bound | nobody answers: median / p95 / max | bound | missed |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
  ]
  for (const row of new Set(cells.map((cell) => cell.row))) {
    for (const column of new Set(cells.map((cell) => cell.column))) {
      const own = cells.filter((cell) => cell.row === row && cell.column === column)
      if (own.length === 0) continue
      const two = [
        quantiles(own.map(({ overlap }) => overlap)),
        bound(Math.max(...own.map(({ bounds }) => bounds.overlap))),
      ]
      const none = [
        quantiles(own.map(({ absence }) => absence)),
        bound(Math.max(...own.map(({ bounds }) => bounds.absence))),
      ]
      const missed = own.filter(({ wrong }) => wrong.length > 0).length
      lines.push(`| ${[row, column, own.length, ...two, ...none, missed].join(' | ')} |`)
    }
  }
  const pressure = cells.reduce((sum, cell) => sum + cell.pressure, 0) / Math.max(1, cells.length)
  return `${lines.join('\n')}\n\nCPU pressure during these runs: ${pressure.toFixed(0)} % on average.\n`
}
