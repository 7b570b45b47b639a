/**
 * Daemon.reload: a router without a difference is not touched, and the others change as little as possible. A reload
 * never leads to two routers in one place, or an address without a router.
 */
import { describe, expect, test } from 'vitest'
import { gratuitousArp } from '../../../src/arp/gratuitous-arp.ts'
import { diffConfig } from '../../../src/config/diff.ts'
import { address } from '../../../src/wire/address.ts'
import {
  FakeWorld,
  failure,
  GROUP,
  link,
  PEER,
  present,
  ROUTER,
  type RouterConfig,
  SELF,
  VIP,
  VIP2,
} from './fake-world.ts'

/** Active_Down_Interval of priority 128 at 1 s; the stagger of a peer is a few milliseconds more. */
const DOWN = 3_500
const OTHER_VIP = '192.0.2.102'
const PEER_MAC = link(66, 'peer').mac
const OTHER: RouterConfig = { ...ROUTER, name: 'db', vrid: 52, addresses: [VIP2] }
const unicast = (...peers: readonly string[]) => ({ transport: { unicast: { source: SELF, peers } } })

function activeWorld(routers: readonly RouterConfig[] = [ROUTER], present_ = {}): FakeWorld {
  const world = new FakeWorld(routers, present_).start()
  world.advance(DOWN + 10)
  for (const { state, name } of world.daemon.snapshot().routers) expect([name, state]).toEqual([name, 'Active'])
  // At this time the first announcements are over, and the next advertisement is not due.
  world.advance(6_291)
  world.takeCalls()
  world.sent.length = 0
  world.announced.length = 0
  return world
}
const states = (world: FakeWorld) =>
  Object.fromEntries(world.daemon.snapshot().routers.map(({ name, state }) => [name, state]))
const changes = (report: ReturnType<FakeWorld['reload']>) =>
  report.ok ? Object.fromEntries(report.changes.map(({ router, change }) => [router, change])) : report.reason
/** Lets the peer advertise and announce. */
function succeed(world: FakeWorld, vip = VIP, vrid = 51): void {
  world.hear(100, { vrid, addresses: [vip] })
  world.hearAnnouncement(gratuitousArp({ address: address(vip), mac: PEER_MAC }))
  world.advance(25)
}

describe('a change between multicast and unicast', () => {
  test('an Active stays Active over both changes of transport: addresses and socket stay, and no priority 0 is sent', () => {
    const multicast = { ...ROUTER, transport: { multicast: { source: SELF } } }
    const world = activeWorld([multicast])
    const there = world.reload([{ ...ROUTER, ...unicast(PEER) }])
    expect(changes(there)).toEqual({ api: 'changed' })
    world.advance(2_000)
    expect(new Set(world.sent.map(({ destination, priority }) => `${destination} ${priority}`))).toEqual(
      new Set([`${PEER} 128`]),
    )
    expect(world.sent[0]?.at, 'at once').toBe(world.now - 2_000)
    expect(world.plans.get(0)?.packets.flatMap(({ datagrams }) => datagrams.map((one) => one.destination))).toEqual([
      PEER,
    ])
    world.sent.length = 0
    expect(changes(world.reload([multicast]))).toEqual({ api: 'changed' })
    world.advance(2_000)
    expect(new Set(world.sent.map(({ destination, priority }) => `${destination} ${priority}`))).toEqual(
      new Set([`${GROUP} 128`]),
    )
    expect(states(world)).toEqual({ api: 'Active' })
    expect(world.takeCalls().filter((call) => /^(add|remove|open|close)/.test(call))).toEqual([])
  })

  test('a router that started with unicast joins the group', () => {
    const world = activeWorld([{ ...ROUTER, ...unicast(PEER) }])
    world.reload([{ ...ROUTER, transport: { multicast: { source: SELF } } }])
    expect(world.takeCalls()).toContain(`join eth0 ${GROUP}`)
    expect(states(world)).toEqual({ api: 'Active' })
  })
})

