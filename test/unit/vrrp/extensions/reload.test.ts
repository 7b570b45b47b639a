/**
 * parametersChanged: the exact effects of a reload on a running router (VR-CFG-08, VR-TM-06), and what stays unchanged.
 */
import { describe, expect, test } from 'vitest'
import type { Effect } from '../../../../src/vrrp/effect.ts'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import type { Parameters } from '../../../../src/vrrp/parameters.ts'
import type { State } from '../../../../src/vrrp/state.ts'
import { address } from '../../../../src/wire/address.ts'
import { centis } from '../../../../src/wire/units.ts'
import {
  ABOVE,
  active,
  BELOW,
  backup,
  DOWN,
  initialize,
  leaving,
  ms,
  parameters,
  priorityFrom,
  SKEW,
  tick,
  VIP,
  VIP2,
} from '../fsm-fixture.ts'

type Overrides = Partial<Parameters>

const OFF = { fastPreempt: false, announceOnRival: false, leaving: false }
const VIP3 = address('198.51.100.3')
const OLD = parameters('holdfast')

function reload(state: State, change: Overrides, now: number, before: Parameters = OLD) {
  const next: Parameters = { ...before, ...change }
  return step(state, { kind: 'parametersChanged', previous: before }, next, ms(now))
}

const said = (priority = 128, reason: 'parametersChanged' | 'priorityChanged' = 'parametersChanged'): Effect => ({
  kind: 'sendAdvertisement',
  priority,
  reason,
})
const announced: Effect = { kind: 'announce', reason: 'takeover' }
const installed: Effect = { kind: 'installAddresses' }
const removed = (...addresses: (typeof VIP)[]): Effect => ({ kind: 'removeAddresses', addresses })

const ACTIVE = active({ asserted: [{ to: 'competing', source: BELOW, at: ms(300) }] })
const FOLLOWING = backup({ active: { source: ABOVE, priority: 200, heardAt: ms(0) } })

describe('a reload without a change of what is advertised or installed', () => {
  const changes: [string, Overrides][] = [
    ['nothing at all', {}],
    ['peers', { peers: [{ address: ABOVE }, { address: BELOW }] }],
    ['preempt', { preempt: false }],
    ['preemptDelay', { preemptDelay: ms(5000) }],
    ['minHold', { minHold: ms(1) }],
    ['phase', { phase: 0.5 }],
    ['options', { extensions: parameters('holdfast', { knobs: OFF }).extensions }],
    ['the order of the addresses', { addresses: [VIP2, VIP] }],
  ]
  const states: [string, State][] = [
    ['Active', ACTIVE],
    ['Backup', FOLLOWING],
    ['Backup that holds', backup({ heldSince: ms(10) })],
    ['Leaving', leaving()],
    ['Initialize', initialize({ faults: ['linkDown'], stopped: false })],
  ]

  describe.each(states)('%s', (_name, state) => {
    test.each(changes)('%s does not change the state, and has no effects', (_title, change) => {
      const [next, effects] = reload(state, change, 700)
      expect(next, 'the very same object').toBe(state)
      expect(effects).toEqual([])
    })
  })
})

