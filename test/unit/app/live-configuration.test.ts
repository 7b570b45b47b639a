/** The way of a configuration from its file into force: what is told where, and that reloads do not overlap. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ConfigurationAccount } from '../../../src/app/configuration/configuration-account.ts'
import { handedOver } from '../../../src/app/configuration/hand-over.ts'
import { LiveConfiguration } from '../../../src/app/configuration/live-configuration.ts'
import type { Config } from '../../../src/config/config.ts'
import { diffConfig } from '../../../src/config/diff.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import type { HandOver, ReloadReport } from '../../../src/daemon/reload.ts'
import { type LogRecord, Recorder } from '../../../src/daemon/telemetry/recorder.ts'
import type { FreshConfig } from '../../../src/files/fresh-configuration.ts'
import { ManagedFile } from '../../../src/files/managed-file.ts'

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

type Managed = { readonly memory: ManagedFile; readonly waits: string | null }

function setUp(apply: (next: Config) => ReloadReport = () => DONE, managed?: Managed) {
  const records: LogRecord[] = []
  const recorder = new Recorder(undefined, (deliver) => deliver())
  recorder.attach((record) => records.push(record))
  type Read = { text: string | undefined; resolve: (value: FreshConfig) => void; reject: (error: Error) => void }
  const reads: Read[] = []
  const bearers: (HandOver | undefined)[] = []
  const applied: Config[] = []
  const account = new ConfigurationAccount({ file: FILE, hash: '000000000001', managed }, recorder)
  const live = new LiveConfiguration(account, {
    read: (_, text) => new Promise((resolve, reject) => reads.push({ text, resolve, reject })),
    apply: (next, _, bearer) => {
      bearers.push(bearer)
      applied.push(next)
      return apply(next)
    },
    plan: () => DONE,
    inForce: someConfig,
  })
  live.begin()
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
  const events = () => recorder.chronicle.read({ after: 0 }).events
  return { live, account, reads, applied, answer, said, turn, bearers, events }
}

test('a good file is applied, and status and log say so', async () => {
  const changes = [{ router: 'a', change: 'changed' as const }]
  const { account, live, answer, said, applied } = setUp(() => ({ ...DONE, changes, restartOnly: ['runDirectory'] }))
  expect(account.snapshot()).toMatchObject({ file: FILE, hash: '000000000001', lastReload: null })
  const reload = live.reload('SIGHUP')
  await answer(fresh('00000000abcd'))
  expect(await reload).toMatchObject({ ok: true, hash: '00000000abcd', changes, unchanged: 1 })
  expect(applied).toEqual([someConfig()])
  expect(account.snapshot()).toMatchObject({
    hash: '00000000abcd',
    reloads: { ok: 1, failed: 0 },
    lastReload: { ok: true, reason: null, problems: [] },
  })
  expect(said('info')).toEqual([
    `SIGHUP: reading ${FILE} again`,
    `Reloaded ${FILE}: router a changed, 1 router unchanged`,
  ])
  expect(said('warn')).toEqual(['runDirectory has changed: it takes effect at the next start'])
})

test('the log tells the values that differ', async () => {
  const { live, answer, said } = setUp(() => ({ ...DONE, changes: [{ router: 'a', change: 'changed' }] }))
  const reload = live.reload('SIGHUP')
  const next = fresh('00000000abcd')
  const values = [{ section: 'virtualRouters', name: 'a', key: 'priority', from: '150', to: '110' }] as const
  await answer(next.ok ? { ...next, diff: { ...next.diff, values } } : next)
  expect(await reload).toMatchObject({ values })
  expect(said('info').at(-1)).toBe(`Reloaded ${FILE}: router a changed (priority 150 → 110), 1 router unchanged`)
})

test('a dry run tells what a reload would do, and changes, counts and logs nothing', async () => {
  const { account, live, answer, applied, events, said } = setUp()
  const before = account.snapshot()
  const first = live.rehearse()
  await answer(fresh('00000000abcd'))
  expect(await first).toMatchObject({ ok: true, dryRun: true, hash: '00000000abcd', unchanged: 1 })
  const second = live.rehearse()
  await answer(wrong(2))
  expect(await second).toMatchObject({ ok: false, fault: 'invalid', reason: '2 problems', problems: [{}, {}] })
  const third = live.rehearse()
  await answer(new Error('no answer'))
  expect(await third).toMatchObject({ ok: false, fault: 'failed', reason: 'no answer' })
  expect([applied, events(), said('info'), said('error'), account.snapshot()]).toEqual([[], [], [], [], before])
})

test('a bad file is not applied: hash and time stay, each problem is told with its place', async () => {
  const { account, live, answer, said, applied } = setUp()
  const before = account.snapshot()
  const reload = live.reload('holdfast reload')
  await answer(wrong(2))
  expect(await reload).toMatchObject({ ok: false, fault: 'invalid', reason: '2 problems', problems: [{}, {}] })
  expect(applied).toEqual([])
  expect(account.snapshot()).toEqual({
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
  const { account, live, answer, said } = setUp()
  const reload = live.reload('SIGHUP')
  await answer(wrong(500))
  const told = await reload
  expect(told.ok ? 0 : told.problems.length).toBe(500)
  expect(account.snapshot().lastReload?.problems.length).toBe(20)
  expect(said('error').length).toBe(22)
  expect(said('error').at(-1)).toBe(`480 more problems: holdfast check ${FILE} shows all`)
})

test('a reader that dies and a daemon that refuses fail the reload, and the next one is a new try', async () => {
  const { account, live, answer } = setUp(() => ({ ok: false, reason: 'the daemon is leaving' }))
  const dead = live.reload('SIGHUP')
  await answer(new Error('the worker thread ended without an answer'))
  expect(await dead).toMatchObject({
    ok: false,
    fault: 'failed',
    reason: expect.stringContaining('worker thread ended'),
  })
  const refused = live.reload('SIGHUP')
  await answer(fresh('00000000abcd'))
  expect(await refused).toMatchObject({ ok: false, fault: 'failed', reason: 'the daemon is leaving' })
  expect(account.snapshot()).toMatchObject({ hash: '000000000001', reloads: { ok: 0, failed: 2 } })
})

test('one at a time; those who ask while one waits share it', async () => {
  const { account, live, answer, applied, reads, turn } = setUp()
  const first = live.reload('SIGHUP')
  await turn()
  const others = [live.reload('SIGHUP'), live.reload('holdfast reload'), live.reload('SIGHUP')]
  await turn()
  expect(reads.length, 'files read at once').toBe(1)
  await answer(fresh('000000000002'))
  await answer(fresh('000000000003'))
  expect(await first).toMatchObject({ hash: '000000000002' })
  for (const other of others) expect(await other).toMatchObject({ hash: '000000000003' })
  expect([applied.length, reads.length, account.snapshot().reloads.ok]).toEqual([2, 0, 2])
  const last = live.reload('SIGHUP')
  await answer(fresh('000000000004'))
  expect(await last).toMatchObject({ hash: '000000000004' })
})

test('a configuration is plain data: the worker can hand it over', () => {
  const config = someConfig()
  expect(structuredClone(config)).toEqual(config)
})

/** A memory whose disk says this. */
function memoryOf(disk: () => Promise<void>) {
  const kept: string[] = []
  const put = async (_: string, text: string) => {
    await disk()
    kept.push(text)
  }
  const quiet = { onProblem: () => {}, onStored: () => {}, tryAgain: 60_000 }
  return { kept, memory: new ManagedFile({ path: join(tmpdir(), 'hf-never', 'm.yaml'), put, ...quiet }) }
}

