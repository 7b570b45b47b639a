/**
 * The daemon with a guardian that starts a crashed engine again (docs/adr/0088): which record it keeps there, and what
 * the next engine adopts. test/netns/restart.test.ts has the same with processes.
 */
import { describe, expect, test } from 'vitest'
import { readRecord } from '../../../src/daemon/guard/restart-record.ts'
import type { Inheritance } from '../../../src/daemon/ports.ts'
import { FakeWorld, link, present, ROUTER, type RouterConfig, SELF, VIP, type WorldOptions } from './fake-world.ts'

const DOWN = 3_500
const OUTSIDE = '198.51.100.100'
const INGRESS = { name: 'ingress', vrid: 52, interface: 'eth1', addresses: [OUTSIDE], priority: 128 }
const PAIR = [{ name: 'pair', members: ['api', 'ingress'] }]

/** Returns a world whose routers are Active at rest. */
function activeWorld(routers: readonly RouterConfig[] = [ROUTER], options: WorldOptions = {}): FakeWorld {
  const world = new FakeWorld(routers, { restart: true, ...options }).start()
  world.advance(DOWN + 10_000)
  expect(world.daemon.snapshot().routers.map(({ clock, state }) => [state, clock.armed])).toEqual(
    routers.map(() => ['Active', true]),
  )
  return world
}

function restartOf({ restart }: FakeWorld) {
  if (restart === undefined) throw new Error('No restart')
  return restart
}

type Next = Partial<Inheritance> & {
  readonly routers?: readonly RouterConfig[]
  readonly syncGroups?: WorldOptions['syncGroups']
  /** Happens between the two engines. */
  readonly meanwhile?: (world: FakeWorld) => void
}

/** Kills the engine, and starts the next one 200 ms later. Returns the calls of the next one. */
function crash(world: FakeWorld, { meanwhile, routers = [ROUTER], syncGroups, ...changes }: Next = {}): string[] {
  world.kill()
  restartOf(world).inherit(world.now, changes)
  meanwhile?.(world)
  world.advance(200)
  world.takeCalls()
  world.daemon = world.life(routers, syncGroups)
  world.start()
  return world.takeCalls()
}

const states = (world: FakeWorld) => world.daemon.snapshot().routers.map(({ state }) => state)
const recordedSince = (world: FakeWorld) => readRecord(restartOf(world).kept?.text ?? '')?.routers[0]?.since
const messages = (world: FakeWorld) => world.records.map(({ message }) => message)

describe('the record at the guardian', () => {
  test('names the slot and the place of each Active at rest', () => {
    const world = activeWorld()
    const { claims, text } = restartOf(world).kept ?? { claims: [], text: '' }
    const place = { interfaceName: 'eth0', interfaceIndex: 2, mac: link(2, 'eth0').mac, carrierChanges: 4 }
    const router = { name: 'api', unit: 0, slot: 0, source: SELF, priority: 128, ...place }
    expect(claims).toMatchObject([{ slot: 0, generation: expect.any(Number) }])
    expect(readRecord(text)).toMatchObject({ version: '0.2.0', identity: 'hash file', routers: [router], checks: [] })
  })

  test('names the sync group of a router', () => {
    const world = activeWorld([ROUTER, INGRESS], { syncGroups: PAIR })
    expect(readRecord(restartOf(world).kept?.text ?? '')?.routers.map(({ group }) => group)).toEqual(['pair', 'pair'])
  })

  test.each<[string, (world: FakeWorld) => void]>([
    ['a router yields', (world) => void world.daemon.yield('api', 60_000)],
    ['onCrash is release', (world) => void world.reload([ROUTER], { onCrash: 'release' })],
    ['lease is off', (world) => void world.reload([ROUTER], { lease: 'off', onCrash: 'release' })],
    ['the daemon stops', (world) => void world.daemon.stop()],
    ['a removed router still answers for its addresses', (world) => void world.reload([])],
    [
      'the configuration in force is not that of the file',
      (world) => {
        world.identity = undefined
        world.reload([{ ...ROUTER, preempt: false }])
      },
    ],
    [
      'the kernel does not count the changes of the carrier',
      (world) => {
        restartOf(world).carriers.delete('eth0')
        world.reload([{ ...ROUTER, preempt: false }])
        world.advance(3_000)
      },
    ],
  ])('does not exist while %s', (_, act) => {
    const world = activeWorld()
    expect(restartOf(world).isKept).toBe(true)
    act(world)
    expect(restartOf(world).isKept).toBe(false)
  })

  test('returns with the end of a yield', () => {
    const world = activeWorld()
    world.daemon.yield('api', 60_000)
    world.daemon.yield('api', 0)
    world.advance(DOWN + 10_000)
    expect(states(world)).toEqual(['Active'])
    expect(restartOf(world).isKept).toBe(true)
  })
})

