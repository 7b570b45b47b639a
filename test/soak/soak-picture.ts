/**
 * A soak as three pictures: memory, descriptors and sockets, outage of each step. Pure: functions of the result.
 * Colours, paper and shapes are those of the benchmark's picture (bench/failover/picture.ts).
 */
import { STYLE } from '../../bench/failover/picture.ts'
import { element, label, mark, type Shape, segment } from '../../bench/failover/svg.ts'
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'
import { median, type Point, type Series } from './flatness.ts'
import { socketsOf } from './samples.ts'
import { soakPriorityOf } from './soak-bounds.ts'
import { isFailover, type Outage, outagesOf, seriesOf } from './soak-judge.ts'
import { FAILOVERS } from './soak-plan.ts'
import type { SoakResult } from './soak-run.ts'

const [WIDTH, HEIGHT] = [1_000, 380]
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 190, 64, 44]
/** More points would not be visible, and files stay small. */
const MOST_POINTS = 240

type Look = { readonly colour: string; readonly shape: Shape }
type Curve = Look & Series & { readonly thin?: boolean }
type Axes = {
  readonly title: string
  readonly subtitle: string
  readonly seconds: number
  readonly most: number
  readonly ticks: readonly number[]
  readonly unit: string
  /** The axis is logarithmic and begins at 1. */
  readonly logarithmic?: boolean
}

const place = (from: number, to: number, share: number) => from + Math.min(1, Math.max(0, share)) * (to - from)
const xOf = ({ seconds }: Axes, at: number) => place(LEFT, WIDTH - RIGHT, at / seconds)
const yOf = ({ logarithmic = false, most }: Axes, value: number) =>
  place(HEIGHT - BOTTOM, TOP, logarithmic ? Math.log(Math.max(1, value)) / Math.log(most) : value / most)

/** Returns medians of neighbouring points, so that few enough points are left. */
export function thinned(points: readonly Point[], most = MOST_POINTS): Point[] {
  const each = Math.ceil(points.length / most)
  const groups = Array.from({ length: Math.ceil(points.length / each) }, (_, i) =>
    points.slice(i * each, (i + 1) * each),
  )
  return groups.map((group) => ({
    at: median(group.map(({ at }) => at)),
    value: median(group.map(({ value }) => value)),
  }))
}

function paper(axes: Axes, ...inside: readonly string[]): string {
  const { seconds, subtitle, ticks, title, unit } = axes
  const minutes = seconds / 60
  const step = minutes > 30 ? 10 : minutes > 5 ? 5 : 1
  const upright = Array.from({ length: Math.floor(minutes / step) + 1 }, (_, i) => i * step).flatMap((minute) => [
    segment(xOf(axes, minute * 60), TOP, xOf(axes, minute * 60), HEIGHT - BOTTOM, { class: 'grid' }),
    label(xOf(axes, minute * 60), HEIGHT - BOTTOM + 18, `${minute} min`, { class: 'quiet', 'text-anchor': 'middle' }),
  ])
  const level = ticks
    .filter((tick) => tick <= axes.most)
    .flatMap((tick) => [
      segment(LEFT, yOf(axes, tick), WIDTH - RIGHT, yOf(axes, tick), { class: 'grid' }),
      label(LEFT - 8, yOf(axes, tick) + 4, `${tick} ${unit}`.trim(), { class: 'quiet', 'text-anchor': 'end' }),
    ])
  const size = { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT }
  return `${element(
    'svg',
    { ...size, role: 'img', 'aria-label': title },
    element(
      'style',
      {},
      STYLE,
      '.curve { fill: none; stroke-width: 1.8; } .thin { stroke-width: 1; stroke-dasharray: 3 2; }',
    ),
    element('rect', { class: 'paper', x: 0, y: 0, width: WIDTH, height: HEIGHT, rx: 8 }),
    element('rect', { class: 'frame', x: 0.5, y: 0.5, width: WIDTH - 1, height: HEIGHT - 1, rx: 8 }),
    label(16, 28, title, { class: 'title' }),
    label(16, 48, subtitle, { class: 'quiet' }),
    ...upright,
    ...level,
    ...inside,
  )}\n`
}

/** Draws the curves. A name stands at the end of its curve, or below the one before if both are close. */
function curves(axes: Axes, all: readonly Curve[]): string[] {
  const ends = all
    .map((curve) => ({ curve, y: yOf(axes, curve.points.at(-1)?.value ?? 0) }))
    .sort((one, other) => one.y - other.y)
  let last = Number.NEGATIVE_INFINITY
  const names = ends.flatMap(({ curve: { colour, name, shape, thin }, y }) => {
    last = Math.max(y, last + 15)
    const x = WIDTH - RIGHT + 14
    return [
      ...(thin
        ? [segment(x - 6, last, x + 6, last, { class: `${colour} curve thin` })]
        : [mark(shape, x, last, 4, { class: colour })]),
      label(x + 12, last + 4, name, { 'font-size': 12 }),
    ]
  })
  const lines = all.map(({ colour, points, thin }) => {
    const places = thinned(points).map(({ at, value }) => `${xOf(axes, at).toFixed(1)} ${yOf(axes, value).toFixed(1)}`)
    return element('path', { class: `${colour} curve${thin ? ' thin' : ''}`, d: `M${places.join('L')}` })
  })
  return [...lines, ...names]
}

