/**
 * Writes the result of the failover benchmark as Markdown. This file decides what is shown of each cell: every figure
 * beside the other daemon's figure, and beside the time that the VRRP protocol alone predicts. A pure function of the
 * result.
 */
import { type BudgetJudgement, budgetJudgements } from './budgets.ts'
import { besideKeepalived, FIGURE_TEXT, type FigureName, figureOf, pointsOf, ratio } from './figures.ts'
import { overview } from './overview.ts'
import { qualityText } from './quality.ts'
import { type CellResult, NOISY_PRESSURE, noiseOf, type Result, type RunRecord } from './result.ts'
import { spreadOf } from './statistics.ts'

const ms = (value: number) => (Number.isNaN(value) ? '–' : value < 100 ? value.toFixed(1) : value.toFixed(0))

export const familyText = (family: 4 | 6): string => `IPv${family}`
export const intervalText = (intervalMs: number): string =>
  intervalMs < 1_000 ? `${intervalMs} ms` : `${intervalMs / 1_000} s`

function spread(values: readonly number[]): string {
  if (values.length === 0) return '–'
  const { min, median, p95, max } = spreadOf(values)
  return [min, median, p95, max].map(ms).join(' / ')
}

function theoryText({ theory: { of, from, to } }: CellResult): string {
  if (of === 'outage' && to === 0) return 'nothing lost'
  const text = of === 'takeovers' ? [from.toFixed(1), to.toFixed(1)] : [ms(from), ms(to)]
  return `${of === 'lastAnswer' ? 'last' : of} ${text[0] === text[1] ? text[0] : text.join(' – ')}`
}

const times = (value: number | undefined) =>
  value === undefined ? '–' : value < 0.1 ? value.toPrecision(1) : value.toFixed(2)

function runsText(cell: CellResult, done: readonly RunRecord[]): string {
  const failed = cell.runs.length - done.length
  const noisy = done.filter((record) => noiseOf(cell, record) !== undefined).length
  const remarks = [...(failed > 0 ? [`${failed} failed`] : []), ...(noisy > 0 ? [`**${noisy} noisy**`] : [])]
  return [`${done.length}`, ...remarks].join(', ')
}

function row(cell: CellResult, cells: readonly CellResult[], special: FigureName | undefined): string {
  const head = [intervalText(cell.intervalMs), familyText(cell.family), cell.lineUp]
  const width = special === undefined ? 8 : 9
  if (cell.unsupported !== undefined)
    return `| ${[...head, `cannot: ${cell.unsupported}`, ...Array.from({ length: width }, () => '')].join(' | ')} |`
  const done = cell.runs.filter(({ run }) => run !== undefined)
  const values = (figure: FigureName) => pointsOf(cell, figure).map(({ value }) => value)
  const moved = values('moved')
  const lost = spreadOf(done.flatMap(({ run }) => run?.lost ?? []))
  const overlap = spreadOf(values('overlap'))
  const other = besideKeepalived(cell, cells)
  const columns = [
    ...head,
    runsText(cell, done),
    spread(values('outage')),
    moved.length === done.length ? spread(moved) : `${spread(moved)} (${moved.length} of ${done.length})`,
    done.length === 0 ? '–' : `${lost.median} / ${lost.p95} / ${lost.max}`,
    done.length === 0 ? '–' : `${ms(overlap.median)} / ${ms(overlap.max)}`,
    `${done.filter(({ run }) => run?.stale === true).length}`,
    ...(special === undefined ? [] : [spread(values(special))]),
    theoryText(cell),
    `${times(ratio(cell, other, figureOf(cell)))}`,
    `${(100 * spreadOf(cell.runs.map(({ pressure }) => pressure)).median).toFixed(0)} %`,
  ]
  return `| ${columns.join(' | ')} |`
}

