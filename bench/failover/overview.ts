/**
 * Writes the table of docs/performance.md: one line for each accident, with all daemons side by side. The longer
 * failover.md has one line for each daemon. This file decides which figures are shown. A pure function of the result.
 */
import { FIGURE_TEXT, figureOf, pointsOf, ratio } from './figures.ts'
import { type CellResult, noiseOf, type Result } from './result.ts'
import { spreadOf } from './statistics.ts'

/** Comment in a Markdown page after which the table begins. */
const BEGIN = '<!-- by bench:failover: its table -->'
const END = '<!-- end of its table -->'

const short = (value: number) => (value < 10 ? Number(value.toFixed(1)).toString() : value.toFixed(0))

function seconds(ms: number): string {
  return ms < 1_000 ? `${short(ms)} ms` : `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`
}

const timeOr = (figure: string) => (figure === 'takeovers' ? (value: number) => `${value}` : seconds)

/** Returns a cell of the table: median, worst value, and number of runs. */
function compared(cell: CellResult | undefined): string {
  if (cell === undefined) return ''
  if (cell.unsupported !== undefined) return 'cannot'
  const figure = figureOf(cell)
  const values = pointsOf(cell, figure).map(({ value }) => value)
  if (values.length === 0) return '–'
  const { median, max } = spreadOf(values)
  const text = timeOr(figure)
  return `${text(median)}, ${text(max)} (${values.length})`
}

function worst(cell: CellResult | undefined, of: (run: NonNullable<CellResult['runs'][number]['run']>) => number) {
  const values = cell?.runs.flatMap(({ run }) => (run === undefined ? [] : of(run))) ?? []
  return values.length === 0 ? undefined : Math.max(...values)
}

const side = (...values: readonly (string | undefined)[]) => values.map((value) => value ?? '–').join(' · ')

function line(cells: readonly CellResult[]): readonly string[] {
  const find = (lineUp: string) => cells.find((cell) => cell.lineUp === lineUp)
  const [ours, theirs, frr] = [find('holdfast'), find('keepalived'), find('frr')]
  if (ours === undefined) return []
  const figure = figureOf(ours)
  const times = ratio(ours, theirs, figure)
  const lost = [ours, theirs].map((cell) => worst(cell, (run) => run.lost))
  const doubled = [ours, theirs].map((cell) => worst(cell, (run) => run.overlapMs))
  const noisy = ours.runs.filter((record) => noiseOf(ours, record) !== undefined).length
  return [
    [
      `${ours.title} (\`${ours.scenario}\`)`,
      ...[`${seconds(ours.intervalMs)}${ours.family === 6 ? ', IPv6' : ''}`, FIGURE_TEXT[figure]],
      ...[`${compared(ours)}${noisy > 0 ? `, ${noisy} noisy` : ''}`, compared(theirs), compared(frr)],
      times === undefined ? '–' : times < 0.1 ? times.toPrecision(1) : times.toFixed(2),
      side(...lost.map((value) => value?.toString())),
      side(...doubled.map((value) => (value === undefined ? undefined : seconds(value)))),
    ].join(' | '),
  ]
}

export function overview({ cells }: Result): string {
  const groups = new Map<string, CellResult[]>()
  for (const cell of cells) {
    const key = [cell.scenario, cell.intervalMs, cell.family].join()
    groups.set(key, [...(groups.get(key) ?? []), cell])
  }
  const titles = ['what happens', 'interval', 'what counts', 'holdfast', 'keepalived', 'FRR', 'holdfast ÷ keepalived']
  const head = [...titles, 'most lost: holdfast · keepalived', 'longest two holders: holdfast · keepalived']
  const lines = [...groups.values()].flatMap(line)
  return [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...lines.map((text) => `| ${text} |`)].join('\n')
}

/** Returns the page with this table instead of the old one. Throws if the page has no comment that marks the table. */
export function inPage(page: string, result: Result): string {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (from < 0 || to < from) throw new Error(`Cannot find "${BEGIN}" and "${END}"`)
  return `${page.slice(0, from + BEGIN.length)}\n\n${overview(result)}\n\n${page.slice(to)}`
}
