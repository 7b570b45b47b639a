/**
 * Lines (725) and (735) with `keepUntilClaimed` (docs/adr/0045): a router that has lost is a Backup in all that it
 * sends and decides, and answers until the winner has announced itself.
 */
import { describe, expect, test } from 'vitest'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import { profileKnobs } from '../../../../src/vrrp/profile.ts'
import { type Backup, nextDeadline } from '../../../../src/vrrp/state.ts'
import {
  ABOVE,
  active,
  announcementIn,
  backup,
  heard,
  initialize,
  linkDown,
  ms,
  OTHER,
  parameters,
  SKEW,
  shutdown,
  tick,
  VIP,
  VIP2,
  VIPS,
} from '../fsm-fixture.ts'

const told = parameters('holdfast')
const both = VIPS.map((address) => ({ address, offAt: ms(320) }))

/** The router lost to ABOVE at 300. */
const inGracePeriod = (overrides: Partial<Backup> = {}) =>
  backup({
    enteredAt: ms(300),
    activeDownAt: ms(3800),
    active: { source: ABOVE, priority: 200, heardAt: ms(300) },
    holderChangedAt: ms(300),
    stillAnswered: both,
    ...overrides,
  })
const { stillAnswered: _, ...bare } = inGracePeriod()
const removal = (...addresses: readonly (typeof VIP)[]) => ({ kind: 'removeAddresses' as const, addresses })

describe('an Active that loses the election', () => {
  test('an Active that loses sends its last advertisement immediately and keeps its addresses for 20 ms', () => {
    expect(step(active(), heard(ABOVE, 200, 300), told, ms(300))).toEqual([
      inGracePeriod(),
      [
        { kind: 'sendAdvertisement', priority: 128, reason: 'lost' },
        { kind: 'transition', from: 'Active', to: 'Backup', reason: 'higherPriorityHeard', peer: ABOVE },
      ],
    ])
  })

  test('an Active that loses to an equal priority with a higher address has a grace period, too', () => {
    const [next, effects] = step(active(), heard(ABOVE, 128, 300), told, ms(301))
    expect(next).toMatchObject({ name: 'Backup', stillAnswered: both })
    expect(effects.map(({ kind }) => kind)).toEqual(['sendAdvertisement', 'transition'])
  })

  test.each([
    ['the knob is off', active(), parameters('holdfast', { knobs: { keepUntilClaimed: false } }), 300],
    ['by the letter', active(), parameters('rfc9568'), 300],
    ['it has been Active for less than 100 ms: equals that took over together', active({ since: ms(201) }), told, 300],
    ['it was read when the 20 ms were over', active(), told, 320],
  ])('an Active that loses removes its addresses immediately when %s', (_why, state, how, now) => {
    const [next, effects] = step(state, heard(ABOVE, 200, 300), how, ms(now))
    expect(next).toMatchObject({ name: 'Backup' })
    expect('stillAnswered' in next).toBe(false)
    expect(effects[0]).toEqual(removal(...VIPS))
  })

  test('an owner that loses removes nothing, because the addresses are the node’s own', () => {
    const owner = parameters('holdfast', { priority: 255 })
    const [next] = step(active(), heard(ABOVE, 255, 300), owner, ms(300))
    expect('stillAnswered' in next).toBe(false)
  })

  test('the grace period is on in the profiles holdfast and keepalived', () => {
    const profiles = ['holdfast', 'keepalived', 'rfc9568'] as const
    expect(profiles.map((profile) => profileKnobs(profile, 3).keepUntilClaimed)).toEqual([true, true, false])
  })
})

describe('a Backup in its grace period', () => {
  test('a Backup in its grace period removes each address 1 ms after its announcement, and the others at the end', () => {
    const [claimed, none] = step(inGracePeriod(), announcementIn(VIP2, 303), told, ms(303.4))
    expect(none).toEqual([])
    const first = { address: VIP, offAt: ms(320) }
    expect(claimed).toEqual(inGracePeriod({ stillAnswered: [first, { address: VIP2, offAt: ms(304) }] }))
    expect(nextDeadline(claimed)).toBe(304)
    const [rest, removed] = step(claimed, tick, told, ms(304))
    expect([rest, removed]).toEqual([inGracePeriod({ stillAnswered: [first] }), [removal(VIP2)]])
    expect(step(rest, tick, told, ms(319.9))).toEqual([rest, []])
    expect(step(rest, tick, told, ms(320))).toEqual([bare, [removal(VIP)]])
  })

  test('a later announcement does not lengthen the grace period', () => {
    const [early] = step(inGracePeriod(), announcementIn(VIP, 303), told, ms(303))
    expect(step(early, announcementIn(VIP, 303.5), told, ms(303.5))[0]).toEqual(early)
    expect(step(inGracePeriod(), announcementIn(VIP, 319.5), told, ms(319.5))[0]).toEqual(inGracePeriod())
  })

  test('an advertisement of the winner restarts the timer, and does not count as an announcement', () => {
    const [next, effects] = step(inGracePeriod(), heard(ABOVE, 200, 310), told, ms(310))
    expect([next, effects]).toEqual([
      inGracePeriod({ activeDownAt: ms(3810), active: { source: ABOVE, priority: 200, heardAt: ms(310) } }),
      [],
    ])
  })

  test('after a release of the winner a Backup in its grace period waits Skew_Time like any Backup', () => {
    const [next, effects] = step(inGracePeriod(), heard(ABOVE, 0, 310), told, ms(310))
    expect(effects).toEqual([])
    expect(next).toMatchObject({ activeDownAt: ms(310 + SKEW), downReason: 'activeReleased', stillAnswered: both })
  })

  test('a Backup that takes over within its grace period removes no address', () => {
    const [next, effects] = step(inGracePeriod({ activeDownAt: ms(319) }), tick, told, ms(321))
    expect(next.name).toBe('Active')
    expect(effects.map(({ kind }) => kind)).toEqual(['sendAdvertisement', 'installAddresses', 'announce', 'transition'])
  })

  test.each([
    ['a fault', linkDown, initialize({ stopped: false, faults: ['linkDown'] }), 'linkDown'],
    ['a shutdown', shutdown, initialize({ stopped: true }), 'shutdown'],
  ] as const)(
    '%s removes all addresses of a grace period immediately, and sends nothing',
    (_what, event, next, reason) => {
      expect(step(inGracePeriod(), event, told, ms(305))).toEqual([
        next,
        [removal(...VIPS), { kind: 'transition', from: 'Backup', to: 'Initialize', reason }],
      ])
    },
  )

  test('a Backup whose guardian has removed the addresses removes them as well and keeps following', () => {
    const event = { kind: 'absenceNoticed', cause: 'willExecuted', linkWasUp: true } as const
    expect(step(inGracePeriod(), event, told, ms(400))).toEqual([bare, [removal(...VIPS)]])
  })

  test('a reload removes an address that is no longer configured, and adds none to a grace period', () => {
    const reloaded = { ...told, addresses: [VIP2, OTHER] }
    expect(step(inGracePeriod(), { kind: 'parametersChanged', previous: told }, reloaded, ms(305))).toEqual([
      inGracePeriod({ stillAnswered: [{ address: VIP2, offAt: ms(320) }] }),
      [removal(VIP)],
    ])
  })

  test('a raised priority in a grace period moves the timer and nothing else', () => {
    const raised = { ...told, priority: 192 }
    const [next, effects] = step(inGracePeriod(), { kind: 'priorityChanged', previous: 128 }, raised, ms(305))
    expect([next, effects]).toEqual([inGracePeriod({ activeDownAt: ms(3550) }), []])
  })
})
