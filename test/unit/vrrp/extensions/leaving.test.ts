/**
 * Leaving (docs/architecture.md, Protocol decisions): the router sends nothing more, answers for every address until
 * the successor is there, and ends in each possible way.
 */
import { describe, expect, test } from 'vitest'
import type { Effect } from '../../../../src/vrrp/effect.ts'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import { type Leaving, nextDeadline } from '../../../../src/vrrp/state.ts'
import { type Address, address } from '../../../../src/wire/address.ts'
import { centis } from '../../../../src/wire/units.ts'
import {
  ABOVE,
  active,
  announcementIn,
  BELOW,
  backup,
  heard,
  initialize,
  installFailed,
  leaving,
  linkDown,
  linkUp,
  ms,
  OTHER,
  parameters,
  priorityFrom,
  SELF,
  shutdown,
  startup,
  tick,
  tickAfterLoss,
  VIP,
  VIP2,
  VIPS,
  yielded,
} from '../fsm-fixture.ts'

const told = parameters('holdfast')
const REASONS = ['shutdown', 'yield'] as const

/** `offAt` of both addresses. */
const answeredUntil = (first: number | undefined, second: number | undefined): Leaving['stillAnswered'] => [
  { address: VIP, offAt: first === undefined ? undefined : ms(first) },
  { address: VIP2, offAt: second === undefined ? undefined : ms(second) },
]
const successor = (source: Address, priority: number, at: number, interval = 100) => ({
  source,
  priority,
  heardAt: ms(at),
  interval: centis(interval),
})
const remove = (...addresses: Address[]): Effect => ({ kind: 'removeAddresses', addresses })

describe.each(REASONS)('Leaving for %s', (reason) => {
  const begun = leaving({ reason })
  /** At this time the second priority 0 was sent. */
  const quiet = leaving({ reason, repeatAt: undefined })

  test('a router in Leaving sends a second priority 0 after 2 ms, once', () => {
    expect(nextDeadline(begun)).toBe(2)
    expect(step(begun, tick, told, ms(1.9))).toEqual([begun, []])
    expect(step(begun, tick, told, ms(2))).toEqual([quiet, [{ kind: 'sendAdvertisement', priority: 0, reason }]])
    expect(nextDeadline(quiet)).toBe(2000)
    expect(step(quiet, tick, told, ms(3))).toEqual([quiet, []])
  })

  test('a router in Leaving sends no second priority 0 after its successor has advertised', () => {
    const [next, effects] = step(begun, heard(ABOVE, 100, 1), told, ms(1))
    expect(next).toEqual(
      leaving({
        reason,
        repeatAt: undefined,
        successor: successor(ABOVE, 100, 1),
        stillAnswered: answeredUntil(21, 21),
      }),
    )
    expect(effects).toEqual([])
    expect(step(next, tick, told, ms(2))).toEqual([next, []])
  })

  test('a router in Leaving removes its addresses 20 ms after the first advertisement of the successor', () => {
    const [first, none] = step(quiet, heard(BELOW, 1, 300, 200), told, ms(304))
    expect([first, none]).toEqual([
      { ...quiet, successor: successor(BELOW, 1, 300, 200), stillAnswered: answeredUntil(320, 320) },
      [],
    ])
    expect(nextDeadline(first)).toBe(320)
    const [second] = step(first, heard(BELOW, 2, 310, 200), told, ms(310))
    expect(second).toEqual({
      ...quiet,
      successor: successor(BELOW, 2, 310, 200),
      stillAnswered: answeredUntil(320, 320),
    })
    expect(step(second, tick, told, ms(319))).toEqual([second, []])
  })

  test('a router in Leaving removes IPv6 addresses 100 ms after the successor’s advertisement (docs/adr/0013)', () => {
    const [first] = step(quiet, heard(BELOW, 1, 300, 200), { ...told, family: 'ipv6' }, ms(304))
    expect(first).toMatchObject({ stillAnswered: answeredUntil(400, 400) })
  })

  test('an announcement of the successor removes that address after 5 ms, and the others stay', () => {
    const [first, none] = step(quiet, announcementIn(VIP, 300), told, ms(304))
    expect([first, none]).toEqual([{ ...quiet, stillAnswered: answeredUntil(305, undefined) }, []])
    expect(nextDeadline(first)).toBe(305)
    const [second, off] = step(first, tick, told, ms(305))
    expect(second).toEqual({ ...quiet, stillAnswered: [{ address: VIP2, offAt: undefined }] })
    expect(off).toEqual([remove(VIP)])
    expect(nextDeadline(second)).toBe(2000)
  })

  test('after all addresses were announced they are removed, and Leaving waits for an advertisement', () => {
    const claimed = { ...quiet, stillAnswered: answeredUntil(305, 305) }
    expect(step(claimed, tick, told, ms(305))).toEqual([{ ...quiet, stillAnswered: [] }, [remove(VIP, VIP2)]])
  })

  test('the earlier of announcement and advertisement decides, and a repeated announcement changes nothing', () => {
    const spoken = leaving({
      reason,
      repeatAt: undefined,
      successor: successor(ABOVE, 100, 300),
      stillAnswered: answeredUntil(320, 320),
    })
    const [nearer] = step(spoken, announcementIn(VIP, 301), told, ms(301))
    expect(nearer).toEqual({ ...spoken, stillAnswered: answeredUntil(306, 320) })
    expect(step(nearer, announcementIn(VIP, 304), told, ms(304))[0]).toEqual(nearer)
    const [late] = step(spoken, announcementIn(VIP2, 319), told, ms(319))
    expect(late).toEqual(spoken)
  })

  test('an announcement of another address changes nothing in Leaving', () => {
    expect(step(quiet, announcementIn(address('198.51.100.77'), 300), told, ms(300))).toEqual([quiet, []])
  })

  test('priority 0 and our own packets do not count as a successor', () => {
    expect(step(quiet, heard(ABOVE, 0, 300), told, ms(300))).toEqual([
      quiet,
      [{ kind: 'refused', reason: 'leaving', source: ABOVE }],
    ])
    expect(step(quiet, heard(SELF, 128, 300), told, ms(300))).toEqual([
      quiet,
      [{ kind: 'refused', reason: 'self-originated', source: SELF }],
    ])
  })

  test.each([
    ['link down', linkDown, 'linkDown'],
    ['address not installed', installFailed, 'addressInstallFailed'],
  ] as const)('%s removes the remaining addresses immediately, and nothing is sent', (_name, event, fault) => {
    const half = { ...quiet, stillAnswered: [{ address: VIP2, offAt: undefined }] }
    expect(step(half, event, told, ms(300))).toEqual([
      initialize({ stopped: reason === 'shutdown', faults: [fault] }),
      [remove(VIP2), { kind: 'transition', from: 'Leaving', to: 'Initialize', reason: fault }],
    ])
    const none = { ...quiet, stillAnswered: [] }
    expect(step(none, event, told, ms(300))[1]).toEqual([
      { kind: 'transition', from: 'Leaving', to: 'Initialize', reason: fault },
    ])
  })

  test.each([
    ['startup', startup],
    ['yield', yielded],
    ['priorityChanged', priorityFrom(50)],
    ['faultCleared', linkUp],
  ])('%s does nothing in Leaving', (_name, event) => {
    expect(step(quiet, event, told, ms(50_000))).toEqual([quiet, []])
  })

  test('an early tick and lost packets change nothing in Leaving', () => {
    expect(step(quiet, tickAfterLoss, told, ms(1999))).toEqual([quiet, []])
  })
})

