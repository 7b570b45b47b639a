/**
 * When a thread whose event loop does not wait is asked for a beat, and when its silence means that the event loop
 * hangs.
 */
import { afterEach, expect, test } from 'vitest'
import { eventually, sleep } from '../../../src/lab/wait.ts'
import { LoopPulse } from '../../../src/worker/loop-pulse.ts'
import { WorkerThread } from '../../../src/worker/worker-thread.ts'
import { engineReports } from '../../support/engine-reports.ts'
import { FakeWorld } from '../../unit/daemon/fake-world.ts'

const ENTRY = new URL('../../support/hanging-worker.mjs', import.meta.url)

let thread: WorkerThread | undefined
let beat: NodeJS.Timeout | undefined
afterEach(async () => {
  clearInterval(beat)
  await thread?.close()
})

/** A test of the event loop every 1.5 s, as in the engine: the result of each test, and the state of the loop. */
function looks(pulse: LoopPulse, idles: readonly number[], from: number): readonly string[] {
  return idles.map((idle, i) => pulse.look(idle, from + i * 1_500))
}

test('an event loop that waits is not asked, even if it does nothing else', () => {
  const pulse = new LoopPulse(0)
  expect(looks(pulse, [1, 1_500, 3_000, 3_000.1, 3_000.2, 9_000], 1_500)).toEqual(Array(6).fill('turns'))
})

test('a loop that does not wait is asked after 3 s, and hangs after two checks without an answer', () => {
  const pulse = new LoopPulse(0)
  expect(looks(pulse, Array(6).fill(100), 1_500)).toEqual(['turns', 'turns', 'ask', 'turns', 'hangs', 'hangs'])
})

test('a busy loop that answers is asked again and never replaced', () => {
  const pulse = new LoopPulse(0)
  const found = Array.from({ length: 12 }, (_, i) => {
    const answer = pulse.look(100, (i + 1) * 1_500)
    if (answer === 'ask') pulse.hear((i + 1) * 1_500 + 900)
    return answer
  })
  expect(found.filter((answer) => answer === 'ask').length).toBeGreaterThan(2)
  expect(found).not.toContain('hangs')
})

test('a stalled engine reads the answer before it judges the thread', () => {
  const pulse = new LoopPulse(0)
  expect([pulse.look(5, 0), pulse.look(5, 3_000)]).toEqual(['turns', 'ask'])
  expect(pulse.look(5, 20_000), 'the first look after the stall').toBe('turns')
  pulse.hear(20_001)
  expect(pulse.look(5, 21_500)).toBe('turns')
})

test('a thread that is loading has 12 s', () => {
  const pulse = new LoopPulse(0)
  expect([pulse.look(0, 11_900), pulse.look(0, 12_000)]).toEqual(['turns', 'ask'])
})

function served(does: string) {
  const problems: string[] = []
  let opened = 0
  const made = new WorkerThread(
    ENTRY,
    { listen: { host: '127.0.0.1', port: 1 }, isPublic: false, version: does, metricsCompat: 'none', peers: [] },
    {
      ...engineReports(new FakeWorld().start().daemon),
      onProblem: (words) => void problems.push(words),
      onListening: () => void opened++,
      launchers: { launch: () => Promise.resolve(undefined), discard: () => {}, endAll: () => {} },
    },
  )
  thread = made
  made.serve()
  beat = setInterval(() => made.glance(), 600)
  return { problems, opened: () => opened }
}

test('a thread that hangs is replaced, even if it only serves the port', { timeout: 20_000 }, async () => {
  const { problems, opened } = served('hang')
  await eventually('a second thread', () => opened() >= 2, { sight: opened, within: 12_000 })
  expect(problems).toEqual(['The worker thread does not answer; starting a new one'])
})

test('idle threads, and threads that are busy without a pause, are not replaced', { timeout: 30_000 }, async () => {
  for (const does of ['wait', 'toil']) {
    const { problems, opened } = served(does)
    await sleep(9_000)
    expect([opened(), problems], does).toEqual([1, []])
    clearInterval(beat)
    await thread?.close()
  }
})
