/**
 * Replays of a recording that is cut off, lacks lines, has another format, or is of an engine that acted differently.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { simulate } from '../../../src/simulator/simulation.ts'
import { HEADER, keptTape, replayOf, wrongIn } from '../../support/recordings.ts'

const router = (priority: number) => ({
  version: 1,
  api: { listen: false },
  virtualRouters: [
    { name: 'vip', vrid: 51, interface: 'eth0', addresses: ['192.0.2.100'], priority, advertisementInterval: '100ms' },
  ],
})

/** Lines of a node that takes over from another one, is ordered to stop, and follows the other one again. */
let lines: readonly string[] = []

beforeAll(() => {
  const kept = new Map<string, string[]>()
  simulate(
    {
      ...{ seed: 1, lateness: 1, ms: 6_000 },
      nodes: [
        { name: 'a', addresses: ['192.0.2.1/24'], drift: 0, startsAt: 0, config: router(200) },
        { name: 'b', addresses: ['192.0.2.2/24'], drift: 0, startsAt: 10, config: router(100) },
      ],
      faults: [{ kind: 'stop', node: 'a', at: 2_000, ms: 1_500 }],
    },
    {
      tapeOf: (node) => {
        const one = keptTape()
        kept.set(node, one.lines)
        return one.tape
      },
    },
  )
  lines = kept.get('b') ?? []
})

const numberOf = (wanted: (line: string) => boolean): number => {
  const at = lines.findIndex(wanted)
  if (at === -1) throw new Error('there is no such line')
  return at + 1
}
const becomesActive = (line: string) => line.includes('"kind":"transition"') && line.includes('"to":"Active"')
const changed = (number: number, to: (line: string) => string) =>
  lines.map((line, i) => (i === number - 1 ? to(line) : line))

test('an unchanged recording replays without a difference', async () => {
  const replayed = await replayOf(lines)
  expect(wrongIn(replayed)).toEqual([])
  expect(replayed.turns).toBe(lines.filter((line) => line.startsWith('{"turn"')).length)
  expect(replayed.outputs).toBe(lines.filter((line) => line.startsWith('{"out"')).length)
  expect(replayed.events.flatMap((event) => (event.kind === 'transition' ? event.to : []))).toEqual([
    'Backup',
    'Active',
    'Backup',
  ])
})

test('a changed action is reported with its line, its content and the expected content', async () => {
  const number = numberOf((line) => line.startsWith('{"out":"send"'))
  const { difference, events } = await replayOf(
    changed(number, (line) => line.replace('"to":"224.0.0.18"', '"to":"224.0.0.19"')),
  )
  expect(difference).toMatchObject({
    line: number,
    recorded: expect.stringContaining('224.0.0.19'),
    replayed: expect.stringContaining('224.0.0.18'),
  })
  // The story is complete nevertheless.
  expect(events).toEqual((await replayOf(lines)).events)
})

test('a missing or additional action is reported', async () => {
  const number = numberOf(becomesActive)
  const less = await replayOf(lines.filter((_, i) => i !== number - 1))
  expect(less.difference?.replayed).toContain('"to":"Active"')
  const more = await replayOf([...lines.slice(0, number), lines[number - 1] ?? '', ...lines.slice(number)])
  expect(more.difference?.line).toBe(number + 1)
})

test('a changed input is reported at the first action that differs', async () => {
  const number = numberOf((line) => line.includes('"in":"packet"'))
  const { difference } = await replayOf(lines.filter((_, i) => i !== number - 1))
  expect(difference).toBeDefined()
})

test('a recording with a gap is replayed up to the gap, and its story continues to the end', async () => {
  const number = numberOf(becomesActive) - 5
  const { difference, events, gap, outputs } = await replayOf(changed(number, () => '{"gap":5}'))
  expect(difference).toBeUndefined()
  expect(gap).toEqual({ line: number, missing: 5 })
  expect(outputs).toBeLessThan(number)
  expect(events.some((event) => event.kind === 'transition' && event.to === 'Active')).toBe(true)
})

describe('a recording that was cut off', () => {
  test('is replayed as far as it goes, within a line or a turn', async () => {
    for (const end of [20, Math.floor(lines.length / 2), lines.length - 1]) {
      const before = lines.slice(0, end)
      const whole = await replayOf(before)
      expect(wrongIn(whole)).toEqual([])
      expect(whole.end).toBeUndefined()
    }
  })

  test('reports the reason of its last line, if it has one', async () => {
    const { difference, end } = await replayOf([
      ...lines.slice(0, 500),
      '{"end":"the limit of 65536 octets was reached"}',
    ])
    expect(difference).toBeUndefined()
    expect(end).toBe('the limit of 65536 octets was reached')
  })
})

