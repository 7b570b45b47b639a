/**
 * Lines (725) and (735) with `keepUntilClaimed` (docs/adr/0045): who has lost is a Backup in all that it says and decides, and
 * answers until the winner has announced itself.
 */
import { describe, expect, test } from 'vitest'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import { profileKnobs } from '../../../../src/vrrp/profile.ts'
import { type Backup, nextDeadline } from '../../../../src/vrrp/state.ts'
import {
  ABOVE,
  active,
  backup,
  claimOf,
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

/** Lost at 300 to ABOVE, as it says itself. */
const lingering = (overrides: Partial<Backup> = {}) =>
  backup({
    enteredAt: ms(300),
    activeDownAt: ms(3800),
    active: { source: ABOVE, priority: 200, heardAt: ms(300) },
    holderChangedAt: ms(300),
    kept: both,
    ...overrides,
  })
const { kept: _, ...bare } = lingering()
const removal = (...addresses: readonly (typeof VIP)[]) => ({ kind: 'removeAddresses' as const, addresses })

describe('who loses', () => {
  test('says so at once, and keeps its addresses for 20 ms', () => {
    expect(step(active(), heard(ABOVE, 200, 300), told, ms(300))).toEqual([
      lingering(),
      [
        { kind: 'sendAdvertisement', priority: 128, reason: 'lost' },
        { kind: 'transition', from: 'Active', to: 'Backup', reason: 'higherPriorityHeard', peer: ABOVE },
      ],
    ])
  })

  test('to an equal: the same', () => {
    const [next, effects] = step(active(), heard(ABOVE, 128, 300), told, ms(301))
    expect(next).toMatchObject({ name: 'Backup', kept: both })
    expect(effects.map(({ kind }) => kind)).toEqual(['sendAdvertisement', 'transition'])
  })

  test.each([
    ['the knob is off', active(), parameters('holdfast', { knobs: { keepUntilClaimed: false } }), 300],
    ['by the letter', active(), parameters('rfc9568'), 300],
    ['it has been Active for less than 100 ms: equals that took over together', active({ since: ms(201) }), told, 300],
    ['it was read when the 20 ms were over', active(), told, 320],
  ])('takes its addresses off first when %s', (_why, state, how, now) => {
    const [next, effects] = step(state, heard(ABOVE, 200, 300), how, ms(now))
    expect(next).toMatchObject({ name: 'Backup' })
    expect('kept' in next).toBe(false)
    expect(effects[0]).toEqual(removal(...VIPS))
  })

  test('an owner has nothing to take off', () => {
    const owner = parameters('holdfast', { priority: 255 })
    const [next] = step(active(), heard(ABOVE, 255, 300), owner, ms(300))
    expect('kept' in next).toBe(false)
  })

  test('on in the profiles holdfast and keepalived', () => {
    const profiles = ['holdfast', 'keepalived', 'rfc9568'] as const
    expect(profiles.map((profile) => profileKnobs(profile, 3).keepUntilClaimed)).toEqual([true, true, false])
  })
})

describe('while it answers', () => {
  test('each address goes 1 ms after the claim for it, the others when their time is over', () => {
    const [claimed, none] = step(lingering(), claimOf(VIP2, 303), told, ms(303.4))
    expect(none).toEqual([])
    const first = { address: VIP, offAt: ms(320) }
    expect(claimed).toEqual(lingering({ kept: [first, { address: VIP2, offAt: ms(304) }] }))
    expect(nextDeadline(claimed)).toBe(304)
    const [rest, removed] = step(claimed, tick, told, ms(304))
    expect([rest, removed]).toEqual([lingering({ kept: [first] }), [removal(VIP2)]])
    expect(step(rest, tick, told, ms(319.9))).toEqual([rest, []])
    expect(step(rest, tick, told, ms(320))).toEqual([bare, [removal(VIP)]])
  })

  test('a later claim never lengthens it', () => {
    const [early] = step(lingering(), claimOf(VIP, 303), told, ms(303))
    expect(step(early, claimOf(VIP, 303.5), told, ms(303.5))[0]).toEqual(early)
    expect(step(lingering(), claimOf(VIP, 319.5), told, ms(319.5))[0]).toEqual(lingering())
  })

  test('the winner restarts the timer as of any Backup, and its advertisements are no claims', () => {
    const [next, effects] = step(lingering(), heard(ABOVE, 200, 310), told, ms(310))
    expect([next, effects]).toEqual([
      lingering({ activeDownAt: ms(3810), active: { source: ABOVE, priority: 200, heardAt: ms(310) } }),
      [],
    ])
  })

  test('the winner releases: Skew_Time, as of any Backup', () => {
    const [next, effects] = step(lingering(), heard(ABOVE, 0, 310), told, ms(310))
    expect(effects).toEqual([])
    expect(next).toMatchObject({ activeDownAt: ms(310 + SKEW), downReason: 'activeReleased', kept: both })
  })

  test('its time comes before theirs: Active as from any Backup, nothing is taken off', () => {
    const [next, effects] = step(lingering({ activeDownAt: ms(319) }), tick, told, ms(321))
    expect(next.name).toBe('Active')
    expect(effects.map(({ kind }) => kind)).toEqual(['sendAdvertisement', 'installAddresses', 'announce', 'transition'])
  })

  test.each([
    ['a fault', linkDown, initialize({ stopped: false, faults: ['linkDown'] }), 'linkDown'],
    ['a shutdown', shutdown, initialize({ stopped: true }), 'shutdown'],
  ] as const)('%s takes all of them off at once, and says nothing', (_what, event, next, reason) => {
    expect(step(lingering(), event, told, ms(305))).toEqual([
      next,
      [removal(...VIPS), { kind: 'transition', from: 'Backup', to: 'Initialize', reason }],
    ])
  })

  test('its guardian has taken them off: so does it, and follows on', () => {
    const event = { kind: 'absenceNoticed', cause: 'willExecuted', linkWasUp: true } as const
    expect(step(lingering(), event, told, ms(400))).toEqual([bare, [removal(...VIPS)]])
  })

  test('a reload without one of them takes that one off; a new one is the winner’s', () => {
    const reloaded = { ...told, addresses: [VIP2, OTHER] }
    expect(step(lingering(), { kind: 'parametersChanged', previous: told }, reloaded, ms(305))).toEqual([
      lingering({ kept: [{ address: VIP2, offAt: ms(320) }] }),
      [removal(VIP)],
    ])
  })

  test('a raised priority moves the timer, and nothing else', () => {
    const raised = { ...told, priority: 192 }
    const [next, effects] = step(lingering(), { kind: 'priorityChanged', previous: 128 }, raised, ms(305))
    expect([next, effects]).toEqual([lingering({ activeDownAt: ms(3550) }), []])
  })
})
