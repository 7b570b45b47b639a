/** A router without an address of its own to send from: a wait at the start, a consequence of a lost link, or a loss. */
import { expect, test } from 'vitest'
import type { Fact, JournalEvent } from '../../../src/events/event.ts'
import { storyOf } from '../../../src/explain/story.ts'

const BEGIN = Date.parse('2026-11-22T21:00:00.000Z')

type Made = Fact & { readonly ms: number }

const journal = (...facts: readonly Made[]): readonly JournalEvent[] =>
  facts.map(
    ({ ms, ...fact }, i): JournalEvent => ({
      ...fact,
      ...{ seq: i + 1, at: new Date(BEGIN + ms).toISOString(), monotonicMs: 1_000_000 + ms },
    }),
  )

const STARTED: Made = {
  ...{ ms: 0, kind: 'started', pid: 7, hostname: 'r1', version: '0.1.0', config: '/nowhere.yaml', guardian: true },
}
const fault = (ms: number, present: boolean, router = 'web6', name = 'sourceAddressMissing'): Made => ({
  ...{ ms, kind: 'faultChanged', router, fault: name, present },
})
const BACKUP: Made = {
  ...{ ms: 2_000, kind: 'transition', router: 'web6', vrid: 51, interface: 'eth0', priority: 150, interval: 1_000 },
  ...{ self: 'fe80::1', addresses: ['fd44::100'], decidedMs: 1_002_000 },
  ...{ from: 'Initialize', to: 'Backup', reason: 'faultCleared' },
}

const tell = (...facts: readonly Made[]) =>
  storyOf([{ name: 'r1', events: journal(...facts), running: true }], { router: undefined, since: 0, problems: [] })
    .incidents
const causes = (...facts: readonly Made[]) => tell(...facts).map(({ cause }) => cause)

test('a start with IPv6 waits for its address and gives no advice', () => {
  const told = tell(STARTED, fault(5, true), fault(1_605, false), BACKUP)
  expect(told).toMatchObject([{ cause: 'addressNotReady', prevention: null }])
  expect(told[0]?.headline).toBe(
    'r1: web6: fault: sourceAddressMissing (its interface has no address to send from); an address was ready after 1.6 s.',
  )
})

const ACTIVE = (ms: number): Made => ({
  ...BACKUP,
  ...{ ms, from: 'Backup', to: 'Active', reason: 'activeSilent', decidedMs: 1_000_000 + ms },
})

test.each([
  ['soon after a start that waited for its address is a start', 5_600, 'started'],
  ['long after it has a reason that is not known', 60_000, 'silent'],
] as const)('a takeover without another router %s', (_, ms, cause) => {
  expect(causes(STARTED, fault(5, true), fault(1_605, false), BACKUP, ACTIVE(ms)).at(-1)).toBe(cause)
})

test('the other members of its sync group belong to the same incident', () => {
  const told = tell(
    ...[STARTED, fault(5, true), fault(6, true, 'web4', 'syncGroup:web6')],
    ...[fault(1_605, false), fault(1_606, false, 'web4', 'syncGroup:web6'), BACKUP],
  )
  expect(told).toMatchObject([{ cause: 'addressNotReady', prevention: null }])
})

test.each([
  ['that does not come', [STARTED, fault(5, true)], /; the router still has no address\.$/],
  ['that comes late', [STARTED, fault(5, true), fault(9_005, false), BACKUP], / was ready after 9 s\.$/],
] as const)('an address %s has advice', (_, facts, headline) => {
  const told = tell(...facts)
  expect(told).toMatchObject([{ cause: 'addressNotReady', prevention: expect.stringMatching(/^give the interface/) }])
  expect(told[0]?.headline).toMatch(headline)
})

test('a running router that loses its address reports a change of the network', () => {
  expect(causes(STARTED, BACKUP, fault(60_000, true), fault(61_000, false))).toEqual(['networkMoved'])
})

test('an address that is lost with the link is no separate incident', () => {
  const lost = [fault(60_000, true, 'web6', 'linkDown'), fault(60_000, true)]
  expect(causes(STARTED, BACKUP, ...lost)).toEqual(['carrierLost'])
  // Another router has lost its link.
  const other = fault(60_000, true, 'web4', 'linkDown')
  expect(causes(STARTED, BACKUP, other, fault(60_000, true)).toSorted()).toEqual(['carrierLost', 'networkMoved'])
})