describe('the engine after a crash', () => {
  test('is the Active that the dead one was: the clock goes on, and no address is touched', () => {
    const world = activeWorld()
    const since = recordedSince(world)
    const before = world.sent.length
    const calls = crash(world)
    expect(states(world)).toEqual(['Active'])
    expect(world.router().reason).toBe('engineRestarted')
    expect(recordedSince(world)).toBe(since)
    expect(calls.filter((call) => /^(remove|advertise|arm)/.test(call))).toEqual(['arm api'])
    expect(world.installed).toEqual([`${VIP}/32@2`])
    expect(restartOf(world).settlements).toBe(1)
    world.advance(5_000)
    expect(world.sent.slice(before).map(({ priority }) => priority)).toEqual(Array(5).fill(128))
    expect(world.executed).toEqual([])
    expect(messages(world)).toContain(
      'The engine was killed by signal 9 and was started again 200 ms ago: kept the addresses of api',
    )
    expect(world.daemon.snapshot().engineRestarts).toBe(1)
  })

  test('does not hold back a router that it does not adopt, although it is new', () => {
    const world = activeWorld([ROUTER], { cold: true })
    crash(world, { routers: [ROUTER, { ...INGRESS, priority: 200 }] })
    expect(states(world)).toEqual(['Active', 'Backup'])
    world.advance(DOWN)
    expect(states(world)).toEqual(['Active', 'Active'])
  })

  test('has a record of its own, and the engine after it adopts that', () => {
    const world = activeWorld()
    crash(world)
    world.advance(10_000)
    expect(restartOf(world).isKept).toBe(true)
    crash(world, { restarts: 2, signal: undefined })
    expect(states(world)).toEqual(['Active'])
    expect(messages(world)).toContain('The engine exited and was started again 200 ms ago: kept the addresses of api')
    expect(world.daemon.snapshot().engineRestarts).toBe(2)
  })

  test('adopts a sync group as a whole', () => {
    const world = activeWorld([ROUTER, INGRESS], { syncGroups: PAIR })
    crash(world, { routers: [ROUTER, INGRESS], syncGroups: PAIR })
    expect(states(world)).toEqual(['Active', 'Active'])
    expect(world.installed).toEqual([`${VIP}/32@2`, `${OUTSIDE}/32@3`])
  })

  test('adopts no member of a sync group if the interface of one has changed', () => {
    const world = activeWorld([ROUTER, INGRESS], { syncGroups: PAIR })
    const meanwhile = () => void restartOf(world).carriers.set('eth1', 9)
    crash(world, { routers: [ROUTER, INGRESS], syncGroups: PAIR, meanwhile })
    expect(states(world)).toEqual(['Backup', 'Backup'])
    expect(world.installed).toEqual([])
  })

  const changes: Record<string, Next> = {
    'the MAC of the interface': {
      meanwhile: (world) => void world.links.set(2, { ...link(2, 'eth0'), mac: link(9, 'eth0').mac }),
    },
    'the index of the interface': {
      meanwhile: (world) => {
        world.links.delete(2)
        world.links.set(8, { ...link(8, 'eth0'), mac: link(2, 'eth0').mac })
        world.addresses = world.addresses.map((each) =>
          each.interfaceIndex === 2 ? { ...each, interfaceIndex: 8 } : each,
        )
      },
    },
    'the carrier, there and back': { meanwhile: (world) => void restartOf(world).carriers.set('eth0', 6) },
    'the order of the clock': { meanwhile: (world) => world.clock?.stop(0) },
    'the cleanup plan, which was executed': { meanwhile: (world) => world.execute() },
    'the priority': { routers: [{ ...ROUTER, priority: 200 }] },
    'the source address': {
      meanwhile: (world) => {
        world.addresses = world.addresses.map((each) => (each.address === SELF ? present(2, '192.0.2.11/24') : each))
      },
    },
    'the interface of the router': { routers: [{ ...ROUTER, interface: 'eth1' }] },
    'the name of the router': { routers: [{ ...ROUTER, name: 'other' }] },
    'the form of the record': { text: '{}' },
    'the text of the record, which is cut': { text: '{"format":1' },
    'the configuration file': {
      meanwhile: (world) => {
        world.identity = 'another hash'
      },
    },
  }
  test.each(Object.entries(changes))('adopts nothing after a change of %s', (_, next) => {
    const world = activeWorld()
    crash(world, next)
    expect(states(world)).toEqual(['Backup'])
    expect(world.installed.filter((text) => text.startsWith(VIP))).toEqual([])
    expect(messages(world).some((text) => text.includes('no address was kept'))).toBe(true)
    expect(restartOf(world).settlements).toBe(1)
  })

  test('adopts nothing if the link is down, and reports the fault', () => {
    const world = activeWorld()
    crash(world, { meanwhile: (seen) => void seen.links.set(2, link(2, 'eth0', { running: false })) })
    expect(states(world)).toEqual(['Initialize'])
    expect(world.installed).toEqual([])
  })

  test('logs why it does not adopt a record', () => {
    const world = activeWorld()
    crash(world, { text: 'nonsense' })
    expect(messages(world)).toContain(
      'The addresses that the previous engine held are released: its record cannot be read',
    )
  })
})