describe('Active', () => {
  test('an Active advertises a shorter interval immediately, and never later than one of it', () => {
    expect(reload(active(), { advertisementInterval: centis(10) }, 700)).toEqual([
      active({ adverAt: ms(800), changeSentAt: ms(700) }),
      [said()],
    ])
    expect(reload(active(), { advertisementInterval: centis(50) }, 700)[0]).toMatchObject({ adverAt: 1000 })
  })

  test('an Active with a longer interval sends its next advertisement when Backups expect it by the old interval', () => {
    const [next, effects] = reload(active(), { advertisementInterval: centis(1000) }, 700)
    expect([next, effects]).toEqual([active({ changeSentAt: ms(700) }), [said()]])
    const slow = parameters('holdfast', { advertisementInterval: centis(1000) })
    expect(step(next, tick, slow, ms(1000))[0]).toMatchObject({ adverAt: 11_000 })
  })

  test('an Active advertises a reloaded priority as any changed priority', () => {
    expect(reload(active(), { priority: 50 }, 700)).toEqual([
      active({ changeSentAt: ms(700) }),
      [said(50, 'priorityChanged')],
    ])
  })

  test('an Active advertises, installs and announces an added address', () => {
    expect(reload(active(), { addresses: [VIP, VIP2, VIP3] }, 700)).toEqual([
      active({ changeSentAt: ms(700) }),
      [said(), installed, announced],
    ])
  })

  test('an Active removes only the removed address, before it advertises, and stops announcing it', () => {
    expect(reload(active(), { addresses: [VIP2] }, 700)).toEqual([
      active({ changeSentAt: ms(700) }),
      [removed(VIP), said(), announced],
    ])
  })

  test('an Active replaces one address by another', () => {
    expect(reload(active(), { addresses: [VIP, VIP3], priority: 100 }, 700)[1]).toEqual([
      removed(VIP2),
      said(100),
      installed,
      announced,
    ])
  })

  test('an Active sends at most one extra advertisement an interval for all kinds of changes', () => {
    const busy = active({ changeSentAt: ms(400) })
    expect(reload(busy, { addresses: [VIP] }, 700)).toEqual([busy, [removed(VIP2), announced]])
    expect(reload(busy, { advertisementInterval: centis(10) }, 450)).toEqual([
      active({ changeSentAt: ms(400), adverAt: ms(550) }),
      [],
    ])
    const [next] = reload(active(), { addresses: [VIP] }, 700)
    expect(step(next, priorityFrom(128), parameters('holdfast', { priority: 1 }), ms(800))).toEqual([next, []])
  })

  test('with profile rfc9568 the next periodic advertisement has the reloaded values', () => {
    const rfc = parameters('rfc9568')
    const [next, effects] = reload(active(), { advertisementInterval: centis(10), addresses: [VIP] }, 700, rfc)
    expect([next, effects]).toEqual([active({ adverAt: ms(800) }), [removed(VIP2), announced]])
  })

  test('a router that is no longer an owner installs its addresses', () => {
    const owner = parameters('holdfast', { priority: 255 })
    expect(reload(active(), { priority: 100 }, 700, owner)[1]).toEqual([said(100, 'priorityChanged'), installed])
    expect(reload(active(), { priority: 255 }, 700)[1]).toEqual([said(255, 'priorityChanged')])
  })
})

describe('Backup', () => {
  test('a Backup moves its running timer by the difference of a reloaded priority (VR-TM-06)', () => {
    // Skew_Time of 192 is 250 ms, of 128 it is 500 ms.
    expect(reload(FOLLOWING, { priority: 192 }, 700)).toEqual([{ ...FOLLOWING, activeDownAt: ms(DOWN - 250) }, []])
  })

  test('a reloaded priority at or below that of the demoted Active withdraws fastPreempt and the wish of a group', () => {
    const pending = backup({
      active: { source: ABOVE, priority: 100, heardAt: ms(600) },
      activeDownAt: ms(1100),
      regularDownAt: ms(DOWN),
      downReason: 'activeDemoted',
      heldSince: ms(650),
    })
    expect(reload(pending, { priority: 100 }, 700)[0]).toMatchObject({
      activeDownAt: 600 + 3000 + (156 * 1000) / 256,
      downReason: 'activeSilent',
      regularDownAt: undefined,
      heldSince: undefined,
    })
  })

  test('without fastPreempt the timer continues, and the wish of a group ends', () => {
    const rfc = parameters('rfc9568')
    const held = backup({ active: { source: BELOW, priority: 100, heardAt: ms(500) }, heldSince: ms(10) })
    const [next, effects] = reload(held, { priority: 90 }, 700, rfc)
    expect(next).toMatchObject({ heldSince: undefined, activeDownAt: held.activeDownAt + 38 * (1000 / 256) })
    expect(effects).toEqual([])
    expect(reload(held, { priority: 101 }, 700, rfc)[0]).toMatchObject({ heldSince: 10 })
  })

  test('a running preemptDelay ends when the reloaded one would have ended', () => {
    const delayed = { ...OLD, preemptDelay: ms(300_000) }
    const waiting = backup({ active: { source: BELOW, priority: 100, heardAt: ms(0) }, preemptAt: ms(310_000) })
    expect(reload(waiting, { preemptDelay: ms(5_000) }, 12_000, delayed)).toEqual([
      { ...waiting, preemptAt: ms(15_000) },
      [],
    ])
  })

  test('a version 3 Backup waits by the interval that it learned', () => {
    expect(reload(FOLLOWING, { advertisementInterval: centis(10) }, 700)[0]).toBe(FOLLOWING)
  })

  test('a version 3 Backup without an Active waits by its own reloaded interval, from now', () => {
    expect(reload(backup(), { advertisementInterval: centis(10) }, 700)[0]).toEqual(
      backup({ activeAdverInterval: centis(10), activeDownAt: ms(700 + DOWN / 10) }),
    )
  })

  test('a version 2 Backup waits by its own reloaded interval', () => {
    const before = parameters('holdfast', { version: 2 })
    // Skew_Time of version 2 is not scaled: 6 s and 500 ms.
    expect(reload(FOLLOWING, { advertisementInterval: centis(200) }, 700, before)).toEqual([
      { ...FOLLOWING, activeAdverInterval: centis(200), activeDownAt: ms(700 + 6000 + SKEW) },
      [],
    ])
  })

  test('a reload does not restart the wait after a release', () => {
    const released = backup({ activeDownAt: ms(900), downReason: 'activeReleased' })
    expect(reload(released, { advertisementInterval: centis(1000) }, 700)[0]).toMatchObject({ activeDownAt: 900 })
  })

  test('reloaded addresses of a Backup matter at its next takeover only', () => {
    expect(reload(FOLLOWING, { addresses: [VIP3] }, 700)).toEqual([FOLLOWING, []])
  })
})

