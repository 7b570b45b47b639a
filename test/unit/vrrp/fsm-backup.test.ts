/** RFC 9568 §6.4.2 (EID 7949): each line and every other event: exact next state and ordered effects. */
import { describe, expect, test } from 'vitest'
import { extendedStep as step } from '../../../src/vrrp/extensions/index.ts'
import { nextDeadline } from '../../../src/vrrp/state.ts'
import { centis } from '../../../src/wire/units.ts'
import {
  ABOVE,
  active,
  announcementIn,
  answered,
  BELOW,
  backup,
  heard,
  initialize,
  linkUp,
  ms,
  OTHER,
  PROFILES,
  parameters,
  reached,
  SELF,
  shutdown,
  startup,
  tick,
  tickAfterLoss,
  VIP,
  yielded,
} from './fsm-fixture.ts'

/** Follows ABOVE with 200, heard at 1000: activeDownAt 4500. */
const following = backup({ active: { source: ABOVE, priority: 200, heardAt: ms(1000) }, activeDownAt: ms(4500) })
const released = backup({ ...following, activeDownAt: ms(2000), downReason: 'activeReleased' })

describe.each(PROFILES)('Backup, %s', (profile) => {
  const told = parameters(profile)

  test('a Backup has the deadline Active_Down_Timer', () => {
    expect(nextDeadline(following)).toBe(4500)
  })

  test('(345) a shutdown in Backup sends nothing', () => {
    expect(step(following, shutdown, told, ms(1200))).toEqual([
      initialize(),
      [{ kind: 'transition', from: 'Backup', to: 'Initialize', reason: 'shutdown' }],
    ])
  })

  test('(365) at the deadline a Backup advertises, installs, announces and is Active with its own interval', () => {
    const learned = backup({ ...following, activeAdverInterval: centis(300) })
    expect(step(learned, tick, told, ms(4500))).toEqual([
      active({ since: ms(4500), adverAt: ms(5500) }),
      [
        { kind: 'sendAdvertisement', priority: 128, reason: 'takeover' },
        { kind: 'installAddresses' },
        { kind: 'announce', reason: 'takeover' },
        { kind: 'transition', from: 'Backup', to: 'Active', reason: 'activeSilent' },
      ],
    ])
  })

  test.each(['activeReleased', 'lowerPriorityActive', 'activeDemoted'] as const)(
    '(365) the transition has the reason %s',
    (reason) => {
      const [, effects] = step(backup({ downReason: reason }), tick, told, ms(3500))
      expect(effects.at(-1)).toEqual({ kind: 'transition', from: 'Backup', to: 'Active', reason })
    },
  )

  test('(365) an early tick does nothing in Backup, and a late one counts from now', () => {
    expect(step(following, tick, told, ms(4499.999))).toEqual([following, []])
    expect(step(following, tickAfterLoss, told, ms(4499.999))).toEqual([following, []])
    const [late] = step(following, tick, told, ms(4600))
    expect(late).toEqual(active({ since: ms(4600), adverAt: ms(5600) }))
  })

  test('(425) priority 0 of the Active starts Skew_Time at the time of the packet', () => {
    const expected = backup({ ...following, activeDownAt: ms(1700), downReason: 'activeReleased' })
    expect(step(following, heard(ABOVE, 0, 1200), told, ms(1230))).toEqual([expected, []])
  })

  test('(425) Skew_Time is computed from the learned interval, not from that of the release', () => {
    const learned = backup({ ...following, activeAdverInterval: centis(300), activeDownAt: ms(11_500) })
    const [next] = step(learned, heard(ABOVE, 0, 2000, 100), told, ms(2000))
    expect(next).toEqual({ ...learned, activeDownAt: ms(3500), downReason: 'activeReleased' })
  })

  test('(425) priority 0 may lengthen the wait, with Preempt_Mode False too', () => {
    const late = backup({ ...following, activeDownAt: ms(1300) })
    const stays = parameters(profile, { preempt: false })
    for (const knows of [told, stays]) {
      const [next] = step(late, heard(ABOVE, 0, 1200), knows, ms(1200))
      expect(next).toEqual({ ...late, activeDownAt: ms(1700), downReason: 'activeReleased' })
    }
  })

  test('(425) without a known Active, priority 0 of any router counts', () => {
    const [next, effects] = step(backup(), heard(OTHER, 0, 100), told, ms(100))
    expect(next).toEqual(backup({ activeDownAt: ms(600), downReason: 'activeReleased' }))
    expect(effects).toEqual([])
  })

  test('(445) a higher priority teaches its interval and restarts the timer at the time of the packet', () => {
    const expected = backup({
      active: { source: ABOVE, priority: 129, heardAt: ms(800) },
      activeAdverInterval: centis(200),
      activeDownAt: ms(7800),
    })
    expect(step(backup(), heard(ABOVE, 129, 800, 200), told, ms(850))).toEqual([expected, []])
  })

  test.each([
    ['above', ABOVE],
    ['below', BELOW],
  ])('(445) an equal priority is followed, from an address %s ours', (_name, source) => {
    const [next, effects] = step(backup(), heard(source, 128, 800), told, ms(800))
    expect(next).toEqual(backup({ active: { source, priority: 128, heardAt: ms(800) }, activeDownAt: ms(4300) }))
    expect(effects).toEqual([])
  })

  test('(445) a version 2 Backup learns no interval', () => {
    const old = parameters(profile, { version: 2 })
    const [next] = step(backup(), heard(ABOVE, 200, 800, 300), old, ms(800))
    expect(next).toEqual(backup({ active: { source: ABOVE, priority: 200, heardAt: ms(800) }, activeDownAt: ms(4300) }))
  })

  test('(445) with Preempt_Mode False a lower priority is followed and its interval learned', () => {
    const stays = parameters(profile, { preempt: false })
    const [next, effects] = step(backup(), heard(BELOW, 1, 800, 50), stays, ms(800))
    expect(next).toEqual(
      backup({
        active: { source: BELOW, priority: 1, heardAt: ms(800) },
        activeAdverInterval: centis(50),
        activeDownAt: ms(2550),
      }),
    )
    expect(effects).toEqual([])
  })

  test('(445) an advertisement of the Active ends a release', () => {
    const [next] = step(released, heard(ABOVE, 200, 1600), told, ms(1600))
    expect(next).toEqual(
      backup({ active: { source: ABOVE, priority: 200, heardAt: ms(1600) }, activeDownAt: ms(5100) }),
    )
  })

  test('(470) a lower priority is discarded, the timer continues, and nothing is learned', () => {
    expect(step(backup(), heard(ABOVE, 127, 800, 200), told, ms(800))).toEqual([
      backup({ downReason: 'lowerPriorityActive' }),
      [{ kind: 'refused', reason: 'lower-priority', source: ABOVE }],
    ])
  })

  test('(470) an owner preempts whatever Preempt_Mode and preemptDelay are (RFC 9568 §6.1)', () => {
    const owner = parameters(profile, { priority: 255, preempt: false, preemptDelay: ms(60_000) })
    const [next, effects] = step(backup(), heard(ABOVE, 254, 800), owner, ms(800))
    expect(next).toEqual(backup({ downReason: 'lowerPriorityActive' }))
    expect(effects).toEqual([{ kind: 'refused', reason: 'lower-priority', source: ABOVE }])
  })

  test('(470) a lower router does not hide that the Active has released', () => {
    const [next, effects] = step(released, heard(BELOW, 1, 1600), told, ms(1600))
    expect(next).toEqual(released)
    expect(effects).toEqual([{ kind: 'refused', reason: 'lower-priority', source: BELOW }])
  })

  test.each([0, 1, 128, 200, 255])('priority %i from our own address is not processed', (priority) => {
    expect(step(following, heard(SELF, priority, 1200), told, ms(1200))).toEqual([
      following,
      [{ kind: 'refused', reason: 'self-originated', source: SELF }],
    ])
  })

  test.each([
    ['startup', startup],
    ['yield', yielded],
    ['announcementHeard', announcementIn(VIP, 1500)],
    ['addressAnswered', answered(VIP, 1500)],
    ['peerReached', reached],
    ['faultCleared', linkUp],
  ])('%s does nothing in Backup', (_name, event) => {
    expect(step(following, event, told, ms(50_000))).toEqual([following, []])
  })
})
