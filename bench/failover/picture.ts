/**
 * Draws the benchmark's result: a horizontal band for each scenario, in it a lane for each daemon and a mark for each
 * run, on a logarithmic time axis. This file decides what is drawn, and how the picture stays readable on light and
 * dark screens and on paper. For readers with colour blindness it uses the colours of Okabe and Ito, and another shape
 * for each daemon. A pure function of the result.
 */
import type { LineUp } from './accident.ts'
import { FIGURE_TEXT, figureOf, pointsOf } from './figures.ts'
import type { Family } from './observation.ts'
import { type CellResult, NOISY_PRESSURE, type Result } from './result.ts'
import { spreadOf } from './statistics.ts'
import { element, label, mark, type Shape, segment } from './svg.ts'

export type Excerpt = { readonly intervalMs: number; readonly family: Family }

const WIDTH = 1_000
const LEFT = 360
/** Number of letters that fit beside the names of the daemons: in a title, and in the smaller text below the title. */
const [BOLD_LETTERS, LETTERS] = [29, 36]
const LINE = 15
const RIGHT = 190
const HEAD = 92
const LANE = 26
const GAP = 14
const FOOT = 66
const [SHORTEST, LONGEST] = [1, 20_000]
const TICKS: readonly (readonly [number, string])[] = [
  [1, '≤ 1 ms'],
  [10, '10 ms'],
  [100, '100 ms'],
  [1_000, '1 s'],
  [10_000, '10 s'],
]

type Look = { readonly colour: string; readonly shape: Shape }
const LOOKS: Readonly<Record<LineUp, Look>> = {
  holdfast: { colour: 'blue', shape: 'circle' },
  keepalived: { colour: 'vermillion', shape: 'square' },
  frr: { colour: 'green', shape: 'triangle' },
  'holdfast+keepalived': { colour: 'purple', shape: 'diamond' },
  'keepalived+holdfast': { colour: 'purple', shape: 'cross' },
}

const NAMES: Readonly<Record<LineUp, string>> = {
  holdfast: 'holdfast',
  keepalived: 'keepalived',
  frr: 'FRR',
  'holdfast+keepalived': 'holdfast + keepalived',
  'keepalived+holdfast': 'keepalived + holdfast',
}

/**
 * CSS rules with the colours of Okabe and Ito. In these colours sky blue and orange are light enough for a dark
 * background.
 */
export const STYLE = `
text { font-family: system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif; font-size: 13px; fill: #24292f; }
.title { font-size: 18px; font-weight: 600; } .quiet { fill: #57606a; font-size: 12px; } .name { font-weight: 600; }
.paper { fill: #ffffff; } .frame { fill: none; stroke: #d0d7de; } .grid { stroke: #d8dee4; } .theory { fill: #6e7781; opacity: 0.22; }
.blue { fill: #0072b2; stroke: #0072b2; } .vermillion { fill: #d55e00; stroke: #d55e00; }
.green { fill: #009e73; stroke: #009e73; } .purple { fill: #a6568a; stroke: #a6568a; }
.noisy { fill: none; } .range { stroke-width: 1.5; } .median { stroke: #24292f; stroke-width: 2.5; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .quiet { fill: #9da7b3; } .paper { fill: #0d1117; } .frame { stroke: #30363d; } .grid { stroke: #30363d; }
.theory { fill: #9da7b3; } .blue { fill: #56b4e9; stroke: #56b4e9; } .vermillion { fill: #e69f00; stroke: #e69f00; }
.green { fill: #2fc79a; stroke: #2fc79a; } .purple { fill: #cc79a7; stroke: #cc79a7; } .noisy { fill: none; } .median { stroke: #e6edf3; }
}
`

function place(value: number): number {
  const bounded = Math.min(LONGEST, Math.max(SHORTEST, value))
  const share = Math.log(bounded / SHORTEST) / Math.log(LONGEST / SHORTEST)
  return LEFT + share * (WIDTH - LEFT - RIGHT)
}

export function timeText(value: number): string {
  if (value <= 1) return '≤ 1 ms'
  if (value < 10) return `${value.toFixed(1)} ms`
  return value < 1_000 ? `${value.toFixed(0)} ms` : `${(value / 1_000).toFixed(1)} s`
}

/** Returns true if the figure of the cell is a time, so that it fits on a time axis. */
const drawable = (cell: CellResult): boolean => figureOf(cell) !== 'takeovers'

/**
 * Returns the vertical offset of a mark within its lane. Marks of neighbouring runs are apart, and the offset is the
 * same in every drawing.
 */
const jitter = (i: number): number => (((i * 7) % 5) - 2) * 2.2

function remark(cell: CellResult, noisy: number): string {
  const failed = cell.runs.filter(({ run }) => run === undefined).length
  const parts = [`n ${cell.runs.length - failed}`]
  if (noisy > 0) parts.push(`${noisy} noisy`)
  if (failed > 0) parts.push(`${failed} failed`)
  return parts.join(', ')
}

