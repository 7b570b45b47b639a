/**
 * Sync groups (VR-SG-01 to VR-SG-06): the effect of an event of one member on the others, as exact states and effects
 * in order.
 */
import { describe, expect, test } from 'vitest'
import type { Effect } from '../../../../../src/vrrp/effect.ts'
import type { Event } from '../../../../../src/vrrp/event.ts'
import { extendedStep as step } from '../../../../../src/vrrp/extensions/index.ts'
import type { Member } from '../../../../../src/vrrp/extensions/sync-group/member.ts'
import { type GroupStep, settleGroup, stepGroup } from '../../../../../src/vrrp/extensions/sync-group/sync-group.ts'
import type { Parameters } from '../../../../../src/vrrp/parameters.ts'
import type { State } from '../../../../../src/vrrp/state.ts'
import { address } from '../../../../../src/wire/address.ts'
import {
  ABOVE,
  active,
  announcementIn,
  answered,
  BELOW,
  backup,
  DOWN,
  heard,
  initialize,
  installFailed,
  leaving,
  linkDown,
  linkUp,
  ms,
  parameters,
  SKEW,
  shutdown,
  startup,
  tick,
  VIP,
  VIPS,
  yielded,
} from '../../fsm-fixture.ts'

const TOLD = parameters('holdfast')

/** Members V1, V2, … in these states. */
function group(states: readonly State[], told: readonly Parameters[] = []): Member[] {
  return states.map((state, i) => ({ name: `V${i + 1}`, state, parameters: told[i] ?? TOLD }))
}

const states = (steps: readonly GroupStep[]) => steps.map(({ state }) => state)
const names = (steps: readonly GroupStep[]) => steps.map(({ state }) => state.name)

function inShort(effect: Effect): string {
  switch (effect.kind) {
    case 'sendAdvertisement':
      return `send ${effect.priority} ${effect.reason}`
    case 'removeAddresses':
      return `remove ${effect.addresses.length}`
    case 'transition':
      return `${effect.from} → ${effect.to} ${effect.reason}`
    case 'announce':
      return `announce ${effect.reason}`
    case 'refused':
      return `refused ${effect.reason}`
    case 'installAddresses':
      return 'install'
    case 'probeAddresses':
      return 'probe'
    case 'askChecks':
      return `ask within ${effect.within}`
    case 'moveSuppressed':
      return `suppressed ${effect.reason}`
  }
}

/** Effects of each member, in order. */
const effects = (steps: readonly GroupStep[]): string[][] => steps.map((one) => one.effects.map(inShort))

/** Posts several events, each to one member, starting from these states. */
function play(members: readonly Member[], events: readonly (readonly [index: number, event: Event, at: number])[]) {
  let now: readonly Member[] = members
  let last: readonly GroupStep[] = []
  for (const [index, event, at] of events) {
    last = stepGroup(now, index, event, ms(at))
    now = now.map((member, i) => ({ ...member, state: last[i]?.state ?? member.state }))
  }
  return { last, members: now }
}

const takeover = (reason: string) => ['send 128 takeover', 'install', 'announce takeover', `Backup → Active ${reason}`]