describe('the end of a shutdown', () => {
  const quiet = leaving({ repeatAt: undefined })

  test('a shutdown ends in Initialize when the last address is removed', () => {
    const spoken = { ...quiet, successor: successor(ABOVE, 100, 300), stillAnswered: answeredUntil(306, 320) }
    const [one, off] = step(spoken, tick, told, ms(306))
    expect([one, off]).toEqual([{ ...spoken, stillAnswered: [{ address: VIP2, offAt: ms(320) }] }, [remove(VIP)]])
    expect(step(one, tick, told, ms(320))).toEqual([
      initialize(),
      [remove(VIP2), { kind: 'transition', from: 'Leaving', to: 'Initialize', reason: 'successorHeard' }],
    ])
  })

  test('a shutdown without a successor removes the addresses at `until`', () => {
    expect(step(quiet, tick, told, ms(2000))).toEqual([
      initialize(),
      [remove(VIP, VIP2), { kind: 'transition', from: 'Leaving', to: 'Initialize', reason: 'noSuccessor' }],
    ])
  })

  test('after an advertisement of the successor `until` does not shorten its 20 ms', () => {
    const late = { ...quiet, successor: successor(ABOVE, 100, 1995), stillAnswered: answeredUntil(2015, 2015) }
    expect(nextDeadline(late)).toBe(2015)
    expect(step(late, tick, told, ms(2001))).toEqual([late, []])
  })

  test('after all addresses were announced, the first advertisement of the successor ends Leaving', () => {
    const claimed = { ...quiet, stillAnswered: [] }
    expect(nextDeadline(claimed)).toBe(2000)
    expect(step(claimed, heard(ABOVE, 100, 900), told, ms(900))).toEqual([
      initialize(),
      [{ kind: 'transition', from: 'Leaving', to: 'Initialize', reason: 'successorHeard' }],
    ])
    expect(step(claimed, tick, told, ms(2000))[1]).toEqual([
      { kind: 'transition', from: 'Leaving', to: 'Initialize', reason: 'noSuccessor' },
    ])
  })
})

