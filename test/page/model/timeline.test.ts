/**
 * Tests the spans of time in which a router had one state, from a node's event journal and from the status page's own
 * observations.
 */
import { expect, test } from 'vitest'
import { inWindow, spansOf, windowOf } from '../../../src/http/page/timeline.js'
import { ago, NOW, node, transition } from './nodes.ts'

const words = (...given: Parameters<typeof spansOf>) =>
  spansOf(...given).map(({ from, state, to }) => `${state} ${NOW - from}–${NOW - to}`)

test('a span of a journal lasts from one transition to the next, and the last one until now', () => {
  const events = [transition(1, 900, 'Backup'), transition(2, 600, 'Active'), transition(3, 100, 'Backup')]
  expect(words(node('a', [], { events }), 'api', NOW)).toEqual(['Backup 900–600', 'Active 600–100', 'Backup 100–0'])
})

test('each router has a time line of its own', () => {
  const events = [transition(1, 900, 'Active', { router: 'ingress' })]
  expect(words(node('a', [], { events }), 'api', NOW)).toEqual([])
})

test('without a journal the spans come from observations of the page, and the first begins earlier', () => {
  const seen = new Map([
    [
      'api',
      [
        { at: NOW - 5_000, state: 'Active', reason: 'owner' },
        { at: NOW - 300, state: 'Backup', reason: 'x' },
      ],
    ],
  ])
  expect(words(node('a', [], { seen }), 'api', NOW)).toEqual(['Active 5000–300', 'Backup 300–0'])
})

test('a transition in journal and status is shown once, from the journal', () => {
  const seen = new Map([['api', [{ at: NOW - 602, state: 'Active', reason: 'owner' }]]])
  const events = [transition(1, 900, 'Backup'), transition(2, 600, 'Active')]
  expect(words(node('a', [], { events, seen }), 'api', NOW)).toEqual(['Backup 900–600', 'Active 600–0'])
})

test('a status with a new state but not yet its time does not change the spans before', () => {
  const seen = new Map([['api', [{ at: NOW - 600, state: 'Returning', reason: 'owner' }]]])
  const events = [transition(1, 600, 'Active'), transition(2, 100, 'Returning'), transition(3, 80, 'Active')]
  const told = ['Active 600–100', 'Returning 100–80', 'Active 80–0']
  expect(words(node('a', [], { events, seen }), 'api', NOW)).toEqual(told)
})

test('an earlier life that ended abruptly leaves a gap', () => {
  const events = [
    transition(1, 9_000, 'Active'),
    {
      kind: 'started',
      seq: 2,
      at: ago(1_000),
      monotonicMs: 0,
      pid: 2,
      hostname: 'a',
      version: '1',
      config: '',
      guardian: true,
    } as const,
    {
      kind: 'earlierLife',
      seq: 3,
      at: ago(999),
      monotonicMs: 0,
      ended: 'abruptly',
      lastSeq: 1,
      lastAt: ago(5_000),
    } as const,
    transition(4, 900, 'Backup', { from: 'Initialize' }),
  ]
  expect(words(node('a', [], { events }), 'api', NOW)).toEqual([
    'Active 9000–5000',
    'away 5000–1000',
    'Initialize 1000–900',
    'Backup 900–0',
  ])
})

test('the spans of a node end when it stops answering', () => {
  const silent = node('a', [], { events: [transition(1, 9_000, 'Active')], problem: 'gone', answeredAt: NOW - 400 })
  expect(words(silent, 'api', NOW)).toEqual(['Active 9000–400', 'unheard 400–0'])
})

test('the times of a node with another clock are corrected', () => {
  const ahead = node('a', [], { events: [transition(1, 1_000, 'Active')], offsetMs: 250 })
  expect(words(ahead, 'api', NOW)).toEqual(['Active 1250–0'])
})

test('a window shows its part of each span, as shares', () => {
  const spans = [
    { from: NOW - 200, to: NOW - 50, state: 'Backup', reason: '' },
    { from: NOW - 50, to: NOW, state: 'Active', reason: '' },
    { from: NOW - 900, to: NOW - 200, state: 'Initialize', reason: '' },
  ]
  const shown = inWindow(spans, { from: NOW - 100, to: NOW })
  expect(shown.map(({ start, state, width }) => [state, start, width])).toEqual([
    ['Backup', 0, 0.5],
    ['Active', 0.5, 0.5],
  ])
})

test('the window is the shortest with the last four changes, unless the user has chosen one', () => {
  const since = (...minutes: number[]) =>
    minutes.map((m) => ({ from: NOW - m * 60_000, to: NOW, state: 'Backup', reason: '' }))
  const chosen = (name: string, ...minutes: number[]) => windowOf(name, [since(...minutes)], NOW).name
  expect(chosen('auto', 0.5)).toBe('1 min')
  expect(chosen('auto', 700, 600, 3, 2, 1, 0.5)).toBe('5 min')
  expect(chosen('auto', 100)).toBe('12 h')
  expect(chosen('auto', 100_000)).toBe('7 days')
  expect(chosen('auto')).toBe('1 min')
  expect(chosen('1 h', 0.5)).toBe('1 h')
})