describe('an engine that replaces another one', () => {
  test('keeps the addresses, and reports both versions', () => {
    const world = activeWorld()
    const record = world.daemon.forUpgrade()
    if (!('text' in record)) throw new Error(record.reason)
    const text = record.text.replace('0.2.0', '0.1.0')
    crash(world, { isUpgrade: true, text })
    expect(world.router()).toMatchObject({ state: 'Active', reason: 'engineUpgraded' })
    expect(messages(world)).toContain(
      'Version 0.1.0 was replaced by version 0.2.0 200 ms ago: kept the addresses of api',
    )
  })

  test('keeps the addresses with onCrash: release as well', () => {
    const world = activeWorld()
    world.reload([ROUTER], { onCrash: 'release' })
    world.advance(5_000)
    const record = world.daemon.forUpgrade()
    crash(world, { isUpgrade: true, text: 'text' in record ? record.text : '' })
    expect(states(world)).toEqual(['Active'])
  })

  test.each<[string, boolean, (world: FakeWorld) => void]>([
    ['lease: must be "on"', false, (world) => void world.reload([ROUTER], { lease: 'off', onCrash: 'release' })],
    ['the daemon is stopping', false, (world) => void world.daemon.stop()],
    [
      'the configuration in force is not that of a file',
      false,
      (world) => {
        world.identity = undefined
      },
    ],
    ['a removed virtual router still answers', true, (world) => void world.reload([])],
    ['virtual router api yields', false, (world) => void world.daemon.yield('api', 60_000)],
    [
      'virtual router api is not at rest',
      true,
      (world) => {
        // The clock has not ended its round.
        if (world.clock !== undefined) world.clock.isBusy = true
        world.hear(50)
      },
    ],
    [
      'a virtual router is not at rest',
      true,
      (world) => {
        restartOf(world).carriers.delete('eth0')
      },
    ],
  ])('is refused: %s', (reason, isPassing, act) => {
    const world = activeWorld()
    act(world)
    expect(world.daemon.forUpgrade()).toMatchObject({ reason: expect.stringContaining(reason), isPassing })
  })

  test('is refused while a program of a notification runs', () => {
    const world = new FakeWorld([{ ...ROUTER, notify: { active: ['/bin/true'] } }], { restart: true }).start()
    world.advance(DOWN + 10_000)
    const reason = 'a program of a notification still runs'
    expect(world.daemon.forUpgrade()).toEqual({ reason, isPassing: true })
  })

  test('is refused by a guardian without a clock', () => {
    const world = new FakeWorld([ROUTER], { clock: true }).start()
    expect(world.daemon.forUpgrade()).toEqual({ reason: 'the guardian has no clock', isPassing: false })
  })

  test('that the guardian refused leaves the record of a crash', () => {
    const world = activeWorld()
    restartOf(world).keep(undefined)
    world.daemon.endUpgrade()
    expect(restartOf(world).isKept).toBe(true)
  })
})
