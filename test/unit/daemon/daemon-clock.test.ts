/**
 * The daemon with a guardian that has a clock (docs/adr/0086): which routers leave their advertisements to the clock,
 * and what takes them back.
 */
import { describe, expect, test } from 'vitest'
import {
  FakeWorld,
  failure,
  link,
  PEER,
  ROUTER,
  type RouterConfig,
  SELF,
  VIP,
  VIP2,
  type WorldOptions,
} from './fake-world.ts'

const DOWN = 3_500
const GATEWAY = { ...ROUTER, name: 'gateway', vrid: 52, interface: 'eth1', addresses: [VIP2] }

function activeWorld(routers: readonly RouterConfig[] = [ROUTER], options: WorldOptions = {}): FakeWorld {
  const world = new FakeWorld(routers, { clock: true, ...options }).start()
  world.advance(DOWN + 4)
  for (const { name, state } of world.daemon.snapshot().routers)
    expect(state, `${name}: ${world.transitions}`).toBe('Active')
  // Until duplicate address detection has asked for the first time.
  world.advance(2_100)
  world.takeCalls()
  return world
}

const clockOf = ({ clock }: FakeWorld) => {
  if (clock === undefined) throw new Error('No clock')
  return clock
}
const armed = (world: FakeWorld) => clockOf(world).armed.map(({ slot }) => slot)
const times = (world: FakeWorld, from = 0) => world.sent.filter(({ at }) => at >= from).map(({ at }) => at)
const gaps = (all: readonly number[]) => all.slice(1).map((at, i) => at - (all[i] ?? 0))

describe('a router at rest', () => {
  test('an Active has a clock after its first advertisement, and sends no advertisement by itself', () => {
    const world = activeWorld()
    expect(armed(world)).toEqual([0])
    const from = world.now
    world.advance(60_000)
    expect(times(world, from)).toHaveLength(60)
    expect(new Set(gaps(times(world, from)))).toEqual(new Set([1_000]))
    expect(clockOf(world).calls.filter((call) => call.startsWith('arm')).length, 'starts').toBeLessThanOrEqual(3)
  })

  test('an idle Active needs no alarm for its advertisements', () => {
    const world = activeWorld()
    // The last announcements of the takeover.
    world.advance(10_000)
    world.takeCalls()
    world.advance(20_000)
    // An alarm drains.
    expect(world.takeCalls().filter((call) => call.startsWith('drain'))).toEqual([])
  })

  test('the clock sends the questions before and after each advertisement, and those of duplicate detection', () => {
    const world = activeWorld()
    world.takeCalls()
    const from = world.now
    world.advance(10_000)
    const calls = world.takeCalls().filter((call) => /^(ask|advertise)/.test(call))
    expect(calls.slice(0, 6)).toEqual([
      ...[`ask eth0 ${VIP}`, `ask eth0 ${VIP}`, 'advertise eth0 vrid 51 priority 128'],
      ...[`ask eth0 ${VIP}`, `ask eth0 ${VIP}`, `ask eth0 ${VIP}`],
    ])
    expect(world.asked.filter(({ at, to }) => at >= from && to === 'ff:ff:ff:ff:ff:ff')).toHaveLength(10)
  })

  test('the status counts the advertisements of the clock, and shows the next one', () => {
    const world = activeWorld()
    const before = world.router().counters.sent.advertisement ?? 0
    world.advance(10_000)
    const { clock, counters, deadlines } = world.router()
    expect(counters.sent.advertisement).toBe(before + 10)
    expect(deadlines.adverInMs).toBeGreaterThan(0)
    expect(deadlines.adverInMs).toBeLessThanOrEqual(1_000)
    expect(clock).toEqual({ armed: true, rounds: expect.any(Number), failed: 0, latestMs: 0 })
    expect(clock.rounds).toBeGreaterThanOrEqual(10)
  })

  test('an Active of profile rfc9568, which asks no questions, leaves its advertisements to the clock', () => {
    const world = activeWorld([{ ...ROUTER, profile: 'rfc9568' }])
    const from = world.now
    world.takeCalls()
    world.advance(10_000)
    expect(times(world, from)).toHaveLength(10)
    expect(world.takeCalls().filter((call) => call.startsWith('ask'))).toEqual([])
  })

  test('a Backup has no clock', () => {
    const world = new FakeWorld([ROUTER], { clock: true }).start()
    for (let i = 0; i < 10; i++) {
      world.hear(200)
      world.advance(1_000)
    }
    expect(clockOf(world).calls).toEqual([])
  })

  test('an address owner has no clock', () => {
    const world = new FakeWorld([{ ...ROUTER, priority: 255, ownAddresses: 'installed' }], { clock: true }).start()
    world.advance(10_000)
    expect(world.router().state).toBe('Active')
    expect(clockOf(world).calls).toEqual([])
  })

  test('without a guardian no router has a clock', () => {
    const world = new FakeWorld([ROUTER], { clock: true })
    world.guarded = false
    world.start()
    world.advance(10_000)
    expect(world.router().state).toBe('Active')
    expect(clockOf(world).calls).toEqual([])
  })

  test('an advertisement that the kernel refused is not left to the clock', () => {
    const world = new FakeWorld([ROUTER], { clock: true }).start()
    world.sendFailure = failure('ENOBUFS')
    world.advance(DOWN + 1_000)
    expect(clockOf(world).calls).toEqual([])
  })

  test('a reload to lease off takes the advertisements back, and a reload to on gives them to the clock again', () => {
    const world = activeWorld()
    world.reload([ROUTER], { lease: 'off' })
    expect(armed(world)).toEqual([])
    const from = world.now
    world.advance(5_000)
    expect(times(world, from)).toHaveLength(5)
    world.reload([ROUTER])
    world.advance(1_000)
    expect(armed(world)).toEqual([0])
  })

  test('a reload that changes io does not change the reason why no router has a clock', () => {
    const world = new FakeWorld([ROUTER]).start()
    const reasonWith = (io: string) => {
      world.reload([ROUTER], { lease: 'on', io })
      return world.daemon.snapshot().lease.reason
    }
    expect(reasonWith('addon')).toBe('noSharedMemory')
    expect(reasonWith('raw-socket')).toBe('noSharedMemory')
  })
})

