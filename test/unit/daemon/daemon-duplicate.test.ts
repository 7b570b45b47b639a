/**
 * Another host has an address of an Active, as the daemon sees it: when it asks, what the answers mean, and the
 * reaction of `onDuplicate` (docs/adr/0018). The duplicate holder answers every question immediately, like a kernel.
 */
import { describe, expect, test } from 'vitest'
import { arpRequest } from '../../../src/arp/arp-packet.ts'
import { formatStatus } from '../../../src/cli/status/status.ts'
import { samplesOf } from '../../../src/http/metrics/samples.ts'
import { address } from '../../../src/wire/address.ts'
import { type Mac, macBytes, macFromBytes } from '../../../src/wire/mac.ts'
import { FakeWorld, PEER, ROUTER, type RouterConfig, VIP, VIP2, type WorldOptions } from './fake-world.ts'

const DOWN = 3_500
const BROADCAST = 'ff:ff:ff:ff:ff:ff'
const OUR_MAC = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 2))
const STATION = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 99))
const PEER_MAC = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 20))
/** A round with jitter, our next advertisement with 100 ms for its effects, and two steps of the grid. */
const FOUND_WITHIN = 1_200 + 1_100 + 300
/** For a router: half a second after the takeover, then two intervals and a second for the election. */
const KNOWN_WITHIN = 700 + 3_000 + 400

/** MACs that answer for an address. */
type Stations = Readonly<Record<string, readonly Mac[]>>

function reply(claimed: string, from: Mac): Uint8Array {
  const [senderAddress, targetAddress] = [address(claimed), address('0.0.0.0')]
  const frame = arpRequest({ senderMac: from, senderAddress, targetMac: OUR_MAC, targetAddress })
  frame.set(macBytes(OUR_MAC))
  frame[21] = 2
  return frame
}

/**
 * Makes the LAN answer questions to all hosts, in their order. Routers also answer questions for their own addresses.
 */
function answer(world: FakeWorld, since: number, stations: Stations, routers = false): void {
  for (const { address: asked, to } of world.asked.slice(since)) {
    if (routers || to === BROADCAST) for (const mac of stations[asked] ?? []) world.hearAnnouncement(reply(asked, mac))
  }
}

function live(world: FakeWorld, wait: number, stations: Stations, routers = false): void {
  const until = world.now + wait
  while (world.now < until) {
    const seen = world.asked.length
    world.advance(Math.min(5, until - world.now))
    answer(world, seen, stations, routers)
  }
}

function activeWorld(router: RouterConfig = ROUTER, options: WorldOptions = {}, more: readonly RouterConfig[] = []) {
  const world = new FakeWorld([router, ...more], options).start()
  world.advance(DOWN + 1)
  expect(world.router().state, `after ${DOWN} ms of silence: ${world.transitions}`).toBe('Active')
  world.asked.length = 0
  return world
}

/** The announcements of the takeover are over. */
function settledWorld(router: RouterConfig = ROUTER) {
  const world = activeWorld(router)
  world.advance(6_500)
  world.announced.length = 0
  world.asked.length = 0
  return world
}

const broadcasts = (world: FakeWorld) => world.asked.filter(({ to }) => to === BROADCAST)
const told = (world: FakeWorld, what = 'duplicate holder') =>
  world.records.filter(({ message }) => message.includes(what)).map(({ message }) => message)
const holders = (world: FakeWorld) => world.router().duplicates.map((one) => `${one.address} ${one.mac}`)
const gauge = (world: FakeWorld, vip = VIP) =>
  samplesOf(world.daemon.snapshot(), '1').find(
    ({ name, labels }) => name === 'holdfast_vrrp_duplicate_holder' && labels.address === vip,
  )?.value

