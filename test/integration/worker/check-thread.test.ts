/** The engine's side of the checks, with a real thread that dies or hangs on purpose. */
import { afterEach, expect, test } from 'vitest'
import type { CheckPortNews } from '../../../src/daemon/ports.ts'
import { type ProgramSet, programSetOf } from '../../../src/healthcheck/programs/program-set.ts'
import { eventually, monotonicMs, sleep } from '../../../src/lab/wait.ts'
import { loadNative } from '../../../src/linux/native.ts'
import { closeChannel } from '../../../src/linux/process/launcher.ts'
import { millis } from '../../../src/wire/units.ts'
import { CheckThread } from '../../../src/worker/check-thread.ts'
import { Launchers, type Programs } from '../../../src/worker/launchers.ts'
import { WorkerThread } from '../../../src/worker/worker-thread.ts'
import { checkSpec, tcpSpec } from '../../support/check-spec.ts'
import { engineReports } from '../../support/engine-reports.ts'
import { FakeWorld } from '../../unit/daemon/fake-world.ts'

const ENTRY = new URL('../../support/odd-worker.mjs', import.meta.url)
const PATIENCE = { within: 10_000 }

const threads: WorkerThread[] = []
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.close()
})

type Heard = CheckPortNews & { readonly at: number }

function port(options: { silentAfter?: number } = {}) {
  const world = new FakeWorld().start()
  const problems: string[] = []
  const start = () => {
    throw new Error('nobody asks for a program here')
  }
  const launchers = new Launchers({ start, closeChannel })
  const onProblem = (words: string) => void problems.push(words)
  const thread = new WorkerThread(
    ENTRY,
    { listen: false, isPublic: false, version: '1', metricsCompat: 'none', peers: [] },
    { ...engineReports(world.daemon), onProblem, onListening: () => {}, launchers },
  )
  threads.push(thread)
  const checks = new CheckThread(thread, launchers, options.silentAfter)
  const heard: Heard[] = []
  checks.onNews((news) => heard.push({ ...news, at: monotonicMs() }))
  const names = (news: CheckPortNews) => (news.kind === 'checkBeat' ? news.reports.map(({ check }) => check) : [])
  return {
    checks,
    thread,
    heard,
    problems,
    beat: (name: string, since = 0) =>
      eventually(`a beat of ${name}`, () => heard.find((news) => news.at >= since && names(news).includes(name)), {
        sight: () => heard.slice(-3),
        ...PATIENCE,
      }),
    lost: () => heard.filter(({ kind }) => kind === 'checksLost'),
  }
}

const named = (name: string) => checkSpec(tcpSpec(1), { name })

test('no thread runs without a check, and a thread without checks ends', async () => {
  const { checks, heard, beat, lost } = port()
  checks.set([], [])
  await sleep(300)
  expect(heard).toEqual([])
  checks.set([named('a')], [])
  await beat('a')
  checks.set([], [])
  await sleep(50)
  const words = heard.length
  await sleep(300)
  expect(heard.length, 'words of a thread that nobody needs').toBe(words)
  expect(lost(), 'and nothing was lost').toEqual([])
  checks.set([named('b')], [])
  await beat('b')
})

test('a thread that dies is replaced after a delay that grows, and the new one gets the last checks', async () => {
  const { checks, heard, beat, lost } = port()
  checks.onNews((news) => {
    heard.push({ ...news, at: monotonicMs() })
    // The engine calls this method inside the listener as well.
    if (news.kind === 'checksLost')
      checks.set([named('die')], [{ check: 'die', result: 'down', since: millis(5), weight: undefined }])
  })
  checks.set([named('die')], [])
  await eventually('four deaths', () => lost().length >= 4, { sight: lost, ...PATIENCE })
  const begins = lost().map(({ at }) => heard.find((news) => news.kind === 'checkBeat' && news.at > at)?.at ?? 0)
  const waits = lost()
    .slice(0, 3)
    .map(({ at }, i) => (begins[i] ?? 0) - at)
  expect(waits[0], 'ms to the first beat of the second life').toBeGreaterThan(95)
  expect(waits[1], 'of the third').toBeGreaterThan(195)
  expect(waits[2], 'of the fourth').toBeGreaterThan(395)
  const again = heard.findLast(({ kind }) => kind === 'checkBeat')
  expect(again, 'what the engine held went along').toMatchObject({
    reports: [{ detail: [{ check: 'die', result: 'down', since: 5 }] }],
  })
  checks.set([named('a')], [])
  await beat('a')
})