describe('what takes the advertisements back', () => {
  const withdrawals = (world: FakeWorld) => clockOf(world).calls.filter((call) => call.startsWith('withdraw')).length

  const events: Record<string, (world: FakeWorld) => void> = {
    'an advertisement of another router': (world) => world.hear(50),
    'a release of another router': (world) => world.hear(0),
    'a reload with another priority': (world) => void world.reload([{ ...ROUTER, priority: 90 }]),
    'a reload with another address': (world) => void world.reload([{ ...ROUTER, addresses: [VIP, VIP2] }]),
    'a lost link': (world) => world.setLink(link(2, 'eth0', { running: false })),
    'another MAC of the interface': (world) =>
      world.setLink(link(2, 'eth0', { mac: '02:00:00:00:00:77' as ReturnType<typeof link>['mac'] })),
    'a yield': (world) => void world.daemon.yield('api', 1_000),
    'a stop': (world) => void world.daemon.stop(),
    'an answer of another host for the address': (world) => world.answerFor(VIP),
    'a suspension of the machine': (world) => {
      world.asleep += 10_000
      world.advance(1_500)
    },
  }
  test.each(Object.entries(events))('%s', (_, happen) => {
    const world = activeWorld()
    const before = withdrawals(world)
    happen(world)
    expect(withdrawals(world)).toBeGreaterThan(before)
  })

  test('after an event that changes nothing the clock goes on at the same times', () => {
    const world = activeWorld()
    const from = times(world).at(-1) ?? 0
    for (let i = 0; i < 10; i++) {
      world.advance(733)
      world.hear(50, { vrid: 51 })
    }
    world.advance(5_000)
    const periodic = times(world, from).filter((at) => Math.abs(((at - from + 500) % 1_000) - 500) < 1)
    expect(new Set(gaps(periodic))).toEqual(new Set([1_000]))
    expect(armed(world)).toEqual([0])
  })

  test('a router that stops sends priority 0 last', () => {
    const world = activeWorld()
    world.advance(12_345)
    void world.daemon.stop()
    world.advance(10_000)
    const zero = world.sent.findIndex(({ priority }) => priority === 0)
    expect(zero).toBeGreaterThan(0)
    expect(world.sent.slice(zero).filter(({ priority }) => priority !== 0)).toEqual([])
  })

  test('after a lower priority was advertised no higher one follows', () => {
    const routers = [{ ...ROUTER, track: [{ healthcheck: 'web', weight: 50 }] }]
    const world = new FakeWorld(routers, { clock: true, healthchecks: [{ name: 'web', tcp: 'localhost:1' }] }).start()
    world.health('web', 'up')
    world.advance(DOWN + 3_000)
    expect(armed(world)).toEqual([0])
    world.advance(333)
    world.health('web', 'down')
    world.advance(10_000)
    const demoted = world.sent.findIndex(({ priority }) => priority === 128)
    expect(world.sent[demoted]?.at).toBeLessThan(world.now - 9_000)
    expect(world.sent.slice(demoted).filter(({ priority }) => priority !== 128)).toEqual([])
    expect(armed(world)).toEqual([0])
  })

  test('an event for one member of a sync group takes the advertisements of all members back', () => {
    const world = activeWorld([ROUTER, GATEWAY], { syncGroups: [{ name: 'both', members: ['api', 'gateway'] }] })
    expect(armed(world)).toEqual([0, 1])
    clockOf(world).calls.length = 0
    world.hear(50, { on: 'eth0' })
    expect(clockOf(world).calls).toEqual(['withdraw 0', 'withdraw 1', 'arm 0', 'arm 1'])
  })

  test('an answer for an address of one member of a sync group delays no advertisement of another member', () => {
    const timesWith = (clock: boolean) => {
      const syncGroups = [{ name: 'both', members: ['api', 'gateway'] }]
      const world = new FakeWorld([ROUTER, GATEWAY], { clock, syncGroups }).start()
      world.advance(5_000)
      // The answer comes soon after a question of duplicate address detection, so that it changes no state.
      world.hear(100, { on: 'eth1', vrid: 52, addresses: [VIP2] })
      world.advance(200)
      world.answerFor(VIP)
      world.advance(1_000)
      return world.sent.filter(({ vrid }) => vrid === 52).map(({ at }) => Math.round(at))
    }
    const expected = timesWith(false)
    expect(timesWith(true).map((at, i) => Math.abs(at - (expected[i] ?? 0)) <= 6)).toEqual(expected.map(() => true))
  })
})

