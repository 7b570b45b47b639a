/** scripts/tests.sh: how often the script runs a test file that cannot be judged, and the exit status that results. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const SCRIPT = join(import.meta.dirname, '../../../scripts/tests.sh')

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hf-tests-script-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

type Attempt = { readonly status: number; readonly unjudged?: string }

/** A program in the place of Vitest: each attempt ends as listed, and writes its arguments to a file. */
function run(attempts: readonly Attempt[]) {
  const cases = attempts.map(
    ({ status, unjudged }, i) =>
      `${i + 1}) ${unjudged === undefined ? ':' : `[ -z "\${HOLDFAST_TEST_UNJUDGED:-}" ] || printf '${unjudged}' >"$HOLDFAST_TEST_UNJUDGED"`}; exit ${status};;`,
  )
  const npx = `#!/bin/sh\nprintf '%s: %s\\n' "$HOLDFAST_TEST_ATTEMPT" "$*" >>${folder}/calls\ncase $(wc -l <${folder}/calls) in\n${cases.join('\n')}\nesac\nexit 99\n`
  writeFileSync(join(folder, 'npx'), npx)
  chmodSync(join(folder, 'npx'), 0o755)
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, HOLDFAST_TEST_SUMMARY: join(folder, 'summary') }
  const { status, stdout } = spawnSync(SCRIPT, ['--project', 'waiting'], { encoding: 'utf8', env })
  const calls = readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n')
  return { status, stdout, attempts: calls.map((call) => call.replace(/ --reporter=\S+/g, '')) }
}

const LATE = '0\\nx.test.ts\\tnetns\\tlate by 20 ms\\n'
const FIRST = '1: --no-install vitest run --project waiting'
const alone = (attempt: number, file = 'x.test.ts', project = 'netns') =>
  `${attempt}: --no-install vitest run --project ${project} ${file}`

test.each([0, 1, 130])('an end with status %i that leaves nothing to be judged stands', (status) => {
  expect(run([{ status }])).toMatchObject({ status, attempts: [FIRST] })
})

test('a file that cannot be judged runs again by itself, and may pass', () => {
  const { attempts, status, stdout } = run([{ status: 1, unjudged: LATE }, { status: 0 }])
  expect({ attempts, status }).toEqual({ attempts: [FIRST, alone(2)], status: 0 })
  expect(stdout).toContain('== could not be judged, attempt 2 alone: x.test.ts: late by 20 ms')
  expect(readFileSync(join(folder, 'summary.unjudged'), 'utf8')).toBe('x.test.ts: late by 20 ms\n')
})

test('a file that misses its bound in the second attempt has failed', () => {
  expect(run([{ status: 1, unjudged: LATE }, { status: 1 }])).toMatchObject({ status: 1, attempts: [FIRST, alone(2)] })
})

test('a file that can never be judged has failed after the third attempt', () => {
  const late = { status: 1, unjudged: LATE }
  expect(run([late, late, late, late])).toMatchObject({ status: 1, attempts: [FIRST, alone(2), alone(3)] })
})

test('failures of other files stand, whatever comes of the second attempts', () => {
  expect(run([{ status: 1, unjudged: LATE.replace('0', '2') }, { status: 0 }])).toMatchObject({ status: 1 })
})

test('each of several files runs by itself', () => {
  const { attempts, status } = run([
    { status: 1, unjudged: `${LATE}y.test.ts\\talone\\tlate\\n` },
    { status: 0 },
    { status: 0 },
  ])
  expect({ attempts, status }).toEqual({ attempts: [FIRST, alone(2), alone(2, 'y.test.ts', 'alone')], status: 0 })
})
