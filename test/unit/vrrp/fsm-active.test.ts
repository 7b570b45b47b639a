/** RFC 9568 §6.4.3: each line and every other event. */
import { describe, expect, test } from 'vitest'
import type { Effect } from '../../../src/vrrp/effect.ts'
import { extendedStep as step } from '../../../src/vrrp/extensions/index.ts'
import { nextDeadline, repeatedUntil } from '../../../src/vrrp/state.ts'
import { address } from '../../../src/wire/address.ts'
import { centis } from '../../../src/wire/units.ts'
import {
  ABOVE,
  active,
  announcementIn,
  BELOW,
  backup,
  heard,
  initialize,
  leaving,
  linkUp,
  ms,
  PROFILES,
  parameters,
  SELF,
  shutdown,
  startup,
  tick,
  tickAfterLoss,
  VIP,
  VIPS,
} from './fsm-fixture.ts'

const removed: Effect = { kind: 'removeAddresses', addresses: VIPS }

describe.each(PROFILES)('Active, %s', (profile) => {
  const told = parameters(profile)

  test('an Active has the deadline Adver_Timer', () => {
    expect(nextDeadline(active())).toBe(1000)
  })

  test('(680) at the deadline an Active advertises once, and the next time is on the same grid', () => {
    expect(step(active(), tick, told, ms(1007))).toEqual([
      active({ adverAt: ms(2000) }),
      [{ kind: 'sendAdvertisement', priority: 128, reason: 'periodic' }],
    ])
    expect(step(active(), tick, told, ms(1000))[0]).toEqual(active({ adverAt: ms(2000) }))
  })

  test('(680) advertisements that a stall left out are not sent later, and lost packets do not matter', () => {
    expect(step(active(), tickAfterLoss, told, ms(4321))).toEqual([
      active({ adverAt: ms(5000) }),
      [{ kind: 'sendAdvertisement', priority: 128, reason: 'periodic' }],
    ])
  })

  test('(680) rounding of clock values never gives the same tick twice', () => {
    const fast = parameters(profile, { advertisementInterval: centis(1) })
    // As doubles, their difference is less than 500 × 10 ms, and the sum of 500 intervals is not later than the second.
    const previous = ms(6029.427083333333)
    const now = ms(11_029.427083333332)
    const [next] = step(active({ adverAt: previous }), tick, fast, now)
    expect(nextDeadline(next), 'the next deadline').toBeCloseTo(11_039.427, 3)
  })

  test('(680) an early tick does nothing in Active', () => {
    expect(step(active(), tick, told, ms(999.999))).toEqual([active(), []])
  })

  test('(705) an Active answers priority 0 of any router and restarts Adver_Timer', () => {
    // A Backup sends nothing, so the sender was Active beside us and has misled clients (docs/adr/0007).
    const announced: Effect[] = profile === 'holdfast' ? [{ kind: 'announce', reason: 'competingActive' }] : []
    for (const source of [ABOVE, BELOW]) {
      const asserted = [{ to: 'release' as const, source, at: ms(410) }]
      const remembered =
        profile === 'holdfast' ? { asserted, announcedOverAt: ms(410), announcementsPaidAt: ms(460) } : {}
      expect(step(active(), heard(source, 0, 400, 4095), told, ms(410))).toEqual([
        active({ adverAt: ms(1410), ...remembered }),
        [{ kind: 'sendAdvertisement', priority: 128, reason: 'priorityZeroHeard' }, ...announced],
      ])
    }
  })

  test.each([
    ['(725) higher priority', BELOW, 129, 'higherPriorityHeard'],
    ['(735) equal priority, greater address', ABOVE, 128, 'higherAddressHeard'],
  ] as const)(
    '%s: the addresses are removed, and the router is Backup with interval and time of the packet',
    (_name, source, priority, reason) => {
      // The last advertisement comes after the addresses are off (docs/architecture.md, Competing Actives); the RFC has none. Read 30 ms late:
      // too late to wait for the winner's announcement (extensions/grace-period.test.ts).
      const last: Effect[] =
        profile === 'holdfast' ? [{ kind: 'sendAdvertisement', priority: 128, reason: 'lost' }] : []
      expect(step(active(), heard(source, priority, 300, 200), told, ms(330))).toEqual([
        backup({
          enteredAt: ms(330),
          activeAdverInterval: centis(200),
          activeDownAt: ms(7300),
          active: { source, priority, heardAt: ms(300) },
          holderChangedAt: ms(330),
        }),
        [removed, ...last, { kind: 'transition', from: 'Active', to: 'Backup', reason, peer: source }],
      ])
    },
  )

  test('(725) Preempt_Mode is not considered (VR-FSM-26); version 2 learns no interval', () => {
    const old = parameters(profile, { version: 2, preempt: false, knobs: { keepUntilClaimed: false } })
    const [next] = step(active(), heard(ABOVE, 200, 300, 200), old, ms(300))
    expect(next).toEqual(
      backup({
        enteredAt: ms(300),
        activeDownAt: ms(3800),
        active: { source: ABOVE, priority: 200, heardAt: ms(300) },
        holderChangedAt: ms(300),
      }),
    )
  })

  test.each([
    ['200.0.0.1', '100.64.0.1', 'Backup'],
    ['9.255.255.255', '10.0.0.1', 'Active'],
    ['10.0.0.10', '10.0.0.9', 'Backup'],
    ['fe80::a', 'fe80::10', 'Active'],
    ['fe80::1:0', 'fe80::10', 'Backup'],
  ])('(735), (775) %s heard by %s → %s: unsigned, in network order', (source, own, expected) => {
    const us = parameters(profile, { primaryAddress: address(own) })
    expect(step(active(), heard(address(source), 128, 300), us, ms(300))[0].name).toBe(expected)
  })

  test.each([
    ['(775) equal priority, smaller address', BELOW, 128, 'lower-address'],
    ['(775) lower priority', ABOVE, 127, 'lower-priority'],
  ] as const)(
    '%s: the packet is refused and answered immediately, and Adver_Timer does not change',
    (_name, source, priority, reason) => {
      const announced: Effect[] = profile === 'holdfast' ? [{ kind: 'announce', reason: 'competingActive' }] : []
      const remembered =
        profile === 'holdfast'
          ? {
              asserted: [{ to: 'competing' as const, source, at: ms(320) }],
              announcedOverAt: ms(320),
              announcementsPaidAt: ms(370),
            }
          : {}
      expect(step(active(), heard(source, priority, 300), told, ms(320))).toEqual([
        active(remembered),
        [
          { kind: 'refused', reason, source },
          { kind: 'sendAdvertisement', priority: 128, reason: 'competingActiveHeard' },
          ...announced,
        ],
      ])
    },
  )

  test.each([0, 128, 255])('priority %i from our own address is not answered (VR-RX-16)', (priority) => {
    expect(step(active(), heard(SELF, priority, 300), told, ms(300))).toEqual([
      active(),
      [{ kind: 'refused', reason: 'self-originated', source: SELF }],
    ])
  })

  test('between two owners the address decides (EID 8298)', () => {
    const owner = parameters(profile, { priority: 255 })
    expect(step(active(), heard(ABOVE, 255, 300), owner, ms(300))[0]).toEqual(
      backup({
        enteredAt: ms(300),
        // Skew_Time of 255: 3.90625 ms.
        activeDownAt: ms(3303.90625),
        active: { source: ABOVE, priority: 255, heardAt: ms(300) },
        holderChangedAt: ms(300),
      }),
    )
    expect(step(active(), heard(BELOW, 255, 300), owner, ms(300))[0].name).toBe('Active')
    expect(step(active(), heard(ABOVE, 254, 300), owner, ms(300))[0].name).toBe('Active')
  })

  test.each([
    ['startup', startup],
    ['announcementHeard', announcementIn(VIP, 300)],
    ['faultCleared', linkUp],
  ])('%s does nothing in Active', (_name, event) => {
    expect(step(active(), event, told, ms(50_000))).toEqual([active(), []])
  })
})

