/**
 * Recordings of two real daemons of a group of three (test/samples/recordings). With the same inputs, today's engine
 * must act in the same way. After an intended change of behaviour they are recorded again (README.md there).
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { explainCommand } from '../../../src/cli/explain/explain.ts'
import { readRecording, reportText } from '../../../src/cli/explain/recorded.ts'
import { replayOf } from '../../support/recordings.ts'

const FOLDER = join(import.meta.dirname, '..', '..', 'samples', 'recordings')
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.jsonl'))
const path = (name: string) => join(FOLDER, name)

test('there are two small samples', () => {
  expect(files).toEqual(['r1.jsonl', 'r3.jsonl'])
  expect(files.map((name) => statSync(path(name)).size).reduce((one, other) => one + other)).toBeLessThan(200_000)
})

describe.each(files)('%s', (name) => {
  test('the engine acts as recorded', async () => {
    const { report } = await readRecording(path(name))
    expect(report.matches, reportText(report).join('\n')).toBe(true)
    expect(report).toMatchObject({ difference: null, gap: null, crash: null, end: 'the daemon has left' })
    expect(report.outputs).toBeGreaterThan(100)
  })

  test('a changed line is found as a difference', async () => {
    const lines = readFileSync(path(name), 'utf8').split('\n').slice(0, -1)
    const at = lines.findLastIndex((line) => line.includes('"kind":"transition"'))
    const other = lines.map((line, i) => (i === at ? line.replace('"vrid":51', '"vrid":52') : line))
    expect((await replayOf(other)).difference?.line).toBe(at + 1)
  })
})

test('the story of a node that stayed Backup has the moves that it received', async () => {
  const { stdout } = await explainCommand({
    ...{ socket: '/nowhere', file: '/nowhere', router: 'vip', since: undefined, json: true, peers: [] },
    recording: path('r3.jsonl'),
  })
  const { incidents }: { incidents: { headline: string }[] } = JSON.parse(stdout)
  const told = incidents.map(({ headline }) => headline)
  expect(told).toContainEqual(
    expect.stringMatching(
      /moved from 10\.77\.0\.11 to 10\.77\.0\.12, as \S+ heard: 10\.77\.0\.11 lowered its priority \(200 → 150\)/,
    ),
  )
  expect(told).toContainEqual(expect.stringMatching(/moved from 10\.77\.0\.12 to 10\.77\.0\.11, as \S+ heard/))
})

test('the story of both nodes names the actions', async () => {
  const { stdout } = await explainCommand({
    ...{ socket: '/nowhere', file: '/nowhere', router: 'vip', since: undefined, json: true },
    recording: path('r1.jsonl'),
    peers: [path('r3.jsonl')],
  })
  const { incidents, recordings }: { incidents: { cause: string }[]; recordings: unknown } = JSON.parse(stdout)
  expect(recordings).toMatchObject([{ matches: true }, { matches: true }])
  expect(new Set(incidents.map(({ cause }) => cause))).toEqual(
    new Set([
      ...['started', 'checkFailed', 'checkPassed', 'reloaded', 'yielded', 'engineAway', 'preempted'],
      ...['carrierLost', 'cut', 'rival', 'foreignChange', 'stopped'],
    ]),
  )
})
