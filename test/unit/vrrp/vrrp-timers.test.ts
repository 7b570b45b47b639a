/** The stagger of equal routers; the timers of RFC 9568 §6.1 have their vectors. */
import { describe, expect, test } from 'vitest'
import { staggerDelay, staggerStep } from '../../../src/vrrp/extensions/stagger.ts'
import { activeDownInterval } from '../../../src/vrrp/timers.ts'
import { address } from '../../../src/wire/address.ts'
import { centis } from '../../../src/wire/units.ts'
import { parametersFor } from '../../support/parameters.ts'

const peer = (last: number, priority?: number) => ({
  address: address(`192.0.2.${last}`),
  ...(priority === undefined ? {} : { priority }),
})
/** We are 192.0.2.2, priority 100. */
const delay = (over: Parameters<typeof parametersFor>[0], interval = 100, last?: string) =>
  staggerDelay(parametersFor(over), centis(interval), last === undefined ? undefined : address(last))

describe('staggerDelay', () => {
  test('the rank is the number of peers with a higher address', () => {
    expect(delay({ peers: [peer(1), peer(3)] })).toBe(3)
    expect(delay({ peers: [peer(1)] })).toBe(0)
    expect(delay({ peers: [peer(3), peer(4), peer(10)] })).toBe(9)
  })
  test('the last Active does not count for the rank', () => {
    expect(delay({ peers: [peer(3), peer(4)] }, 100, '192.0.2.4')).toBe(3)
    expect(delay({ peers: [peer(3), peer(4)] }, 100, '192.0.2.9')).toBe(6)
  })
  test('with listed priorities only equal peers count', () => {
    expect(delay({ peers: [peer(3, 100), peer(4, 90), peer(5)] })).toBe(3)
    expect(delay({ peers: [peer(3, 90)] })).toBe(0)
  })
  test('the stagger is 0 if it is off, without preemption, for an owner, and without peers', () => {
    const peers = [peer(3)]
    expect(delay({ peers, knobs: { stagger: false } })).toBe(0)
    expect(delay({ peers, preempt: false })).toBe(0)
    expect(delay({ peers, priority: 255 })).toBe(0)
    expect(delay({ peers: [] })).toBe(0)
    expect(delay({ peers, profile: 'rfc9568' })).toBe(0)
  })
  test('the step shrinks so that the last in rank waits at most half an interval', () => {
    expect(staggerStep(centis(1), 2)).toBe(2.5)
    expect(staggerStep(centis(1), 1)).toBe(3)
    expect(staggerStep(centis(100), 0)).toBe(0)
    const peers = Array.from({ length: 20 }, (_, i) => peer(3 + i))
    expect(delay({ peers }, 1)).toBe(5)
  })
})

test('no two priorities share an Active_Down_Interval, down to 10 ms advertisements (VR-TM-02)', () => {
  for (const interval of [1, 10, 100, 4095]) {
    const all = Array.from({ length: 255 }, (_, i) => activeDownInterval(i + 1, centis(interval), 3))
    expect(new Set(all).size, `${interval} cs`).toBe(255)
  }
})