const atOnce: Effect[] = [
  { kind: 'sendAdvertisement', priority: 0, reason: 'shutdown' },
  removed,
  { kind: 'transition', from: 'Active', to: 'Initialize', reason: 'shutdown' },
]

describe('(655) shutdown', () => {
  test('with profile rfc9568 a shutdown sends priority 0, removes the addresses and enters Initialize', () => {
    expect(step(active(), shutdown, parameters('rfc9568'), ms(300))).toEqual([initialize(), atOnce])
  })

  test('with profile holdfast a shutdown sends priority 0 and enters Leaving with every address', () => {
    expect(step(active(), shutdown, parameters('holdfast'), ms(300))).toEqual([
      leaving({ until: ms(2300), repeatAt: ms(302) }),
      [
        { kind: 'sendAdvertisement', priority: 0, reason: 'shutdown' },
        { kind: 'transition', from: 'Active', to: 'Leaving', reason: 'shutdown' },
      ],
    ])
  })

  test('a shutdown without a possible successor ends immediately, as for an owner or an empty peer list', () => {
    const owner = parameters('holdfast', { priority: 255 })
    expect(step(active(), shutdown, owner, ms(300))).toEqual([initialize(), atOnce])
    const alone = parameters('holdfast', { transport: { mode: 'unicast', peers: [] } })
    expect(step(active(), shutdown, alone, ms(300))).toEqual([initialize(), atOnce])
    const paired = parameters('holdfast', { transport: { mode: 'unicast', peers: [{ address: ABOVE }] } })
    expect(step(active(), shutdown, paired, ms(300))[0].name).toBe('Leaving')
  })
})

test('a round of a clock before Adver_Timer moves nothing, and a later one moves Adver_Timer to the next time of the grid', () => {
  const state = active({ adverAt: ms(1_000) })
  expect(repeatedUntil(state, ms(900), centis(100))).toBe(state)
  expect(repeatedUntil(state, ms(2_000), centis(100)).adverAt).toBe(3_000)
})
