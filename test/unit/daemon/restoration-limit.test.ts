/** How often an address is restored before there is a pause, and the length of the pause. */
import { expect, test } from 'vitest'
import { MOST_RESTORATIONS, RestorationLimit } from '../../../src/daemon/addresses/restoration-limit.ts'
import { address } from '../../../src/wire/address.ts'
import { millis } from '../../../src/wire/units.ts'

const VIP = address('192.0.2.100')
const OTHER = address('192.0.2.101')

/** Asks for `count` restorations, `spacing` ms apart. Returns how many were allowed, and the time of the last. */
function storm(limit: RestorationLimit, from: number, count: number, spacing = 10, target = VIP) {
  let granted = 0
  for (let i = 0; i < count; i++) if (limit.allow(target, millis(from + i * spacing))) granted++
  return granted
}

/** Returns the lengths of the pauses when another removal follows each pause immediately. */
function pauses(limit: RestorationLimit, from: number, count: number): number[] {
  let now = from
  return Array.from({ length: count }, () => {
    while (limit.allow(VIP, millis(now))) now += 1
    const { until = millis(0) } = limit.pause ?? {}
    const length = until - now
    expect(limit.takeEnd(millis(until - 1))).toBe(false)
    expect(limit.takeEnd(until)).toBe(true)
    now = until
    return length
  })
}

test('many restorations in a minute cause a pause, and slower ones never do', () => {
  expect(storm(new RestorationLimit(), 1_000, 100)).toBe(MOST_RESTORATIONS)
  expect(storm(new RestorationLimit(), 1_000, 500, 60_000 / MOST_RESTORATIONS + 1)).toBe(500)
})

test('during a pause no address of the router is restored', () => {
  const limit = new RestorationLimit()
  storm(limit, 1_000, MOST_RESTORATIONS + 1, 0)
  expect(limit.pause).toEqual({ address: VIP, until: 2_000 })
  expect(limit.allow(OTHER, millis(1_500))).toBe(false)
})

test('each address has its own count of restorations', () => {
  const limit = new RestorationLimit()
  expect([storm(limit, 1_000, MOST_RESTORATIONS), storm(limit, 1_000, MOST_RESTORATIONS, 10, OTHER)]).toEqual([
    MOST_RESTORATIONS,
    MOST_RESTORATIONS,
  ])
})

test('pauses double from a second to a minute', () => {
  expect(pauses(new RestorationLimit(), 1_000, 9)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((s) => s * 1_000))
})

test('after a quiet minute the first pause is short again, and a pause is not a quiet time', () => {
  const limit = new RestorationLimit()
  pauses(limit, 1_000, 3)
  expect(pauses(limit, 8_000 + 59_000, 1)[0], '59 s later').toBeGreaterThan(1_000)
  expect(pauses(limit, 200_000, 1), 'minutes later').toEqual([1_000])
})
