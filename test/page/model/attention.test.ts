/** Tests the list of problems on the status page, which the page derives from the reports of several nodes. */
import { expect, test } from 'vitest'
import { remarksOn } from '../../../src/http/page/attention.js'
import { groupsOf } from '../../../src/http/page/cluster.js'
import type { Node } from '../../../src/http/page/memory.js'
import { FakeWorld } from '../../unit/daemon/fake-world.ts'
import { NOW, node, router, withCheck } from './nodes.ts'

/** Returns only the lines of that list that concern health checks and faults. */
const remarks = (nodes: readonly Node[]): string[] =>
  remarksOn(new FakeWorld().start().daemon.snapshot(), nodes, groupsOf(nodes), NOW)
    .map(({ tone, words }) => `${tone}: ${words}`)
    .filter((words) => /check|takes no part/i.test(words))

const healthy = (name: string) => withCheck(node(name, [router()]), 'up')
const failing = (name: string, reason?: string) => withCheck(node(name, [router()]), 'down', reason)

test('a check that is down on another node is named with that node', () => {
  expect(remarks([healthy('a'), failing('b'), healthy('c')])).toEqual([
    'bad: Check web is down on b (connection refused)',
  ])
})

test('a check that is down on several nodes for one reason is one line', () => {
  expect(remarks([failing('a'), failing('b'), failing('c', 'timeout')])).toEqual([
    'bad: Check web is down on a and b (connection refused)',
    'bad: Check web is down on c (no result in time)',
  ])
})

test('a page with one node does not name the node', () => {
  expect(remarks([failing('a')])).toEqual(['bad: Check web is down (connection refused)'])
})

test('a fault of another node is listed', () => {
  const fault = node('b', [router({ state: 'Initialize', reason: 'linkDown', faults: ['linkDown'] })])
  expect(remarks([healthy('a'), fault])).toEqual(['bad: api takes no part on b: its link is down'])
})

test('the last report of a node that does not answer is not listed', () => {
  expect(remarks([healthy('a'), { ...failing('b'), problem: 'no answer' }])).toEqual([])
})
