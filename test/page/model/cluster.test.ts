/**
 * Tests which node the status page shows as the holder of an address. The page derives this from reports of several
 * nodes, taken at different moments.
 */
import { expect, test } from 'vitest'
import type { JournalEvent } from '../../../src/events/event.ts'
import { groupsOf, storyOf } from '../../../src/http/page/cluster.js'
import { headlineOf } from '../../../src/http/page/headline.js'
import type { Node } from '../../../src/http/page/memory.js'
import { ago, NOW, node, router, transition, VIP, withCheck } from './nodes.ts'

const active = (more = {}) =>
  router({
    state: 'Active',
    reason: 'activeSilent',
    holder: { self: true, address: '10.0.0.11', priority: 100, heardMsAgo: 0 },
    source: '10.0.0.11',
    ...more,
  })
const follows = (address: string, heardMsAgo = 50, more = {}) =>
  router({ holder: { self: false, address, priority: 100, heardMsAgo }, ...more })

function told(nodes: readonly Node[], knowsPeers = true): string {
  const [group] = groupsOf(nodes)
  if (group === undefined) throw new Error('no virtual router')
  const { next, rest, tone, verb, what, who } = headlineOf(group, nodes, NOW, knowsPeers)
  return `${tone}: ${who} ${verb} ${what} ${rest} ${next}`.trim()
}

test('the Active is the holder, and the Backups follow by their priorities', () => {
  const words = told([
    node('a', [active()]),
    node('b', [follows('10.0.0.11', 50, { priority: { base: 90, effective: 90 } })]),
    node('c', [follows('10.0.0.11', 50, { priority: { base: 95, effective: 95 } })]),
  ])
  expect(words).toMatch(/^good: a holds 10\.0\.0\.200 /)
  expect(words).toMatch(/ since \S+( \S+)? \(60 s\), because /)
  expect(words).toMatch(
    /because no other router was heard\. Next in line: c \(priority 95\), then b \(priority 90\)\.$/,
  )
})

