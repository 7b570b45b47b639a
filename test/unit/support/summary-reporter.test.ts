/** What .ci/run counts, and which files run again instead of being counted. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { TestModule } from 'vitest/node'
import type { Loss } from '../../judge/time.ts'
import SummaryReporter from '../../support/summary-reporter.ts'

const quiet: Loss = { wall: 1_000, stolen: 0, waited: 0 }
const crowded: Loss = { wall: 1_000, stolen: 0, waited: 900 }

type FakeTest = { readonly name?: string; readonly failed?: string; readonly error?: string; readonly loss?: Loss }

/** A file as Vitest reports it, as far as the reporter looks. */
function fileOf(file: string, tests: readonly FakeTest[]): TestModule {
  const all = tests.map(({ error = 'AssertionError', failed, loss = quiet, name = 'a test' }) => ({
    fullName: name,
    meta: () => ({ loss }),
    result: () =>
      failed === undefined
        ? { state: 'passed', errors: [] }
        : { state: 'failed', errors: [{ name: error, message: failed }] },
  }))
  const module = {
    relativeModuleId: file,
    project: { name: 'waiting' },
    children: { allTests: () => all },
    meta: () => ({}),
    errors: () => [],
    state: () => (tests.some(({ failed }) => failed !== undefined) ? 'failed' : 'passed'),
  }
  return module as unknown as TestModule
}

let folder = ''
const [summary, unjudged] = [() => join(folder, 'summary'), () => join(folder, 'unjudged')]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hf-summary-'))
  vi.stubEnv('HOLDFAST_TEST_SUMMARY', summary())
  vi.stubEnv('HOLDFAST_TEST_UNJUDGED', unjudged())
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

const counted = () => readFileSync(summary(), 'utf8')
const toRunAgain = () => (existsSync(unjudged()) ? readFileSync(unjudged(), 'utf8') : '')
const run = (...files: readonly TestModule[]) => new SummaryReporter().onTestRunEnd(files, [])

test('counts what passed and what failed, and adds to earlier runs', () => {
  run(fileOf('a.test.ts', [{}, { failed: 'expected 1,\n  saw 2' }]))
  run(fileOf('b.test.ts', [{}]))
  expect(counted()).toBe('2 1\na.test.ts: a test: expected 1, | saw 2\n')
  expect(toRunAgain()).toBe('')
})

test('a failure on a crowded machine is not counted: its file is to run again, and says why', () => {
  run(fileOf('a.test.ts', [{}]), fileOf('b.test.ts', [{}, { failed: 'late', loss: crowded }]))
  expect(counted()).toBe('1 0\n')
  expect(toRunAgain()).toBe('0\nb.test.ts\twaiting\ta test: late (CPU pressure 90 %, 0 ms stolen)\n')
})

test('one failure without an excuse fails the whole file', () => {
  run(fileOf('a.test.ts', [{ failed: 'late', loss: crowded }, { failed: 'wrong' }]))
  expect(counted()).toMatch(/^0 2\n/)
  expect(toRunAgain()).toBe('')
})

test('in the last attempt a failure is counted, whatever the machine lost', () => {
  vi.stubEnv('HOLDFAST_TEST_UNJUDGED', undefined)
  run(fileOf('a.test.ts', [{ failed: 'late', error: 'CannotBeJudged', loss: crowded }]))
  expect(counted()).toBe('0 1\na.test.ts: a test: late\n')
})

test('many files at once that cannot be judged have failed', () => {
  const files = Array.from({ length: 7 }, (_, i) => fileOf(`${i}.test.ts`, [{ failed: 'late', loss: crowded }]))
  run(...files)
  expect(counted()).toMatch(/^0 7\n/)
  expect(toRunAgain()).toBe('')
})

test('with an error outside any test, nothing runs again', () => {
  const file = fileOf('a.test.ts', [{ failed: 'late', loss: crowded }])
  new SummaryReporter().onTestRunEnd([file], [{ name: 'Error', message: 'socket closed' }])
  expect(counted()).toBe('0 2\noutside any test: socket closed\na.test.ts: a test: late\n')
})