function lane(cell: CellResult, y: number): string[] {
  const { colour, shape } = LOOKS[cell.lineUp]
  const name = label(LEFT - 12, y + 4, NAMES[cell.lineUp], { 'text-anchor': 'end' })
  if (cell.unsupported !== undefined)
    return [name, label(LEFT + 6, y + 4, `cannot: ${cell.unsupported}`, { class: 'quiet' })]
  const points = pointsOf(cell, figureOf(cell))
  const { min, median, max } = spreadOf(points.map(({ value }) => value))
  if (points.length === 0) {
    const why = cell.runs.length === 0 ? 'not measured' : `no figure in ${cell.runs.length} runs`
    return [name, label(LEFT + 6, y + 4, why, { class: 'quiet' })]
  }
  const marks = points.map(({ value, noisy }, i) =>
    mark(shape, place(value), y + jitter(i), 3, {
      class: noisy ? `${colour} noisy` : colour,
      'fill-opacity': noisy ? undefined : 0.55,
    }),
  )
  const noisy = points.filter((point) => point.noisy).length
  const x = place(median)
  const right = WIDTH - RIGHT + 12
  const figures = median === max ? timeText(median) : `${timeText(median)}, max ${timeText(max)}`
  return [
    name,
    segment(place(min), y, place(max), y, { class: `${colour} range` }),
    ...marks,
    segment(x, y - 8, x, y + 8, { class: 'median' }),
    label(right, y + 1, figures, { 'font-size': 12 }),
    label(right, y + 12, remark(cell, noisy), { class: 'quiet', style: 'font-size: 10px' }),
  ]
}

/** Splits a text between words into lines of at most `letters` characters. */
export function wrapped(text: string, letters: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ').filter((one) => one !== '')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > letters) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

function titleLines({ title, scenario, theory }: CellResult): readonly (readonly [string, string])[] {
  const [short = '', rest = ''] = title.split(/ \((?=[^()]*\)$)/)
  return [
    ...wrapped(short, BOLD_LETTERS).map((text) => [text, 'name'] as const),
    ...wrapped(rest.replace(/\)$/, ''), LETTERS).map((text) => [text, 'quiet'] as const),
    [FIGURE_TEXT[figureOf({ scenario, theory })], 'quiet'],
  ]
}

const heightOf = (cells: readonly CellResult[]): number => {
  const [first] = cells
  const lines = first === undefined ? 0 : titleLines(first).length
  return Math.max(cells.length * LANE, lines * LINE + 6)
}

function band(cells: readonly CellResult[], top: number): string[] {
  const [first] = cells
  if (first === undefined) return []
  const figure = figureOf(first)
  const { from, to, of } = first.theory
  const height = cells.length * LANE
  const lines = titleLines(first)
  const shade =
    (of === figure || (of === 'moved' && figure === 'outage')) && to > 0
      ? [
          element('rect', {
            ...{ class: 'theory', x: place(from) - 1, y: top },
            ...{ width: Math.max(2, place(to) - place(from) + 2), height },
          }),
        ]
      : []
  return [
    ...lines.map(([text, kind], i) => label(16, top + LINE * (i + 1), text, { class: kind })),
    ...shade,
    ...cells.flatMap((cell, i) => lane(cell, top + LANE * (i + 0.5))),
  ]
}

/** Returns the SVG text; `undefined` if no cell with that interval and address family was measured. */
export function picture(result: Result, { intervalMs, family }: Excerpt): string | undefined {
  const cells = result.cells.filter(
    (cell) => cell.intervalMs === intervalMs && cell.family === family && drawable(cell),
  )
  const scenarios = [...new Set(cells.map(({ scenario }) => scenario))]
  if (scenarios.length === 0) return undefined
  const bands = scenarios.map((scenario) => cells.filter((cell) => cell.scenario === scenario))
  const heights = bands.map((one) => heightOf(one) + GAP)
  const height = HEAD + heights.reduce((sum, one) => sum + one, 0) + FOOT
  const tops = heights.map((_, i) => HEAD + heights.slice(0, i).reduce((sum, one) => sum + one, 0) + GAP / 2)
  const interval = intervalMs < 1_000 ? `${intervalMs} ms` : `${intervalMs / 1_000} s`
  const versions = Object.entries({ ...result.sessions.at(-1)?.versions })
    .filter(([name]) => cells.some(({ lineUp }) => lineUp.includes(name)))
    .map((each) => each.join(' '))
  const axis = TICKS.flatMap(([value, text]) => [
    segment(place(value), HEAD - 6, place(value), height - FOOT, { class: 'grid' }),
    label(place(value), HEAD - 12, text, { class: 'quiet', 'text-anchor': 'middle' }),
  ])
  const separators = tops
    .slice(1)
    .map((top) => segment(16, top - GAP / 2, WIDTH - 16, top - GAP / 2, { class: 'grid' }))
  const foot = [
    `Every mark is a run; hollow: too noisy (a task waited for a CPU more than ${100 * NOISY_PRESSURE} % of it). Bar: median. Grey: what the protocol alone makes of it.`,
    `${versions.join(', ')}, Linux ${result.machine.kernel}, ${result.machine.cpus} CPUs, ${result.sessions.at(-1)?.endedAt.slice(0, 10) ?? ''}. One probe a millisecond.`,
  ]
  return `${element(
    'svg',
    {
      ...{ xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, role: 'img' },
      'aria-label': `Failover at ${interval}, IPv${family}: how long a client is without an answer`,
    },
    element('style', {}, STYLE),
    element('rect', { class: 'paper', x: 0, y: 0, width: WIDTH, height, rx: 8 }),
    element('rect', { class: 'frame', x: 0.5, y: 0.5, width: WIDTH - 1, height: height - 1, rx: 8 }),
    label(16, 30, `Failover as a client sees it: ${interval} advertisements, IPv${family}`, { class: 'title' }),
    label(16, 50, 'Further left is better. Time on a logarithmic scale.', { class: 'quiet' }),
    ...axis,
    ...separators,
    ...bands.flatMap((one, i) => band(one, tops[i] ?? 0)),
    ...foot.map((text, i) => label(16, height - FOOT + 28 + 18 * i, text, { class: 'quiet' })),
  )}\n`
}

/** Returns every combination of interval and address family for which there are measurements. */
export function excerpts(result: Result): readonly Excerpt[] {
  const keys = new Map(
    result.cells.map(({ intervalMs, family }) => [`${intervalMs} ${family}`, { intervalMs, family }]),
  )
  return [...keys.values()]
}
