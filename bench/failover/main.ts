/**
 * `make bench`: how long a client is without the virtual address, holdfast and keepalived by turns in one run, because
 * ratios count and absolutes are weather. Decides the order of the runs and where the results go.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageRoot } from '../../src/cli/demo-probe.ts'
import type { DaemonKind } from '../../test/support/daemon.ts'
import { LINE_UPS, type LineUp } from './accident.ts'
import type { Measurement } from './observation.ts'
import { loadAverage, pressureNow, pressureSince } from './pressure.ts'
import { type CellResult, markdown, type Result } from './report.ts'
import { measure, SCENARIOS } from './scenario.ts'

const USAGE = `usage: make bench ARGS='[options]'
  --runs N            per cell (default 20)
  --interval LIST     advertisement intervals (default 100ms)
  --scenario LIST     of ${SCENARIOS.join(',')} (default all)
  --daemon LIST       of holdfast,keepalived,holdfast+keepalived,keepalived+holdfast
                      (default the first two; a+b: a on the first router, b on the others)
  --out DIRECTORY     for failover.md and failover.json (default bench/results)
`
const KINDS: readonly DaemonKind[] = ['holdfast', 'keepalived']
const LINE_UP_NAMES: readonly LineUp[] = ['holdfast', 'keepalived', 'holdfast+keepalived', 'keepalived+holdfast']

function fail(message: string, exitCode: number): never {
  process.stderr.write(`bench: ${message}\n`)
  process.exit(exitCode)
}

function chosen<T extends string>(option: string, text: string, known: readonly T[]): T[] {
  const names = text.split(',')
  const unknown = names.find((name) => !known.some((k) => k === name))
  if (unknown !== undefined) fail(`Cannot use --${option} "${unknown}": wanted of ${known.join(', ')}`, 64)
  return known.filter((k) => names.includes(k))
}

function milliseconds(text: string): number {
  const [, value = '', unit] = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(text) ?? []
  const ms = Number(value) * (unit === 's' ? 1000 : 1)
  if (unit === undefined || !(ms >= 10 && ms <= 40_950))
    fail(`Cannot use --interval "${text}": wanted 10ms to 40.95s`, 64)
  return ms
}

function versionOf(kind: DaemonKind): string {
  if (kind === 'holdfast') return String(JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')).version)
  // keepalived tells its version on standard error.
  const said = execFileSync('sh', ['-c', 'keepalived --version 2>&1'], { encoding: 'utf8' })
  return /v([\d.]+)/.exec(said)?.[1] ?? 'of unknown version'
}

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '20' },
    interval: { type: 'string', default: '100ms' },
    scenario: { type: 'string', default: SCENARIOS.join(',') },
    daemon: { type: 'string', default: KINDS.join(',') },
    out: { type: 'string', default: join(packageRoot(), 'bench', 'results') },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(USAGE)
  process.exit(0)
}
if (process.getuid?.() !== 0)
  fail('Cannot make network namespaces: not root (CAP_SYS_ADMIN and CAP_NET_ADMIN are needed)', 77)
const runs = Number(values.runs)
if (!Number.isInteger(runs) || runs < 1) fail(`Cannot use --runs "${values.runs}": a number from 1 wanted`, 64)
const scenarios: string[] = chosen('scenario', values.scenario, SCENARIOS)
const lineUps = chosen('daemon', values.daemon, LINE_UP_NAMES)
const kinds = KINDS.filter((kind) => lineUps.some((lineUp) => LINE_UPS[lineUp].some((k) => k === kind)))
const intervals = values.interval.split(',').map(milliseconds)

type Collected = { measurements: Measurement[]; failures: string[]; pressures: number[] }
const collected = intervals.flatMap((intervalMs) =>
  scenarios.flatMap((scenario) =>
    lineUps.map((lineUp) => {
      const empty: Collected = { measurements: [], failures: [], pressures: [] }
      return { cell: { scenario, intervalMs, lineUp, family: 4 } as const, ...empty }
    }),
  ),
)
const result = (): Result => ({
  startedAt,
  node: process.versions.node,
  kernel: release(),
  cpus: cpus().length,
  loadBefore,
  versions: Object.fromEntries(kinds.map((kind) => [kind, versionOf(kind)])),
  cells: collected.map(({ cell, ...rest }): CellResult => ({ ...cell, ...rest })),
})
const startedAt = new Date().toISOString()
const loadBefore = loadAverage()

function save(): void {
  mkdirSync(values.out, { recursive: true })
  writeFileSync(join(values.out, 'failover.json'), `${JSON.stringify(result(), null, 1)}\n`)
  writeFileSync(join(values.out, 'failover.md'), markdown(result()))
}

for (let run = 1; run <= runs; run++) {
  for (const { cell, measurements, failures, pressures } of collected) {
    const { scenario, intervalMs, lineUp } = cell
    const before = pressureNow()
    const name = `${run}/${runs} ${scenario} ${intervalMs} ms ${lineUp}`
    try {
      const measurement = await measure(cell)
      if ('unsupported' in measurement) throw new Error(`cannot: ${measurement.unsupported}`)
      const { outageMs, movedMs, lost, overlapMs } = measurement
      measurements.push(measurement)
      process.stderr.write(
        `${name}: outage ${outageMs.toFixed(1)} ms, moved ${movedMs?.toFixed(1) ?? '–'} ms, lost ${lost}, overlap ${overlapMs.toFixed(0)} ms\n`,
      )
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error))
      process.stderr.write(`${name}: ${failures.at(-1)}\n`)
    }
    pressures.push(pressureSince(before))
  }
  // A long benchmark that is interrupted leaves what it has.
  save()
}
process.stdout.write(markdown(result()))
process.exit(collected.some(({ measurements }) => measurements.length === 0) ? 1 : 0)
