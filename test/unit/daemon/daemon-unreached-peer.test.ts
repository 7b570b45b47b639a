/**
 * How an Active notices that a peer is reachable again: by the kernel's neighbor table and by its own peer check
 * (docs/adr/0022). Covers when it listens and asks, which reports count, and what it sends then.
 */
import { describe, expect, test } from 'vitest'
import { arpRequest } from '../../../src/arp/arp-packet.ts'
import { address } from '../../../src/wire/address.ts'
import { macBytes, macFromBytes } from '../../../src/wire/mac.ts'
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

/** Returns the announcements that the report alone causes. */
function newsOf(world: FakeWorld, ...news: readonly Parameters<FakeWorld['neighbor']>[1][]): readonly number[] {
  const from = world.now
  world.announced.length = 0
  for (const resolution of news) world.neighbor(PEER, resolution)
  world.advance(900)
  return world.announced.map(({ at }) => Math.round(at - from))
}

const ROUNDS = [0, 50, 200]

describe('a peer that was not reached', () => {
  test('a peer that is reachable again is announced over immediately and after 50 and 200 ms, and logged once', () => {
    const world = quietWorld()
    expect(newsOf(world, 'unresolved')).toEqual([])
    const advertisements = world.sent.length
    expect(newsOf(world, 'resolved')).toEqual(ROUNDS)
    expect(world.announced.map(({ address }) => address)).toEqual([VIP, VIP, VIP])
    expect(world.sent.length - advertisements, 'advertisements in 900 ms, the periodic one').toBeLessThanOrEqual(1)
    expect(world.records.filter(({ message }) => message.includes(`peer ${PEER} is reachable again`))).toHaveLength(1)
    expect(newsOf(world, 'resolved'), 'it goes on').toEqual([])
  })

  test('a peer counts as reachable again while the kernel checks it', () => {
    expect(newsOf(quietWorld(), 'unresolved', 'probed')).toEqual(ROUNDS)
  })

  test('a peer is announced over once, and not again when the kernel confirms it', () => {
    const world = quietWorld()
    expect(newsOf(world, 'resolved'), 'of an entry that is new nothing was told before').toEqual(ROUNDS)
    expect(newsOf(world, 'probed', 'resolved')).toEqual([])
    expect(newsOf(world, 'unresolved', 'resolved')).toEqual(ROUNDS)
  })

  test('a peer that the kernel only checks is not announced over', () => {
    expect(newsOf(quietWorld(), 'probed', 'resolved')).toEqual([])
  })

  test('a peer may be reachable after lost notifications', () => {
    const world = quietWorld()
    world.neighbor(PEER, 'unresolved')
    world.watchedNeighbors[0]?.options.onLost()
    expect(announcedAfter(world).slice(-2), 'the repeats of a batch').toEqual([50, 200])
    world.watchedNeighbors[0]?.options.onLost()
    expect(announcedAfter(world), 'nobody is known to be unreached').toEqual([])
  })

  test('a host that is not a listed peer is ignored', () => {
    const world = quietWorld()
    world.neighbor(OTHER, 'unresolved')
    world.neighbor(OTHER, 'resolved')
    expect(announcedAfter(world)).toEqual([])
  })
})

