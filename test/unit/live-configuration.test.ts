/** The way of a configuration from its file into force: what is told where, and that reloads do not overlap. */
import { expect, test } from 'vitest'
import type { FreshConfig } from '../../src/api/worker-message.ts'
import { LiveConfiguration } from '../../src/cli/live-configuration.ts'
import type { Config } from '../../src/config/config.ts'
import { diffConfig } from '../../src/config/diff.ts'
import { parseConfig } from '../../src/config/yaml.ts'
import { type LogRecord, Recorder } from '../../src/daemon/recorder.ts'
import type { ReloadReport } from '../../src/daemon/reload.ts'

const FILE = '/etc/holdfast/holdfast.yaml'
const DONE: ReloadReport = {
  ok: true,
  changes: [],
  unchanged: 1,
  groupsChanged: false,
  checksChanged: [],
  restartOnly: [],
}

function someConfig(): Config {
  const parsed = parseConfig('virtualRouters: [{ name: a, vrid: 1, interface: eth0, addresses: [192.0.2.1] }]')
  if ('problems' in parsed) throw new Error(parsed.problems.map(({ message }) => message).join())
  return parsed.config
}

const fresh = (hash: string): FreshConfig => ({
  ok: true,
  config: someConfig(),
  hash,
  diff: diffConfig(someConfig(), someConfig()),
  warnings: [],
})
const wrong = (count: number): FreshConfig => ({
  ok: false,
  problems: Array.from({ length: count }, (_, i) => ({
    file: FILE,
    line: i + 1,
    column: 3,
    path: `virtualRouters[${i}]`,
    message: `fault ${i + 1}`,
    severity: 'error' as const,
  })),
})

function setUp(apply: (next: Config) => ReloadReport = () => DONE) {
  const records: LogRecord[] = []
  const recorder = new Recorder()
  recorder.attach((record) => records.push(record))
  const reads: { resolve: (value: FreshConfig) => void; reject: (error: Error) => void }[] = []
  const applied: Config[] = []
  const live = new LiveConfiguration(
    { file: FILE, hash: '000000000001' },
    {
      recorder,
      read: () => new Promise((resolve, reject) => reads.push({ resolve, reject })),
      apply: (next) => {
        applied.push(next)
        return apply(next)
      },
      inForce: someConfig,
    },
  )
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  /** Answers the read that is under way. */
  const answer = async (value: FreshConfig | Error) => {
    await turn()
    const read = reads.shift()
    if (read === undefined) throw new Error('Nobody reads')
    if (value instanceof Error) read.reject(value)
    else read.resolve(value)
    await turn()
  }
  const said = (level: string) => records.filter((record) => record.level === level).map(({ message }) => message)
  return { live, reads, applied, answer, said, turn }
}

test('a good file is applied, and status and log say so', async () => {
  const changes = [{ router: 'a', change: 'changed' as const }]
  const { live, answer, said, applied } = setUp(() => ({ ...DONE, changes, restartOnly: ['runDirectory'] }))
  expect(live.snapshot()).toMatchObject({ file: FILE, hash: '000000000001', lastReload: null })
  const reload = live.reload('SIGHUP')
  await answer(fresh('00000000abcd'))
  expect(await reload).toMatchObject({ ok: true, hash: '00000000abcd', changes, unchanged: 1 })
  expect(applied).toEqual([someConfig()])
  expect(live.snapshot()).toMatchObject({
    hash: '00000000abcd',
    reloads: { ok: 1, failed: 0 },
    lastReload: { ok: true, reason: null, problems: [] },
  })
  expect(said('info')).toEqual([`SIGHUP: reading ${FILE} again`, `Reloaded ${FILE}: a changed, 1 unchanged`])
  expect(said('warn')).toEqual(['runDirectory has changed: it takes effect at the next start'])
})

test('a bad file is not applied: hash and time stay, each problem is told with its place', async () => {
  const { live, answer, said, applied } = setUp()
  const before = live.snapshot()
  const reload = live.reload('holdfast reload')
  await answer(wrong(2))
  expect(await reload).toMatchObject({ ok: false, fault: 'invalid', reason: '2 problems', problems: [{}, {}] })
  expect(applied).toEqual([])
  expect(live.snapshot()).toEqual({
    ...before,
    reloads: { ok: 0, failed: 1 },
    lastReload: {
      at: expect.any(String),
      ok: false,
      reason: '2 problems',
      problems: [expect.anything(), expect.anything()],
    },
  })
  expect(said('error')).toEqual([
    `Cannot reload ${FILE}: 2 problems; the configuration in force is kept`,
    `${FILE}:1:3: fault 1`,
    `${FILE}:2:3: fault 2`,
  ])
})

test('of very many problems log and status tell the first, the answer all', async () => {
  const { live, answer, said } = setUp()
  const reload = live.reload('SIGHUP')
  await answer(wrong(500))
  const told = await reload
  expect(told.ok ? 0 : told.problems.length).toBe(500)
  expect(live.snapshot().lastReload?.problems.length).toBe(20)
  expect(said('error').length).toBe(22)
  expect(said('error').at(-1)).toBe(`480 more: holdfast check ${FILE} tells all`)
})

test('a reader that dies and a daemon that refuses fail the reload, and the next one is a new try', async () => {
  const { live, answer } = setUp(() => ({ ok: false, reason: 'the daemon is leaving' }))
  const dead = live.reload('SIGHUP')
  await answer(new Error('the worker thread ended before it had answered'))
  expect(await dead).toMatchObject({
    ok: false,
    fault: 'failed',
    reason: expect.stringContaining('worker thread ended'),
  })
  const refused = live.reload('SIGHUP')
  await answer(fresh('00000000abcd'))
  expect(await refused).toMatchObject({ ok: false, fault: 'failed', reason: 'the daemon is leaving' })
  expect(live.snapshot()).toMatchObject({ hash: '000000000001', reloads: { ok: 0, failed: 2 } })
})

test('one at a time; those who ask while one waits share it', async () => {
  const { live, answer, applied, reads, turn } = setUp()
  const first = live.reload('SIGHUP')
  await turn()
  const others = [live.reload('SIGHUP'), live.reload('holdfast reload'), live.reload('SIGHUP')]
  await turn()
  expect(reads.length, 'files read at once').toBe(1)
  await answer(fresh('000000000002'))
  await answer(fresh('000000000003'))
  expect(await first).toMatchObject({ hash: '000000000002' })
  for (const other of others) expect(await other).toMatchObject({ hash: '000000000003' })
  expect([applied.length, reads.length, live.snapshot().reloads.ok]).toEqual([2, 0, 2])
  const last = live.reload('SIGHUP')
  await answer(fresh('000000000004'))
  expect(await last).toMatchObject({ hash: '000000000004' })
})

test('a configuration is plain data: the worker can hand it over', () => {
  const config = someConfig()
  expect(structuredClone(config)).toEqual(config)
})
