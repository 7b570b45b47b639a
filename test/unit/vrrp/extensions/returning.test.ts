/**
 * An Active that was away listens before it speaks (ground rule 3). Exact effects and next state of every way into
 * Returning and out of it, alone and in a sync group. SX-LT01 as far as it fits: no priority 0 and no advertisement on
 * the way down.
 */
import { describe, expect, test } from 'vitest'
import type { Event } from '../../../../src/vrrp/event.ts'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import { wasSilentTooLong } from '../../../../src/vrrp/extensions/returning.ts'
import type { Member } from '../../../../src/vrrp/extensions/sync-group/member.ts'
import { type GroupStep, settleGroup, stepGroup } from '../../../../src/vrrp/extensions/sync-group/sync-group.ts'
import { nextDeadline, type State } from '../../../../src/vrrp/state.ts'
import { address } from '../../../../src/wire/address.ts'
import {
  ABOVE,
  absent,
  active,
  announcementIn,
  answered,
  BELOW,
  backup,
  DOWN,
  heard,
  initialize,
  leaving,
  linkDown,
  ms,
  OTHER,
  parameters,
  priorityFrom,
  returning,
  SELF,
  SKEW,
  shutdown,
  startup,
  tick,
  tickAfterLoss,
  VIP,
  VIPS,
  yielded,
} from '../fsm-fixture.ts'

const TOLD = parameters('holdfast')
const OWNER = parameters('holdfast', { priority: 255 })
const REMOVE = { kind: 'removeAddresses', addresses: VIPS }
const BACK = [
  { kind: 'sendAdvertisement', priority: 128, reason: 'returned' },
  { kind: 'installAddresses' },
  { kind: 'announce', reason: 'takeover' },
  { kind: 'transition', from: 'Returning', to: 'Active', reason: 'nobodyElse' },
]

describe('an absence is noticed', () => {
  test.each(['willExecuted', 'stalled'] as const)(
    '%s: the addresses are removed, nothing is sent, and the sockets are drained immediately',
    (cause) => {
      const [next, effects] = step(active(), absent(cause), TOLD, ms(9000))
      expect(next).toEqual(returning({ phase: 'drain', until: ms(9000) }))
      expect(effects).toEqual([REMOVE, { kind: 'transition', from: 'Active', to: 'Returning', reason: cause }])
      expect(nextDeadline(next), 'due in the same turn').toBe(9000)
    },
  )

  test('an owner is Active immediately after an absence, and advertises', () => {
    const [next, effects] = step(active(), absent('willExecuted'), OWNER, ms(9000))
    expect(next).toEqual(active({ adverAt: ms(10_000) }))
    expect(effects).toEqual([
      { kind: 'sendAdvertisement', priority: 255, reason: 'returned' },
      { kind: 'installAddresses' },
      { kind: 'announce', reason: 'takeover' },
    ])
  })

  test('an owner that installs its addresses has lost them, and listens like any other router', () => {
    const installing = { ...OWNER, ownAddresses: 'installed' } as const
    const [next, effects] = step(active(), absent('willExecuted'), installing, ms(9000))
    expect(next).toEqual(returning({ phase: 'drain', until: ms(9000) }))
    expect(effects[0]).toEqual(REMOVE)
  })

  const elsewhere: readonly [string, State][] = [
    ['Backup', backup()],
    ['Initialize', initialize()],
    ['Returning', returning()],
  ]
  test.each(elsewhere)('a router in %s does not enter Returning', (_name, state) => {
    expect(step(state, absent('willExecuted'), TOLD, ms(9000))).toEqual([state, []])
  })

  test('silence is counted from the last advertisement: three intervals, whatever part was a stall', () => {
    const state = active({ adverAt: ms(1000) })
    expect(wasSilentTooLong(state, TOLD, ms(3000)), 'last advertisement 3000 ms ago').toBe(false)
    expect(wasSilentTooLong(state, TOLD, ms(3001)), 'last advertisement 3001 ms ago').toBe(true)
    expect(wasSilentTooLong(backup(), TOLD, ms(99_000)), 'only an Active owes advertisements').toBe(false)
  })
})

