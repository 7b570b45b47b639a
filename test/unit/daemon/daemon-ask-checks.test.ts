/**
 * Which checks are repeated before a takeover by fastPreempt, and the effect of each answer and of none
 * (docs/adr/0025). Two nodes have base 40 and a check that adds 50. The peer is simulated, this node is real.
 */
import { describe, expect, test } from 'vitest'
import type { CheckReport } from '../../../src/healthcheck/check-report.ts'
import { report } from '../healthcheck/fake-checks.ts'
import { FakeWorld, PEER, ROUTER, type RouterConfig } from './fake-world.ts'

const LB = { name: 'lb', tcp: '127.0.0.1:9445' }
/** Skew_Time of 90 at 1 s. */
const SKEW = (256 - 90) / 0.256

/** Backup for a while, beside a peer that has just lost its check. */
function demotedPeer(
  track: readonly RouterConfig[],
  healthchecks: readonly RouterConfig[] = [LB],
  extra = {},
  [before, after] = [90, 40],
) {
  const world = new FakeWorld([{ ...ROUTER, priority: 40, track, minHold: '0s', ...extra }], { healthchecks }).start()
  for (const { name } of world.checks.specs) world.health(name, 'up')
  for (let i = 0; i < 6; i++) {
    world.hear(before)
    world.advance(1_000)
  }
  world.hear(after)
  return world
}

const tracked = [{ healthcheck: 'lb', weight: 50 }]
const answer = (world: FakeWorld, names: readonly string[] = world.checks.question?.names ?? []) => {
  const reports = names.map((name) => report(name, 'up', world.now))
  world.checks.tell({ kind: 'askedOnceMore', id: world.checks.question?.id ?? -1, reports })
  world.settle()
}
const lastMove = (world: FakeWorld) => world.transitions.filter((line) => line.startsWith('api: ')).at(-1)

test('a check that makes the difference is repeated while fastPreempt waits', () => {
  const world = demotedPeer(tracked)
  expect(world.checks.question).toEqual({ id: 1, names: ['lb'], within: SKEW - 20 })
  answer(world)
  world.advance(SKEW + 1)
  expect(lastMove(world)).toBe('api: Backup → Active: activeDemoted')
})

test('without an answer the router waits, and takes over by line (470)', () => {
  const world = demotedPeer(tracked)
  world.advance(SKEW + 1)
  expect([world.router().state, world.router().counters.suppressed]).toEqual(['Backup', { checksUnanswered: 1 }])
  expect(world.records.map(({ message }) => message)).toContain(
    `api: ${PEER} has priority 40 (we have 90), but the health checks did not confirm our priority in time`,
  )
  answer(world)
  world.advance(1)
  expect(world.router().state, 'too late').toBe('Backup')
  world.advance(3_000)
  expect(lastMove(world)).toBe('api: Backup → Active: lowerPriorityActive')
})

test('a check that fails here as well stops the takeover', () => {
  const world = demotedPeer(tracked)
  world.health('lb', 'down')
  answer(world, [])
  for (let i = 0; i < 10; i++) {
    world.hear(40)
    world.advance(1_000)
  }
  expect([world.router().state, world.router().priority.effective]).toEqual(['Backup', 40])
  expect(world.sent).toEqual([])
})

test('a slow check does not matter if the others are enough', () => {
  const checks = [LB, { name: 'mcs', exec: ['/bin/true'] }]
  const both = [...tracked, { healthcheck: 'mcs', weight: 3 }]
  const world = demotedPeer(both, checks, {}, [93, 43])
  expect(world.checks.question?.names).toEqual(['lb', 'mcs'])
  answer(world, ['lb'])
  world.advance(SKEW)
  expect(lastMove(world), '90 for certain, against 43').toBe('api: Backup → Active: activeDemoted')
  const slow = demotedPeer(both, checks, {}, [93, 43])
  answer(slow, ['mcs'])
  slow.advance(SKEW)
  expect(slow.router(), '43 for certain, against 43').toMatchObject({
    state: 'Backup',
    counters: { suppressed: { checksUnanswered: 1 } },
  })
})

test('the names of the slow checks arrive before fastPreempt acts', () => {
  const checks = [LB, { name: 'mcs', exec: ['/bin/true'] }]
  const world = demotedPeer([...tracked, { healthcheck: 'mcs', weight: 3 }], checks, {}, [93, 43])
  const { within = 0 } = world.checks.question ?? {}
  // Allows for a timer of the thread, its message, and this event loop.
  world.advance(within + 5)
  answer(world, ['lb'])
  world.advance(SKEW - within)
  expect(lastMove(world)).toBe('api: Backup → Active: activeDemoted')
})

