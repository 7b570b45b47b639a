/**
 * Daemon.yield: the addresses move to another node, and only the release is sent. The priority is 1 for a time and then
 * as before. Without a successor the router answers again. A router that cannot yield returns the reason.
 */
import { describe, expect, test } from 'vitest'
import { gratuitousArp } from '../../../src/arp/gratuitous-arp.ts'
import { address } from '../../../src/wire/address.ts'
import { FakeWorld, link, PEER, ROUTER, type RouterConfig, SELF, VIP, VIP2 } from './fake-world.ts'

const DOWN = 3_500
const PEER_MAC = link(66, 'peer').mac

function activeWorld(routers: readonly RouterConfig[] = [ROUTER]): FakeWorld {
  const world = new FakeWorld(routers).start()
  world.advance(DOWN + 1)
  world.sent.length = 0
  return world
}
const priorities = (world: FakeWorld) => world.sent.map(({ priority }) => priority)

/** Lets the successor advertise and announce. */
function succeed(world: FakeWorld): void {
  world.advance(600)
  world.hear(100)
  world.hearAnnouncement(gratuitousArp({ address: address(VIP), mac: PEER_MAC }))
  world.advance(25)
}

describe('yield', () => {
  test('a yield sends priority 0 twice, then follows the successor with priority 1', () => {
    const world = activeWorld()
    expect(world.daemon.yield('api', 60_000)).toBe(undefined)
    expect([world.router().state, priorities(world)]).toEqual(['Leaving', [0]])
    succeed(world)
    expect([world.router().state, priorities(world), world.installed, world.plans.size]).toEqual([
      'Backup',
      [0, 0],
      [],
      0,
    ])
    expect(world.router().priority).toEqual({ base: 128, effective: 1 })
    expect(world.router().yieldingUntil).toEqual(expect.stringMatching(/^\d{4}-.*Z$/))
  })

  test('after a yield the priority is back, and a better router takes over again', () => {
    const world = activeWorld()
    world.daemon.yield('api', 10_000)
    succeed(world)
    for (let second = 0; second < 9; second++) {
      world.hear(100)
      world.advance(1_000)
    }
    expect([world.router().state, world.router().priority.effective]).toEqual(['Backup', 1])
    world.advance(500)
    expect([world.router().priority.effective, world.router().yieldingUntil]).toEqual([128, null])
    for (let beat = 0; beat < 50 && world.router().state === 'Backup'; beat++) {
      world.hear(100)
      world.advance(100)
    }
    expect(world.transitions.at(-1)).toBe('api: Backup → Active: lowerPriorityActive')
    expect(priorities(world).at(-1)).toBe(128)
  })

  test('a router that yields already only changes the end of its yield', () => {
    const world = activeWorld()
    world.daemon.yield('api', 600_000)
    succeed(world)
    expect(world.daemon.yield('api', 2_000)).toBe(undefined)
    expect([world.router().state, world.router().priority.effective, priorities(world)]).toEqual(['Backup', 1, [0, 0]])
    world.hear(100)
    world.advance(2_001)
    expect([world.router().priority.effective, world.router().yieldingUntil]).toEqual([128, null])
  })

  test('a yield for 0 ms ends it, and a router that does not yield refuses that', () => {
    const world = activeWorld()
    world.daemon.yield('api', 600_000)
    succeed(world)
    expect(world.daemon.yield('api', 0)).toBe(undefined)
    expect([world.router().priority.effective, world.router().yieldingUntil]).toEqual([128, null])
    expect(world.daemon.yield('api', 0)?.message).toBe('api does not yield')
  })

  test('a tracker that changes during a yield counts afterwards', () => {
    const tracked = { ...ROUTER, track: [{ interface: 'eth1', weight: -20 }] }
    const world = activeWorld([tracked])
    world.daemon.yield('api', 10_000)
    succeed(world)
    world.setLink(link(3, 'eth1', { running: false }))
    expect(world.router().priority.effective).toBe(1)
    for (let second = 0; second < 10; second++) {
      world.hear(200)
      world.advance(1_000)
    }
    expect(world.router().priority).toEqual({ base: 128, effective: 108 })
  })

  test('a yield without a successor makes the router Active again after 2 s, with priority 1', () => {
    const world = activeWorld()
    world.daemon.yield('api', 60_000)
    world.advance(2_001)
    expect([world.router().state, world.router().reason, priorities(world)]).toEqual([
      'Active',
      'noSuccessor',
      [0, 0, 1],
    ])
    expect([world.installed, world.plans.size]).toEqual([[`${VIP}/32@2`], 1])
    world.advance(58_000)
    expect([world.router().state, priorities(world).at(-1)]).toEqual(['Active', 128])
  })

  test('a yield that is shorter than Leaving restores the priority and still leaves', () => {
    const world = activeWorld()
    world.daemon.yield('api', 100)
    world.advance(150)
    expect([world.router().state, world.router().priority.effective]).toEqual(['Leaving', 128])
    world.advance(2_000)
    expect([world.router().state, priorities(world)]).toEqual(['Active', [0, 0, 128]])
  })

  test('a shutdown during a yield ends the router', async () => {
    const leaving = activeWorld()
    leaving.daemon.yield('api', 60_000)
    leaving.advance(100)
    const stopped = leaving.daemon.stop()
    leaving.advance(2_000)
    await stopped
    expect([leaving.router().state, leaving.installed, leaving.plans.size]).toEqual(['Initialize', [], 0])
    leaving.advance(120_000)
    expect([leaving.router().state, priorities(leaving)]).toEqual(['Initialize', [0, 0]])

    const backup = activeWorld()
    backup.daemon.yield('api', 60_000)
    succeed(backup)
    await backup.daemon.stop()
    expect(backup.router().state).toBe('Initialize')
  })

  test('a yield does not change other routers of the node', () => {
    const second = { ...ROUTER, name: 'ingress', vrid: 52, addresses: [VIP2] }
    const world = activeWorld([ROUTER, second])
    world.daemon.yield('ingress', 60_000)
    expect([world.router('api').state, world.router('ingress').state]).toEqual(['Active', 'Leaving'])
  })
})