describe('a peer that answers again', () => {
  const PEER_MAC = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 77))
  const OUR_MAC = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 2))

  /** Answer of the peer's kernel to the host that asked. */
  function answer(from = PEER, to = OUR_MAC): Uint8Array {
    const ends = { senderAddress: address(from), targetAddress: address(SELF) }
    const frame = arpRequest({ senderMac: PEER_MAC, targetMac: to, ...ends })
    frame.set(macBytes(to))
    frame[21] = 2
    return frame
  }

  const told = (world: FakeWorld) =>
    world.records.filter(({ message }) => message.includes(`peer ${PEER} is reachable again`)).length

  /** Answers or ignores each question within `wait` milliseconds. Returns the announcements. */
  function goesOn(world: FakeWorld, wait: number, answers: boolean): readonly number[] {
    const from = world.now
    world.announced.length = 0
    for (let at = 0; at < wait; at += 10) {
      const before = world.called.length
      world.advance(10)
      if (answers && world.called.length > before) world.hearAnnouncement(answer())
    }
    world.advance(300)
    return world.announced.map((one) => one.at - from)
  }

  /** The peer has answered from the first question on, and the announcements of the takeover are over. */
  function answeredWorld(router: RouterConfig = UNICAST): FakeWorld {
    const world = new FakeWorld([router]).start()
    world.advance(DOWN + 1)
    goesOn(world, 6_500, true)
    expect([world.router().state, told(world)]).toEqual(['Active', 0])
    return world
  }

  const HINTED = { ...ROUTER, peers: [PEER] }
  test.each([
    ['of a unicast router', UNICAST],
    ['of a multicast router that lists it', HINTED],
  ])(
    '%s: a peer is asked after the advertisement, and announced over after three intervals of silence',
    (_what, router) => {
      const world = answeredWorld(router)
      expect(goesOn(world, 3_000, true), 'it answers').toEqual([])
      expect(goesOn(world, 4_000, false), 'it is silent').toEqual([])
      expect(goesOn(world, 1_000, true), 'at once, after 50 and 200 ms').toHaveLength(3)
      expect(told(world)).toBe(1)
      expect(goesOn(world, 3_000, true), 'it goes on').toEqual([])
    },
  )

  test('a peer that missed one or two questions is not announced over', () => {
    const world = answeredWorld()
    expect(goesOn(world, 2_000, true)).toEqual([])
    expect(goesOn(world, 1_700, false)).toEqual([])
    expect(goesOn(world, 2_000, true)).toEqual([])
  })

  test('a peer is asked by broadcast first, then at its MAC, and by both during silence', () => {
    // Duplicate address detection may ask as well, depending on its jitter.
    const world = quietWorld({ ...UNICAST, radar: false })
    world.takeCalls()
    world.called.length = 0
    world.advance(1_000)
    expect(world.called.map(({ address: who, to }) => [who, to])).toEqual([[PEER, 'ff:ff:ff:ff:ff:ff']])
    world.hearAnnouncement(answer())
    world.called.length = 0
    world.advance(1_000)
    expect(world.called.map(({ to }) => to)).toEqual([PEER_MAC])
    world.called.length = 0
    world.advance(1_000)
    expect(world.called.map(({ to }) => to)).toEqual([PEER_MAC, 'ff:ff:ff:ff:ff:ff'])
    const calls = world.takeCalls().filter((call) => /^(ask|call|advertise)/.test(call))
    expect(calls.slice(0, 3)).toEqual([`ask eth0 ${VIP}`, 'advertise eth0 vrid 51 priority 128', `call eth0 ${PEER}`])
  })

  test('an answer without a question, or to another host, is ignored', () => {
    const world = quietWorld()
    world.advance(4_000)
    world.announced.length = 0
    world.hearAnnouncement(answer(OTHER))
    world.hearAnnouncement(answer(PEER, macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 50))))
    world.advance(300)
    expect(world.announced).toEqual([])
    world.hearAnnouncement(answer())
    world.advance(300)
    expect(world.announced).toHaveLength(3)
  })

  test('a peer is asked at most 22 times a second, and only by routers that ask', () => {
    const world = quietWorld({ ...UNICAST, advertisementInterval: '10ms' })
    world.called.length = 0
    world.advance(1_000)
    expect(world.called.length).toBe(20)
    const silent = new FakeWorld([{ ...UNICAST, probeRivals: false }]).start()
    silent.advance(DOWN + 5_000)
    expect([silent.router().state, silent.called]).toEqual(['Active', []])
  })

  test('unanswered questions of an earlier time as Active do not count', () => {
    const world = answeredWorld(HINTED)
    world.advance(4_000)
    world.hear(200)
    expect(world.router().state).toBe('Backup')
    world.advance(DOWN)
    expect(world.router().state).toBe('Active')
    goesOn(world, 2_000, true)
    expect(told(world)).toBe(0)
  })
})

describe('the neighbor table', () => {
  test('the neighbor table is watched while a unicast router that asks is Active', () => {
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
  ])('the neighbor table is not watched by %s', (_what, router) => {
    expect(quietWorld(router).neighborWatches).toEqual([])
  })

  test('a neighbor table that cannot be watched is logged, and nothing else changes', () => {
    const world = new FakeWorld([UNICAST]).start()
    world.neighborFailure = failure('EMFILE', 'Cannot watch the neighbors on "eth0": too many open files')
    world.advance(DOWN + 1)
    expect(world.router().state).toBe('Active')
    expect(world.records.filter(({ message }) => message.includes('Cannot watch the neighbors'))).toHaveLength(1)
  })
})