describe('questions', () => {
  test('at 1 s the questions are sent with the advertisement, without a wake-up of their own', () => {
    const world = settledWorld()
    const sent = world.sent.length
    world.advance(20_000)
    const turns = world.sent.slice(sent).map(({ at }) => at)
    const asked = broadcasts(world).map(({ at }) => at)
    expect(asked.length, 'questions in 20 s').toBeGreaterThanOrEqual(19)
    expect(
      asked.filter((at) => !turns.includes(at)),
      'questions without an advertisement',
    ).toEqual([])
  })

  test('the questions begin half a second after the takeover, for every address, and repeat every second with jitter', () => {
    const world = activeWorld({ ...ROUTER, addresses: [VIP, VIP2] })
    const since = world.now - 1
    world.advance(9_000)
    const [first = [], ...rounds] = [VIP, VIP2].map((vip) =>
      broadcasts(world).flatMap((one) => (one.address === vip ? [one.at] : [])),
    )
    expect(rounds[0], 'both addresses in one batch').toEqual(first)
    expect((first[0] ?? 0) - since).toBeGreaterThanOrEqual(500)
    expect((first[0] ?? 0) - since).toBeLessThanOrEqual(720)
    const gaps = first.slice(1).map((at, i) => at - (first[i] ?? 0))
    expect(gaps.length).toBeGreaterThanOrEqual(7)
    for (const gap of gaps) expect(gap, `gaps ${gaps}`).toSatisfy((ms: number) => ms >= 795 && ms <= 1_210)
  })

  test.each([
    ['radar: false', { ...ROUTER, radar: false }],
    ['the letter of the RFC', { ...ROUTER, profile: 'rfc9568' }],
  ])('no question is sent with %s', (_, router) => {
    const world = activeWorld(router)
    world.advance(5_000)
    expect(broadcasts(world)).toEqual([])
  })

  test('a router in Backup or Leaving sends no question', () => {
    const backup = new FakeWorld().start()
    backup.advance(1_000)
    expect(backup.asked).toEqual([])
    const leaving = settledWorld()
    void leaving.daemon.stop()
    expect(leaving.router().state).toBe('Leaving')
    leaving.asked.length = 0
    leaving.advance(1_500)
    expect(broadcasts(leaving)).toEqual([])
  })

  test('250 addresses cause at most 10 questions in 100 ms, and each is asked for in 3.7 s', () => {
    const many = Array.from({ length: 250 }, (_, i) => `203.0.113.${i + 1}`)
    const one = activeWorld({ ...ROUTER, addresses: many, probeRivals: false })
    const each = many.map((vip, i) => ({
      ...{ name: `r${i + 1}`, vrid: i + 1, interface: 'eth0', addresses: [vip], priority: 128, probeRivals: false },
    }))
    const [{ ...first }, ...others] = each
    const lots = activeWorld({ ...first, name: 'api' }, {}, others)
    for (const world of [one, lots]) {
      world.advance(10_000)
      const asked = broadcasts(world)
      const steps = new Map<number, number>()
      for (const { at } of asked) steps.set(Math.floor(at / 100), (steps.get(Math.floor(at / 100)) ?? 0) + 1)
      expect(Math.max(...steps.values()), 'in 100 ms').toBeLessThanOrEqual(10)
      const tail = asked.filter(({ at }) => at > world.now - 3_700)
      expect(new Set(tail.map((question) => question.address)).size).toBe(250)
    }
  })
})

