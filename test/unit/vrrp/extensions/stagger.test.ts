/**
 * Stagger (docs/architecture.md, Protocol decisions): equal routers take over one after the other, in the order in
 * which they would win by RFC 9568 §6.4.3.
 */
import { describe, expect, test } from 'vitest'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import type { State } from '../../../../src/vrrp/state.ts'
import { address } from '../../../../src/wire/address.ts'
import { centis } from '../../../../src/wire/units.ts'
import {
  ABOVE,
  active,
  BELOW,
  backup,
  heard,
  initialize,
  ms,
  OTHER,
  parameters,
  priorityFrom,
  startup,
  tickAfterLoss,
} from '../fsm-fixture.ts'

const peers = [{ address: BELOW }, { address: OTHER }, { address: ABOVE }]
const told = parameters('holdfast', { peers })

function downAt(state: State): number {
  if (state.name !== 'Backup') throw new Error(`Expected Backup, found ${state.name}`)
  return state.activeDownAt
}

describe('stagger', () => {
  test('each expiry is delayed by rank × 3 ms, for example with two peers of higher address', () => {
    expect(downAt(step(initialize(), startup, told, ms(0))[0])).toBe(3506)
  })

  test('the last Active does not count for the rank', () => {
    expect(downAt(step(backup(), heard(ABOVE, 200, 1000), told, ms(1000))[0])).toBe(4503)
    expect(downAt(step(backup(), heard(BELOW, 200, 1000), told, ms(1000))[0])).toBe(4506)
  })

  test('the router that has released does not count for the rank', () => {
    const following = backup({ active: { source: ABOVE, priority: 200, heardAt: ms(1000) }, activeDownAt: ms(4503) })
    expect(downAt(step(following, heard(ABOVE, 0, 1200), told, ms(1200))[0])).toBe(1703)
    expect(downAt(step(backup(), heard(BELOW, 0, 1200), told, ms(1200))[0])).toBe(1706)
    expect(downAt(step(backup(), heard(ABOVE, 0, 1200), told, ms(1200))[0])).toBe(1703)
  })

  test('a single advertisement of another router restarts the timer with the rank behind the Active', () => {
    const following = backup({ active: { source: ABOVE, priority: 200, heardAt: ms(1000) }, activeDownAt: ms(4503) })
    expect(downAt(step(following, heard(BELOW, 150, 1500), told, ms(1500))[0])).toBe(5003)
  })

  test('a demoted Active that we no longer beat has its interval and our rank behind it', () => {
    const lowered = parameters('holdfast', { peers, priority: 50 })
    const pending = backup({
      active: { source: ABOVE, priority: 50, heardAt: ms(11_000) },
      activeDownAt: ms(11_503),
      regularDownAt: ms(13_503),
      downReason: 'activeDemoted',
    })
    expect(downAt(step(pending, priorityFrom(128), lowered, ms(11_200))[0])).toBe(14_807.6875)
  })

  test('fastPreempt, lost packets and a lost election add the rank as well', () => {
    const following = backup({
      active: { source: BELOW, priority: 200, heardAt: ms(10_000) },
      activeDownAt: ms(13_506),
    })
    expect(downAt(step(following, heard(BELOW, 50, 11_000), told, ms(11_000))[0])).toBe(11_506)
    expect(downAt(step(following, tickAfterLoss, told, ms(13_506))[0])).toBe(17_012)
    expect(downAt(step(active(), heard(ABOVE, 200, 300), told, ms(300))[0])).toBe(3803)
  })

  test('with intervals of 100 ms and less, the last in rank takes over within half an interval', () => {
    const fast = parameters('holdfast', { peers, advertisementInterval: centis(1) })
    // Step 10 / (2 × 3) ms, rank 2; Active_Down_Interval 35 ms.
    expect(downAt(step(initialize(), startup, fast, ms(0))[0])).toBeCloseTo(35 + 20 / 6, 9)
  })

  test('with listed priorities only equal peers count, and a changed priority changes the rank', () => {
    const listed = [
      { address: BELOW, priority: 64 },
      { address: OTHER, priority: 64 },
      { address: ABOVE, priority: 128 },
    ]
    const graded = parameters('holdfast', { peers: listed })
    expect(downAt(step(initialize(), startup, graded, ms(0))[0])).toBe(3503)
    const lowered = parameters('holdfast', { peers: listed, priority: 64 })
    expect(downAt(step(backup({ activeDownAt: ms(3503) }), priorityFrom(128), lowered, ms(10))[0])).toBe(3753)
    const equals = [
      { address: OTHER, priority: 64 },
      { address: ABOVE, priority: 64 },
    ]
    const falls = parameters('holdfast', { peers: equals, priority: 64 })
    const behind = backup({ active: { source: ABOVE, priority: 200, heardAt: ms(0) } })
    expect(downAt(step(behind, priorityFrom(128), falls, ms(10))[0])).toBe(3753)
  })

  test('peers of our base priority count for the rank although checks have raised our own priority', () => {
    const listed = [
      { address: BELOW, priority: 64 },
      { address: ABOVE, priority: 64 },
    ]
    const raised = parameters('holdfast', { peers: listed, priority: 128 })
    expect(downAt(step(initialize(), startup, { ...raised, basePriority: 64 }, ms(0))[0])).toBe(3503)
    expect(downAt(step(initialize(), startup, { ...raised, basePriority: 100 }, ms(0))[0])).toBe(3500)
  })

  test.each([
    ['the letter', parameters('rfc9568', { peers })],
    ['the knob', parameters('holdfast', { peers, knobs: { stagger: false } })],
    ['no peers', parameters('holdfast')],
    ['Preempt_Mode False', parameters('holdfast', { peers, preempt: false })],
    ['the highest address', parameters('holdfast', { peers, primaryAddress: address('192.0.2.200') })],
  ])('the stagger is off: %s', (_name, knows) => {
    expect(downAt(step(initialize(), startup, knows, ms(0))[0])).toBe(3500)
  })
})