describe('becoming Active (VR-SG-03)', () => {
  test('a member that expires alone restarts its timer, sends nothing and stays ready', () => {
    const steps = stepGroup(group([backup(), backup({ activeDownAt: ms(5000) })]), 0, tick, ms(DOWN))
    expect(states(steps)).toEqual([
      backup({ activeDownAt: ms(2 * DOWN), heldSince: ms(DOWN) }),
      backup({ activeDownAt: ms(5000) }),
    ])
    expect(effects(steps)).toEqual([[], []])
  })

  test('when the last member expires all become Active together, each with its own reason', () => {
    const held = backup({ heldSince: ms(100), activeDownAt: ms(9000), downReason: 'activeReleased' })
    const steps = stepGroup(group([held, backup(), held]), 1, tick, ms(DOWN))
    const then = active({ since: ms(DOWN), adverAt: ms(DOWN + 1000) })
    expect(states(steps)).toEqual([then, then, then])
    expect(effects(steps)).toEqual([takeover('activeReleased'), takeover('activeSilent'), takeover('activeReleased')])
  })

  test('a member that is ready stays ready until the others are', () => {
    const held = backup({ heldSince: ms(100), activeDownAt: ms(DOWN) })
    const waiting = backup({ activeDownAt: ms(DOWN + 1) })
    const { last, members } = play(group([held, waiting]), [[0, tick, DOWN]])
    expect(states(last)).toEqual([backup({ heldSince: ms(100), activeDownAt: ms(2 * DOWN) }), waiting])
    // The slowest member decides, which is less than a whole Active_Down_Interval later.
    expect(names(play(members, [[1, tick, DOWN + 1]]).last)).toEqual(['Active', 'Active'])
  })

  test.each([
    ['equal priority', heard(BELOW, 128, 4000), {}],
    ['higher priority', heard(BELOW, 129, 4000), {}],
    ['lower, without preemption', heard(BELOW, 1, 4000), { preempt: false }],
    ['lower, while preemptDelay runs', heard(BELOW, 1, 4000), { preemptDelay: ms(5000) }],
  ])('an accepted advertisement ends the wish of a ready member: %s', (_title, event, overrides) => {
    const told = parameters('holdfast', overrides)
    const { members } = play(group([backup(), backup({ activeDownAt: ms(5000) })], [told, told]), [
      [0, tick, DOWN],
      [0, event, 4000],
    ])
    expect(members[0]?.state).toMatchObject({ heldSince: undefined, activeDownAt: ms(4000 + DOWN) })
    const { last } = play(members, [[1, tick, 5000]])
    expect(names(last), 'the other one now holds').toEqual(['Backup', 'Backup'])
    expect(last[1]?.state).toMatchObject({ heldSince: ms(5000) })
  })

  test.each([
    ['a refused lower one', heard(BELOW, 1, 4000), 'lowerPriorityActive'],
    ['a priority 0', heard(BELOW, 0, 4000), 'activeReleased'],
  ])('%s does not end the wish of a ready member', (_title, event, reason) => {
    const { last } = play(group([backup(), backup({ activeDownAt: ms(5000) })]), [
      [0, tick, DOWN],
      [0, event, 4000],
      [1, tick, 5000],
    ])
    expect(effects(last)).toEqual([takeover(reason), takeover('activeSilent')])
  })

  test('a member that receives priority 0 waits for the silence of the other member', () => {
    const following = backup({ active: { source: ABOVE, priority: 200, heardAt: ms(0) } })
    const { last, members } = play(group([following, following]), [
      [0, heard(ABOVE, 0, 1000), 1000],
      [0, tick, 1000 + SKEW],
    ])
    expect(names(last)).toEqual(['Backup', 'Backup'])
    const at = play(members, [[1, tick, DOWN]])
    expect(effects(at.last)).toEqual([takeover('activeReleased'), takeover('activeSilent')])
  })

  test('a demotion moves a group only if all its members receive it', () => {
    const following = backup({
      enteredAt: ms(-10_000),
      active: { source: ABOVE, priority: 200, heardAt: ms(0) },
      activeDownAt: ms(DOWN),
    })
    const first = play(group([following, following]), [
      [0, heard(ABOVE, 100, 1000), 1000],
      [0, tick, 1000 + SKEW],
    ])
    expect(names(first.last)).toEqual(['Backup', 'Backup'])
    const second = play(first.members, [
      [1, heard(ABOVE, 100, 2000), 2000],
      [1, tick, 2000 + SKEW],
    ])
    expect(effects(second.last)).toEqual([takeover('activeDemoted'), takeover('activeDemoted')])
  })

  test('a lower priority of ours before the others are ready ends the wish of a member', () => {
    const told = parameters('holdfast', { priority: 90 })
    const held = backup({ heldSince: ms(100), active: { source: ABOVE, priority: 100, heardAt: ms(0) } })
    const steps = stepGroup(
      group([held, backup()], [told, TOLD]),
      0,
      { kind: 'priorityChanged', previous: 128 },
      ms(200),
    )
    expect(steps[0]?.state).toMatchObject({ heldSince: undefined })
  })
})

