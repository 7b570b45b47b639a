/** `holdfast explain --recording`: its output, its formats, and its messages for a file that is no recording. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ExplainOptions, explainCommand } from '../../../src/cli/explain/explain.ts'
import { main } from '../../../src/cli/program.ts'
import { simulate } from '../../../src/simulator/simulation.ts'
import { keptTape } from '../../support/recordings.ts'

const config = (priority: number) => ({
  api: { listen: false },
  virtualRouters: [
    { name: 'vip', vrid: 51, interface: 'eth0', addresses: ['192.0.2.100'], priority, advertisementInterval: '100ms' },
  ],
})
const ANSWERS_NOBODY = { socket: '/nowhere/socket', file: '/nowhere/events.jsonl' }

let directory = ''
const files = { a: '', b: '', changed: '' }

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'hf-recordings-'))
  const kept = new Map<string, string[]>()
  simulate(
    {
      ...{ seed: 3, lateness: 1, ms: 5_000 },
      nodes: [
        { name: 'a', addresses: ['192.0.2.1/24'], drift: 0, startsAt: 0, config: config(200) },
        { name: 'b', addresses: ['192.0.2.2/24'], drift: 0, startsAt: 10, config: config(100) },
      ],
      faults: [{ kind: 'yield', node: 'a', at: 2_000, ms: 1_000 }],
    },
    {
      tapeOf: (node) => {
        const one = keptTape()
        kept.set(node, one.lines)
        return one.tape
      },
    },
  )
  const write = (name: string, lines: readonly string[]) => {
    const file = join(directory, name)
    writeFileSync(file, lines.map((line) => `${line}\n`).join(''))
    return file
  }
  const [a = [], b = []] = [kept.get('a'), kept.get('b')]
  files.a = write('a.jsonl', a)
  files.b = write('b.jsonl', b)
  const at = b.findIndex((line) => line.startsWith('{"out":"send"'))
  files.changed = write(
    'changed.jsonl',
    b.map((line, i) => (i === at ? line.replace('224.0.0.18', '224.0.0.81') : line)),
  )
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const explain = (options: Partial<ExplainOptions>) =>
  explainCommand({ ...ANSWERS_NOBODY, router: undefined, since: undefined, peers: [], json: false, ...options })

test('explain --recording reports whether the engine acts the same, and then the story', async () => {
  const { exitCode, stderr, stdout } = await explain({ recording: files.a, peers: [files.b] })
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  expect(stdout).toMatch(
    /^note: \S+a\.jsonl: a recording of holdfast test, \S+ to \S+: \d+ inputs replayed; the engine produced the same \d+ outputs as in the recording$/m,
  )
  expect(stdout).toMatch(/an operator ordered .* to yield/)
})

test('--json has the story and the recordings', async () => {
  const { stdout } = await explain({ recording: files.a, peers: [files.b], json: true, router: 'vip' })
  expect(JSON.parse(stdout)).toMatchObject({
    version: 1,
    incidents: expect.arrayContaining([expect.objectContaining({ cause: 'yielded' })]),
    recordings: [
      { file: files.a, holdfast: 'test', matches: true, difference: null, turns: expect.any(Number) },
      { file: files.b, matches: true },
    ],
  })
})

test('--since counts from the end of the recording', async () => {
  expect((await explain({ recording: files.a, since: '1ms' })).stdout).toContain(
    'Nothing has happened in the last 1ms.',
  )
  expect((await explain({ recording: files.a, since: '1h' })).stdout).toContain('yield')
  expect((await explain({ recording: files.a, since: 'once' })).exitCode).toBe(64)
})

test('--verify reports only the comparison, with an exit status', async () => {
  const well = await explain({ recording: files.b, verify: true })
  expect(well).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/the engine produced the same \d+ outputs as in the recording\n/),
  })
  const changed = await explain({ recording: files.changed, verify: true })
  expect(changed.exitCode).toBe(1)
  expect(changed.stdout).toMatch(
    /the engine behaves differently at line \d+.*\nrecorded: .*224\.0\.0\.81.*\nreplayed: .*224\.0\.0\.18/,
  )
  const json = await explain({ recording: files.changed, verify: true, json: true })
  expect(JSON.parse(json.stdout)).toMatchObject({ matches: false, difference: { line: expect.any(Number) } })
})

test.each([
  ['that is not there', () => join(directory, 'missing'), /ENOENT/],
  ['that is a folder', () => directory, /EISDIR|no regular file/],
  ['that is a journal', () => write('{"seq":1}'), /line 1: not a recording of holdfast run --record/],
])('a file %s causes a message and exit status 1', async (_, path, words) => {
  const { exitCode, stderr, stdout } = await explain({ recording: path() })
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  expect(stderr).toMatch(words)
})

function write(text: string): string {
  const file = join(directory, 'other')
  writeFileSync(file, text)
  return file
}

test('options that exclude each other are a usage error', async () => {
  expect(await main(['explain', '--verify'])).toBe(64)
  expect(await main(['run', '--record', '/tmp/none', '--record-limit', '3 apples'])).toBe(64)
  expect(await main(['run', '--record'])).toBe(64)
})
