/** Which event caused which: the basis of the chains of numbers in the journal. */
import { describe, expect, test } from 'vitest'
import { causeOf } from '../../../src/events/cause.ts'
import type { Fact, JournalEvent } from '../../../src/events/event.ts'

let seq = 0
const at = (monotonicMs: number, fact: Fact): JournalEvent => ({
  seq: ++seq,
  at: new Date(monotonicMs).toISOString(),
  monotonicMs,
  ...fact,
})

type Transition = Extract<Fact, { kind: 'transition' }>
const transition = (reason: string, more: Partial<Transition> = {}): Transition => ({
  ...{ kind: 'transition', router: 'api', vrid: 51, interface: 'eth0', from: 'Backup', to: 'Active', reason },
  ...{ priority: 100, interval: 1_000, addresses: ['10.0.0.1'], decidedMs: 0 },
  ...more,
  kind: 'transition',
})

const check = (to: 'up' | 'down', router = 'api') =>
  at(100, { kind: 'checkChanged', check: 'web', from: 'up', to, effects: [{ router, adds: 0 }] })
const priority = { kind: 'priorityChanged', router: 'api', from: 150, to: 100, why: 'tracking', active: true } as const
const heard = (router = 'api') =>
  at(100, { kind: 'peerHeard', router, peer: '10.0.0.12', priority: 0, news: 'released' })
const link = (name: string) => at(100, { kind: 'linkChanged', interface: name, exists: true, up: true, carrier: false })
const fault = (router: string, name: string) => at(100, { kind: 'faultChanged', router, fault: name, present: true })

describe('the cause of an event', () => {
  test('a changed priority is caused by the check that the router tracks', () => {
    const ours = check('down')
    expect(causeOf(priority, [ours, check('down', 'other')], 110)).toBe(ours.seq)
    expect(causeOf(priority, [check('down', 'other')], 110)).toBeUndefined()
  })

  test('a changed priority after a reload is caused by the reload', () => {
    const reload = at(100, { kind: 'reloaded', ok: true })
    const failed = at(101, { kind: 'reloaded', ok: false, reason: 'invalid: one problem' })
    expect(causeOf({ ...priority, why: 'reload' }, [reload, failed], 110)).toBe(reload.seq)
  })

  test('a takeover is caused by the advertisement of that peer to that router', () => {
    const ours = heard()
    expect(causeOf(transition('activeReleased', { peer: '10.0.0.12' }), [ours, heard('other')], 110)).toBe(ours.seq)
    expect(causeOf(transition('activeReleased', { peer: '10.0.0.13' }), [ours], 110)).toBeUndefined()
    expect(causeOf(transition('activeSilent'), [ours], 110), 'of silence').toBeUndefined()
  })

  test('a takeover in a sync group is caused by an advertisement to any member', () => {
    const other = heard('other')
    expect(causeOf(transition('activeReleased', { group: 'g' }), [other], 110)).toBe(other.seq)
  })

  test('a transition into a fault is caused by the fault, which is caused by the link, check or member', () => {
    const fallen = fault('api', 'linkDown')
    const into = (reason: string) => transition(reason, { from: 'Active', to: 'Initialize' })
    expect(causeOf(into('linkDown'), [link('eth0'), fallen], 110)).toBe(fallen.seq)
    const down = link('eth1')
    expect(
      causeOf(
        { kind: 'faultChanged', router: 'api', fault: 'trackedInterfaceDown:eth1', present: true },
        [link('eth0'), down],
        110,
      ),
    ).toBe(down.seq)
    const failed = check('down')
    expect(
      causeOf({ kind: 'faultChanged', router: 'api', fault: 'healthcheckDown:web', present: true }, [failed], 110),
    ).toBe(failed.seq)
    const member = fault('web', 'linkDown')
    expect(causeOf(into('syncGroup:web'), [member], 110)).toBe(member.seq)
  })

  test('Leaving is caused by the order, the end by Leaving, and an order by a lost guardian', () => {
    const lost = at(100, { kind: 'guardianLost' })
    const order = at(101, { kind: 'stopOrdered', trigger: 'guardian lost' })
    expect(causeOf({ kind: 'stopOrdered', trigger: 'guardian lost' }, [lost], 110)).toBe(lost.seq)
    expect(causeOf(transition('shutdown', { from: 'Active', to: 'Leaving' }), [lost, order], 110)).toBe(order.seq)
    expect(causeOf(transition('shutdown', { from: 'Active', to: 'Leaving' }), [lost], 110)).toBe(lost.seq)
    expect(causeOf({ kind: 'stopped' }, [order], 110)).toBe(order.seq)
  })

  test('an event is not the cause of a fact 10 s later', () => {
    expect(causeOf(priority, [check('down')], 10_090)).toBeDefined()
    expect(causeOf(priority, [check('down')], 10_101)).toBeUndefined()
  })

  test('the search for a cause looks at a limited number of events', () => {
    const events = [check('down'), ...Array.from({ length: 64 }, () => heard())]
    expect(causeOf(priority, events, 110)).toBeUndefined()
  })
})
