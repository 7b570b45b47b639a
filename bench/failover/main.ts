/**
 * Runs `make bench`: measures for how long a client does not reach the virtual address. The daemons alternate in one
 * session, because the ratio of two daemons counts more than an absolute figure. This file decides that the result of
 * each run is on disk before the next run begins. An interrupt loses no figure and leaves no network namespace behind.
 */

import { join } from 'node:path'
import { messageOf } from '../../src/base/message-of.ts'
import type { DaemonKind } from '../../src/lab/daemons/daemon.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { LINE_UPS, type Outcome } from './accident.ts'
import { type Turn, together } from './company.ts'
import { machine, versionsOf } from './machine.ts'
import { isWrong, type Options, readOptions, usage } from './options.ts'
import { companies, durationText, expectedMs, type Planned, planned } from './plan.ts'
import { loadAverage } from './pressure.ts'
import { qualityText } from './quality.ts'
import { markdown } from './report.ts'
import { type CellResult, keyOf, noiseOf, type Result, type RunRecord, type Session } from './result.ts'
import { readResult, render, renderPage, writeResult } from './results-folder.ts'
import { companyOf, lengthMs, measure, SCENARIOS, theory, titleOf, unsupported } from './scenario.ts'
import { selfTest } from './self-test.ts'

const path = (words: readonly string[]) => join(packageRoot(), ...words)
const say = (text: string): void => void process.stderr.write(`${text}\n`)

function fail(message: string, exitCode: number): never {
  say(`bench: ${message}`)
  process.exit(exitCode)
}

function read(): Options {
  try {
    return readOptions(process.argv.slice(2), SCENARIOS, path(['bench', 'results']), path(['build', 'bench-compose']))
  } catch (error) {
    if (isWrong(error)) fail(error.message, 64)
    throw error
  }
}

const options = read()
if (options.does === 'help') {
  process.stdout.write(usage(SCENARIOS))
  process.exit(0)
}
const before = options.resume || options.does === 'render' ? readResult(options.out) : undefined
const plan = planned(options.requests)
const records = new Map<string, RunRecord[]>(before?.cells.map((cell) => [keyOf(cell), [...cell.runs]]))
const runsOf = ({ cell }: Planned): RunRecord[] => {
  const runs = records.get(keyOf(cell)) ?? []
  records.set(keyOf(cell), runs)
  return runs
}
const measured = (one: Planned): number => runsOf(one).filter(({ run }) => run !== undefined).length
const missing = (one: Planned): number =>
  unsupported(one.cell, options.where) === undefined ? Math.max(0, one.runs - measured(one)) : 0
const expected = (one: Planned): number => expectedMs(one.cell, lengthMs(one.cell), runsOf(one))

if (options.does === 'list') {
  for (const one of plan) {
    const { scenario, intervalMs, family, lineUp } = one.cell
    const reason = unsupported(one.cell, options.where)
    const what = reason === undefined ? `${missing(one)} × ${durationText(expected(one))}` : `cannot: ${reason}`
    process.stdout.write(`${scenario} ${intervalMs} ms IPv${family} ${lineUp}: ${what}\n`)
  }
  const runs = plan.reduce((sum, one) => sum + missing(one), 0)
  const total = plan.reduce((sum, one) => sum + missing(one) * expected(one), 0) / options.labs
  process.stdout.write(`${plan.length} cells, ${runs} runs, about ${durationText(total)}\n`)
  process.exit(0)
}

/**
 * Returns the results of all cells. Cells of earlier sessions stay in the result, even if this session does not measure
 * them.
 */
function cellResults(): readonly CellResult[] {
  const asked: CellResult[] = plan.map((one) => {
    const reason = unsupported(one.cell, options.where)
    const rest = { title: titleOf(one.cell.scenario), theory: theory(one.cell), runs: runsOf(one) }
    return { ...one.cell, ...rest, ...(reason === undefined ? {} : { unsupported: reason }) }
  })
  const keys = new Set(asked.map(keyOf))
  const place = ({ scenario }: CellResult) => SCENARIOS.indexOf(scenario)
  return [...asked, ...(before?.cells ?? []).filter((cell) => !keys.has(keyOf(cell)))].sort(
    (one, other) => place(one) - place(other) || one.intervalMs - other.intervalMs || one.family - other.family,
  )
}

function draw(result: Result): void {
  for (const problem of render(options.out, result)) say(`bench: Cannot draw ${problem}`)
  if (options.page !== undefined) renderPage(options.page, result)
}

