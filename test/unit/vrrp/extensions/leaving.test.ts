/** Leaving (docs/architecture.md, Protocol decisions): silence, every address answered until the successor is there, and every way out. */
import { describe, expect, test } from 'vitest'
import type { Effect } from '../../../../src/vrrp/effect.ts'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import { type Leaving, nextDeadline } from '../../../../src/vrrp/state.ts'
import { type Address, address } from '../../../../src/wire/address.ts'
import { centis } from '../../../../src/wire/units.ts'
import {
  ABOVE,
  active,
  BELOW,
  backup,
  claimOf,
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
const keptUntil = (first: number | undefined, second: number | undefined): Leaving['kept'] => [
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
  /** The second priority 0 is out. */
  const quiet = leaving({ reason, repeatAt: undefined })

  test('the second priority 0 goes out at 2 ms, once', () => {
    expect(nextDeadline(begun)).toBe(2)
    expect(step(begun, tick, told, ms(1.9))).toEqual([begun, []])
    expect(step(begun, tick, told, ms(2))).toEqual([quiet, [{ kind: 'sendAdvertisement', priority: 0, reason }]])
    expect(nextDeadline(quiet)).toBe(2000)
    expect(step(quiet, tick, told, ms(3))).toEqual([quiet, []])
  })

  test('it does not go out when a successor was heard', () => {
    const [next, effects] = step(begun, heard(ABOVE, 100, 1), told, ms(1))
    expect(next).toEqual(
      leaving({ reason, repeatAt: undefined, successor: successor(ABOVE, 100, 1), kept: keptUntil(21, 21) }),
    )
    expect(effects).toEqual([])
    expect(step(next, tick, told, ms(2))).toEqual([next, []])
  })

  test('the successor speaks: addresses go 20 ms after its first advertisement', () => {
    const [first, none] = step(quiet, heard(BELOW, 1, 300, 200), told, ms(304))
    expect([first, none]).toEqual([
      { ...quiet, successor: successor(BELOW, 1, 300, 200), kept: keptUntil(320, 320) },
      [],
    ])
    expect(nextDeadline(first)).toBe(320)
    const [second] = step(first, heard(BELOW, 2, 310, 200), told, ms(310))
    expect(second).toEqual({ ...quiet, successor: successor(BELOW, 2, 310, 200), kept: keptUntil(320, 320) })
    expect(step(second, tick, told, ms(319))).toEqual([second, []])
  })

  test('in IPv6 they go 100 ms after it: until then the successor may not answer (docs/adr/0013)', () => {
    const [first] = step(quiet, heard(BELOW, 1, 300, 200), { ...told, family: 'ipv6' }, ms(304))
    expect(first).toMatchObject({ kept: keptUntil(400, 400) })
  })

  test('a claim takes one address 5 ms after it was heard, the others wait', () => {
    const [first, none] = step(quiet, claimOf(VIP, 300), told, ms(304))
    expect([first, none]).toEqual([{ ...quiet, kept: keptUntil(305, undefined) }, []])
    expect(nextDeadline(first)).toBe(305)
    const [second, off] = step(first, tick, told, ms(305))
    expect(second).toEqual({ ...quiet, kept: [{ address: VIP2, offAt: undefined }] })
    expect(off).toEqual([remove(VIP)])
    expect(nextDeadline(second)).toBe(2000)
  })

  test('all are claimed, nobody has spoken: the addresses go, the waiting goes on', () => {
    const claimed = { ...quiet, kept: keptUntil(305, 305) }
    expect(step(claimed, tick, told, ms(305))).toEqual([{ ...quiet, kept: [] }, [remove(VIP, VIP2)]])
  })

  test('the nearer of claim and advertisement counts; a repeated claim moves nothing', () => {
    const spoken = leaving({
      reason,
      repeatAt: undefined,
      successor: successor(ABOVE, 100, 300),
      kept: keptUntil(320, 320),
    })
    const [nearer] = step(spoken, claimOf(VIP, 301), told, ms(301))
    expect(nearer).toEqual({ ...spoken, kept: keptUntil(306, 320) })
    expect(step(nearer, claimOf(VIP, 304), told, ms(304))[0]).toEqual(nearer)
    const [late] = step(spoken, claimOf(VIP2, 319), told, ms(319))
    expect(late).toEqual(spoken)
  })

  test('a claim of an address that is not ours to keep changes nothing', () => {
    expect(step(quiet, claimOf(address('198.51.100.77'), 300), told, ms(300))).toEqual([quiet, []])
  })

  test('priority 0 and our own packets are no successor', () => {
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
  ] as const)('%s takes what is still kept at once; nothing is sent', (_name, event, fault) => {
    const half = { ...quiet, kept: [{ address: VIP2, offAt: undefined }] }
    expect(step(half, event, told, ms(300))).toEqual([
      initialize({ stopped: reason === 'shutdown', faults: [fault] }),
      [remove(VIP2), { kind: 'transition', from: 'Leaving', to: 'Initialize', reason: fault }],
    ])
    const none = { ...quiet, kept: [] }
    expect(step(none, event, told, ms(300))[1]).toEqual([
      { kind: 'transition', from: 'Leaving', to: 'Initialize', reason: fault },
    ])
  })

  test.each([
    ['startup', startup],
    ['yield', yielded],
    ['priorityChanged', priorityFrom(50)],
    ['faultCleared', linkUp],
  ])('%s does nothing', (_name, event) => {
    expect(step(quiet, event, told, ms(50_000))).toEqual([quiet, []])
  })

  test('an early tick does nothing, lost reception does not matter', () => {
    expect(step(quiet, tickAfterLoss, told, ms(1999))).toEqual([quiet, []])
  })
})