describe('a station that speaks no VRRP', () => {
  const stations = { [VIP]: [STATION] }

  test('a duplicate holder is found, shown and counted, and announced over immediately and every 10 s', () => {
    const world = settledWorld({ ...ROUTER, probeRivals: false })
    const since = world.now
    live(world, FOUND_WITHIN, stations)
    expect(told(world)).toEqual([
      `api: duplicate holder: ${STATION} (no VRRP heard from it) has ${VIP} as well: gratuitous ARP or NA sent again`,
    ])
    expect(holders(world)).toEqual([`${VIP} ${STATION}`])
    expect(formatStatus(world.daemon.snapshot())).toContain(
      `DUPLICATE HOLDER: ${STATION} (no VRRP heard from it) also has ${VIP}`,
    )
    expect(gauge(world)).toBe(1)
    const found = world.announced[0]?.at ?? 0
    expect(found - since, 'found after').toBeLessThanOrEqual(FOUND_WITHIN)
    // Timers are of whole milliseconds.
    expect(world.announced.map(({ at }) => Math.round((at - found) / 10) * 10)).toEqual([0, 50, 200])
    live(world, 27_000, stations)
    const rounds = world.announced.filter((_, i) => i % 3 === 0).map(({ at }) => Math.round((at - found) / 1_000))
    const frames = world.announced.map(({ at }) => Math.round(at - found))
    expect(rounds.length, `announced after ${rounds} s, frames at ${frames} ms`).toBe(3)
    for (const [i, at] of rounds.entries()) expect(at).toSatisfy((s: number) => s >= 10 * i && s <= 11 * i)
    expect(world.router().state).toBe('Active')
  })

  test('a duplicate holder is gone after three unanswered questions, and our announcement is the last one', () => {
    const world = settledWorld({ ...ROUTER, probeRivals: false })
    live(world, FOUND_WITHIN, stations)
    world.announced.length = 0
    const since = world.now
    live(world, 2_500, {})
    expect(world.announced.length, 'announced when it fell silent').toBe(3)
    expect((world.announced[0]?.at ?? 0) - since).toBeLessThanOrEqual(2_500)
    expect(gauge(world), 'two questions are not three').toBe(1)
    live(world, 2_600, {})
    expect([gauge(world), holders(world)]).toEqual([0, []])
    expect(told(world, 'no longer answers')).toEqual([`api: duplicate holder ${STATION} no longer answers for ${VIP}`])
  })

  test.each([
    ['alarm: told, and nothing is sent', { onDuplicate: 'alarm' }, 1],
    ['allowed: not even told', { duplicateAllowed: [STATION.toUpperCase().replaceAll(':', '-')] }, 0],
  ])('%s', (_, keys, tells) => {
    const world = settledWorld({ ...ROUTER, ...keys })
    live(world, 9_000, stations)
    // The question before the advertisement has found it, too.
    world.advance(950)
    world.hearAnnouncement(reply(VIP, STATION))
    world.advance(1_000)
    expect(told(world).length).toBe(tells)
    expect(gauge(world)).toBe(tells)
    expect(world.announced).toEqual([])
    expect(world.router().counters.competingAnswers > 0).toBe(tells === 1)
  })

  test('only the duplicate one of several addresses is announced over', () => {
    const world = settledWorld({ ...ROUTER, addresses: [VIP, VIP2], probeRivals: false })
    live(world, FOUND_WITHIN + 300, { [VIP2]: [STATION] })
    expect(holders(world)).toEqual([`${VIP2} ${STATION}`])
    expect([gauge(world, VIP), gauge(world, VIP2)]).toEqual([0, 1])
    expect(world.announced.map((one) => one.address)).toEqual([VIP2, VIP2, VIP2])
  })

  test.each(['100ms', '1s'])(
    'a duplicate holder is found as fast where it may be a known router, at %s',
    (interval) => {
      for (let offset = 0; offset < 1_000; offset += 125) {
        const world = new FakeWorld([{ ...ROUTER, advertisementInterval: interval, probeRivals: false }]).start()
        world.hear(200)
        world.advance(DOWN + 6_500 + offset)
        live(world, FOUND_WITHIN, stations)
        expect([world.router().state, holders(world)], `offset ${offset}`).toEqual(['Active', [`${VIP} ${STATION}`]])
        expect(told(world), `offset ${offset}`).toHaveLength(1)
      }
    },
  )

  test('a duplicate holder that is a listed peer has a name but no priority', () => {
    const world = settledWorld({ ...ROUTER, peers: [PEER], stagger: false, onDuplicate: 'yield' })
    live(world, KNOWN_WITHIN + 1_000, { [VIP]: [PEER_MAC], [PEER]: [PEER_MAC] })
    expect(told(world)).toEqual([
      `api: duplicate holder: ${PEER_MAC} (router ${PEER}, priority unheard) has ${VIP} as well: gratuitous ARP or NA sent again`,
    ])
    expect(world.router().duplicates[0]?.router).toEqual({ address: PEER, priority: null, heardMsAgo: null })
    expect(world.router().state).toBe('Active')
  })

  test('onDuplicate: yield gives nothing up to a host that wins no election', () => {
    const world = settledWorld({ ...ROUTER, onDuplicate: 'yield' })
    live(world, 3_000, stations)
    expect([world.router().state, gauge(world)]).toEqual(['Active', 1])
    expect(world.announced.length).toBeGreaterThanOrEqual(3)
  })

  test('a host that stops after our next advertisement was a router after a heal, and is not reported', () => {
    for (let repeat = 0; repeat < 8; repeat++) {
      const world = settledWorld()
      world.advance(repeat * 125)
      const heard = () => world.router().counters.competingAnswers
      while (heard() === 0) live(world, 5, stations)
      const before = world.sent.length
      while (world.sent.length === before) live(world, 5, stations)
      live(world, 20, stations)
      live(world, 4_500, {})
      expect([told(world), gauge(world)]).toEqual([[], 0])
    }
  })

  test('in the first half second of a takeover an answer is that of the former Active', () => {
    const world = activeWorld()
    live(world, 450, stations)
    world.hearAnnouncement(reply(VIP, STATION))
    live(world, 3_000, {})
    expect([told(world), gauge(world)]).toEqual([[], 0])
  })

  test('an owner reports a duplicate holder and keeps its addresses', () => {
    const owner = { ...ROUTER, addresses: ['192.0.2.10'], priority: 255, onDuplicate: 'yield' }
    const world = new FakeWorld([owner]).start()
    live(world, 2_000, { '192.0.2.10': [PEER_MAC] })
    expect([world.router().state, gauge(world, '192.0.2.10')]).toEqual(['Active', 1])
  })
})