describe('the end of a yield', () => {
  // The caller has lowered the effective priority: Skew_Time of 1 at 100 cs is 996.09375 ms.
  const low = parameters('holdfast', { priority: 1 })
  const quiet = leaving({ reason: 'yield', repeatAt: undefined })

  test('a yield ends in Backup behind the successor, from its last advertisement', () => {
    const spoken = { ...quiet, successor: successor(ABOVE, 100, 310, 200), stillAnswered: answeredUntil(320, 320) }
    expect(step(spoken, tick, low, ms(321))).toEqual([
      backup({
        enteredAt: ms(321),
        activeAdverInterval: centis(200),
        activeDownAt: ms(8302.1875),
        active: { source: ABOVE, priority: 100, heardAt: ms(310) },
        holderChangedAt: ms(321),
      }),
      [remove(...VIPS), { kind: 'transition', from: 'Leaving', to: 'Backup', reason: 'successorHeard', peer: ABOVE }],
    ])
  })

  test('after lost packets the successor has its whole interval from now', () => {
    const spoken = { ...quiet, successor: successor(ABOVE, 100, 310), stillAnswered: answeredUntil(320, 320) }
    expect(step(spoken, tickAfterLoss, low, ms(9000))[0]).toEqual(
      backup({
        enteredAt: ms(9000),
        activeDownAt: ms(12_996.09375),
        active: { source: ABOVE, priority: 100, heardAt: ms(9000) },
        holderChangedAt: ms(9000),
      }),
    )
    // Without the loss the successor has been silent for too long, and the next tick decides.
    const [late] = step(spoken, tick, low, ms(9000))
    expect(nextDeadline(late)).toBe(4306.09375)
  })

  test('in version 2 a yield ends with the router’s own interval', () => {
    const old = parameters('holdfast', { priority: 1, version: 2 })
    const spoken = { ...quiet, successor: successor(ABOVE, 100, 310, 200), stillAnswered: answeredUntil(320, 320) }
    const [next] = step(spoken, tick, old, ms(320))
    expect(next.name === 'Backup' && [next.activeAdverInterval, next.activeDownAt]).toEqual([100, 4306.09375])
  })

  test('after all addresses were announced, the first advertisement of the successor ends Leaving', () => {
    const [next, effects] = step({ ...quiet, stillAnswered: [] }, heard(ABOVE, 100, 900), low, ms(905))
    expect(next).toEqual(
      backup({
        enteredAt: ms(905),
        activeDownAt: ms(4896.09375),
        active: { source: ABOVE, priority: 100, heardAt: ms(900) },
        holderChangedAt: ms(905),
      }),
    )
    expect(effects).toEqual([
      { kind: 'transition', from: 'Leaving', to: 'Backup', reason: 'successorHeard', peer: ABOVE },
    ])
  })

  test('a yield without a successor ends in Active with advertisement, addresses and announcement', () => {
    expect(step(quiet, tick, low, ms(2000))).toEqual([
      active({ since: ms(2000), adverAt: ms(3000) }),
      [
        { kind: 'sendAdvertisement', priority: 1, reason: 'noSuccessor' },
        { kind: 'installAddresses' },
        { kind: 'announce', reason: 'takeover' },
        { kind: 'transition', from: 'Leaving', to: 'Active', reason: 'noSuccessor' },
      ],
    ])
  })

  test('a shutdown during a yield turns it into a shutdown', () => {
    const begun = leaving({ reason: 'yield' })
    const [turned, none] = step(begun, shutdown, low, ms(1))
    expect([turned, none]).toEqual([leaving(), []])
    expect(step(turned, tick, low, ms(2))[1]).toEqual([{ kind: 'sendAdvertisement', priority: 0, reason: 'shutdown' }])
    expect(step(turned, tick, low, ms(2000))[0]).toEqual(initialize())
  })
})

describe('how long Leaving lasts', () => {
  const enter = (overrides: Parameters<typeof parameters>[1]) =>
    step(active(), shutdown, parameters('holdfast', overrides), ms(300))[0]

  test('Leaving lasts two intervals without a successor', () => {
    expect(enter({ advertisementInterval: centis(10) })).toEqual(leaving({ until: ms(500), repeatAt: ms(302) }))
  })

  test('Leaving lasts longer by the stagger of the slowest peer', () => {
    const peers = [{ address: ABOVE }, { address: BELOW }]
    // With two peers the step is 3 ms; at 10 ms advertisements the step is 10 / (2 × 2) = 2.5 ms.
    expect(enter({ peers })).toEqual(leaving({ until: ms(2306), repeatAt: ms(302) }))
    expect(enter({ peers, advertisementInterval: centis(1) })).toEqual(leaving({ until: ms(325), repeatAt: ms(302) }))
  })

  test('Leaving lasts at most 10 s', () => {
    expect(enter({ advertisementInterval: centis(500) })).toEqual(leaving({ until: ms(10_300), repeatAt: ms(302) }))
    expect(enter({ advertisementInterval: centis(499) })).toEqual(leaving({ until: ms(10_280), repeatAt: ms(302) }))
    expect(enter({ advertisementInterval: centis(4095), peers: [{ address: OTHER }] })).toEqual(
      leaving({ until: ms(10_300), repeatAt: ms(302) }),
    )
  })
})