test('plan() reports a reload without doing it', () => {
  const world = activeWorld([ROUTER, OTHER])
  const next = world.config({
    virtualRouters: [
      { ...ROUTER, priority: 99 },
      { ...OTHER, vrid: 60 },
    ],
  })
  const plan = world.daemon.plan(next, diffConfig(world.daemon.config, next))
  expect(changes(plan)).toEqual({ api: 'changed', db: 'recreated' })
  expect([world.takeCalls(), world.sent, states(world)]).toEqual([[], [], { api: 'Active', db: 'Active' }])
  expect(changes(world.daemon.reload(next))).toEqual({ api: 'changed', db: 'recreated' })
})

describe('a router without a difference', () => {
  test.each<[string, readonly RouterConfig[], Readonly<Record<string, unknown>>]>([
    ['nothing', [ROUTER, OTHER], {}],
    ['the order', [OTHER, ROUTER], {}],
    ['a default that is written out', [{ ...ROUTER, preempt: true }, OTHER], {}],
    ['the interval of another', [ROUTER, { ...OTHER, advertisementInterval: '100ms' }], {}],
    ['the priority of another', [ROUTER, { ...OTHER, priority: 20 }], {}],
    ['the addresses of another', [ROUTER, { ...OTHER, addresses: [OTHER_VIP] }], {}],
    ['another goes', [ROUTER], {}],
    ['another comes', [ROUTER, OTHER, { ...OTHER, name: 'new', vrid: 53, addresses: [OTHER_VIP] }], {}],
    ['the VRID of another', [ROUTER, { ...OTHER, vrid: 60 }], {}],
    ['another becomes unicast', [ROUTER, { ...OTHER, ...unicast(PEER) }], {}],
    ['what waits for the next start', [ROUTER, OTHER], { api: { listen: '127.0.0.1:1234' } }],
  ])('a router without a difference is not touched: %s', (_, routers, keys) => {
    const world = activeWorld([ROUTER, OTHER])
    const sockets = [...world.sockets]
    const before = world.router('api')
    const plan = world.plans.get(0)
    const report = world.reload(routers, keys)
    expect(changes(report)).not.toHaveProperty('api')
    const calls = world.takeCalls()
    expect(
      calls.filter((call) => call.includes(VIP) && !call.startsWith('ask')),
      'its address',
    ).toEqual([])
    expect(
      calls.filter((call) => call.includes('vrid 51')),
      'its advertisements',
    ).toEqual([])
    expect(
      calls.filter((call) => call.startsWith('open') || call.startsWith('close')),
      'its socket',
    ).toEqual([])
    expect(world.sockets).toEqual(sockets)
    expect(world.plans.get(0)).toBe(plan)
    const { deadlines, since, reason, counters } = world.router('api')
    expect([deadlines, since, reason, counters]).toEqual([
      before.deadlines,
      before.since,
      before.reason,
      before.counters,
    ])
    // The router continues unchanged.
    world.advance(20_000)
    const beats = world.sent.filter(({ vrid }) => vrid === 51).map(({ at }) => at)
    expect(beats.length, 'advertisements in 20 s').toBe(20)
    expect(Math.max(...beats.slice(1).map((at, i) => at - (beats[i] ?? 0)))).toBe(1_000)
    expect(world.router('api').counters.transitions).toEqual(before.counters.transitions)
  })

  test('a multicast router beside unicast ones joins the group on the same socket', () => {
    const mine = { ...ROUTER, ...unicast(PEER) }
    const world = activeWorld([mine])
    world.reload([mine, OTHER])
    const calls = world.takeCalls()
    expect(calls.filter((call) => /^(open|close|join)/.test(call))).toEqual([`join eth0 ${GROUP}`])
    expect(states(world)).toEqual({ api: 'Active', db: 'Backup' })
  })
})