test('a thread is not restarted if its checks are removed in the meantime', async () => {
  const { checks, lost } = port()
  checks.set([named('die')], [])
  await eventually('its end', () => lost()[0], { sight: lost, ...PATIENCE })
  let started = 0
  const count = () => started++
  process.on('worker', count)
  checks.set([], [])
  await sleep(400)
  process.off('worker', count)
  expect(started, 'threads that nobody needs').toBe(0)
})

test('a thread that hangs is detected by its silence and replaced', async () => {
  const { checks, problems, beat, lost } = port({ silentAfter: 600 })
  checks.set([named('hang')], [])
  const { at } = await beat('hang')
  await eventually('its end', () => lost()[0], { sight: lost, ...PATIENCE })
  const silence = (lost()[0]?.at ?? 0) - at
  expect(silence, 'ms of silence').toBeGreaterThan(550)
  expect(problems).toContain('The worker thread does not answer; starting a new one')
  checks.set([named('a')], [])
  await beat('a', monotonicMs())
})

test('a stalled engine does not count its own delay as silence of the thread', async () => {
  const { checks, beat, lost } = port({ silentAfter: 300 })
  checks.set([named('a')], [])
  await beat('a')
  for (let stall = 0; stall < 3; stall++) {
    const until = monotonicMs() + 600
    while (monotonicMs() < until);
    await sleep(60)
  }
  await beat('a', monotonicMs())
  expect(lost()).toEqual([])
})

test('stop waits for a thread that runs, and not for one that hangs', async () => {
  const one = port()
  one.checks.set([named('a')], [])
  await one.beat('a')
  const from = monotonicMs()
  await one.checks.stop()
  expect(monotonicMs() - from, 'ms').toBeLessThan(900)

  const other = port()
  other.checks.set([named('hang')], [])
  await other.beat('hang')
  await sleep(300)
  const asked = monotonicMs()
  await other.checks.stop()
  expect(monotonicMs() - asked, 'ms').toBeGreaterThan(900)
  expect(monotonicMs() - asked).toBeLessThan(5_000)
})

test('only programs of a check in force are started, with their own environment and nothing of the daemon', async () => {
  const started: Programs[] = []
  const start = (program: Programs) => {
    started.push(program)
    return { end: () => {} }
  }
  const launchers = new Launchers({ start, closeChannel })
  const { streamPair } = loadNative()
  const set = programSetOf({ kind: 'exec', argv: ['/bin/true', '-x'], environment: { A: '1' }, user: '12' })
  const other: ProgramSet = { ...set, programs: [{ argv: ['/bin/sh'], numbered: false }] }
  const ask = (wanted: ProgramSet) => launchers.launch(wanted, streamPair()[1])
  expect(await ask(set), 'before anything is in force').toMatchObject({ reason: 'notPossible' })
  launchers.permit('healthchecks', [set])
  launchers.permit('notify', [])
  expect(await ask(other)).toMatchObject({ reason: 'notPossible' })
  expect(await ask({ ...set, programs: [...set.programs, ...other.programs] }), 'one more').toBeDefined()
  expect(await ask({ ...set, user: undefined }), 'as another user than the one in force').toBeDefined()
  expect(await ask({ ...set, capabilities: 'keep' }), 'with rights that it has not in force').toBeDefined()
  expect(await ask({ ...set, environment: { A: '1', LD_PRELOAD: '/tmp/x.so' } })).toBeDefined()
  expect(started).toEqual([])
  expect(await ask(set)).toBeUndefined()
  expect(started).toMatchObject([{ programs: [{ argv: ['/bin/true', '-x'] }], user: { uid: 12 } }])
  expect(Object.keys(started[0]?.environment ?? {}).sort()).toEqual(['A', 'PATH'])
})

test('a program that an ended thread asked for is not started, and its descriptor is closed', async () => {
  const started: string[] = []
  const closed: number[] = []
  const start = ({ programs }: Programs) => {
    started.push(programs.map(({ argv }) => argv.join(' ')).join())
    return { end: () => {} }
  }
  const launchers = new Launchers({ start, closeChannel: (channel) => void closed.push(channel) })
  // The name of the user must be looked up, so the answer takes some time.
  const set = programSetOf({ kind: 'exec', argv: ['/bin/true'], environment: {}, user: 'root' })
  launchers.permit('healthchecks', [set])
  let isThere = true
  const answer = launchers.launch(set, 1001, () => isThere)
  isThere = false
  expect(await answer).toMatchObject({ detail: 'Cannot run /bin/true: the thread that asked has ended' })
  isThere = true
  expect(await launchers.launch(set, 1002, () => isThere)).toBeUndefined()
  launchers.discard(1003)
  expect([started, closed]).toEqual([['/bin/true'], [1001, 1002, 1003]])
})