const handed = (text: string, by: string | null = 'agent', revision: string | null = '7') => ({ text, by, revision })

test('handed over: read in its turn, applied, then kept; status, log and journal say whose it is', async () => {
  const { memory, kept } = memoryOf(() => Promise.resolve())
  const { account, live, answer, said, events, reads } = setUp(undefined, { memory, waits: 'Nothing yet' })
  expect(account.snapshot().managed).toMatchObject({ handedOver: null, waits: 'Nothing yet' })
  const first = live.handOver(handed('one'))
  const second = live.handOver(handed('two', null, null))
  await answer(fresh('00000000aaaa'))
  expect(
    reads.map(({ text }) => text),
    'each its own',
  ).toEqual(['two'])
  expect(await first).toMatchObject({ ok: true, kept: true, hash: '00000000aaaa', file: 'handed over' })
  expect(account.snapshot()).toMatchObject({
    reloads: { ok: 0, failed: 0 },
    managed: { handedOver: { by: 'agent', revision: '7' }, waits: null, notKept: null },
  })
  await answer(wrong(2))
  const refused = await second
  expect(refused).toMatchObject({ ok: false, kept: false, fault: 'invalid', problems: [{}, {}] })
  expect('notKept' in refused).toBe(false)
  expect(kept, 'what is refused is not kept').toEqual(['one'])
  expect(account.snapshot()).toMatchObject({
    hash: '00000000aaaa',
    lastReload: { ok: false, reason: 'an unnamed client: 2 problems' },
    managed: { handedOver: { by: 'agent' }, handOvers: { ok: 0, unchanged: 1, invalid: 1, failed: 0 } },
  })
  expect(said('info')).toEqual(['Configured by agent (revision 7): 1 router unchanged'])
  expect(said('error')[0]).toBe(
    'Cannot apply the configuration that an unnamed client handed over: 2 problems; the configuration in force is kept',
  )
  expect(events()).toMatchObject([{ kind: 'reloaded', ok: false, reason: 'invalid: 2 problems' }])
})