test('a time has the second that its own node shows, unless the clocks differ by a second', () => {
  const since = new Date(NOW - 60_000 + 996).toISOString()
  const shown = (offsetMs: number) =>
    / since (\S+) \(/.exec(told([node('a', [active({ since })], { offsetMs })]))?.[1]?.slice(-2)
  expect([shown(0), shown(-9), shown(-900), shown(-1_500)]).toEqual(['00', '00', '00', '02'])
})

test('the journal names the holder before', () => {
  const heard = { peer: '10.0.0.12', priority: 0, agoMs: 40 }
  const events = [transition(7, 60_010, 'Active', { reason: 'activeReleased', heard })]
  const words = told([
    node('a', [active({ reason: 'activeReleased' })], { events }),
    node('b', [follows('10.0.0.11', 50, { source: '10.0.0.12' })]),
  ])
  expect(words).toContain('because b released it (priority 0).')
})

test('an event of another time is not the reason', () => {
  const events = [transition(7, 90_000, 'Active', { reason: 'activeReleased' })]
  expect(told([node('a', [active({ reason: 'noSuccessor' })], { events })])).toContain(
    'because no other router took over.',
  )
})

test('a lone node is called alone only after the page has asked the others', () => {
  expect(told([node('a', [active()])])).toMatch(/^good: .*The next in line is unknown/)
  expect(told([node('a', [active()])], false)).toMatch(/\.$/)
  expect(told([node('a', [active()])], false)).not.toContain('next')
  expect(told([node('a', [active()]), node('b', [], { problem: 'gone' })])).toMatch(/^note: .*No other node is ready/)
})

test('two nodes that are Active at the same time are both holders', () => {
  expect(told([node('a', [active()]), node('b', [active({ source: '10.0.0.12' })])])).toMatch(
    /^bad: a and b both hold .*They do not receive each other’s advertisements/,
  )
})

test('a holder whose check is down is bad news, and the sentence says whether another node is better', () => {
  const a = node('a', [active()])
  const b = node('b', [follows('10.0.0.11')])
  expect(told([withCheck(a, 'up'), withCheck(b, 'up')])).toMatch(/^good: a holds/)
  expect(told([withCheck(a, 'down'), withCheck(b, 'down')])).toMatch(
    /^bad: a holds .* The service does not work there: check web is down, and on every other node as well\. Next/,
  )
  expect(told([withCheck(a, 'down'), withCheck(b, 'up')])).toMatch(/^bad: .*: check web is down, but not on b\. Next/)
  expect(told([withCheck(a, 'down')])).toMatch(/^bad: .*: check web is down\. /)
})

test('a Backup whose check is down or that is in fault is a note', () => {
  const a = withCheck(node('a', [active()]), 'up')
  expect(told([a, withCheck(node('b', [follows('10.0.0.11')]), 'down')])).toMatch(/^note: a holds/)
  const fault = router({ state: 'Initialize', reason: 'linkDown', faults: ['linkDown'] })
  expect(told([a, node('b', [follows('10.0.0.11')]), node('c', [fault])])).toMatch(/^note: a holds/)
})

test('a check of another router does not count for the holder', () => {
  const a = withCheck(node('a', [active({ name: 'ingress' })]), 'down')
  expect(told([a, node('b', [follows('10.0.0.11')])])).toMatch(/^good: a holds/)
})

test('an older report of the previous Active does not make two holders', () => {
  const before = node('a', [active()], { takenMsAgo: 2_000 })
  const after = node('b', [active({ since: ago(500), source: '10.0.0.12' })])
  expect(told([before, after])).toMatch(/^good: b holds/)
})

test('a difference of clocks does not make a report newer', () => {
  const before = node('a', [active()], { takenMsAgo: 2_000 })
  // The clock of node b is 5 s behind. By the clock of the status page, node b became Active half a second ago.
  const after = node('b', [active({ since: ago(5_500), source: '10.0.0.12' })], { offsetMs: -5_000, takenMsAgo: 5_000 })
  expect(told([before, after])).toMatch(/^good: b holds/)
})

test('a router outside the list is named by the nodes that receive it', () => {
  expect(told([node('b', [follows('10.0.0.11')])])).toMatch(/^good: 10\.0\.0\.11 holds 10\.0\.0\.200 according to b/)
  const silent = node('a', [active()], { problem: 'connection refused (the API does not run there)' })
  expect(told([silent, node('b', [follows('10.0.0.11')])])).toMatch(/^good: a holds 10\.0\.0\.200 according to b/)
})

test('a node that reports Backup is no holder, unless a later advertisement of it was received', () => {
  const back = (takenMsAgo: number) => node('a', [router({ state: 'Returning', source: '10.0.0.11' })], { takenMsAgo })
  expect(told([back(0), node('b', [follows('10.0.0.11', 500)])])).toMatch(/^bad: No node that answers holds/)
  expect(told([back(2_000), node('b', [follows('10.0.0.11', 50)])])).toMatch(/^good: a holds .* according to b/)
})

test('without a holder each node gives its reason', () => {
  const words = told([node('a', [router({ state: 'Initialize', reason: 'linkDown', faults: ['linkDown'] })])])
  expect(words).toBe(`bad: No node holds ${VIP} as far as this node knows. a does not: its link is down.`)
})

test('a leaving node still holds the address', () => {
  const holder = { self: true, address: '10.0.0.11', priority: 0, heardMsAgo: 0 }
  expect(told([node('a', [router({ state: 'Leaving', reason: 'yield', holder })])])).toMatch(
    /^note: a leaves and still holds/,
  )
})

test('virtual routers of nodes belong together by VRID, family and an address, not by name', () => {
  const other = router({
    name: 'vip',
    addresses: [
      { address: '10.0.0.201', present: false },
      { address: VIP, present: false },
    ],
  })
  expect(groupsOf([node('a', [active()]), node('b', [other])]).map(({ members }) => members.length)).toEqual([2])
  const apart = [
    router({ vrid: 52 }),
    router({ family: 'ipv6' }),
    router({ addresses: [{ address: '10.0.0.9', present: false }] }),
  ]
  for (const each of apart) expect(groupsOf([node('a', [active()]), node('b', [each])])).toHaveLength(2)
})

const check: JournalEvent = {
  kind: 'checkChanged',
  seq: 1,
  at: ago(1_160),
  monotonicMs: 0,
  check: 'lb',
  from: 'up',
  to: 'down',
  effects: [],
}

const HEARD = { peer: '10.0.0.12', priority: 40, agoMs: 150 }

function story(nodes: readonly Node[]): string[] {
  const [group] = groupsOf(nodes)
  const [holder] = group?.members ?? []
  if (group === undefined || holder === undefined) throw new Error('no virtual router')
  return storyOf(holder, group).map(({ event, node: { name } }) => `${name} ${event.seq} ${event.kind}`)
}

test('the causes of a change stand in order, the first cause first, and never in a circle', () => {
  const cause: JournalEvent = { ...transition(2, 61_000, 'Backup'), because: 1 }
  const last: JournalEvent = { ...transition(3, 60_000, 'Active'), because: 2 }
  const told = ['a 1 checkChanged', 'a 2 transition', 'a 3 transition']
  expect(story([node('a', [active()], { events: [check, cause, last] })])).toEqual(told)
  expect(story([node('a', [active()], { events: [{ ...check, because: 3 }, cause, last] })])).toEqual(told)
  expect(story([node('a', [active()], { events: [last] })])).toEqual(['a 3 transition'])
  expect(story([node('a', [active()])])).toEqual([])
})

test('the lowered priority of another node is explained by events of that node', () => {
  const heard: JournalEvent = {
    kind: 'peerHeard',
    seq: 8,
    at: ago(1_150),
    monotonicMs: 0,
    router: 'api',
    peer: '10.0.0.12',
    priority: 40,
    news: 'lowered',
  }
  const mine = [heard, { ...transition(9, 1_000, 'Active', { reason: 'activeDemoted' }), because: 8 }]
  const holder = node('a', [active({ since: ago(1_000), reason: 'activeDemoted' })], { events: mine })
  const lowered: JournalEvent = {
    kind: 'priorityChanged',
    seq: 2,
    at: ago(1_155),
    monotonicMs: 0,
    because: 1,
    router: 'vip',
    from: 90,
    to: 40,
    why: 'tracking',
    active: true,
  }
  const b = (events: readonly JournalEvent[], offsetMs = 0) =>
    node('b', [router({ name: 'vip', source: '10.0.0.12' })], { events, offsetMs })
  const own = ['a 8 peerHeard', 'a 9 transition']
  expect(story([holder, b([check, lowered])])).toEqual(['b 1 checkChanged', 'b 2 priorityChanged', ...own])
  expect(told([holder, b([check, lowered])])).toContain('because check lb failed on b (90 → 40).')
  expect(told([holder, b([{ ...lowered, because: undefined }])])).toContain('because b lowered its priority (90 → 40).')
  const other = node(
    'b',
    [router({ name: 'vip', source: '10.0.0.12' }), router({ name: 'vip6', family: 'ipv6', source: 'fe80::12' })],
    {
      events: [check, { ...lowered, router: 'vip6' }],
    },
  )
  const byMember = { ...holder, events: [{ ...heard, router: 'api6', peer: 'fe80::12' }, ...mine.slice(1)] }
  expect(story([byMember, other]), 'heard by another member of the sync group').toEqual(
    story([holder, b([check, lowered])]),
  )
  const without = node('a', [active({ since: ago(1_000), reason: 'activeDemoted' })], {
    events: [heard, transition(9, 1_000, 'Active', { reason: 'activeDemoted', because: 8, heard: HEARD })],
  })
  expect(told([without, b([])])).toContain('because b dropped its priority to 40.')
  expect(story([holder, b([check, { ...lowered, at: ago(-1_845) }], 3_000)]), 'by its own clock').toHaveLength(4)
  expect(story([holder, b([check, { ...lowered, at: ago(9_000) }])]), 'another time').toEqual(own)
  expect(story([holder, b([check, { ...lowered, to: 60 }])]), 'another priority').toEqual(own)
})