describe('a clock that does not run', () => {
  test('the engine advertises by itself 2.5 intervals after the last round of a stopped guardian', () => {
    const world = activeWorld()
    world.advance(10_000)
    const last = times(world).at(-1) ?? 0
    world.guardianStoppedAt = world.now
    world.advance(3_000)
    expect(times(world, last + 1)[0]).toBe(last + 2_500)
    expect(world.executed).toEqual([])
    expect(armed(world)).toEqual([])
  })

  test('the engine advertises by itself when the clock has stopped', () => {
    const world = activeWorld()
    world.advance(10_400)
    const from = times(world).at(-1) ?? 0
    clockOf(world).stop(0)
    world.advance(10_000)
    expect(Math.max(...gaps(times(world, from)))).toBeLessThanOrEqual(1_000)
    expect(armed(world), 'after a pause').toEqual([0])
  })

  test('a router whose clock stays busy says its last advertisement again when the clock is free', () => {
    const world = activeWorld()
    clockOf(world).isBusy = true
    world.hear(200)
    expect(world.router().state).toBe('Backup')
    world.advance(200)
    world.sent.length = 0
    clockOf(world).isBusy = false
    world.hear(200)
    world.advance(200)
    expect(world.sent.map(({ priority }) => priority)).toEqual([0])
  })

  test('a router gets no clock while the guardian still sends its earlier round, and advertises by itself', () => {
    const world = new FakeWorld([ROUTER], { clock: true }).start()
    clockOf(world).isBusy = true
    world.advance(DOWN + 5_000)
    expect([world.router().state, world.router().clock.armed]).toEqual(['Active', false])
    expect(Math.max(...gaps(times(world)))).toBeLessThanOrEqual(1_000)
  })

  test('an Active whose clock stays busy says its own priority again when the clock is free', () => {
    const world = activeWorld()
    clockOf(world).isBusy = true
    world.hear(50)
    world.advance(200)
    world.sent.length = 0
    clockOf(world).isBusy = false
    world.advance(200)
    expect(world.sent.map(({ priority }) => priority)[0]).toBe(128)
  })

  test('a router that has no clock any longer leaves its deadline to the guardian', () => {
    const world = activeWorld()
    world.hear(200)
    expect(clockOf(world).released).toEqual([0])
  })

  test('an engine that cannot prove that it has read everything advertises by itself', () => {
    const world = activeWorld()
    clockOf(world).isUnproven = true
    for (let i = 0; i < 30; i++) {
      world.hear(50, { vrid: 77 })
      world.advance(20)
    }
    expect(armed(world)).toEqual([])
    const from = world.now
    world.advance(1_500)
    expect(times(world, from).length).toBeGreaterThanOrEqual(1)
  })
})