if (options.does === 'render') {
  if (before === undefined) fail(`Cannot find results in "${options.out}"`, 1)
  draw(before)
  process.exit(0)
}
if (process.getuid?.() !== 0)
  fail('Cannot make network namespaces: not root (CAP_SYS_ADMIN and CAP_NET_ADMIN are needed)', 77)

const kinds: readonly DaemonKind[] = (['holdfast', 'keepalived', 'frr'] as const).filter((kind) =>
  plan.some(({ cell }) => LINE_UPS[cell.lineUp].some((one) => one === kind)),
)
const startedAt = new Date().toISOString()
const loadBefore = loadAverage()
const versions = versionsOf(kinds)
const gauge = await selfTest()
say(`the gauge: ${qualityText(gauge)}`)
const command = ['npm run bench:failover --', ...process.argv.slice(2)].join(' ')

function result(): Result {
  const { labs } = options
  const session: Session = { startedAt, endedAt: new Date().toISOString(), command, versions, loadBefore, labs, gauge }
  return { format: 2, machine: machine(), sessions: [...(before?.sessions ?? []), session], cells: cellResults() }
}

// The following handlers are registered before those of the first lab, which remove the lab at the end of this process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.prependOnceListener(signal, () => {
    say(`bench: ${signal}; what was measured is in ${options.out}, --resume goes on from there`)
    draw(result())
    process.exit(130)
  })

function outcomeText(outcome: Outcome): string {
  if ('unsupported' in outcome) return `cannot: ${outcome.unsupported}`
  const { outageMs, movedMs, lost, overlapMs, figures } = outcome
  const special = Object.entries(figures ?? {}).map(([name, value]) => `, ${name} ${value}`)
  return `outage ${outageMs.toFixed(1)} ms, moved ${movedMs?.toFixed(1) ?? '–'} ms, lost ${lost}, overlap ${overlapMs.toFixed(0)} ms${special.join('')}`
}

async function runOnce(one: Planned, turn: Turn): Promise<{ readonly record: RunRecord; readonly text: string }> {
  const at = new Date()
  const account = () => ({
    ...{ at: at.toISOString(), tookMs: Date.now() - at.getTime() },
    ...{ pressure: turn.pressure, load: loadAverage() },
  })
  try {
    const outcome = await measure(one.cell, turn, options.where)
    const text = outcomeText(outcome)
    if ('unsupported' in outcome) return { record: { ...account(), failure: text }, text }
    const record = { ...account(), run: outcome }
    const noise = noiseOf({ theory: theory(one.cell) }, record)
    return { record, text: noise === undefined ? text : `${text} (noisy: ${noise})` }
  } catch (error) {
    const text = messageOf(error)
    return { record: { ...account(), failure: text }, text }
  }
}

/** Number of remaining attempts for each cell in this session, so that a cell that always fails ends. */
const attempts = new Map(plan.map((one) => [keyOf(one.cell), missing(one)]))
const total = [...attempts.values()].reduce((sum, count) => sum + count, 0)
const endsAt = Date.now() + (options.limitMs ?? Number.POSITIVE_INFINITY)
let done = 0
const left = (one: Planned): number => attempts.get(keyOf(one.cell)) ?? 0

async function attempt(one: Planned, turn: Turn): Promise<void> {
  attempts.set(keyOf(one.cell), left(one) - 1)
  const { record, text } = await runOnce(one, turn)
  runsOf(one).push(record)
  done += 1
  writeResult(options.out, result())
  const rest = plan.reduce((sum, each) => sum + left(each) * expected(each), 0) / options.labs
  const { scenario, intervalMs, family, lineUp } = one.cell
  say(`[${done}/${total}, ${durationText(rest)} left] ${scenario} ${intervalMs} ms IPv${family} ${lineUp}: ${text}`)
}

for (let round = 0; plan.some((one) => left(one) > 0); round += 1) {
  if (Date.now() >= endsAt) break
  const now = plan.filter((one) => left(one) > 0)
  const lengthOf = ({ cell }: Planned) => lengthMs(cell)
  for (const company of companies(now, options.labs, { companyOf, lengthOf })) {
    if (Date.now() >= endsAt) break
    // The first accident of each round is made in another lab, so that no daemon is always the first.
    const first = round % company.length
    await together([...company.slice(first), ...company.slice(0, first)], attempt)
  }
  draw(result())
}
draw(result())
process.stdout.write(markdown(result()))
process.exit(plan.some((one) => unsupported(one.cell, options.where) === undefined && measured(one) === 0) ? 1 : 0)