describe('yield to a router whose advertisements do not come through', () => {
  const YIELD = { ...ROUTER, onDuplicate: 'yield' }
  const both = { [VIP]: [PEER_MAC], [PEER]: [PEER_MAC] }

  /** The advertisements of this router arrived until now; from now on only its ARP arrives. */
  function cutWorld(priority: number, router: RouterConfig = YIELD): FakeWorld {
    const world = new FakeWorld([router]).start()
    world.hear(priority)
    live(world, DOWN + 200, both)
    expect(world.router().state).toBe('Active')
    return world
  }

  test('the loser gives its addresses up while the answers continue, and returns as Backup', () => {
    const world = cutWorld(200)
    live(world, KNOWN_WITHIN, both)
    expect(told(world)).toEqual([
      `api: duplicate holder: ${PEER_MAC} (router ${PEER}, priority 200 when last heard, 7 s ago) has ${VIP} as well: ` +
        'it would win the election, so this router gives the address up',
    ])
    expect([world.router().state, world.router().faults, world.installed]).toEqual([
      'Initialize',
      ['duplicateHolder'],
      [],
    ])
    expect(world.sent.at(-1)?.priority, 'its last word').toBe(0)
    expect(formatStatus(world.daemon.snapshot()), 'its priority may be another one by now').toContain(
      `DUPLICATE HOLDER: ${PEER_MAC} (router ${PEER}, priority 200 when last heard, 7 s ago) also has ${VIP}, for `,
    )
    world.announced.length = 0
    const changes = world.transitions.length
    live(world, 60_000, both)
    expect(world.transitions.length, 'it does not flap').toBe(changes)
    expect([gauge(world), world.announced]).toEqual([1, []])
    live(world, 5_000, {})
    expect([world.router().state, gauge(world)]).toEqual(['Backup', 0])
    live(world, DOWN + 1, {})
    expect(world.router().state).toBe('Active')
  })

  test.each([
    ['at once', 0, 0],
    ['by a loser that runs again when its next advertisement is overdue', 205, 0],
    ['by a loser that misses the first answer to its question who that is', 0, 1],
  ])('a winner that is found %s does not count as an unknown host', (_, stall, lost) => {
    for (let offset = 0; offset < 100; offset += 10) {
      const world = new FakeWorld([{ ...YIELD, advertisementInterval: '100ms' }]).start()
      world.hear(200)
      world.advance(DOWN + offset)
      expect(world.router().state).toBe('Active')
      world.advance(600)
      const suspecting = () => world.router().counters.competingAnswers > 0
      while (!suspecting()) live(world, 5, { [VIP]: [PEER_MAC] }, true)
      const seen = world.asked.length
      // Shorter than three intervals, otherwise the router would listen first.
      if (stall > 0) world.stall(stall)
      answer(world, seen, both, true)
      const asksWho = () => world.asked.filter((one) => one.address === PEER).length
      while (asksWho() < lost) live(world, 1, { [VIP]: [PEER_MAC] }, true)
      live(world, 2_000, both, true)
      const found = world.records.filter(({ fields }) => fields.onDuplicate !== undefined)
      expect(found, `offset ${offset}`).toMatchObject([{ fields: { peer: PEER, onDuplicate: 'yield' } }])
    }
  })

  test('the winner keeps its addresses', () => {
    const world = cutWorld(100, { ...YIELD, preempt: false })
    live(world, KNOWN_WITHIN + 1_000, both)
    expect([world.router().state, gauge(world)]).toEqual(['Active', 1])
    expect(told(world)[0]).toContain(
      `router ${PEER}, priority 100 when last heard, 7 s ago) has ${VIP} as well: gratuitous ARP or NA sent again`,
    )
  })

  test('an advertisement of the winner ends the yield, and the election decides again', () => {
    const world = cutWorld(200)
    live(world, KNOWN_WITHIN, both)
    world.hear(90, { source: '192.0.2.30' })
    expect(world.router().state, 'somebody lower proves nothing').toBe('Initialize')
    world.hear(200)
    expect([world.router().state, world.router().holder.address, world.router().faults]).toEqual(['Backup', PEER, []])
    live(world, 2_000, both)
    expect(world.router().state).toBe('Backup')
  })

  test('one advertisement is enough for one yield only, because one of both routers must stay', () => {
    const world = cutWorld(200)
    live(world, KNOWN_WITHIN, both)
    expect(world.router().state).toBe('Initialize')
    live(world, 4_500 + DOWN, {})
    expect(world.router().state).toBe('Active')
    live(world, 5_000, both)
    expect([world.router().state, gauge(world)]).toEqual(['Active', 1])
  })

  test('a sync group gives up and returns together', () => {
    const other = { ...ROUTER, name: 'web', vrid: 52, addresses: [VIP2] }
    const world = new FakeWorld([YIELD, other], { syncGroups: [{ name: 'g', members: ['api', 'web'] }] }).start()
    world.hear(200)
    live(world, DOWN + 300 + KNOWN_WITHIN, both)
    expect([world.router().state, world.router('web').state]).toEqual(['Initialize', 'Initialize'])
    expect(world.installed).toEqual([])
    live(world, 5_000 + DOWN, {})
    expect([world.router().state, world.router('web').state]).toEqual(['Active', 'Active'])
  })

  test.each([
    ['onDuplicate: announce', { ...YIELD, onDuplicate: 'announce' }],
    ['radar: false', { ...YIELD, radar: false }],
    ['the MAC on the allow-list', { ...YIELD, duplicateAllowed: [PEER_MAC] }],
  ])('a reload with %s ends detection', (_, router) => {
    const world = cutWorld(200)
    live(world, KNOWN_WITHIN, both)
    expect(world.router().state).toBe('Initialize')
    world.reload([router])
    expect([world.router().state, world.router().faults]).toEqual(['Backup', []])
  })
})

describe('a reload changes the settings of detection while the router runs', () => {
  const stations = { [VIP]: [STATION] }

  test('a router that yields to a duplicate holder is not disturbed by its own frames', () => {
    const world = settledWorld({ ...ROUTER, radar: false })
    world.takeCalls()
    const before = world.transitions.length
    const steps = [
      { ...ROUTER, radar: true },
      { ...ROUTER, onDuplicate: 'alarm' },
      { ...ROUTER, duplicateAllowed: [STATION] },
    ]
    const seen = steps.map((router) => {
      expect(world.reload([router])).toMatchObject({ changes: [{ router: 'api', change: 'changed' }] })
      live(world, KNOWN_WITHIN, stations)
      return gauge(world)
    })
    expect(seen, 'on, alarm, allowed').toEqual([1, 1, 0])
    world.reload([{ ...ROUTER, radar: false }])
    world.asked.length = 0
    live(world, 3_000, stations)
    expect(broadcasts(world)).toEqual([])
    expect(
      world.takeCalls().filter((call) => /^(add|remove|close|open|arm|withdraw)/.test(call) && !call.startsWith('arm')),
    ).toEqual([])
    expect(world.transitions.length).toBe(before)
  })
})