describe('losing (VR-SG-02)', () => {
  test('when one member loses all become Backup, and only that member advertises', () => {
    const steps = stepGroup(group([active(), active(), backup()]), 0, heard(ABOVE, 200, 700), ms(700))
    expect(effects(steps.slice(0, 2))).toEqual([
      ['send 128 lost', 'Active → Backup higherPriorityHeard'],
      ['Active → Backup syncGroup:V1'],
    ])
    const stillAnswered = VIPS.map((vip) => ({ address: vip, offAt: ms(720) }))
    expect(states(steps.slice(1, 2))).toEqual([
      backup({ enteredAt: ms(700), activeDownAt: ms(700 + DOWN), holderChangedAt: ms(700), stillAnswered }),
    ])
  })

  test('a loss that is received too late for a grace period removes the addresses first', () => {
    const steps = stepGroup(group([active(), active(), backup()]), 0, heard(ABOVE, 200, 700), ms(720))
    expect(effects(steps.slice(0, 2))).toEqual([
      ['remove 2', 'send 128 lost', 'Active → Backup higherPriorityHeard'],
      ['remove 2', 'Active → Backup syncGroup:V1'],
    ])
  })
})

describe('faults (VR-SG-01)', () => {
  test('a fault of one member puts all into fault, and the healthy members release', () => {
    const steps = stepGroup(group([active(), active()]), 0, linkDown, ms(700))
    expect(states(steps)).toEqual([
      initialize({ stopped: false, faults: ['linkDown'] }),
      initialize({ stopped: false, faults: ['syncGroup:V1'] }),
    ])
    expect(effects(steps)).toEqual([
      ['remove 2', 'Active → Initialize linkDown'],
      ['remove 2', 'send 0 fault', 'Active → Initialize syncGroup:V1'],
    ])
  })

  test('a member without a link sends nothing when another member fails', () => {
    const members = group([active(), active()]).map((member) => ({ ...member, canSend: false }))
    expect(effects(stepGroup(members, 1, installFailed, ms(1)))[0]).toEqual([
      'remove 2',
      'Active → Initialize syncGroup:V2',
    ])
  })

  test('a group starts again together when its last fault is cleared', () => {
    const { last, members } = play(group([backup(), backup()]), [
      [0, linkDown, 100],
      [1, installFailed, 200],
      [0, linkUp, 300],
    ])
    expect(states(last)).toEqual([
      initialize({ stopped: false, faults: ['syncGroup:V2'] }),
      initialize({ stopped: false, faults: ['addressInstallFailed'] }),
    ])
    expect(effects(last)).toEqual([[], []])
    const { last: well } = play(members, [[1, { kind: 'faultCleared', fault: 'addressInstallFailed' }, 400]])
    const fresh = backup({ enteredAt: ms(400), activeDownAt: ms(400 + DOWN) })
    expect(states(well)).toEqual([fresh, fresh])
    expect(effects(well)).toEqual([['Initialize → Backup faultCleared'], ['Initialize → Backup faultCleared']])
  })

  test('no member starts before the last member has started', () => {
    const { last, members } = play(group([initialize(), initialize()]), [[1, startup, 5]])
    expect(states(last)).toEqual([initialize(), initialize({ stopped: false, faults: ['syncGroup:V1'] })])
    expect(effects(last)).toEqual([[], []])
    expect(effects(play(members, [[0, startup, 9]]).last)).toEqual([
      ['Initialize → Backup startup'],
      ['Initialize → Backup startup'],
    ])
  })

  test('during a shutdown of one member the others keep answering', () => {
    const steps = stepGroup(group([leaving(), leaving()]), 0, linkDown, ms(10))
    expect(names(steps)).toEqual(['Initialize', 'Leaving'])
    expect(effects(steps)[1]).toEqual([])
  })

  test('a fault during a yield ends it immediately', () => {
    const steps = stepGroup(group([leaving({ reason: 'yield' }), leaving({ reason: 'yield' })]), 0, linkDown, ms(10))
    expect(names(steps)).toEqual(['Initialize', 'Initialize'])
    expect(effects(steps)[1]).toEqual(['remove 2', 'Leaving → Initialize syncGroup:V1'])
  })
})

