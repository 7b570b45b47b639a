import { expect, test } from 'vitest'
import { startDeadline } from '../../../src/healthcheck/deadline.ts'
import { monotonicNow } from '../../../src/healthcheck/probe.ts'
import { sleep } from '../../../src/lab/wait.ts'
import { millis } from '../../../src/wire/units.ts'

/** Blocks this thread for `ms` milliseconds, without an event loop. */
function stall(ms: number): void {
  const until = monotonicNow() + ms
  while (monotonicNow() < until);
}

test('the deadline of a check passes once, and not early', async () => {
  const startedAt = monotonicNow()
  const passed: number[] = []
  startDeadline(millis(50), () => passed.push(monotonicNow() - startedAt))
  await sleep(200)
  expect(passed.length).toBe(1)
  expect(passed[0]).toBeGreaterThanOrEqual(48.5)
})

test('a deadline of an ended check never passes', async () => {
  let passed = 0
  const end = startDeadline(millis(20), () => passed++)
  end()
  await sleep(60)
  expect(passed).toBe(0)
})

test('a deadline moves by the time that its thread was stalled, once and by at most its own length', async () => {
  const startedAt = monotonicNow()
  let passedAt: number | undefined
  startDeadline(millis(100), () => {
    passedAt = monotonicNow()
  })
  stall(300)
  // The check first reads the answer that arrived while the thread stood still.
  await sleep(20)
  expect(passedAt, 'time at which the deadline passed, right after the stall').toBeUndefined()
  await sleep(250)
  expect((passedAt ?? 0) - startedAt, 'ms until the deadline passed').toBeGreaterThanOrEqual(390)
})