function table(scenario: string, cells: readonly CellResult[]): readonly string[] {
  const mine = cells.filter((cell) => cell.scenario === scenario)
  const [first] = mine
  if (first === undefined) return []
  const figure = figureOf(first)
  const special = figure === 'takeovers' || figure === 'lastAnswer' ? figure : undefined
  const titles = [
    ...['interval', 'family', 'daemon', 'runs', 'outage', 'moved', 'lost', 'overlap', 'stale'],
    ...(special === undefined ? [] : [FIGURE_TEXT[special]]),
    ...['protocol alone', '÷ keepalived', 'pressure'],
  ]
  return [
    ...['', `## ${first.title}`, '', `\`${scenario}\`; compared: ${FIGURE_TEXT[figure]}.`, ''],
    ...[`| ${titles.join(' | ')} |`, `|${'---|'.repeat(titles.length)}`],
    ...mine.map((cell) => row(cell, cells, special)),
  ]
}

const minute = (time: string) => time.slice(0, 16).replace('T', ' ')

function legend(result: Result): readonly string[] {
  const { machine } = result
  return [
    '# Failover as a client sees it',
    '',
    `Linux ${machine.kernel}, ${machine.cpus} CPUs (${machine.processor}), ${machine.memoryMiB} MiB.`,
    'Three routers (200, 150, 100, preempting, multicast, VRRP version 3), one UDP probe and one question to all hosts (ARP, ND) a millisecond, `ip_forward` 0 unless a title says otherwise; the daemons take turns, run by run, or run at the same time in labs of their own ("labs"). `a+b`: a on the first router, b on the others.',
    '',
    '- **outage**: longest time between two replies around the accident; 1.0 is one probe. **moved**: accident until the first reply of another router. min / median / p95 / max, ms.',
    '- **lost**: probes without a reply, median / p95 / max. **overlap**: ms in which two routers answered ARP or ND for the address, median / max. **stale**: runs in which two still did at the end.',
    '- **protocol alone**: what the timers of RFC 9568 make of it at a random phase of the interval; where a service fails: polls and Active_Down_Interval.',
    "- **÷ keepalived**: this daemon's median of the figure that is compared, divided by keepalived's in the same rows: below 1 is better.",
    `- **pressure**: median share of the time in which a task waited for a CPU. A run is **noisy** above ${100 * NOISY_PRESSURE} %, or when the gauge itself was late.`,
    '',
    ...result.sessions.flatMap(({ startedAt, endedAt, command, versions, loadBefore, labs = 1, gauge }) => [
      `Measured ${minute(startedAt)} to ${minute(endedAt)} UTC by \`${command}\`: ${Object.entries(versions)
        .map((each) => each.join(' '))
        .join(
          ', ',
        )}; ${labs === 1 ? 'one lab' : `${labs} labs at a time`}, load ${loadBefore.toFixed(2)} at the start. The gauge: ${qualityText(gauge)}.`,
      '',
    ]),
  ]
}

function budgetRow({ cell, event, limit, measured, judgement }: BudgetJudgement): string {
  const amount = (value: number) => `${limit.unit === 'ms' ? `${ms(value)} ms` : value}`
  const of = { max: 'every run', p95: '95 of 100', median: 'the half' }[limit.of]
  const columns = [
    ...[event, `\`${cell.scenario}\``, intervalText(cell.intervalMs), familyText(cell.family)],
    ...[`${limit.what} ≤ ${amount(limit.most)} in ${of}`, amount(measured)],
    ...[`${cell.runs.length}`, judgement === 'met' ? 'met' : `**${judgement}**`],
  ]
  return `| ${columns.join(' | ')} |`
}

function budgets(result: Result): readonly string[] {
  const rows = budgetJudgements(result).map(budgetRow)
  if (rows.length === 0) return []
  return [
    ...['', '## Budgets', '', 'Of holdfast alone; noisy runs count, and are named where only they are above it.', ''],
    '| event | scenario | interval | family | budget | measured | runs | |',
    `|${'---|'.repeat(8)}`,
    ...rows,
  ]
}

export function markdown(result: Result): string {
  const scenarios = [...new Set(result.cells.map(({ scenario }) => scenario))]
  const tables = scenarios.flatMap((scenario) => table(scenario, result.cells))
  const short = ['', '## In short', '', 'Middle and worst of so many runs.', '', overview(result)]
  return `${[...legend(result), ...short, ...budgets(result), ...tables].join('\n').replaceAll(/\n{3,}/g, '\n\n')}\n`
}