describe('owners (255)', () => {
  const OWNER = parameters('holdfast', { priority: 255 })

  test('a group of owners is Active from its start', () => {
    const { last } = play(group([initialize(), initialize()], [OWNER, OWNER]), [
      [0, startup, 0],
      [1, startup, 0],
    ])
    expect(effects(last)).toEqual([
      ['send 255 takeover', 'install', 'announce takeover', 'Initialize → Active owner'],
      ['send 255 takeover', 'install', 'announce takeover', 'Initialize → Active owner'],
    ])
  })

  test('an owner in a group with another router waits for silence like it', () => {
    const { last, members } = play(group([initialize(), initialize()], [OWNER, TOLD]), [
      [0, startup, 0],
      [1, startup, 0],
    ])
    expect(names(last)).toEqual(['Backup', 'Backup'])
    const { last: then } = play(members, [
      [0, tick, 3100],
      [1, tick, DOWN],
    ])
    expect(names(then)).toEqual(['Active', 'Active'])
  })

  test('a group with an owner that is Active does not yield', () => {
    const members = group([active(), active()], [TOLD, OWNER])
    expect(states(stepGroup(members, 0, yielded, ms(1)))).toEqual([active(), active()])
  })
})

describe('leaving together', () => {
  test('a shutdown stops all members, which wait as long as the slowest', () => {
    const slow = parameters('holdfast', { advertisementInterval: TOLD.advertisementInterval })
    const fast = parameters('holdfast', { peers: [{ address: ABOVE }] })
    const steps = stepGroup(group([active(), active()], [slow, fast]), 0, shutdown, ms(0))
    expect(states(steps)).toEqual([leaving({ until: ms(2003) }), leaving({ until: ms(2003) })])
    expect(effects(steps)).toEqual([
      ['send 0 shutdown', 'Active → Leaving shutdown'],
      ['send 0 shutdown', 'Active → Leaving shutdown'],
    ])
  })

  test('a shutdown in Backup and Initialize sends nothing', () => {
    const steps = stepGroup(group([backup(), backup()]), 1, shutdown, ms(0))
    expect(states(steps)).toEqual([initialize(), initialize()])
  })

  test('a yield without a successor makes all members Active again', () => {
    const away = leaving({ reason: 'yield' })
    const steps = stepGroup(group([away, away]), 0, tick, ms(2000))
    const back = ['send 128 noSuccessor', 'install', 'announce takeover', 'Leaving → Active noSuccessor']
    expect(effects(steps)).toEqual([back, back])
  })

  test('a member without a successor does not become Active alone if another member has one', () => {
    const away = leaving({ reason: 'yield' })
    const found = leaving({
      reason: 'yield',
      repeatAt: undefined,
      successor: { source: ABOVE, priority: 100, interval: TOLD.advertisementInterval, heardAt: ms(1990) },
      stillAnswered: [{ address: VIP, offAt: ms(2010) }],
    })
    const steps = stepGroup(group([found, away]), 1, tick, ms(2000))
    expect(states(steps)).toEqual([
      found,
      backup({ enteredAt: ms(2000), activeDownAt: ms(2000 + DOWN), holderChangedAt: ms(2000) }),
    ])
    expect(effects(steps)).toEqual([[], ['remove 2', 'Leaving → Backup noSuccessor']])
  })

  test("a successor's claim is one member's own", () => {
    const steps = stepGroup(group([leaving(), leaving()]), 0, announcementIn(VIP, 10), ms(10))
    expect(steps[1]).toEqual({ state: leaving(), effects: [] })
  })

  test('with profile rfc9568 a yield makes all members Backup immediately', () => {
    const rfc = parameters('rfc9568')
    const steps = stepGroup(group([active(), active()], [rfc, rfc]), 0, yielded, ms(1))
    const gone = ['send 0 yield', 'remove 2', 'Active → Backup yield']
    expect(effects(steps)).toEqual([gone, gone])
  })
})

