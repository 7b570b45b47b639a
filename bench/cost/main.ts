/**
 * Runs `npm run bench:cost`: measures the cost of an idle holdfast and of an idle keepalived, one after the other,
 * because the ratio of both counts more than an absolute figure. This file decides the order of the measurements. Every
 * measurement is written to disk before the next one begins.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/lab/installation.ts'
import { machine, versionsOf } from '../failover/machine.ts'
import { durationText } from '../failover/plan.ts'
import { loadAverage, pressureNow, pressureSince } from '../failover/pressure.ts'
import { intervalText } from '../failover/report.ts'
import { checkCosts, questionsOf } from './check-rate.ts'
import { idleCost } from './idle-cost.ts'
import { expectedSeconds, isWrong, type Options, parties, readOptions, USAGE } from './options.ts'
import { markdown } from './report.ts'
import {
  bothVersions,
  type Cell,
  type CellResult,
  type CheckCost,
  cpuOf,
  inOrder,
  isSameCell,
  keptOf,
  type Result,
  START_KINDS,
  type Start,
  type Weather,
} from './result.ts'
import { startTimes } from './start-time.ts'

// If NODE_EXTRA_CA_CERTS is set, Node reads that file at its start, which takes 36 ms for the file of a Linux
// distribution. A daemon's environment does not have this variable.
delete process.env.NODE_EXTRA_CA_CERTS

const say = (text: string): void => void process.stderr.write(`${text}\n`)
function fail(message: string, exitCode: number): never {
  say(`bench: ${message}`)
  process.exit(exitCode)
}

function read(): Options {
  try {
    return readOptions(process.argv.slice(2), join(packageRoot(), 'bench', 'results'))
  } catch (error) {
    if (isWrong(error)) fail(error.message, 64)
    throw error
  }
}

const options = read()
const nameOf = ({ daemon, intervalMs, routers, nodes, transport }: Cell): string =>
  `${intervalText(intervalMs)} × ${routers}, ${nodes} nodes, ${transport}, ${daemon}`

function write(name: string, text: string): void {
  mkdirSync(options.out, { recursive: true })
  const path = join(options.out, name)
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

function recorded(): Result {
  const path = join(options.out, 'cost.json')
  if (!existsSync(path)) fail(`Cannot read ${path}: nothing was measured yet`, 66)
  return JSON.parse(readFileSync(path, 'utf8'))
}

/**
 * Returns the text of the result file. Every cell has a separate line, so that a comparison of two versions of the file
 * is readable.
 */
function resultText({ cells, starts, checks, ...rest }: Result): string {
  const brief = (_: string, value: unknown) => (typeof value === 'number' ? Number(value.toFixed(5)) : value)
  const lines = (list: readonly unknown[]) => list.map((one) => `\n  ${JSON.stringify(one, brief)}`).join(',')
  const lists = Object.entries({ cells, starts, checks }).map(([name, list]) => `"${name}": [${lines(list)}\n]`)
  return `${JSON.stringify(rest, brief).slice(0, -1)},\n${lists.join(',\n')}}\n`
}

if (options.does === 'help') {
  process.stdout.write(USAGE)
  process.exit(0)
}
if (options.does === 'list') {
  const names = options.parts.includes('idle') ? options.cells.map(nameOf) : []
  const total = durationText(expectedSeconds(options) * 1_000)
  process.stdout.write(
    [...names, `${names.length} cells, parts ${options.parts.join(', ')}: about ${total}\n`].join('\n'),
  )
  process.exit(0)
}
if (options.does === 'render') {
  write('cost.md', markdown(recorded()))
  process.exit(0)
}
if (process.getuid?.() !== 0)
  fail('Cannot make network namespaces: not root (CAP_SYS_ADMIN and CAP_NET_ADMIN are needed)', 77)

const before = options.resume ? recorded() : undefined
const earlier = before === undefined ? undefined : keptOf(before, options.cells, options.parts)
const order: readonly Cell[] = [...(before?.cells ?? []), ...options.cells]
const cells: CellResult[] = [...(earlier?.cells ?? [])]
const [starts, checks]: [Start[], CheckCost[]] = [[...(earlier?.starts ?? [])], [...(earlier?.checks ?? [])]]
let [startWeather, checkWeather]: (Weather | undefined)[] = [earlier?.startWeather, earlier?.checkWeather]
const command = ['npm run bench:cost --', ...process.argv.slice(2)].join(' ').replace(/ --$/, '')
const fixed = {
  ...{ format: 1 as const, machine: machine(), warmUpSeconds: options.warmUp, seconds: options.seconds },
  startedAt: earlier?.startedAt ?? new Date().toISOString(),
  loadBefore: earlier?.loadBefore ?? loadAverage(),
  command: earlier === undefined ? command : `${earlier.command}; ${command}`,
  versions: bothVersions(earlier?.versions ?? {}, versionsOf(options.daemons)),
}

function save(): string {
  const result: Result = {
    ...{ ...fixed, endedAt: new Date().toISOString(), cells: inOrder(order, cells), starts, checks },
    ...(startWeather === undefined ? {} : { startWeather }),
    ...(checkWeather === undefined ? {} : { checkWeather }),
  }
  write('cost.json', resultText(result))
  const text = markdown(result)
  write('cost.md', text)
  return text
}

async function inWeather<T>(work: () => Promise<T>): Promise<readonly [T, Weather]> {
  const before = pressureNow()
  const value = await work()
  return [value, { pressure: pressureSince(before), load: loadAverage() }]
}

if (options.parts.includes('start') && starts.length === 0) {
  const kinds = START_KINDS.filter((kind) =>
    options.daemons.some((one) => one === (kind === 'engine' ? 'holdfast' : kind)),
  )
  const [, weather] = await inWeather(() => startTimes(kinds, options.runs, (start) => void starts.push(start)))
  startWeather = weather
  save()
  say(`${starts.length} starts`)
}
if (options.parts.includes('idle')) {
  const missing = options.cells.filter((cell) => !cells.some((known) => isSameCell(known, cell)))
  for (const party of parties({ ...options, cells: missing })) {
    const results = await Promise.all(party.map((cell) => idleCost(cell, options)))
    cells.push(...results)
    save()
    for (const result of results) {
      const figures = (['Active', 'Backup'] as const).map((role) => `${role} ${cpuOf(result, role)?.toFixed(4) ?? '–'}`)
      const text = [...figures, result.trouble ?? ''].join(' ')
      say(`[${cells.indexOf(result) + 1}/${options.cells.length}] ${nameOf(result)}: ${text}`)
    }
  }
}
if (options.parts.includes('checks') && checks.length === 0) {
  const [, weather] = await inWeather(async () => {
    for (const count of new Set([1, options.checks]))
      checks.push(...(await checkCosts(questionsOf(options.daemons, count), options)))
  })
  checkWeather = weather
  say(`${checks.length} kinds of checks`)
}
process.stdout.write(save())
process.exit(cells.length > 0 && cells.every(({ trouble }) => trouble !== undefined) ? 1 : 0)
