/** Health checks in a thread of their own, as the daemon runs them: controlled by messages, and killed during work. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { spreadOf } from '../../../bench/failover/statistics.ts'
import type { CheckNews } from '../../../src/healthcheck/check-message.ts'
import { parseStat } from '../../../src/healthcheck/probes/process.ts'
import { eventually, monotonicMs, sleep } from '../../../src/lab/wait.ts'
import { millis } from '../../../src/wire/units.ts'
import { httpSpec, checkSpec as specOf, tcpSpec } from '../../support/check-spec.ts'
import { CheckThread } from '../../support/check-thread.ts'
import { programsOf } from '../../support/marked-processes.ts'

let thread: CheckThread
const servers: ChildProcess[] = []

beforeEach(() => {
  thread = new CheckThread()
})
afterEach(async () => {
  await thread.end()
  for (const server of servers.splice(0)) server.kill('SIGKILL')
})

const SERVER = `
  const server = require('node:http').createServer((request, response) => response.end())
  server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

async function server(): Promise<{ readonly port: number; readonly process: ChildProcess }> {
  const process_ = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] })
  servers.push(process_)
  const [line] = await once(process_.stdout, 'data')
  return { port: Number(String(line).trim()), process: process_ }
}

/** Builds a check whose run does not time out because the machine is busy. */
const checkSpec: typeof specOf = (probe, changes) => specOf(probe, { timeout: millis(30_000), ...changes })

const RUNS = 20

/** Checks of both kinds (HTTP and TCP) together, so that one death gives two measured times. */
const KINDS = {
  http: (port: number) => httpSpec(`http://127.0.0.1:${port}/`),
  tcp: (port: number) => tcpSpec(port),
} as const

test('a process that is killed is noticed by its FIN, not by the next poll', async () => {
  const took: { [kind: string]: number[] } = { http: [], tcp: [] }
  for (let run = 1; run <= RUNS; run++) {
    const { port, process: target } = await server()
    const checks = Object.entries(KINDS).map(([kind, probeOf]) =>
      checkSpec(probeOf(port), { name: `${kind}-${run}`, interval: millis(60_000) }),
    )
    thread.order({ kind: 'setChecks', checks, formerly: [] })
    const names = checks.map(({ name }) => name)
    const ask = setInterval(
      () => thread.order({ kind: 'askOnceMore', id: run, asked: { up: names, down: [] }, within: millis(1_000) }),
      50,
    )
    await thread
      .hear('both watched', (news) => {
        if (news.kind !== 'askedOnceMore' || news.id !== run) return false
        return news.reports.length === 2 && news.reports.every(({ watched }) => watched)
      })
      .finally(() => clearInterval(ask))
    const killedAt = monotonicMs()
    target.kill('SIGKILL')
    for (const [kind, figures] of Object.entries(took)) {
      const { at } = await thread.hear(
        `${kind}-${run} down`,
        ({ kind: said, ...news }) =>
          said === 'healthChanged' &&
          'report' in news &&
          news.report.check === `${kind}-${run}` &&
          news.report.result === 'down',
        killedAt,
      )
      figures.push(at - killedAt)
    }
  }
  for (const [kind, values] of Object.entries(took)) {
    const { min, median, p95, max } = spreadOf(values)
    const figures = [min, median, p95, max].map((ms) => ms.toFixed(1)).join(' / ')
    console.log(`${kind}: SIGKILL of the server to healthChanged in the other thread, ${RUNS} runs, ms: ${figures}`)
    // The interval is a minute, so each time below comes from the event. A benchmark on a quiet machine shows how short the time is.
    expect(median, `${kind}: median of the ms from the death to the report`).toBeLessThan(5_000)
  }
}, 120_000)

test('regular beats report every check, also without a change', async () => {
  const { port } = await server()
  thread.order({ kind: 'setChecks', checks: [checkSpec(tcpSpec(port), { name: 'a' })], formerly: [] })
  await thread.hear('a up', (news) => news.kind === 'healthChanged')
  const beats = () => thread.told.filter(({ news }) => news.kind === 'checkBeat')
  await eventually('three beats', () => beats().length >= 3, { sight: beats, within: 20_000 })
  expect(thread.told.filter(({ news }) => news.kind === 'healthChanged').length).toBe(1)
})

test('the initial result of a check is reported before its first run', async () => {
  const { port } = await server()
  const check = checkSpec(tcpSpec(port), { name: 'a', initial: 'down', rise: 2, fastInterval: millis(200) })
  thread.order({ kind: 'setChecks', checks: [check], formerly: [] })
  const { news } = await thread.hear('a beat', ({ kind }) => kind === 'checkBeat')
  expect(news).toMatchObject({ reports: [{ check: 'a', result: 'down', countsAs: 'down', runs: 0 }] })
  const isUp = (news: CheckNews) => news.kind === 'healthChanged' && news.report.result === 'up'
  const up = await thread.hear('a up', isUp)
  expect(up.news).toMatchObject({ report: { result: 'up', runs: 2 } })
})

test('the thread answers a request to repeat the checks, and a stop', async () => {
  const { port } = await server()
  thread.order({ kind: 'setChecks', checks: [checkSpec(tcpSpec(port), { name: 'a' })], formerly: [] })
  await thread.hear('a up', (news) => news.kind === 'healthChanged')
  thread.order({ kind: 'askOnceMore', id: 7, asked: { up: ['a'], down: [] }, within: millis(5_000) })
  const { news } = await thread.hear('an answer', ({ kind }) => kind === 'askedOnceMore')
  expect(news).toMatchObject({ id: 7, reports: [{ check: 'a', result: 'up' }] })
  thread.order({ kind: 'stopChecks' })
  await thread.hear('its end', ({ kind }) => kind === 'checksStopped')
  const beats = thread.told.length
  await sleep(1_500)
  expect(thread.told.length, 'messages after the stop').toBe(beats)
})

test('a thread that hangs sends no beats, and the programs that it started end with it', async () => {
  // The mark finds the program of this run only, whatever else the machine runs.
  const mark = `hang-${process.pid}-${monotonicMs()}`
  const probe = { kind: 'exec', argv: ['/bin/sleep', '69'], environment: { MARK: mark }, user: undefined } as const
  const checks = [checkSpec(probe, { name: 'slow', timeout: millis(60_000) })]
  thread.order({ kind: 'setChecks', checks, formerly: [] })
  const programs = () => programsOf(mark)
  const { pid } = await eventually('a program', () => programs()[0], { sight: programs, every: 100 })
  await thread.hear('a beat', ({ kind }) => kind === 'checkBeat')
  thread.order({ kind: 'hang' })
  const quiet = () => monotonicMs() - (thread.told.at(-1)?.at ?? monotonicMs())
  await eventually('4.5 s without a message of a thread that hangs', () => quiet() > 4_500, { sight: quiet, every: 50 })
  await thread.end()
  // The program is not left as a zombie either: its launcher has waited for the exit status.
  await eventually('its end', () => stateOf(pid) === 'gone', { sight: () => stateOf(pid) })
})

function stateOf(pid: number): string {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.state ?? 'gone'
  } catch {
    return 'gone'
  }
}
