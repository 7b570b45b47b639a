/**
 * Tests how the status page splits an effective priority into its parts, and which node would win without one of the
 * parts.
 */
import { expect, test } from 'vitest'
import { groupsOf } from '../../../src/http/page/cluster.js'
import type { Node } from '../../../src/http/page/memory.js'
import { layersOf, scaleOf, withoutEach } from '../../../src/http/page/priority.js'
import type { PeerRouter } from '../../../src/http/peers/peer-status.ts'
import { node, router } from './nodes.ts'

function weighed(base: number, adds: Readonly<Record<string, number>>, more: Partial<PeerRouter> = {}): PeerRouter {
  const parts = Object.entries(adds).map(([name, value]) => ({ kind: 'healthcheck' as const, name, adds: value }))
  const sum = parts.reduce((total, part) => total + part.adds, base)
  const priority = { base, effective: Math.min(254, Math.max(1, sum)) }
  return router({ priority, tracking: { sum, parts }, ...more })
}

function without(nodes: readonly Node[]): Record<string, readonly string[]> {
  const [group] = groupsOf(nodes)
  if (group === undefined) throw new Error('no virtual router')
  return Object.fromEntries(
    group.members.map((member) => [
      member.node.name,
      withoutEach(member, group).map((each) => `${each.name} ${each.adds} ${each.without} ${each.consequence}`.trim()),
    ]),
  )
}

test('added parts lie on each other, and a subtracted part goes down again', () => {
  const layers = layersOf(weighed(40, { lb: 50, uplink: -20, mcs: 0 }))
  expect(layers.map(({ from, name, to }) => [name, from, to])).toEqual([
    ['base', 0, 40],
    ['lb', 40, 90],
    ['mcs', 90, 90],
    ['uplink', 70, 90],
  ])
})

test('all bars of a virtual router have one scale, with room for the highest', () => {
  const [group] = groupsOf([node('a', [weighed(40, { lb: 50 })]), node('b', [weighed(100, { lb: 60, uplink: -60 })])])
  expect(group === undefined ? 0 : scaleOf(group)).toBe(200)
})

test('without a part the Active may fall below the next in line', () => {
  const holds = { state: 'Active' as const, holder: { self: true, address: null, priority: null, heardMsAgo: 0 } }
  const all = [
    node('a', [weighed(40, { lb: 50, mcs: 3 }, holds)]),
    node('b', [weighed(40, { lb: 50 })]),
    node('c', [weighed(30, {})]),
  ]
  expect(without(all)).toEqual({
    a: ['lb 50 43 b (90) would take over', 'mcs 3 90 the address stays, b has 90'],
    b: ['lb 50 40'],
    c: [],
  })
})

test('without a subtracted part a Backup may be above the Active', () => {
  const all = [node('a', [weighed(90, {}, { state: 'Active' })]), node('b', [weighed(95, { uplink: -20 })])]
  expect(without(all).b).toEqual(['uplink -20 95 more than a, which holds it with 90'])
})

test('a part of 0 has no consequence, a sum stays between 1 and 254, and a silent node is not judged', () => {
  const high = weighed(200, { one: 100, two: 0 }, { state: 'Active' })
  expect(without([node('a', [high]), node('b', [weighed(250, {})])]).a).toEqual([
    'one 100 200 b (250) would take over',
    'two 0 254',
  ])
  expect(without([node('a', [weighed(20, { uplink: -80 })])]).a).toEqual(['uplink -80 20'])
  expect(without([node('a', [high], { problem: 'gone' }), node('b', [weighed(250, {})])]).a).toEqual([
    'one 100 200',
    'two 0 254',
  ])
})