describe('an unreadable line is named with its number', () => {
  test.each([
    ['no JSON', '{"turn":1,"in":', 'this is no JSON'],
    ['of no kind that is known', '{"turn":1,"in":"dream"}', 'cannot read "in": "dream"'],
    ['without what belongs to it', '{"turn":1,"in":"timer"}', 'cannot read "in": "timer" (timer: '],
    ['an address that is none', '{"in":"packet","socket":1,"family":"ipv4","from":"nobody","at":1,"hex":""}', 'from: '],
    ['no line at all', '[]', 'no line of a recording'],
  ])('%s', async (_, text, words) => {
    const { difference, end, events } = await replayOf(changed(40, () => text))
    expect(difference).toBeUndefined()
    expect(end).toContain(`unreadable: line 40: `)
    expect(end).toContain(words)
    expect(events.length).toBeGreaterThan(0)
  })

  test.each([
    ['a journal', '{"seq":1,"kind":"started"}', 'line 1: not a recording of holdfast run --record'],
    ['nothing', '', 'line 1: not a recording of holdfast run --record'],
    ['half of a first line', '{"recording":', 'line 1: this is no JSON'],
    ['of another format', '{"recording":99,"holdfast":"9.9.9","at":"2030-01-01T00:00:00.000Z"}', 'format 99'],
  ])('%s is refused as no recording', async (_, first, words) => {
    await expect(async () => replayOf([first])).rejects.toThrow(words)
  })
})

test('an order before the engine exists, and an input without a listener, are differences', async () => {
  expect((await replayOf([HEADER, '{"turn":1,"in":"start"}'])).difference?.replayed).toContain('comes before "create"')
  expect((await replayOf([...lines, '{"turn":9999,"in":"timer","timer":77}'])).difference).toMatchObject({
    replayed: 'no listener for "timer"',
  })
})

test('an engine that ended by an exception ends by it again', async () => {
  const crash = '{"turn":9999,"in":"news","event":{"kind":"link"},"now":[99999]}'
  const fact = { seq: 1, at: '2026-01-01T00:01:00.000Z', monotonicMs: 99_999, kind: 'crashed', error: 'TypeError: …' }
  const alone = await replayOf([...lines, crash])
  expect(alone.difference).toBeUndefined()
  expect(alone.crash).toMatch(/^TypeError: /)
  const told = await replayOf([...lines, crash, JSON.stringify({ turn: 10_000, in: 'fact', event: fact })])
  expect(told.difference).toBeUndefined()
  expect(told.crash).toMatch(/^TypeError: /)
  const onlyThen = await replayOf([...lines, crash, '{"turn":10000,"in":"tick"}'])
  expect(onlyThen.difference?.replayed).toMatch(/^the engine throws: TypeError/)
})

test('packets that waited in two sockets for one turn come through each of them', async () => {
  const both = (priority: number) => ({
    version: 1,
    api: { listen: false },
    virtualRouters: [
      ...router(priority).virtualRouters,
      { ...router(priority).virtualRouters[0], name: 'vip6', addresses: ['fe80::100'] },
    ],
  })
  const kept = new Map<string, string[]>()
  simulate(
    {
      ...{ seed: 1, lateness: 0, ms: 4_000 },
      nodes: [
        { name: 'a', addresses: ['192.0.2.1/24', 'fe80::1/64'], drift: 0, startsAt: 0, config: both(200) },
        { name: 'b', addresses: ['192.0.2.2/24', 'fe80::2/64'], drift: 0, startsAt: 10, config: both(100) },
      ],
      // When it continues, its deadline has passed, and both nodes record that the Active resigned.
      faults: [
        { kind: 'freeze engine', node: 'b', at: 2_000, ms: 450 },
        { kind: 'stop', node: 'a', at: 2_100, ms: 1_500 },
      ],
    },
    {
      tapeOf: (node) => {
        const one = keptTape()
        kept.set(node, one.lines)
        return one.tape
      },
    },
  )
  const turns = (kept.get('b') ?? []).join('\n').split('\n{"turn"')
  const socketsIn = (turn: string) =>
    new Set([...turn.matchAll(/"in":"packet","socket":(\d+)/g)].map(([, socket]) => socket))
  expect(turns.filter((turn) => turn.includes('"in":"tick"') && socketsIn(turn).size === 2)).not.toEqual([])
  expect(wrongIn(await replayOf(kept.get('b') ?? []))).toEqual([])
})