describe('from multicast to unicast, and back', () => {
  const UNICAST: Overrides = { transport: { mode: 'unicast', peers: [{ address: ABOVE }] } }
  const there: Parameters = { ...OLD, transport: { mode: 'unicast', peers: [{ address: ABOVE }] } }

  test.each([
    ['there', UNICAST, OLD],
    ['back', { transport: OLD.transport }, there],
  ])('%s: an Active stays Active and advertises to its new destinations', (_, change, before) => {
    const [state, effects] = reload(ACTIVE, change, 700, before)
    expect(state).toEqual({ ...ACTIVE, changeSentAt: 700 })
    expect(effects).toEqual([said()])
  })

  test('a Backup restarts its wait after a change of transport, because the Active may change later', () => {
    const [state, effects] = reload(FOLLOWING, UNICAST, 700)
    expect(effects).toEqual([])
    expect(state).toEqual({ ...FOLLOWING, activeDownAt: 700 + DOWN })
  })

  test('a Backup whose Active has released does not restart its wait after a change of transport', () => {
    const released = backup({ activeDownAt: ms(900), downReason: 'activeReleased' })
    expect(reload(released, UNICAST, 700)[0]).toEqual(released)
  })
})

describe('Leaving and Initialize', () => {
  test('a router in Leaving removes an address that a reload took away, and keeps answering for the others', () => {
    const [next, effects] = reload(leaving(), { addresses: [VIP2, VIP3], priority: 1 }, 1)
    expect(next).toEqual(leaving({ stillAnswered: [{ address: VIP2, offAt: undefined }] }))
    expect(effects).toEqual([removed(VIP)])
    expect(reload(leaving({ reason: 'yield' }), { priority: 1, advertisementInterval: centis(10) }, 1)[1]).toEqual([])
  })

  test('a router in Leaving that loses its last address follows its known successor', () => {
    const successor = { source: ABOVE, priority: 100, interval: centis(100), heardAt: ms(1) }
    const last = leaving({ reason: 'yield', successor, stillAnswered: [{ address: VIP, offAt: ms(21) }] })
    const [next, effects] = reload(last, { addresses: [VIP3] }, 5)
    expect(next).toMatchObject({ name: 'Backup', active: { source: ABOVE, priority: 100, heardAt: 1 } })
    expect(effects).toEqual([
      removed(VIP),
      { kind: 'transition', from: 'Leaving', to: 'Backup', reason: 'successorHeard', peer: ABOVE },
    ])
  })

  test('a router in Initialize starts with the reloaded parameters', () => {
    const faulty = initialize({ faults: ['linkDown'], stopped: false })
    const [next] = reload(faulty, { priority: 255, addresses: [VIP3] }, 1)
    expect(next).toBe(faulty)
  })
})