describe('competing Actives (VR-SG-06)', () => {
  test('a competing Active of one member makes the others announce again', () => {
    const steps = stepGroup(group([active(), active()]), 1, heard(BELOW, 100, 300), ms(300))
    expect(effects(steps)).toEqual([
      ['announce competingActive'],
      ['refused lower-priority', 'send 128 competingActiveHeard', 'announce competingActive'],
    ])
    expect(steps[0]?.state).toEqual(active({ announcedOverAt: ms(300), announcementsPaidAt: ms(350) }))
  })

  test('other members do not announce with rfc9568, or after an answer to our own question', () => {
    const rfc = parameters('rfc9568')
    const mixed = stepGroup(group([active(), active()], [rfc, TOLD]), 1, heard(BELOW, 100, 300), ms(300))
    expect(effects(mixed)[0]).toEqual([])
    expect(effects(stepGroup(group([active(), active()]), 1, answered(VIP, 300), ms(300)))).toEqual([
      [],
      ['announce competingActive'],
    ])
  })
})

describe('a group that a reload made (settleGroup)', () => {
  test('an Active in a reloaded group of Backups yields without a gap', () => {
    const steps = settleGroup(group([active(), backup()]), ms(0))
    expect(states(steps)).toEqual([leaving({ reason: 'yield' }), backup()])
    expect(effects(steps)).toEqual([['send 0 yield', 'Active → Leaving yield'], []])
  })

  test('an owner in a reloaded group of Backups becomes Backup, too', () => {
    const owner = parameters('holdfast', { priority: 255 })
    expect(effects(settleGroup(group([active(), backup()], [owner, TOLD]), ms(0)))).toEqual([
      ['send 0 yield', 'remove 2', 'Active → Backup syncGroup:V2'],
      [],
    ])
  })

  test('a member with a fault blocks the other members of a reloaded group', () => {
    const faulty = initialize({ stopped: false, faults: ['linkDown'] })
    const steps = settleGroup(group([backup(), faulty]), ms(0))
    expect(states(steps)).toEqual([initialize({ stopped: false, faults: ['syncGroup:V2'] }), faulty])
  })

  test("a former group's fault goes, also for a router that is alone now", () => {
    const blocked = initialize({ stopped: false, faults: ['syncGroup:gone'] })
    expect(effects(settleGroup(group([blocked]), ms(0)))).toEqual([['Initialize → Backup faultCleared']])
  })

  test('a reload does not change a consistent group', () => {
    for (const well of [group([active(), active()]), group([backup(), backup()]), group([backup()])]) {
      expect(settleGroup(well, ms(9))).toEqual(well.map(({ state }) => ({ state, effects: [] })))
    }
  })
})

describe('a group of one', () => {
  test('a group of one steps like its router alone', () => {
    const cases: readonly (readonly [State, Event])[] = [
      [initialize(), startup],
      [backup(), tick],
      [active(), heard(ABOVE, 200, DOWN)],
      [active(), yielded],
      [leaving(), linkDown],
    ]
    for (const [state, event] of cases) {
      const [next, wanted] = step(state, event, TOLD, ms(DOWN))
      expect(stepGroup(group([state]), 0, event, ms(DOWN))).toEqual([{ state: next, effects: wanted }])
    }
  })

  test('stepGroup throws for an index that is not a member', () => {
    expect(() => stepGroup(group([backup()]), 1, tick, ms(0))).toThrow('Cannot step member 1 of a group of 1')
  })
})

test('members of a group may have different address families', () => {
  const v6 = parameters('holdfast', { family: 'ipv6', addresses: [address('fe80::100'), address('2001:db8::1')] })
  const steps = stepGroup(group([active(), active()], [TOLD, v6]), 0, heard(ABOVE, 200, 1), ms(1))
  expect(steps[1]?.effects[0]).toEqual({ kind: 'removeAddresses', addresses: v6.addresses })
  expect(steps[0]?.effects[0]).toEqual({ kind: 'removeAddresses', addresses: VIPS })
})

test('a member that an event does not concern keeps the same state object', () => {
  const members = group([active({ adverAt: ms(1000) }), active(), active()])
  const steps = stepGroup(members, 0, tick, ms(1000))
  expect(effects(steps)).toEqual([['send 128 periodic'], [], []])
  for (const i of [1, 2]) expect(steps[i]?.state).toBe(members[i]?.state)
})
