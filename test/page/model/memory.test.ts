/** Tests how the status page stores the reports of the nodes, and which parts of a report a new answer replaces. */
import { expect, test } from 'vitest'
import { Memory } from '../../../src/http/page/memory.js'
import { FakeWorld } from '../../unit/daemon/fake-world.ts'
import { NOW, node, router, transition } from './nodes.ts'

const URL_OF = { a: 'http://10.0.0.11:9655', b: 'http://10.0.0.12:9655' }

function answer(name: 'a' | 'b', more: { problem?: string; clockOffsetMs?: number; roundTripMs?: number } = {}) {
  const { problem, clockOffsetMs = 0.4, roundTripMs = 2 } = more
  const status = problem === undefined ? node(name, [router()]).status : null
  const silent =
    problem === undefined
      ? { problem: null, clockOffsetMs, roundTripMs }
      : { problem, clockOffsetMs: null, roundTripMs: null }
  return { url: URL_OF[name], status, events: [], ...silent }
}
const answers = (...peers: ReturnType<typeof answer>[]) => ({ version: 1, takenAt: '', peers }) as const

function memoryOf(hostname: string): Memory {
  const memory = new Memory()
  memory.status({ ...new FakeWorld().start().daemon.snapshot(), hostname }, NOW)
  return memory
}

test('nodes are in the order of their names, whichever node serves the page', () => {
  const memory = memoryOf('node10')
  memory.peers(answers(answer('b'), answer('a')), NOW)
  expect(memory.nodes.map(({ name }) => name)).toEqual(['a', 'b', 'node10'])
  expect(memory.nodes.map(({ self }) => self)).toEqual([false, false, true])
})

test('nodes with the same host name are distinguished by their addresses', () => {
  const memory = memoryOf('node')
  const named = (name: 'a' | 'b', source: string | null) => ({
    ...answer(name),
    status: node('node', [router({ source })], { key: name }).status,
  })
  memory.peers(answers(named('a', '10.0.0.11'), named('b', 'fe80::12')), NOW)
  expect(memory.nodes.map(({ name }) => name)).toEqual([
    'node (10.0.0.11)',
    'node (10.0.0.12:9655)',
    expect.stringMatching(/^node \(192\.0\.2\.\d+\)$/),
  ])
  memory.peers(answers(answer('a')), NOW)
  expect(memory.nodes.map(({ name }) => name)).toEqual(['a', 'node'])
})

test('a list that names this node as well does not show it twice', () => {
  const memory = new Memory()
  const snapshot = new FakeWorld().start().daemon.snapshot()
  memory.status(snapshot, NOW)
  memory.peers(answers({ ...answer('a'), status: { ...snapshot } }, answer('b')), NOW)
  expect(memory.nodes).toHaveLength(2)
})

test('a node that stops answering keeps its name, its last report and the time of it', () => {
  const memory = memoryOf('self')
  memory.peers(answers(answer('a')), NOW)
  memory.peers(answers(answer('a', { problem: 'connection refused (the API does not run there)' })), NOW + 5_000)
  const [a] = memory.nodes
  expect([a?.name, a?.problem, a?.answeredAt, a?.status?.hostname]).toEqual([
    'a',
    'connection refused (the API does not run there)',
    NOW,
    'a',
  ])
})

test('a node that has never answered is named by its address', () => {
  const memory = memoryOf('self')
  memory.peers(answers(answer('a', { problem: 'no' })), NOW)
  expect(memory.nodes.map(({ name }) => name)).toEqual(['10.0.0.11:9655', 'self'])
})

test('a difference of clocks counts if it is longer than the answer took', () => {
  const memory = memoryOf('self')
  const offset = (clockOffsetMs: number, roundTripMs: number) => {
    memory.peers(answers(answer('a', { clockOffsetMs, roundTripMs })), NOW)
    return memory.nodes[0]?.offsetMs
  }
  expect([offset(1.2, 2), offset(-40, 60), offset(-80, 60), offset(3_000, 2)]).toEqual([0, 0, -80, 3_000])
})

test('events are kept once, and belong to one life of the daemon', () => {
  const memory = new Memory()
  const snapshot = new FakeWorld().start().daemon.snapshot()
  memory.status(snapshot, NOW)
  memory.events([transition(1, 900, 'Backup'), transition(2, 800, 'Active')])
  memory.events([transition(2, 800, 'Active'), transition(3, 700, 'Backup')])
  expect(memory.nodes[0]?.events.map(({ seq }) => seq)).toEqual([1, 2, 3])
  memory.status({ ...snapshot, startedAt: new Date(NOW).toISOString() }, NOW)
  expect(memory.latestEvent).toBe(undefined)
})
