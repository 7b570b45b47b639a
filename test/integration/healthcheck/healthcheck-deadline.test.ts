import { expect, test } from 'vitest'
import { startDeadline } from '../../../src/healthcheck/deadline.ts'
import { monotonicNow } from '../../../src/healthcheck/probe.ts'
import { sleep } from '../../../src/lab/wait.ts'
import { millis } from '../../../src/wire/units.ts'

/** The thread does nothing else, as in a stall. */
function stall(ms: number): void {
  const until = monotonicNow() + ms
  while (monotonicNow() < until);
}

test('a deadline passes once, not early', async () => {
  const startedAt = monotonicNow()
  const passed: number[] = []
  startDeadline(millis(50), () => passed.push(monotonicNow() - startedAt))
  await sleep(200)
  expect(passed.length).toBe(1)
  expect(passed[0]).toBeGreaterThanOrEqual(48.5)
})

test('one that was ended never passes', async () => {
  let passed = 0
  const end = startDeadline(millis(20), () => passed++)
  end()
  await sleep(60)
  expect(passed).toBe(0)
})

test('a thread that slept through it gives back what it slept, once and never more than the deadline itself', async () => {
  const startedAt = monotonicNow()
  let passedAt: number | undefined
  startDeadline(millis(100), () => {
    passedAt = monotonicNow()
  })
  stall(300)
  // An answer that came meanwhile has its turn first.
  await sleep(20)
  expect(passedAt, 'passed right after the stall').toBeUndefined()
  await sleep(250)
  expect((passedAt ?? 0) - startedAt, 'ms until it passed').toBeGreaterThanOrEqual(390)
})