const LOOKS: Readonly<Record<string, Look>> = {
  r1: { colour: 'vermillion', shape: 'square' },
  r2: { colour: 'blue', shape: 'circle' },
  r3: { colour: 'green', shape: 'triangle' },
}
const lookOf = (node: string): Look => LOOKS[node] ?? { colour: 'purple', shape: 'cross' }
const NODES = ['r1', 'r2', 'r3'] as const

/** Returns a scale from 0 in steps that are easy to read. */
function scaleTo(most: number): { readonly most: number; readonly ticks: readonly number[] } {
  const step = [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1_000, 2_000].find((one) => most / one <= 7) ?? most
  const count = Math.ceil(most / step)
  return { most: count * step, ticks: Array.from({ length: count + 1 }, (_, i) => i * step) }
}
const highest = (all: readonly Series[]) =>
  Math.max(1, ...all.flatMap(({ points }) => points.map(({ value }) => value)))

export function memoryPicture({ interval, samples, seconds }: SoakResult): string {
  const engines = NODES.map((node): Curve => {
    const { points } = seriesOf(samples, node, 'engine', ({ rssKiB }) => rssKiB / 1_024)
    return { ...lookOf(node), name: `${node} engine${node === 'r1' ? ', restarted' : ''}`, points }
  })
  const anonymous = NODES.slice(1).map((node): Curve => {
    const { points } = seriesOf(samples, node, 'engine', ({ anonKiB }) => anonKiB / 1_024)
    return { ...lookOf(node), name: `${node}, without files`, points, thin: true }
  })
  const guardians = NODES.slice(1).map((node): Curve => {
    const { points } = seriesOf(samples, node, 'guardian', ({ rssKiB }) => rssKiB / 1_024)
    return { ...lookOf(node), name: `${node} guardian`, points, thin: true }
  })
  const all = [...engines, ...anonymous, ...guardians]
  const axes = {
    title: `Resident memory, advertisements every ${interval} ms`,
    subtitle:
      'r2 and r3 live from the beginning to the end. Dashed: what no file backs (heaps, stacks); at the bottom the guardians.',
    ...{ seconds, unit: 'MiB', ...scaleTo(highest(all)) },
  }
  return paper(axes, ...curves(axes, all))
}

export function descriptorPicture({ samples, seconds }: SoakResult): string {
  const of = (thin: boolean) =>
    NODES.map((node): Curve => {
      const count = thin ? socketsOf : ({ descriptors = 0 }: Readonly<Record<string, number>>) => descriptors
      const { points } = seriesOf(samples, node, 'engine', ({ counts }) => count(counts))
      return { ...lookOf(node), name: `${node} ${thin ? 'sockets' : 'descriptors'}`, points, thin }
    })
  const all = [...of(false), ...of(true)]
  const axes = {
    title: 'Open descriptors and, dashed, sockets of each engine',
    subtitle: 'While it is scraped and its checks flap: polls come and go. What is left at rest is in the table.',
    ...{ seconds, unit: '', ...scaleTo(highest(all)) },
  }
  return paper(axes, ...curves(axes, all))
}

const DECADES = [1, 10, 100, 1_000]

const STEPS: Readonly<Record<(typeof FAILOVERS)[number], Look>> = {
  stop: { colour: 'blue', shape: 'circle' },
  'kill engine': { colour: 'vermillion', shape: 'square' },
  yield: { colour: 'green', shape: 'circle' },
  'check failure': { colour: 'green', shape: 'triangle' },
  'link flap': { colour: 'purple', shape: 'diamond' },
  partition: { colour: 'vermillion', shape: 'cross' },
}

export function outagePicture({ injected, interval, seconds, assessment, zero }: SoakResult): string {
  return drawOutages(outagesOf(injected, assessment, zero), interval, seconds)
}

export function drawOutages(outages: readonly Outage[], interval: number, seconds: number): string {
  const failovers = outages.filter(({ fault }) => isFailover(fault))
  const worst = ({ none, client }: Outage) => Math.max(none, client)
  const down = activeDownIntervalMs(soakPriorityOf('r3'), interval)
  const most = Math.max(100, down + 25, ...failovers.map(worst))
  const axes = {
    title: `What each of ${failovers.length} failovers cost a client`,
    subtitle: `The longest time without an answer, on a logarithmic scale; at the bottom: none. Dashed: Active_Down_Interval of the last in line, ${down.toFixed(0)} ms.`,
    ...{ seconds, unit: 'ms', logarithmic: true, most: 10 ** Math.ceil(Math.log10(most)), ticks: DECADES },
  }
  const marks = failovers.map((one) => {
    const { colour, shape } = STEPS[FAILOVERS.find((kind) => kind === one.fault.kind) ?? 'stop']
    return mark(shape, xOf(axes, one.at / 1_000), yOf(axes, worst(one)), 3.2, { class: colour, 'fill-opacity': 0.6 })
  })
  const x = WIDTH - RIGHT + 14
  const legend = FAILOVERS.flatMap((kind, i) => [
    mark(STEPS[kind].shape, x, TOP + 12 + 22 * i, 4, { class: STEPS[kind].colour, 'fill-opacity': 0.6 }),
    label(x + 12, TOP + 16 + 22 * i, kind, { 'font-size': 12 }),
  ])
  const y = yOf(axes, down)
  return paper(axes, segment(LEFT, y, WIDTH - RIGHT, y, { class: 'median curve thin' }), ...marks, ...legend)
}
