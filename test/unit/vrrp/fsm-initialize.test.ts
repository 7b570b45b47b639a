/** RFC 9568 §6.4.1 (EID 7947): each line and every other event; faults are reasons to stay (VR-TRK-06). */
import { describe, expect, test } from 'vitest'
import { extendedStep as step } from '../../../src/vrrp/extensions/index.ts'
import { INITIAL_STATE, nextDeadline } from '../../../src/vrrp/state.ts'
import { centis } from '../../../src/wire/units.ts'
import {
  ABOVE,
  active,
  announcementIn,
  answered,
  backup,
  heard,
  initialize,
  ms,
  PROFILES,
  parameters,
  priorityFrom,
  reached,
  shutdown,
  startup,
  tick,
  tickAfterLoss,
  VIP,
  yielded,
} from './fsm-fixture.ts'

describe.each(PROFILES)('Initialize, %s', (profile) => {
  const told = parameters(profile)
  const owner = parameters(profile, { priority: 255 })

  test('a router begins stopped, without a fault and without a deadline', () => {
    expect(INITIAL_STATE).toEqual(initialize())
    expect(nextDeadline(INITIAL_STATE)).toBeUndefined()
  })

  test('(105) an owner that starts advertises, installs, announces and is Active', () => {
    expect(step(initialize(), startup, owner, ms(70))).toEqual([
      active({ since: ms(70), adverAt: ms(1070) }),
      [
        { kind: 'sendAdvertisement', priority: 255, reason: 'takeover' },
        { kind: 'installAddresses' },
        { kind: 'announce', reason: 'takeover' },
        { kind: 'transition', from: 'Initialize', to: 'Active', reason: 'owner' },
      ],
    ])
  })

  test('(150) other routers start as Backup with their own interval and a full Active_Down_Interval, and send nothing', () => {
    expect(step(initialize(), startup, told, ms(70))).toEqual([
      backup({ enteredAt: ms(70), activeDownAt: ms(3570) }),
      [{ kind: 'transition', from: 'Initialize', to: 'Backup', reason: 'startup' }],
    ])
  })

  test('(150) a router with priority 254 is not an owner', () => {
    const [next] = step(initialize(), startup, parameters(profile, { priority: 254 }), ms(0))
    // Skew_Time of 254: 7.8125 ms.
    expect(next).toEqual(backup({ activeDownAt: ms(3007.8125) }))
  })

  test('(150) version 2 does not scale Skew_Time by the interval (RFC 3768 §6.1)', () => {
    const slow = parameters(profile, { version: 2, advertisementInterval: centis(300) })
    const [next] = step(initialize(), startup, slow, ms(0))
    expect(next).toEqual(backup({ activeAdverInterval: centis(300), activeDownAt: ms(9500) }))
  })

  test('a router in Initialize refuses an advertisement with the reason initialize', () => {
    expect(step(initialize(), heard(ABOVE, 200, 50), told, ms(50))).toEqual([
      initialize(),
      [{ kind: 'refused', reason: 'initialize', source: ABOVE }],
    ])
  })

  test('a shutdown in Initialize cancels a start that waits for the end of a fault', () => {
    expect(step(initialize(), shutdown, told, ms(50))).toEqual([initialize(), []])
    const waiting = initialize({ stopped: false, faults: ['linkDown'] })
    expect(step(waiting, shutdown, told, ms(50))).toEqual([initialize({ faults: ['linkDown'] }), []])
  })

  test.each([
    ['yield', yielded],
    ['announcementHeard', announcementIn(VIP, 50)],
    ['addressAnswered', answered(VIP, 50)],
    ['peerReached', reached],
    ['deadlineReached', tick],
    ['deadlineReached after loss', tickAfterLoss],
    ['priorityChanged', priorityFrom(100)],
  ])('%s does nothing in Initialize', (_name, event) => {
    const faulty = initialize({ stopped: false, faults: ['linkDown'] })
    expect(step(faulty, event, told, ms(50_000))).toEqual([faulty, []])
  })
})