describe('no other router is there', () => {
  test('a router in Returning drains, asks, and is Active 20 ms later', () => {
    const drained = returning({ phase: 'drain', until: ms(9000) })
    const [asking, asked] = step(drained, tick, TOLD, ms(9000))
    expect(asking).toEqual(returning({ until: ms(9020) }))
    expect(asked).toEqual([{ kind: 'probeAddresses' }])
    expect(step(asking, tick, TOLD, ms(9019.9)), 'not before').toEqual([asking, []])
    const [next, effects] = step(asking, tick, TOLD, ms(9020))
    expect(next).toEqual(active({ since: ms(9020), adverAt: ms(10_020) }))
    expect(effects).toEqual(BACK)
  })

  test.each([
    ['receptionLost', tickAfterLoss, returning(), true],
    ['linkWasDown', tick, returning({ linkWasUp: false }), false],
  ] as const)(
    '%s: silence proves nothing, and the router listens for a whole Active_Down_Interval',
    (reason, event, state, extended) => {
      for (const phase of ['drain', 'probe'] as const) {
        const [next, effects] = step({ ...state, phase }, event, TOLD, ms(9020))
        const activeDownAt = ms(9020 + DOWN)
        expect(next).toEqual(backup({ enteredAt: ms(9020), activeDownAt, holderChangedAt: ms(9020), extended }))
        expect(effects).toEqual([{ kind: 'transition', from: 'Returning', to: 'Backup', reason }])
      }
    },
  )
})

describe('another router is there', () => {
  test.each([
    ['higher', 200],
    ['equal', 128],
    ['lower', 1],
  ])(
    'an advertisement of %s priority makes a router in Returning a Backup, from its time and with its interval',
    (_word, priority) => {
      const [next, effects] = step(returning(), heard(BELOW, priority, 8800, 200), TOLD, ms(9005))
      expect(next).toMatchObject({
        name: 'Backup',
        active: { source: BELOW, priority, heardAt: 8800 },
        activeAdverInterval: 200,
        activeDownAt: 8800 + 2 * DOWN,
      })
      expect(effects).toEqual([
        { kind: 'transition', from: 'Returning', to: 'Backup', reason: 'activeHeard', peer: BELOW },
      ])
    },
  )

  test('in version 2 a router in Returning becomes Backup with its own interval', () => {
    const told = parameters('holdfast', { version: 2 })
    const [next] = step(returning(), heard(ABOVE, 200, 9000, 200), told, ms(9005))
    expect(next).toMatchObject({ name: 'Backup', activeAdverInterval: 100 })
  })

  test('priority 0 makes a router in Returning a Backup that waits Skew_Time', () => {
    const [next, effects] = step(returning(), heard(OTHER, 0, 8900), TOLD, ms(9005))
    expect(next).toMatchObject({ name: 'Backup', downReason: 'activeReleased', activeDownAt: 8900 + SKEW })
    expect(effects).toEqual([
      { kind: 'transition', from: 'Returning', to: 'Backup', reason: 'activeHeard', peer: OTHER },
    ])
  })

  test("the guardian's priority 0 is our own", () => {
    const [next, effects] = step(returning(), heard(SELF, 0, 8000), TOLD, ms(9005))
    expect(next).toEqual(returning())
    expect(effects).toEqual([{ kind: 'refused', reason: 'self-originated', source: SELF }])
  })

  test.each([
    ['an answer', answered(VIP, 9010)],
    ['an announcement', announcementIn(VIP, 9010)],
  ])('%s for one of the addresses makes a router in Returning a Backup', (_word, event) => {
    const [next, effects] = step(returning(), event, TOLD, ms(9010))
    expect(next).toMatchObject({ name: 'Backup', active: undefined, activeDownAt: 9010 + DOWN })
    expect(effects).toEqual([{ kind: 'transition', from: 'Returning', to: 'Backup', reason: 'addressClaimed' }])
  })

  test('an answer for another address changes nothing in Returning', () => {
    const state = returning()
    expect(step(state, answered(address('198.51.100.99'), 9010), TOLD, ms(9010))).toEqual([state, []])
  })
})