test('who brought it goes on to the journal, and that it is the text that is in force', async () => {
  const { memory } = memoryOf(() => Promise.resolve())
  const { live, answer, bearers } = setUp(undefined, { memory, waits: null })
  for (const hash of ['00000000aaaa', '00000000aaaa', '00000000bbbb']) {
    const done = live.handOver(handed('text'))
    await answer(fresh(hash))
    await done
  }
  expect(bearers.map((bearer) => bearer?.again)).toEqual([false, true, false])
  expect(bearers[0]).toEqual({ by: 'agent', revision: '7', again: false })
})

test('in force and not kept: the answer says so, and a reload would go back and is refused until it is kept', async () => {
  const disk = { full: true }
  const { memory, kept } = memoryOf(() =>
    disk.full ? Promise.reject(new Error('the disk is full')) : Promise.resolve(),
  )
  const { account, live, answer, applied, reads } = setUp(undefined, { memory, waits: null })
  const done = live.handOver(handed('one'))
  await answer(fresh('00000000aaaa'))
  expect(await done).toMatchObject({ ok: true, kept: false, notKept: 'the disk is full' })
  expect(account.snapshot()).toMatchObject({ hash: '00000000aaaa', managed: { notKept: 'the disk is full' } })
  expect(await live.reload('SIGHUP')).toMatchObject({
    ok: false,
    fault: 'failed',
    reason: expect.stringContaining('the disk is full'),
  })
  expect([applied.length, reads.length], 'nothing was read again').toEqual([1, 0])
  disk.full = false
  const again = live.handOver(handed('one'))
  await answer(fresh('00000000aaaa'))
  expect(await again).toMatchObject({ ok: true, kept: true })
  expect(kept).toEqual(['one'])
  const reload = live.reload('SIGHUP')
  await answer(fresh('00000000aaaa'))
  expect(await reload).toMatchObject({ ok: true, file: FILE })
  expect(account.snapshot().managed?.handedOver, 'read from the file').toBeNull()
})

test('an engine that leaves, and one that is asked by too many, keeps nothing of it', async () => {
  const { memory, kept } = memoryOf(() => Promise.resolve())
  const { account, live, answer } = setUp(() => ({ ok: false, reason: 'the daemon is leaving' }), {
    memory,
    waits: null,
  })
  const all = Array.from({ length: 9 }, (_, i) => live.handOver(handed(`${i}`)))
  expect(await all[8]).toMatchObject({
    ok: false,
    fault: 'failed',
    reason: '8 other hand-overs already wait',
    kept: false,
  })
  for (let i = 0; i < 8; i++) await answer(fresh('00000000aaaa'))
  for (const one of all.slice(0, 8)) expect(await one).toMatchObject({ ok: false, reason: 'the daemon is leaving' })
  expect([kept, account.snapshot().managed?.handOvers.failed]).toEqual([[], 8])
  const next = live.handOver(handed('later'))
  await answer(new Error('the worker thread ended without an answer'))
  expect(await next).toMatchObject({ ok: false, fault: 'failed' })
})

test.each([
  ['', '', 'empty configuration'],
  [' \n', '', 'empty configuration'],
  ['a: 1', 'by=', 'by: cannot use "", expected 1 to 128'],
  ['a: 1', 'by=a%0Ab', 'by: cannot use "a\\nb", expected 1 to 128'],
  ['a: 1', `revision=${'1'.repeat(129)}`, 'revision: cannot use "111'],
])('%j handed over with ?%s is refused in words', (text, query, words) => {
  expect(handedOver(text, new URLSearchParams(query))).toEqual(expect.stringContaining(words))
})

test('who hands it over may say who he is, or not', () => {
  expect(handedOver('a: 1', new URLSearchParams('by=my+agent&revision=7'))).toEqual(handed('a: 1', 'my agent', '7'))
  expect(handedOver('a: 1', new URLSearchParams())).toEqual(handed('a: 1', null, null))
})