describe('other parameters', () => {
  test('new peers of a unicast Active receive the next advertisement, and no address is touched', () => {
    const world = activeWorld([{ ...ROUTER, ...unicast(PEER) }])
    expect(changes(world.reload([{ ...ROUTER, ...unicast(PEER, '192.0.2.30') }]))).toEqual({ api: 'changed' })
    const touched = world.takeCalls().filter((call) => !call.startsWith('arm'))
    expect(touched, 'nothing but the plan').toEqual([])
    const [packets] = world.plans.get(0)?.packets ?? []
    expect(packets?.datagrams.map(({ destination }) => destination)).toEqual([PEER, '192.0.2.30'])
    world.advance(1_000)
    expect(world.sent.map(({ destination }) => destination)).toEqual([PEER, '192.0.2.30'])
  })

  test('a new priority is advertised immediately by an Active, and moves the timer of a Backup', () => {
    const world = activeWorld()
    world.reload([{ ...ROUTER, priority: 50 }])
    expect(world.sent.map(({ priority, at }) => [priority, at])).toEqual([[50, world.now]])
    expect(world.router().priority).toEqual({ base: 50, effective: 50 })

    const backup = new FakeWorld().start()
    backup.hear(200)
    backup.reload([{ ...ROUTER, priority: 250 }])
    expect(backup.router().deadlines.activeDownInMs).toBeCloseTo(3_000 + (6 / 256) * 1_000, 0)
    expect(backup.router().state).toBe('Backup')
  })

  test('a shorter interval applies from now on', () => {
    const world = activeWorld()
    world.reload([{ ...ROUTER, advertisementInterval: '100ms' }])
    world.advance(1_000)
    expect(world.sent.length, 'advertisements in 1 s').toBeGreaterThanOrEqual(10)
    expect(world.router().advertisementIntervalMs).toBe(100)
  })

  test('a reload removes a dropped address, installs and announces a new one, and leaves the others', () => {
    const world = activeWorld([{ ...ROUTER, addresses: [VIP, VIP2] }])
    world.reload([{ ...ROUTER, addresses: [VIP, OTHER_VIP] }])
    expect(world.installed).toEqual([`${VIP}/32@2`, `${OTHER_VIP}/32@2`])
    const calls = world.takeCalls()
    expect(calls.filter((call) => call.startsWith('remove'))).toEqual([`remove ${VIP2}/32@2`])
    expect(world.plans.get(0)?.remove.map((each) => each.address)).toEqual([VIP, OTHER_VIP])
    world.advance(70_000)
    expect(world.announced.map((each) => each.address)).toContain(OTHER_VIP)
    expect(
      world.announced.map((each) => each.address),
      'an address that it has no more',
    ).not.toContain(VIP2)
  })

  test('a dropped address that cannot be removed is tried until it is gone, and no router resigns', () => {
    const world = activeWorld([{ ...ROUTER, addresses: [VIP, VIP2] }])
    world.addressFailures.set(`remove ${VIP2}`, failure('EBUSY'))
    world.reload([ROUTER])
    world.advance(60_000)
    expect([world.installed, world.router().state, world.router().faults]).toEqual([
      [`${VIP}/32@2`, `${VIP2}/32@2`],
      'Active',
      [],
    ])
    const tries = world.takeCalls().filter((call) => call === `remove ${VIP2}/32@2`).length
    expect(tries, 'tries in a minute').toBeGreaterThan(50)
    expect(tries).toBeLessThan(70)
    world.addressFailures.clear()
    world.advance(1_100)
    expect(world.installed).toEqual([`${VIP}/32@2`])
    world.takeCalls()
    world.advance(10_000)
    expect(world.takeCalls().filter((call) => call.startsWith('remove'))).toEqual([])
  })

  test('a dropped address that was not removed and is configured again stays', () => {
    const world = activeWorld([{ ...ROUTER, addresses: [VIP, VIP2] }])
    world.addressFailures.set(`remove ${VIP2}`, failure('EBUSY'))
    world.reload([ROUTER])
    world.addressFailures.clear()
    world.reload([{ ...ROUTER, addresses: [VIP, VIP2] }])
    world.advance(5_000)
    expect(world.installed).toEqual([`${VIP}/32@2`, `${VIP2}/32@2`])
    expect(world.router().addresses.every((each) => each.present)).toBe(true)
  })

  test('a dropped address that could not be removed is tried once more at the stop', async () => {
    const world = activeWorld([{ ...ROUTER, addresses: [VIP, VIP2] }])
    world.addressFailures.set(`remove ${VIP2}`, failure('EBUSY'))
    world.reload([ROUTER])
    world.advance(100)
    const stopped = world.daemon.stop()
    world.addressFailures.clear()
    succeed(world)
    await stopped
    expect([states(world), world.installed]).toEqual([{ api: 'Initialize' }, []])
  })

  test('a tracker that is dropped ends its fault, and a new one counts immediately', () => {
    const tracking = { ...ROUTER, track: [{ interface: 'eth1' }] }
    const world = activeWorld([tracking])
    world.setLink(link(3, 'eth1', { running: false }))
    expect(world.router()).toMatchObject({ state: 'Initialize', faults: ['trackedInterfaceDown:eth1'] })
    world.reload([ROUTER])
    expect(world.router()).toMatchObject({ state: 'Backup', faults: [] })
    world.reload([{ ...ROUTER, track: [{ interface: 'eth1', weight: -28 }] }])
    expect(world.router().priority).toEqual({ base: 128, effective: 100 })
    world.setLink(link(3, 'eth1'))
    expect(world.router().priority.effective, 'a tracked interface that is new is looked at').toBe(128)
  })

  test('a new refresh period applies from now on', () => {
    const world = activeWorld([{ ...ROUTER, announce: { refresh: '1h' } }])
    world.reload([{ ...ROUTER, announce: { refresh: '10s' } }])
    world.advance(31_000)
    expect(world.announced.length).toBe(3)
    world.reload([{ ...ROUTER, announce: { refresh: false } }])
    world.advance(100_000)
    expect(world.announced.length, 'the one that was planned, and no other').toBeLessThanOrEqual(4)
  })

  test('an address that could not be installed is tried again after a reload', () => {
    const world = new FakeWorld()
    world.addressFailures.set(`add ${VIP}`, failure('ENOMEM'))
    world.start().advance(DOWN + 100)
    expect(world.router().faults).toEqual(['addressInstallFailed'])
    world.addressFailures.clear()
    world.reload([ROUTER])
    expect(world.router()).toMatchObject({ state: 'Backup', faults: [] })
  })

  test('a yielding router keeps yielding, and has the new priority afterwards', () => {
    const world = activeWorld()
    world.daemon.yield('api', 60_000)
    succeed(world)
    world.reload([{ ...ROUTER, priority: 90 }])
    expect(world.router()).toMatchObject({ state: 'Backup', priority: { base: 90, effective: 1 } })
    for (let second = 0; second < 60; second++) {
      world.hear(100)
      world.advance(1_000)
    }
    expect(world.router().priority.effective).toBe(90)
  })
})