describe('a router that cannot yield', () => {
  const refused = (world: FakeWorld, name = 'api', forMillis = 60_000) => world.daemon.yield(name, forMillis)?.message

  test('a yield of an unknown name is refused', () => {
    const second = { ...ROUTER, name: 'ingress', vrid: 52, addresses: [VIP2] }
    expect(refused(activeWorld([ROUTER, second]), 'apo')).toBe(
      'no virtual router or sync group is called "apo": did you mean "api"?',
    )
  })

  test('a Backup refuses a yield', () => {
    const world = new FakeWorld().start()
    expect(refused(world)).toBe('api is Backup here, and no Active is known')
    world.hear(200)
    expect(refused(world)).toBe(`api is Backup here; run yield on the Active, ${PEER}`)
    expect([world.sent, world.router().priority.effective]).toEqual([[], 128])
  })

  test('a router in fault or stopped refuses a yield', async () => {
    const world = activeWorld()
    world.setLink(link(2, 'eth0', { running: false }))
    expect(refused(world)).toBe('api is not Active here: linkDown')
    await world.daemon.stop()
    expect(refused(world)).toBe('api is not Active here: linkDown')
  })

  test('a router in Leaving refuses a yield', () => {
    const world = activeWorld()
    world.daemon.yield('api', 60_000)
    expect(refused(world)).toBe('api is leaving already')
  })

  test('an owner refuses a yield', () => {
    const world = activeWorld([{ ...ROUTER, addresses: [SELF], priority: 255 }])
    expect(refused(world)).toBe('api owns its addresses (priority 255)')
  })

  test('a router without a possible successor refuses a yield', () => {
    const alone = { ...ROUTER, transport: { unicast: { source: SELF, peers: [] } } }
    expect(refused(activeWorld([alone]))).toBe('api has no unicast peer that could take over')
  })

  test('a yield of a negative or endless time is refused', () => {
    const world = activeWorld()
    for (const wrong of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(refused(world, 'api', wrong)).toBe(
        `forMs: cannot use ${wrong}, expected a number from 0 to 2678400000 (31 days)`,
      )
    }
    expect(world.router().state).toBe('Active')
  })
})