describe('other events in Returning', () => {
  test('shutdown and faults end Returning without sending or removing anything', () => {
    expect(step(returning(), shutdown, TOLD, ms(9010))).toEqual([
      initialize(),
      [{ kind: 'transition', from: 'Returning', to: 'Initialize', reason: 'shutdown' }],
    ])
    expect(step(returning(), linkDown, TOLD, ms(9010))).toEqual([
      initialize({ stopped: false, faults: ['linkDown'] }),
      [{ kind: 'transition', from: 'Returning', to: 'Initialize', reason: 'linkDown' }],
    ])
  })

  const nothing: readonly [string, Event][] = [
    ['startup', startup],
    ['yield', yielded],
    ['another priority', priorityFrom(1)],
    ['a reload', { kind: 'parametersChanged', previous: parameters('holdfast', { addresses: [VIP] }) }],
  ]
  test.each(nothing)('%s changes nothing in Returning', (_word, event) => {
    expect(step(returning(), event, TOLD, ms(9010))).toEqual([returning(), []])
  })
})

describe('a cleanup plan that was executed during Leaving', () => {
  test('a shutdown ends when the guardian has executed the plan', () => {
    expect(step(leaving(), absent('willExecuted'), TOLD, ms(1900))).toEqual([
      initialize(),
      [REMOVE, { kind: 'transition', from: 'Leaving', to: 'Initialize', reason: 'willExecuted' }],
    ])
  })

  test('a yield waits for its successor without addresses and without sending', () => {
    const [next, effects] = step(leaving({ reason: 'yield' }), absent('willExecuted'), TOLD, ms(1900))
    expect(next).toEqual(leaving({ reason: 'yield', stillAnswered: [], repeatAt: undefined }))
    expect(effects).toEqual([REMOVE])
    expect(step(next, tick, TOLD, ms(1999)), 'silent until then').toEqual([next, []])
    expect(step(next, heard(BELOW, 100, 1950), TOLD, ms(1950))[0].name).toBe('Backup')
    expect(step(next, tick, TOLD, ms(2000))[0].name).toBe('Active')
  })

  test('a yield whose successor is known becomes Backup behind it', () => {
    const [waiting] = step(leaving({ reason: 'yield' }), heard(OTHER, 100, 500), TOLD, ms(500))
    const [next] = step(waiting, absent('willExecuted'), TOLD, ms(1900))
    expect(next).toMatchObject({ name: 'Backup', active: { source: OTHER, heardAt: 500 } })
  })

  test('a stall without an executed plan changes nothing in Leaving', () => {
    expect(step(leaving(), absent('stalled'), TOLD, ms(9000))).toEqual([leaving(), []])
  })
})