describe('the deadline of the cleanup plan', () => {
  test('an engine that stands still for less than the lease stays Active, and its peers miss no advertisement', () => {
    const world = activeWorld([{ ...ROUTER, advertisementInterval: '100ms' }])
    const from = times(world).at(-1) ?? 0
    world.stall(1_000)
    world.advance(1_000)
    expect(world.executed).toEqual([])
    expect(world.router().state).toBe('Active')
    expect(Math.max(...gaps(times(world, from)))).toBeLessThanOrEqual(101)
  })

  test('an engine that stands still for longer loses its addresses', () => {
    const world = activeWorld([{ ...ROUTER, advertisementInterval: '100ms' }])
    world.stall(1_500)
    expect(world.executed).toHaveLength(1)
    expect(world.router().counters.cleanupPlansExecuted).toBe(1)
    world.advance(5_000)
    expect(world.router().state).toBe('Active')
    expect(armed(world)).toEqual([0])
  })

  test('a plan that is armed again keeps the deadline of the last round', () => {
    const world = activeWorld()
    world.advance(60_000)
    world.reload([{ ...ROUTER, addresses: [VIP, VIP2] }])
    expect(world.deadlines.get(0)).toBeGreaterThanOrEqual((times(world).at(-1) ?? 0) + 3_000)
    world.advance(10_000)
    expect(world.executed).toEqual([])
  })
})

describe('peers', () => {
  const unicast = { ...ROUTER, transport: { unicast: { peers: [PEER] } } }

  test('the clock sends to each unicast peer, and asks each peer', () => {
    const world = activeWorld([unicast])
    const from = world.now
    world.advance(5_000)
    expect(
      world.sent.filter(({ at, source, destination }) => at >= from && source === SELF && destination === PEER),
    ).toHaveLength(5)
    expect(world.called.filter(({ at }) => at >= from)).toHaveLength(5)
  })

  test('the engine notices a peer that answers after a silence, but not a peer that answers each question', () => {
    const world = activeWorld([unicast])
    const back = () => world.records.filter(({ message }) => message.includes('reachable again')).length
    for (let i = 0; i < 10; i++) {
      world.answerFor(PEER)
      world.advance(1_000)
    }
    const before = back()
    world.advance(5_000)
    world.answerFor(PEER)
    expect(back()).toBe(before + 1)
  })
})
