/** The engine's side of notifications, with a real thread that dies or hangs on purpose. */
import { afterEach, expect, test } from 'vitest'
import type { NotifyPortNews } from '../../../src/daemon/ports.ts'
import type { ProgramSet } from '../../../src/healthcheck/programs/program-set.ts'
import { eventually, sleep } from '../../../src/lab/wait.ts'
import { loadNative } from '../../../src/linux/native.ts'
import { closeChannel } from '../../../src/linux/process/launcher.ts'
import type { Notification } from '../../../src/notify/notification.ts'
import { millis } from '../../../src/wire/units.ts'
import { Launchers } from '../../../src/worker/launchers.ts'
import { NotifyThread } from '../../../src/worker/notify-thread.ts'
import { WorkerThread } from '../../../src/worker/worker-thread.ts'
import { engineReports } from '../../support/engine-reports.ts'
import { FakeWorld } from '../../unit/daemon/fake-world.ts'

const ENTRY = new URL('../../support/odd-worker.mjs', import.meta.url)
const SET: ProgramSet = {
  programs: [
    { argv: ['/bin/true'], numbered: false },
    { argv: ['/bin/true', 'x'], numbered: true },
  ],
  environment: {},
  user: undefined,
  spare: true,
}

const threads: WorkerThread[] = []
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.close()
})

/** Behaviour of the faulty worker (test/support/odd-worker.mjs). */
const MANNERS = { done: 1, silent: 2, dies: 3 } as const
const notification = (id: number, manner: keyof typeof MANNERS): Notification => ({
  id,
  lane: 'router api',
  set: SET,
  runs: [
    { index: 0, number: undefined },
    { index: 1, number: 100 },
  ],
  timeout: millis(MANNERS[manner]),
  isLast: false,
})

function port(lookEvery?: number) {
  const world = new FakeWorld().start()
  const problems: string[] = []
  const launchers = new Launchers({ start: () => ({ end: () => {} }), closeChannel })
  const onProblem = (words: string) => void problems.push(words)
  const thread = new WorkerThread(
    ENTRY,
    { listen: false, isPublic: false, version: '1', metricsCompat: 'none', peers: [] },
    { ...engineReports(world.daemon), onProblem, onListening: () => {}, launchers },
  )
  threads.push(thread)
  let started = 0
  thread.register({ onStart: () => {}, onMessage: () => {}, onEnd: () => {} })
  const count = () => {
    started++
  }
  process.on('worker', count)
  const heard: NotifyPortNews[] = []
  const notify = new NotifyThread(thread, launchers, lookEvery)
  notify.onNews((news) => heard.push(news))
  const hear = (expected: string, matches: (news: NotifyPortNews) => boolean) =>
    eventually(expected, () => heard.find(matches), { sight: () => heard, within: 10_000 })
  return { notify, heard, hear, launchers, problems, threads: () => started }
}

test('no thread runs without programs, and a posted notification is reported as done', async () => {
  const { notify, hear, heard } = port()
  notify.set([])
  await sleep(200)
  expect(heard).toEqual([])
  notify.set([{ lane: 'router api', set: SET }])
  notify.post(notification(1, 'done'))
  await hear('its end', (news) => news.kind === 'done' && news.id === 1)
  expect(heard.map((news) => (news.kind === 'ran' ? `ran ${news.index}` : news.kind))).toEqual([
    'ran 0',
    'ran 1',
    'done',
  ])
})

test('after a thread dies, notifications that are not done are posted to the next one, without programs that have ended', async () => {
  const { notify, hear, heard } = port()
  notify.post(notification(1, 'dies'))
  notify.post(notification(2, 'silent'))
  const told = await hear('the end of the thread', (news) => news.kind === 'postedAgain')
  expect(told).toEqual({ kind: 'postedAgain', ids: [1, 2] })
  // The next thread runs the second program, reports it, and dies as well.
  await hear('the other program', (news) => news.kind === 'ran' && news.index === 1)
  expect(heard.filter((news) => news.kind === 'ran').map((news) => news.kind === 'ran' && news.index)).toEqual([0, 1])
})

test('a thread that is silent while it has work is replaced', async () => {
  const { notify, hear, problems } = port(100)
  notify.post(notification(1, 'silent'))
  await hear('another thread', (news) => news.kind === 'postedAgain')
  expect(problems).toContain('The worker thread does not answer; starting a new one')
})

test('a thread without work may be silent', async () => {
  const { notify, hear, heard, problems } = port(1_000)
  notify.set([{ lane: 'router api', set: SET }])
  notify.post(notification(1, 'done'))
  await hear('its end', (news) => news.kind === 'done')
  await sleep(1_500)
  expect([problems, heard.some(({ kind }) => kind === 'postedAgain')]).toEqual([[], false])
})

test('programs of a pending notification may be started, also after a reload', async () => {
  const { notify, hear, launchers } = port()
  const { streamPair } = loadNative()
  const ask = (set: ProgramSet) => launchers.launch(set, streamPair()[1])
  expect(await ask(SET)).toMatchObject({ reason: 'notPossible' })
  notify.set([{ lane: 'router api', set: SET }])
  expect(await ask(SET)).toBeUndefined()
  notify.post(notification(1, 'silent'))
  notify.set([])
  expect(await ask(SET), 'what was posted before it was reloaded').toBeUndefined()
  notify.stop()
  expect(await ask(SET)).toMatchObject({ reason: 'notPossible' })
  notify.post(notification(2, 'done'))
  await sleep(100)
  expect(await Promise.race([hear('nothing', ({ kind }) => kind === 'done'), sleep(300)])).toBeUndefined()
})