test('a combination is repeated by its members, and decides as far as they answer', () => {
  const checks = [
    { name: 'a', tcp: '127.0.0.1:1' },
    { name: 'b', tcp: '127.0.0.1:2' },
    { name: 'either', any: ['a', 'b'] },
  ]
  const world = demotedPeer([{ healthcheck: 'either', weight: 50 }], checks)
  expect(world.checks.question?.names).toEqual(['a', 'b'])
  answer(world, ['b'])
  world.advance(SKEW + 1)
  expect(lastMove(world)).toBe('api: Backup → Active: activeDemoted')
})

test('a thread that is lost during the question counts as no answer', () => {
  const world = demotedPeer(tracked)
  const { id = -1 } = world.checks.question ?? {}
  world.checks.tell({ kind: 'checksLost' })
  world.checks.tell({ kind: 'askedOnceMore', id, reports: [report('lb', 'up', world.now)] })
  world.advance(SKEW + 1)
  expect(world.router().state).toBe('Backup')
})

test('no check is repeated if checks make no difference', () => {
  const world = demotedPeer([{ healthcheck: 'lb' }], [LB], { priority: 60 })
  expect(world.checks.question).toBeUndefined()
  const reversed = demotedPeer([{ healthcheck: 'lb', weight: -20, reverse: true }], [LB], { priority: 60 })
  expect(reversed.checks.question, 'it is up, and that lifts nothing').toBeUndefined()
})

describe('a check that lifts by being down (reverse)', () => {
  const AWAY = { name: 'away', file: '/run/away' }
  const demoted = () => {
    const world = new FakeWorld(
      [{ ...ROUTER, priority: 90, track: [{ healthcheck: 'away', weight: 50, reverse: true }], minHold: '0s' }],
      { healthchecks: [AWAY] },
    ).start()
    world.health('away', 'down')
    for (let i = 0; i < 6; i++) {
      world.hear(90)
      world.advance(1_000)
    }
    world.hear(60)
    return world
  }
  const told = (world: FakeWorld, reports: readonly CheckReport[]) => {
    world.checks.tell({ kind: 'askedOnceMore', id: world.checks.question?.id ?? -1, reports })
    world.settle()
  }

  test('a check that raises the priority by being down (reverse) is repeated as well', () => {
    const world = demoted()
    expect(world.checks.question?.names).toEqual(['away'])
    told(world, [report('away', 'down', world.now)])
    world.advance(1_000)
    expect(lastMove(world)).toBe('api: Backup → Active: activeDemoted')
  })

  test('a reversed check that is up now ends the advantage, and one without an answer does not confirm it', () => {
    const up = demoted()
    up.health('away', 'up')
    for (let i = 0; i < 5; i++) {
      up.hear(60)
      up.advance(1_000)
    }
    expect([up.router().state, up.router().priority.effective]).toEqual(['Backup', 40])
    const slow = demoted()
    told(slow, [])
    slow.advance(1_000)
    expect(slow.router()).toMatchObject({ state: 'Backup', counters: { suppressed: { checksUnanswered: 1 } } })
  })
})

test('an answer to an earlier question is ignored', () => {
  const world = demotedPeer(tracked)
  world.hear(90)
  world.hear(40)
  expect(world.checks.question?.id).toBe(2)
  world.checks.tell({ kind: 'askedOnceMore', id: 1, reports: [report('lb', 'up', world.now)] })
  world.advance(SKEW + 1)
  expect(world.router().state).toBe('Backup')
})

test('margin and minHold are counted and logged', () => {
  const margin = demotedPeer(tracked, [LB], { margin: 50 })
  expect(margin.router().counters.suppressed).toEqual({ margin: 1 })
  margin.advance(1_000)
  margin.hear(40)
  expect(margin.router()).toMatchObject({ state: 'Backup', counters: { suppressed: { margin: 1 } } })

  const hold = new FakeWorld([{ ...ROUTER, priority: 90, minHold: '60s' }]).start()
  hold.hear(100)
  hold.advance(1_000)
  hold.hear(110, { source: '192.0.2.30' })
  for (let i = 0; i < 5; i++) {
    hold.advance(1_000)
    hold.hear(110, { source: '192.0.2.30' })
  }
  hold.hear(50, { source: '192.0.2.30' })
  expect(hold.router()).toMatchObject({ state: 'Backup', counters: { suppressed: { minHold: 1 } } })
  expect(hold.records.at(-1)?.message).toBe(
    'api: 192.0.2.30 dropped to 50 (we have 90), but the VIP moved 5 s ago: waiting up to 3.6 s (minHold)',
  )
  expect(hold.recorder.chronicle.read().events.at(-1)).toMatchObject({
    ...{ kind: 'peerHeard', news: 'lowered', peer: '192.0.2.30' },
    heldBy: { why: 'minHold', forMs: 60_000, movedAgoMs: 5_000 },
  })
})
