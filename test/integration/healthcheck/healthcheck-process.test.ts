import { type ChildProcess, spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { EventSource } from '../../../src/healthcheck/probe.ts'
import { isHostNamespace, parseStat, processProbe } from '../../../src/healthcheck/probes/process.ts'
import { eventually } from '../../../src/lab/wait.ts'
import { ask } from '../../support/check-spec.ts'
import { probePorts } from '../../support/probe-ports.ts'

let folder = ''
const children: ChildProcess[] = []
let source: EventSource | undefined

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'hf-process-'))
})
afterEach(() => {
  source?.close()
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Name of the test's program, longer than the kernel stores. */
const NAME = `hf${process.pid}-a-long-name`

function run(): ChildProcess {
  const path = join(folder, NAME)
  copyFileSync('/bin/sleep', path)
  const child = spawn(path, ['60'])
  children.push(child)
  return child
}

test('a process check counts processes by name, and needs at least the configured number', async () => {
  const one = processProbe({ kind: 'process', name: NAME, count: 1 }, probePorts.watchEnd)
  const absent = await ask(one)
  expect(absent).toMatchObject({ outcome: 'fail', reason: 'missing' })
  expect(
    absent.detail.includes("not the host's PID namespace"),
    'whether the detail names processes that the check cannot see',
  ).toBe(!isHostNamespace())
  const child = run()
  await eventually('it runs', async () => (await ask(one)).outcome === 'ok', { sight: () => 'not yet', within: 2_000 })
  expect((await ask(processProbe({ kind: 'process', name: NAME, count: 2 }, probePorts.watchEnd))).detail).toContain(
    `1 × "${NAME}" run, required: 2`,
  )
  child.kill('SIGKILL')
  await eventually('it is gone', async () => (await ask(one)).outcome === 'fail', {
    sight: () => 'still there',
    within: 2_000,
  })
})

test('a process that has become another program no longer counts, whatever runs under its pid', async () => {
  const probe = processProbe({ kind: 'process', name: NAME, count: 1 }, probePorts.watchEnd)
  const path = join(folder, NAME)
  copyFileSync('/bin/sh', path)
  const child = spawn(path, ['-c', 'read line; exec sleep 60'], { stdio: ['pipe', 'ignore', 'ignore'] })
  children.push(child)
  const outcome = async () => (await ask(probe)).outcome
  await eventually('it runs', async () => (await outcome()) === 'ok', { sight: outcome, within: 2_000 })
  child.stdin?.write('on\n')
  await eventually('it is another', async () => (await outcome()) === 'fail', { sight: outcome, within: 2_000 })
  rmSync(path)
})

test('the end of a counted process causes an event', async () => {
  let events = 0
  const probe = processProbe({ kind: 'process', name: NAME, count: 1 }, probePorts.watchEnd)
  source = probe.events?.(() => events++)
  const child = run()
  await eventually('it runs', async () => (await ask(probe)).outcome === 'ok', {
    sight: () => 'not yet',
    within: 2_000,
  })
  source?.afterRun(await ask(probe))
  expect(source?.armed).toBe(true)
  child.kill('SIGKILL')
  await eventually('an event', () => events > 0, { sight: () => events, within: 1_000 })
  expect(source?.armed, 'whether the watch is still armed').toBe(false)
})

test('a process check reads names with parentheses and spaces', () => {
  const rest = ['S', ...Array(18).fill('0'), '4711'].join(' ')
  expect(parseStat(`12 (a) b (c) ${rest} 0`)).toEqual({ name: 'a) b (c', state: 'S', startedAt: '4711' })
  expect(parseStat('12 broken')).toBeUndefined()
})