describe('a sync group', () => {
  const group = (states: readonly State[], told = [TOLD, TOLD]): Member[] =>
    states.map((state, i) => ({ name: `V${i + 1}`, state, parameters: told[i] ?? TOLD }))
  const names = (steps: readonly GroupStep[]) => steps.map(({ state }) => state.name)
  const kinds = (steps: readonly GroupStep[]) => steps.map(({ effects }) => effects.map(({ kind }) => kind))
  /** Puts the states of a step back into members. */
  const then = (steps: readonly GroupStep[]) => group(steps.map(({ state }) => state))

  test('one absence puts the whole sync group into Returning', () => {
    const steps = stepGroup(group([active(), active()]), 1, absent('stalled'), ms(9000))
    const drain = returning({ phase: 'drain', until: ms(9000) })
    expect(steps.map(({ state }) => state)).toEqual([drain, drain])
    expect(kinds(steps)).toEqual([
      ['removeAddresses', 'transition'],
      ['removeAddresses', 'transition'],
    ])
  })

  test('a sync group is Active again only when every member has asked and found no other router', () => {
    const first = stepGroup(group([returning(), returning()]), 0, tick, ms(9020))
    expect(first.map(({ state }) => state)).toEqual([returning({ phase: 'ready', until: ms(9040) }), returning()])
    expect(kinds(first)).toEqual([[], []])
    const both = stepGroup(then(first), 1, tick, ms(9020))
    expect(both.map(({ effects }) => effects)).toEqual([BACK, BACK])
  })

  test('a member that has drained but not asked is not ready', () => {
    const first = stepGroup(group([returning(), returning({ phase: 'drain' })]), 0, tick, ms(9020))
    const asked = stepGroup(then(first), 1, tick, ms(9020))
    expect(names(asked)).toEqual(['Returning', 'Returning'])
    expect(kinds(asked)).toEqual([[], ['probeAddresses']])
    const later = stepGroup(then(asked), 0, tick, ms(9040))
    expect(names(stepGroup(then(later), 1, tick, ms(9040)))).toEqual(['Active', 'Active'])
  })

  test.each([
    ['an advertisement', heard(BELOW, 1, 9010)],
    ['an answer', answered(VIP, 9010)],
    ['lost packets', tickAfterLoss],
  ])('%s for one member makes all members Backup, and nothing is sent', (_word, event) => {
    const ready = returning({ phase: 'ready', until: ms(9040) })
    const steps = stepGroup(group([ready, returning()]), 1, event, ms(9020))
    expect(names(steps)).toEqual(['Backup', 'Backup'])
    expect(kinds(steps)).toEqual([['transition'], ['transition']])
    expect(steps[0]?.effects[0]).toMatchObject({ from: 'Returning', reason: 'syncGroup:V2' })
  })

  test('a fault of one member in Returning stops all members', () => {
    expect(names(stepGroup(group([returning(), returning()]), 0, linkDown, ms(9010)))).toEqual([
      'Initialize',
      'Initialize',
    ])
  })

  test('a group of owners is Active immediately; an owner in another group listens with it', () => {
    const owners = stepGroup(group([active(), active()], [OWNER, OWNER]), 0, absent('willExecuted'), ms(9000))
    expect(names(owners)).toEqual(['Active', 'Active'])
    const mixed = stepGroup(group([active(), active()], [OWNER, TOLD]), 0, absent('willExecuted'), ms(9000))
    expect(names(mixed)).toEqual(['Returning', 'Returning'])
  })

  test('a member whose successor is known makes the other members Backup', () => {
    const successor = {
      source: BELOW,
      priority: 1,
      interval: TOLD.advertisementInterval,
      heardAt: ms(8990),
    }
    const gone = leaving({ reason: 'yield', repeatAt: undefined, successor })
    const steps = stepGroup(group([gone, active()]), 0, absent('willExecuted'), ms(9000))
    expect(names(steps)).toEqual(['Backup', 'Backup'])
    expect(steps[1]?.effects).toEqual([
      REMOVE,
      { kind: 'transition', from: 'Active', to: 'Backup', reason: 'syncGroup:V1' },
    ])
  })

  test('a reload that groups a router in Returning with a Backup makes it Backup', () => {
    const ready = returning({ phase: 'ready', until: ms(9040) })
    expect(names(settleGroup(group([ready, backup()]), ms(9030)))).toEqual(['Backup', 'Backup'])
    expect(names(settleGroup(group([ready]), ms(9030)))).toEqual(['Returning'])
    expect(names(stepGroup(group([ready]), 0, tick, ms(9040)))).toEqual(['Active'])
  })
})
