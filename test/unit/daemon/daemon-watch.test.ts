/**
 * Backups whose sockets watch the repetitions of their Active (docs/adr/0087): which advertisements no longer wake the
 * engine, and that no decision comes later. test/netns/backup-watch.test.ts has the same with the addon.
 */
import { describe, expect, test } from 'vitest'
import { wholeReport } from '../../support/engine-reports.ts'
import { FakeWorld, ROUTER, type RouterConfig, VIP2, type WorldOptions } from './fake-world.ts'

const DOWN = 3_500
const INGRESS = { name: 'ingress', vrid: 52, interface: 'eth1', addresses: ['198.51.100.100'], priority: 128 }
const PAIR = [{ name: 'pair', members: ['api', 'ingress'] }]

type Heard = Parameters<FakeWorld['hear']>[1]

/** Lets the Active repeat an advertisement each second. */
function repeat(world: FakeWorld, count: number, priority = 200, heard: Heard = {}): void {
  for (let i = 0; i < count; i++) {
    world.hear(priority, heard)
    world.advance(1_000)
  }
}

/** Returns a Backup that has heard its Active three times. */
function watching(routers: readonly RouterConfig[] = [ROUTER], options: WorldOptions = {}): FakeWorld {
  const world = new FakeWorld(routers, { watches: true, ...options }).start()
  repeat(world, 3)
  world.takeCalls()
  return world
}

const watched = (world: FakeWorld) =>
  world.sockets.filter(({ closed }) => !closed).flatMap(({ watches }) => watches.vrids)
const drains = (world: FakeWorld) => world.takeCalls().filter((call) => call.startsWith('drain'))