describe('removed, added and replaced routers', () => {
  test('a removed Active sends priority 0, answers until the successor advertises, and leaves nothing', () => {
    const world = activeWorld([ROUTER, OTHER])
    world.reload([OTHER])
    expect([states(world), world.router().departing]).toEqual([{ db: 'Active', api: 'Leaving' }, true])
    expect(world.sent.map(({ vrid, priority }) => [vrid, priority])).toEqual([[51, 0]])
    succeed(world)
    expect([states(world), world.installed]).toEqual([{ db: 'Active' }, [`${VIP2}/32@2`]])
    expect([...world.plans.values()].map(({ name }) => name)).toEqual(['db'])
    world.sent.length = 0
    world.hear(100)
    world.advance(10_000)
    expect(world.sent.filter(({ vrid }) => vrid === 51)).toEqual([])
    expect(
      world.takeCalls().filter((call) => call.startsWith('close')),
      'the socket is shared',
    ).toEqual([])
  })

  test('the last router of an interface closes its socket', () => {
    const away = { ...OTHER, interface: 'eth1', addresses: ['198.51.100.100'] }
    const world = activeWorld([ROUTER, away])
    world.reload([ROUTER])
    world.advance(DOWN)
    expect(world.takeCalls().filter((call) => /^(open|close)/.test(call))).toEqual(['close eth1'])
    expect(world.daemon.snapshot().interfaces.map(({ name }) => name)).toEqual(['eth0'])
  })

  test('a removed Backup ends immediately and sends nothing', () => {
    const world = new FakeWorld([ROUTER, OTHER]).start()
    world.hear(200)
    world.reload([OTHER])
    expect([states(world), world.sent]).toEqual([{ db: 'Backup' }, []])
  })

  test('a removed router whose address cannot be removed stays until it is gone', () => {
    const world = activeWorld([ROUTER, OTHER])
    world.addressFailures.set(`remove ${VIP}`, failure('EBUSY'))
    world.reload([OTHER])
    world.advance(10_000)
    expect([states(world).api, world.installed.includes(`${VIP}/32@2`)]).toEqual(['Initialize', true])
    expect(world.plans.size, 'a crash must not leave it behind').toBe(2)
    world.addressFailures.clear()
    world.advance(1_100)
    expect([states(world), world.installed, world.plans.size]).toEqual([{ db: 'Active' }, [`${VIP2}/32@2`], 1])
  })

  test('an added router is a Backup that waits for Active_Down_Interval', () => {
    const world = activeWorld()
    expect(changes(world.reload([ROUTER, OTHER]))).toEqual({ db: 'added' })
    expect(states(world)).toEqual({ api: 'Active', db: 'Backup' })
    world.advance(DOWN + 1)
    expect(states(world)).toEqual({ api: 'Active', db: 'Active' })
    expect([...world.plans.keys()].sort(), 'a plan of its own').toEqual([0, 1])
  })

  test('an added router whose address is installed already removes it first', () => {
    const world = activeWorld()
    world.foreign('add', present(3, `${VIP2}/24`))
    world.reload([ROUTER, OTHER])
    expect(world.installed).toEqual([`${VIP}/32@2`])
    expect(world.records.map(({ message }) => message)).toContain(`Removed ${VIP2}/24 on eth1: a reload made it a VIP`)
  })

  test('a dropped address is not a source for other routers', () => {
    const world = activeWorld([{ ...ROUTER, addresses: [VIP, VIP2] }])
    world.addressFailures.set(`remove ${VIP2}`, failure('EBUSY'))
    world.addresses = [present(2, `${VIP2}/32`), ...world.addresses.filter((each) => each.address !== VIP2)]
    world.reload([ROUTER, { ...OTHER, addresses: [OTHER_VIP] }])
    expect(world.router('db').source).toBe(SELF)
  })

  test.each<[string, RouterConfig]>([
    ['another VRID', { ...ROUTER, vrid: 60 }],
    ['another interface', { ...ROUTER, interface: 'eth1' }],
    ['unicast', { ...ROUTER, ...unicast(PEER) }],
  ])('a replaced router (%s) leaves before the new one starts', (_, next) => {
    const world = activeWorld()
    expect(changes(world.reload([next]))).toEqual({ api: 'recreated' })
    expect(world.daemon.snapshot().routers.map(({ state, departing }) => [state, departing])).toEqual([
      ['Leaving', true],
    ])
    succeed(world)
    expect(world.daemon.snapshot().routers.map(({ state, departing }) => [state, departing])).toEqual([
      ['Backup', false],
    ])
    expect(world.installed, 'nobody here answers').toEqual([])
    world.advance(DOWN + 1)
    expect([world.router().state, world.router().departing, world.plans.size]).toEqual(['Active', false, 1])
  })

  test('a new router waits for a removed one with the same VRID', () => {
    const world = activeWorld()
    const next = { ...ROUTER, name: 'next', addresses: [VIP2] }
    expect(changes(world.reload([next]))).toEqual({ api: 'removed', next: 'added' })
    expect(states(world)).toEqual({ api: 'Leaving' })
    world.advance(2_100)
    expect(states(world)).toEqual({ next: 'Backup' })
    world.advance(DOWN)
    expect([states(world), world.installed]).toEqual([{ next: 'Active' }, [`${VIP2}/32@2`]])
  })

  test('two routers that exchange an address both have their new one in the end', () => {
    const world = activeWorld([ROUTER, OTHER])
    const swapped = [
      { ...ROUTER, addresses: [VIP2] },
      { ...OTHER, addresses: [VIP] },
    ]
    expect(changes(world.reload(swapped))).toEqual({ api: 'recreated', db: 'recreated' })
    world.advance(2_100 + DOWN)
    expect(states(world)).toEqual({ api: 'Active', db: 'Active' })
    expect(world.installed).toEqual([`${VIP}/32@2`, `${VIP2}/32@2`])
    expect(world.router('api').addresses).toEqual([{ address: VIP2, present: true }])
  })

  test('an address of a router in Leaving is not given to a running one, which would lose it', () => {
    const world = activeWorld([ROUTER, OTHER])
    world.reload([OTHER])
    expect(states(world)).toEqual({ api: 'Leaving', db: 'Active' })
    expect(changes(world.reload([{ ...OTHER, addresses: [VIP2, VIP] }]))).toEqual({ db: 'recreated' })
    world.advance(2_100 + DOWN)
    expect([states(world), world.installed]).toEqual([{ db: 'Active' }, [`${VIP}/32@2`, `${VIP2}/32@2`]])
  })

  test('a removed router that loses its link removes its addresses immediately', () => {
    const away = { ...OTHER, interface: 'eth1', addresses: ['198.51.100.100'] }
    const down = activeWorld([ROUTER, away])
    down.reload([ROUTER])
    down.setLink(link(2, 'eth0', { mtu: 1400 }))
    expect(states(down), 'after a change of another interface').toEqual({ api: 'Active', db: 'Leaving' })
    down.setLink(link(3, 'eth1', { up: false }))
    expect([states(down), down.installed]).toEqual([{ api: 'Active' }, [`${VIP}/32@2`]])

    const gone = activeWorld([ROUTER, away])
    gone.reload([ROUTER])
    gone.removeLink(3)
    expect([states(gone), gone.installed, gone.plans.size]).toEqual([{ api: 'Active' }, [`${VIP}/32@2`], 1])
  })

  test('an address that could not be removed does not keep its router after its interface is gone', () => {
    const away = { ...OTHER, interface: 'eth1', addresses: ['198.51.100.100'] }
    const world = activeWorld([ROUTER, away])
    world.addressFailures.set('remove 198.51.100.100', failure('EBUSY'))
    world.hear(250, { vrid: 52, addresses: ['198.51.100.100'], on: 'eth1', source: '198.51.100.20' })
    expect([states(world), world.plans.size]).toEqual([{ api: 'Active', db: 'Backup' }, 2])
    world.addressFailures.clear()
    world.removeLink(3)
    world.advance(1_000)
    expect(world.plans.size, 'what is gone needs no plan').toBe(1)
    world.reload([ROUTER])
    expect(states(world)).toEqual({ api: 'Active' })
    world.reload([ROUTER, OTHER])
    world.advance(DOWN)
    expect(states(world)).toEqual({ api: 'Active', db: 'Active' })
  })

  test('a dropped address that cannot be removed is tried again, although a Backup has it configured now', () => {
    const world = activeWorld([{ ...ROUTER, addresses: [VIP, OTHER_VIP] }, OTHER])
    world.addressFailures.set(`remove ${OTHER_VIP}`, failure('EBUSY'))
    world.hear(200, { vrid: 52, addresses: [VIP2] })
    world.reload([ROUTER, OTHER])
    world.reload([ROUTER, { ...OTHER, addresses: [VIP2, OTHER_VIP] }])
    world.hear(200, { vrid: 52, addresses: [VIP2] })
    world.advance(21)
    expect([states(world), world.installed]).toEqual([
      { api: 'Active', db: 'Backup' },
      [`${VIP}/32@2`, `${OTHER_VIP}/32@2`],
    ])
    world.addressFailures.clear()
    world.advance(1_100)
    expect([states(world), world.installed]).toEqual([{ api: 'Active', db: 'Backup' }, [`${VIP}/32@2`]])
    world.advance(DOWN)
    world.advance(20_000)
    expect([states(world), world.installed.length]).toEqual([{ api: 'Active', db: 'Active' }, 3])
  })

  test('a removed owner advertises nothing new, whatever its group waited for', () => {
    const owner = { ...ROUTER, priority: 255, addresses: [SELF] }
    const away = { ...OTHER, interface: 'eth9' }
    const world = new FakeWorld([owner, away], { syncGroups: [{ name: 'both', members: ['api', 'db'] }] }).start()
    world.advance(DOWN)
    expect(states(world)).toEqual({ api: 'Initialize', db: 'Initialize' })
    world.reload([away])
    expect([states(world), world.sent, world.transitions]).toEqual([{ db: 'Initialize' }, [], []])
  })

  test('a router that is replaced during a yield continues the yield', () => {
    const world = activeWorld()
    world.daemon.yield('api', 60_000)
    succeed(world)
    expect(changes(world.reload([{ ...ROUTER, vrid: 60 }]))).toEqual({ api: 'recreated' })
    for (let second = 0; second < 55; second++) {
      world.hear(100, { vrid: 60 })
      world.advance(1_000)
    }
    expect(world.router()).toMatchObject({ state: 'Backup', priority: { base: 128, effective: 1 } })
    for (let second = 0; second < 10; second++) {
      world.hear(100, { vrid: 60 })
      world.advance(1_000)
    }
    expect(world.router()).toMatchObject({ state: 'Active', priority: { base: 128, effective: 128 } })
  })

  test('`auto` in another network listens there before it sends', () => {
    const auto = { ...ROUTER, interface: 'auto', addresses: [`${VIP}/24`] }
    const world = activeWorld([auto])
    expect(changes(world.reload([{ ...auto, addresses: ['198.51.100.100/24'] }]))).toEqual({ api: 'recreated' })
    succeed(world)
    expect(states(world)).toEqual({ api: 'Backup' })
    expect(world.installed).toEqual([])
    world.advance(DOWN + 10)
    expect([states(world), world.installed]).toEqual([{ api: 'Active' }, ['198.51.100.100/32@3']])
    expect(world.records.filter(({ message }) => message.includes('Cannot'))).toEqual([])
  })

  test('after several quick reloads the last one counts', () => {
    const world = activeWorld()
    world.reload([{ ...ROUTER, vrid: 60 }])
    world.reload([{ ...ROUTER, vrid: 61, priority: 90 }])
    world.reload([{ ...ROUTER, vrid: 62, priority: 91 }, OTHER])
    expect(states(world)).toEqual({ api: 'Leaving', db: 'Backup' })
    world.advance(2_100)
    expect(world.router().departing).toBe(false)
    expect(world.router()).toMatchObject({ vrid: 62, state: 'Backup', priority: { base: 91 } })
    world.reload([OTHER])
    expect(states(world)).toEqual({ db: 'Backup' })
  })

  test('a router that is configured again before it is gone still leaves first', () => {
    const world = activeWorld()
    world.reload([OTHER])
    world.reload([ROUTER, OTHER])
    expect(states(world)).toEqual({ db: 'Backup', api: 'Leaving' })
    world.advance(2_100 + DOWN)
    expect([states(world), world.installed.length]).toEqual([{ db: 'Active', api: 'Active' }, 2])
  })
})

