/**
 * What the kernel's neighbor table tells an Active unicast router (docs/adr/0016): when it listens, which news means that
 * a peer is reached again, and what is sent then.
 */
import { describe, expect, test } from 'vitest'
import { FakeWorld, failure, PEER, ROUTER, type RouterConfig, SELF, VIP } from './fake-world.ts'

/** Active_Down_Interval, and 3 ms of stagger for the listed peer. */
const DOWN = 3_503
const OTHER = '192.0.2.30'
const UNICAST = { ...ROUTER, transport: { unicast: { source: SELF, peers: [PEER] } } }

/** Active, and the announcements of the takeover are over. */
function quietWorld(router: RouterConfig = UNICAST): FakeWorld {
  const world = new FakeWorld([router]).start()
  world.advance(DOWN + 6_500)
  expect(world.router().state, `after ${DOWN} ms of silence: ${world.transitions}`).toBe('Active')
  world.announced.length = 0
  return world
}

/** Milliseconds until each announcement. */
function announcedAfter(world: FakeWorld): readonly number[] {
  const from = world.now
  world.announced.length = 0
  world.advance(900)
  return world.announced.map(({ at }) => Math.round(at - from))
}

/** The same, of what the news alone causes. */
function newsOf(world: FakeWorld, ...news: readonly Parameters<FakeWorld['neighbor']>[1][]): readonly number[] {
  const from = world.now
  world.announced.length = 0
  for (const resolution of news) world.neighbor(PEER, resolution)
  world.advance(900)
  return world.announced.map(({ at }) => Math.round(at - from))
}

const ROUNDS = [0, 50, 200]

describe('a peer that was not reached', () => {
  test('and now is: announced over at once and after 50 and 200 ms, and told once', () => {
    const world = quietWorld()
    expect(newsOf(world, 'unresolved')).toEqual([])
    const advertisements = world.sent.length
    expect(newsOf(world, 'resolved')).toEqual(ROUNDS)
    expect(world.announced.map(({ address }) => address)).toEqual([VIP, VIP, VIP])
    expect(world.sent.length - advertisements, 'advertisements in 900 ms, the periodic one').toBeLessThanOrEqual(1)
    expect(world.records.filter(({ message }) => message.includes(`reaches ${PEER}`))).toHaveLength(1)
    expect(newsOf(world, 'resolved'), 'it goes on').toEqual([])
  })

  test('counts as such also when the kernel is already making sure again', () => {
    expect(newsOf(quietWorld(), 'unresolved', 'probed')).toEqual(ROUNDS)
  })

  test('is announced over once, and not again when the kernel makes sure and succeeds', () => {
    const world = quietWorld()
    expect(newsOf(world, 'resolved'), 'of an entry that is new nothing was told before').toEqual(ROUNDS)
    expect(newsOf(world, 'probed', 'resolved')).toEqual([])
    expect(newsOf(world, 'unresolved', 'resolved')).toEqual(ROUNDS)
  })

  test('is not one whom the kernel only doubted', () => {
    expect(newsOf(quietWorld(), 'probed', 'resolved')).toEqual([])
  })

  test('may be reached when news was lost', () => {
    const world = quietWorld()
    world.neighbor(PEER, 'unresolved')
    world.watchedNeighbors[0]?.options.onLost()
    expect(announcedAfter(world).slice(-2), 'the repeats of a batch').toEqual([50, 200])
    world.watchedNeighbors[0]?.options.onLost()
    expect(announcedAfter(world), 'nobody is known to be unreached').toEqual([])
  })

  test('is nobody who is not listed', () => {
    const world = quietWorld()
    world.neighbor(OTHER, 'unresolved')
    world.neighbor(OTHER, 'resolved')
    expect(announcedAfter(world)).toEqual([])
  })
})

describe('the neighbor table', () => {
  test('is listened to while a unicast router that asks is Active', () => {
    const world = new FakeWorld([UNICAST]).start()
    expect(world.neighborWatches, 'as Backup').toEqual([])
    world.advance(DOWN + 1)
    expect(world.watchedNeighbors.map(({ options }) => [options.interfaceName, options.family])).toEqual([
      ['eth0', 'ipv4'],
    ])
    expect(world.daemon.yield('api', 60_000)).toBeUndefined()
    world.settle()
    expect(world.router().state).toBe('Leaving')
    expect(world.watchedNeighbors, 'on its way out').toEqual([])
  })

  test.each([
    ['multicast', ROUTER],
    ['a router that does not ask', { ...UNICAST, probeRivals: false }],
  ])('is nothing to %s', (_what, router) => {
    expect(quietWorld(router).neighborWatches).toEqual([])
  })

  test('that cannot be listened to is told, and nothing else changes', () => {
    const world = new FakeWorld([UNICAST]).start()
    world.neighborFailure = failure('EMFILE', 'Cannot watch the neighbors on "eth0": too many open files')
    world.advance(DOWN + 1)
    expect(world.router().state).toBe('Active')
    expect(world.records.filter(({ message }) => message.includes('Cannot watch the neighbors'))).toHaveLength(1)
  })
})