describe('a Backup whose Active repeats one advertisement', () => {
  test.each<[string, RouterConfig, Heard]>([
    ['IPv4', ROUTER, {}],
    [
      'IPv6',
      { ...ROUTER, addresses: ['fe80::100', '2001:db8::100'] },
      { source: 'fe80::20', addresses: ['fe80::100', '2001:db8::100'] },
    ],
  ])('%s: is not woken by the repetitions, and its status has each of them', (family, router, heard) => {
    const own = { interfaceIndex: 2, address: 'fe80::10', prefixLength: 64, tentative: false } as never
    const world = new FakeWorld([router], { watches: true, present: family === 'IPv6' ? [own] : [] }).start()
    repeat(world, 3, 200, heard)
    expect(watched(world)).toEqual([51])
    const before = world.router().counters.received
    world.takeCalls()
    repeat(world, 20, 200, heard)
    expect(drains(world)).toEqual([])
    const { counters, holder, state } = world.router()
    expect([state, counters.received]).toEqual(['Backup', before + 20])
    expect(holder.heardMsAgo).toBe(1_000)
  })

  test('takes over Active_Down_Interval after the last repetition', () => {
    const world = watching()
    repeat(world, 20)
    world.advance(DOWN - 1_000 - 1)
    expect(world.router().state).toBe('Backup')
    world.advance(2)
    expect(world.router()).toMatchObject({ state: 'Active', reason: 'activeSilent' })
    expect(watched(world)).toEqual([])
  })

  test('takes over beside a router of this node that has no watch', () => {
    const world = watching([ROUTER, { ...ROUTER, name: 'own', vrid: 53, addresses: [VIP2] }])
    repeat(world, 5)
    expect([watched(world), world.router('own').state]).toEqual([[51], 'Active'])
    world.advance(DOWN - 1_000 + 1)
    expect(world.router()).toMatchObject({ state: 'Active', reason: 'activeSilent' })
  })

  test('takes over after Skew_Time if its Active leaves', () => {
    const world = watching()
    repeat(world, 5)
    world.hear(0)
    world.advance(502)
    expect(world.router()).toMatchObject({ state: 'Active', reason: 'activeReleased' })
  })

  test('reads an advertisement that comes late, and then watches again', () => {
    const world = watching()
    world.advance(1_000)
    world.hear(200)
    expect(drains(world).length).toBeGreaterThan(0)
    expect(world.router().state).toBe('Backup')
    repeat(world, 2)
    expect(watched(world)).toEqual([51])
  })

  test.each<[string, (world: FakeWorld) => void]>([
    ['another priority', (world) => world.hear(180)],
    ['another interval', (world) => world.hear(200, { interval: 500 })],
    ['another router', (world) => world.hear(210, { source: '192.0.2.30' })],
  ])('is woken by %s', (_, act) => {
    const world = watching()
    act(world)
    expect(drains(world).length).toBeGreaterThan(0)
  })

  test('has the same histogram of gaps as a Backup that reads each packet', () => {
    const gapsOf = (watches: boolean) => {
      const world = new FakeWorld([ROUTER], { watches }).start()
      for (const wait of [1_000, 1_000, 900, 1_050, 400, 1_700, 1_000, 1_000]) {
        world.hear(200)
        world.advance(wait)
      }
      const { distributions } = wholeReport(world.daemon)
      const rounded = (cells: Float64Array) => [...cells].map((value) => Math.round(value * 1e6) / 1e6)
      return distributions.flatMap(({ cells, name }) => (name.includes('_gap_') ? [[name, rounded(cells)]] : []))
    }
    expect(gapsOf(true)).toEqual(gapsOf(false))
    expect(gapsOf(true)).toHaveLength(2)
  })

  test('preempts at the end of preemptDelay', () => {
    const world = new FakeWorld([{ ...ROUTER, priority: 210, preemptDelay: '10s' }], { watches: true }).start()
    repeat(world, 9)
    expect([watched(world), world.router().state]).toEqual([[51], 'Backup'])
    repeat(world, 6)
    expect(world.router()).toMatchObject({ state: 'Active', reason: 'lowerPriorityActive' })
  })

  test('reads each packet again after a reload to lease off', () => {
    const world = watching()
    world.reload([ROUTER], { lease: 'off' })
    expect(watched(world)).toEqual([])
    world.takeCalls()
    repeat(world, 5)
    expect(drains(world).length).toBeGreaterThanOrEqual(5)
  })

  test('is watched with its new priority after a reload', () => {
    const world = watching()
    world.reload([{ ...ROUTER, priority: 100 }])
    repeat(world, 3)
    expect(watched(world)).toEqual([51])
    world.advance(DOWN - 1_000 + 50)
    expect(world.router().state, 'a lower priority waits longer').toBe('Backup')
  })

  test('reads each packet while its queue may hide one', () => {
    const world = watching()
    world.socket.lost = 3
    world.hear(180)
    expect(watched(world)).toEqual([])
  })
})

describe('a router without a watch', () => {
  test('has heard its advertisement only once', () => {
    const world = new FakeWorld([ROUTER], { watches: true }).start()
    world.hear(200)
    expect(watched(world)).toEqual([])
  })

  test('hears advertisements with another list of addresses, which each cause a warning', () => {
    const world = new FakeWorld([ROUTER], { watches: true }).start()
    repeat(world, 5, 200, { addresses: [VIP2] })
    expect([watched(world), world.router().state]).toEqual([[], 'Backup'])
  })

  test('hears a lower priority, which it will replace', () => {
    const world = new FakeWorld([ROUTER], { watches: true }).start()
    repeat(world, 5, 100)
    expect(watched(world)).toEqual([])
    expect(world.router().state).toBe('Active')
  })

  test('is in a sync group of which one member is not Backup', () => {
    const world = new FakeWorld([ROUTER, INGRESS], { watches: true, syncGroups: PAIR }).start()
    const both = () => {
      world.hear(200, { on: 'eth0' })
      world.hear(200, { on: 'eth1', vrid: 52, source: '198.51.100.20', addresses: ['198.51.100.100'] })
      world.advance(1_000)
    }
    for (let i = 0; i < 4; i++) both()
    expect(watched(world)).toEqual([51, 52])
    const eth1 = world.links.get(3)
    if (eth1 !== undefined) world.setLink({ ...eth1, running: false })
    expect(world.router('ingress').state).toBe('Initialize')
    expect(watched(world)).toEqual([])
  })
})