describe('sync groups', () => {
  const together = { syncGroups: [{ name: 'both', members: ['api', 'db'] }] }
  const groups = (world: FakeWorld) => world.daemon.snapshot().groups

  test('two Actives in a new group stay Active, with one cleanup plan', () => {
    const world = activeWorld([ROUTER, OTHER])
    const report = world.reload([ROUTER, OTHER], together)
    expect(report).toMatchObject({ ok: true, changes: [], unchanged: 2, groupsChanged: true })
    expect(groups(world)).toEqual([{ name: 'both', members: ['api', 'db'] }])
    const calls = world.takeCalls()
    expect(calls.filter((call) => !/^(arm|withdraw)/.test(call))).toEqual([])
    expect(
      calls.findIndex((call) => call.startsWith('arm')),
      'the new plan comes first',
    ).toBe(0)
    expect([...world.plans.values()].map(({ remove }) => remove.map((each) => each.address))).toEqual([[VIP, VIP2]])
    world.setLink(link(2, 'eth0', { up: false }))
    expect(states(world)).toEqual({ api: 'Initialize', db: 'Initialize' })
    expect(world.plans.size).toBe(0)
  })

  test('two members without their group have a plan each, and fail alone', () => {
    const away = { ...OTHER, interface: 'eth1', addresses: ['198.51.100.100'] }
    const world = activeWorld([ROUTER, away])
    world.reload([ROUTER, away], together)
    world.reload([ROUTER, away])
    expect(groups(world)).toEqual([])
    expect([...world.plans.values()].map(({ name }) => name).sort()).toEqual(['api', 'db'])
    world.setLink(link(3, 'eth1', { up: false }))
    expect(states(world)).toEqual({ api: 'Active', db: 'Initialize' })
  })

  test('a removed member leaves alone', () => {
    const world = activeWorld([ROUTER, OTHER])
    world.reload([ROUTER, OTHER], together)
    world.reload([ROUTER])
    expect(states(world)).toEqual({ api: 'Active', db: 'Leaving' })
    world.advance(2_100)
    expect([states(world), world.installed]).toEqual([{ api: 'Active' }, [`${VIP}/32@2`]])
  })

  test('an added member joins its group, which is never divided', () => {
    const world = activeWorld()
    world.reload([ROUTER, OTHER], together)
    expect(states(world)).toEqual({ api: 'Leaving', db: 'Backup' })
    world.advance(2_100 + DOWN + DOWN)
    expect([states(world), world.installed]).toEqual([{ api: 'Active', db: 'Active' }, [`${VIP}/32@2`, `${VIP2}/32@2`]])
  })

  test('an owner that joins a group with a fault advertises nothing', () => {
    const owner = { ...ROUTER, priority: 255, addresses: [SELF] }
    const away = { ...OTHER, interface: 'eth9' }
    const world = new FakeWorld([away]).start()
    world.reload([away, owner], together)
    expect([world.sent, states(world)]).toEqual([[], { db: 'Initialize', api: 'Initialize' }])
    world.reload([OTHER, owner], together)
    expect(world.transitions.filter((line) => line.startsWith('db'))).toEqual([
      'db (both): Initialize → Backup: startup',
    ])
    world.advance(2 * DOWN)
    expect(states(world)).toEqual({ api: 'Active', db: 'Active' })
  })

  test('a change of another group touches no router', () => {
    const third = { ...ROUTER, name: 'web', vrid: 53, addresses: [OTHER_VIP] }
    const world = activeWorld([ROUTER, OTHER, third])
    world.reload([ROUTER, OTHER, third], { syncGroups: [{ name: 'pair', members: ['db', 'web'] }] })
    expect(world.takeCalls().filter((call) => call.includes('api') || call.includes('vrid 51'))).toEqual([])
    expect(states(world)).toEqual({ api: 'Active', db: 'Active', web: 'Active' })
  })

  test('numbers of cleanup plans are used again', () => {
    const world = activeWorld([ROUTER, OTHER])
    for (let round = 0; round < 50; round++) {
      world.reload([ROUTER, OTHER], together)
      world.reload([ROUTER, OTHER])
    }
    expect(Math.max(...world.plans.keys())).toBeLessThan(6)
    expect(states(world)).toEqual({ api: 'Active', db: 'Active' })
  })
})