describe('the end of a shutdown', () => {
  const quiet = leaving({ repeatAt: undefined })

  test('the last address goes: Initialize', () => {
    const spoken = { ...quiet, successor: successor(ABOVE, 100, 300), kept: keptUntil(306, 320) }
    const [one, off] = step(spoken, tick, told, ms(306))
    expect([one, off]).toEqual([{ ...spoken, kept: [{ address: VIP2, offAt: ms(320) }] }, [remove(VIP)]])
    expect(step(one, tick, told, ms(320))).toEqual([
      initialize(),
      [remove(VIP2), { kind: 'transition', from: 'Leaving', to: 'Initialize', reason: 'successorHeard' }],
    ])
  })

  test('nobody follows: at `until` the addresses go all the same', () => {
    expect(step(quiet, tick, told, ms(2000))).toEqual([
      initialize(),
      [remove(VIP, VIP2), { kind: 'transition', from: 'Leaving', to: 'Initialize', reason: 'noSuccessor' }],
    ])
  })

  test('a successor that has spoken keeps `until` from cutting its 20 ms short', () => {
    const late = { ...quiet, successor: successor(ABOVE, 100, 1995), kept: keptUntil(2015, 2015) }
    expect(nextDeadline(late)).toBe(2015)
    expect(step(late, tick, told, ms(2001))).toEqual([late, []])
  })

  test('all claimed before anybody spoke: the first advertisement ends it', () => {
    const claimed = { ...quiet, kept: [] }
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

  test('the last address goes: Backup behind the successor, from when it was last heard', () => {
    const spoken = { ...quiet, successor: successor(ABOVE, 100, 310, 200), kept: keptUntil(320, 320) }
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

  test('when packets were lost the successor has its whole interval from now', () => {
    const spoken = { ...quiet, successor: successor(ABOVE, 100, 310), kept: keptUntil(320, 320) }
    expect(step(spoken, tickAfterLoss, low, ms(9000))[0]).toEqual(
      backup({
        enteredAt: ms(9000),
        activeDownAt: ms(12_996.09375),
        active: { source: ABOVE, priority: 100, heardAt: ms(9000) },
        holderChangedAt: ms(9000),
      }),
    )
    // Without loss it has been silent for too long: the next tick decides.
    const [late] = step(spoken, tick, low, ms(9000))
    expect(nextDeadline(late)).toBe(4306.09375)
  })

  test('version 2 keeps its own interval', () => {
    const old = parameters('holdfast', { priority: 1, version: 2 })
    const spoken = { ...quiet, successor: successor(ABOVE, 100, 310, 200), kept: keptUntil(320, 320) }
    const [next] = step(spoken, tick, old, ms(320))
    expect(next.name === 'Backup' && [next.activeAdverInterval, next.activeDownAt]).toEqual([100, 4306.09375])
  })

  test('all claimed before anybody spoke: the first advertisement ends it', () => {
    const [next, effects] = step({ ...quiet, kept: [] }, heard(ABOVE, 100, 900), low, ms(905))
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

  test('nobody follows: Active again, advertisement, addresses, announcement', () => {
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

  test('SIGTERM turns it into a shutdown', () => {
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

  test('two intervals', () => {
    expect(enter({ advertisementInterval: centis(10) })).toEqual(leaving({ until: ms(500), repeatAt: ms(302) }))
  })

  test('and the stagger of the slowest peer', () => {
    const peers = [{ address: ABOVE }, { address: BELOW }]
    // Two peers at 3 ms each; at 10 ms advertisements the step is 10 / (2 × 2) = 2.5 ms.
    expect(enter({ peers })).toEqual(leaving({ until: ms(2306), repeatAt: ms(302) }))
    expect(enter({ peers, advertisementInterval: centis(1) })).toEqual(leaving({ until: ms(325), repeatAt: ms(302) }))
  })

  test('at most 10 s', () => {
    expect(enter({ advertisementInterval: centis(500) })).toEqual(leaving({ until: ms(10_300), repeatAt: ms(302) }))
    expect(enter({ advertisementInterval: centis(499) })).toEqual(leaving({ until: ms(10_280), repeatAt: ms(302) }))
    expect(enter({ advertisementInterval: centis(4095), peers: [{ address: OTHER }] })).toEqual(
      leaving({ until: ms(10_300), repeatAt: ms(302) }),
    )
  })
})
