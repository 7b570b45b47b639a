import { describe, expect, test } from 'vitest'
import {
  type BootstrapGuard,
  type BootstrapLook,
  looked,
  startBootstrapGuard,
} from '../../../src/cluster/decisions/bootstrap-guard.ts'
import { clusterCases } from '../../support/cluster-cases.ts'

type Look = { readonly apiReadyz200: boolean; readonly ironicAnswers: boolean }

const MINUTE = 60_000
const DOWN: BootstrapLook = { apiReady: false, ironicAnswers: false }
const UP: BootstrapLook = { apiReady: true, ironicAnswers: false }
const IRONIC: BootstrapLook = { apiReady: false, ironicAnswers: true }

/** A guard whose API was ready before. */
const WATCHING: BootstrapGuard = { waitsUntil: undefined, misses: 0, nextLookAt: 0 }

/** Returns the order of each check; the guard decides the time of the next one. */
function play(looks: readonly BootstrapLook[], begin = { guard: WATCHING, now: 0 }) {
  let { guard, now } = begin
  const orders = looks.map((look) => {
    now = Math.max(now, guard.nextLookAt)
    const step = looked(guard, look, now)
    guard = step.guard
    return step.order
  })
  return { guard, now, orders }
}

describe('the bootstrap guard of dynkeepalived', () => {
  test.each(
    clusterCases<{ polls: readonly Look[] }, readonly string[][]>('bootstrapGuard').map(
      (one) => [one.id, one] as const,
    ),
  )('%s', (_, { input, expect: wanted }) => {
    const looks = input.polls.map(({ apiReadyz200, ironicAnswers }) => ({ apiReady: apiReadyz200, ironicAnswers }))
    expect(play(looks).orders.map((order) => (order === undefined ? [] : [order]))).toEqual(wanted)
  })
})

describe('the bootstrap guard', () => {
  test('the guard waits half an hour for the first ready API', () => {
    let guard = startBootstrapGuard(0)
    let now = 0
    for (let i = 0; i < 599; i++) {
      const step = looked(guard, DOWN, now)
      expect(step.order, `at ${now}`).toBeUndefined()
      guard = step.guard
      now = guard.nextLookAt
    }
    expect([now, guard.misses]).toEqual([29 * MINUTE + 57_000, 0])
    // After this moment silence counts.
    const { orders, now: stoppedAt } = play([DOWN, DOWN, DOWN, DOWN, DOWN, DOWN], { guard, now })
    expect(orders).toEqual([undefined, undefined, undefined, undefined, undefined, 'stop'])
    expect(stoppedAt).toBe(30 * MINUTE + 4_000)
  })

  test('the guard stops waiting at the first answer', () => {
    const { orders } = play([DOWN, UP, DOWN, DOWN, DOWN, DOWN, DOWN], { guard: startBootstrapGuard(0), now: 0 })
    expect(orders.slice(0, -1).every((order) => order === undefined)).toBe(true)
    expect(orders.at(-1)).toBe('stop')
  })

  test('the guard orders stop again after a pause, and reload when the API is back', () => {
    const { guard, orders, now } = play([DOWN, DOWN, DOWN, DOWN, DOWN, DOWN, IRONIC, UP, UP])
    expect(orders.slice(4)).toEqual(['stop', 'stop', 'stop', 'reload', undefined])
    // The fifth check is at 4 s; then there is a pause of 5 s after each order.
    expect([now, guard.nextLookAt]).toEqual([24_000, 25_000])
  })

  test('an answer of Ironic neither counts nor resets', () =>
    expect(play([DOWN, DOWN, IRONIC, DOWN, IRONIC, DOWN, DOWN]).orders.at(-1)).toBe('stop'))

  test('a guard that starts stopped orders stop at its first check, and reload with the first ready API', () => {
    const begin = { guard: startBootstrapGuard(1_000, true), now: 1_000 }
    expect(play([DOWN, IRONIC, UP, UP], begin).orders).toEqual(['stop', 'stop', 'reload', undefined])
    expect(play([UP], begin).orders).toEqual(['reload'])
    expect(play([DOWN], { guard: startBootstrapGuard(1_000), now: 1_000 }).orders).toEqual([undefined])
  })
})