describe('what a reload cannot do', () => {
  test('a reload is refused while the daemon stops', async () => {
    const world = activeWorld()
    const stopped = world.daemon.stop()
    expect(world.reload([ROUTER, OTHER])).toEqual({ ok: false, reason: 'the daemon is leaving' })
    const next = world.config({ virtualRouters: [ROUTER, OTHER] })
    const plan = world.daemon.plan(next, diffConfig(world.daemon.config, next))
    expect(plan, 'the plan of a reload').toEqual({ ok: false, reason: 'the daemon is leaving' })
    world.advance(3_000)
    await stopped
    expect([states(world), world.installed]).toEqual([{ api: 'Initialize' }, []])
  })

  test('a daemon that stops with a removed router in Leaving stops with it, and starts none', async () => {
    const world = activeWorld()
    world.reload([{ ...ROUTER, vrid: 60 }])
    const stopped = world.daemon.stop()
    world.advance(3_000)
    await stopped
    expect([world.installed, world.plans.size]).toEqual([[], 0])
    expect(world.daemon.snapshot().routers.every(({ state }) => state === 'Initialize')).toBe(true)
  })

  test('keys that take effect at the next start are named', () => {
    const world = activeWorld()
    expect(world.reload([ROUTER], { api: { listen: false } })).toMatchObject({ restartOnly: ['api.listen'] })
  })

  test('a configuration is checked against the node without our own addresses', () => {
    const world = activeWorld()
    const seen = world.daemon.nodeView().interfaces.flatMap(({ addresses }) => addresses.map((each) => each.address))
    expect(seen).toContain(SELF)
    expect(seen).not.toContain(VIP)
  })
})
