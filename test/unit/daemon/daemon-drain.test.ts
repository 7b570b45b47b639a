/**
 * Ground rule 2 in virtual time. At an expiry the queues are drained first, in a fixed order, up to 4 096 packets or 25
 * ms. A waiting packet counts, a loss adds one Active_Down_Interval, and no flood prevents a takeover.
 */
import { describe, expect, test } from 'vitest'
import { FakeWorld, link, ROUTER, VIP, VIP2 } from './fake-world.ts'

const DOWN = 3_500
const MOST = 4_096
const BATCH = 128
const GARBAGE = Uint8Array.of(0x45, 0, 0, 1)

describe('on expiry', () => {
  test('at an expiry the network is drained first, then the sockets, then decisions and announcements follow', () => {
    const second = { ...ROUTER, name: 'ingress', vrid: 52, interface: 'eth1', addresses: [VIP2] }
    const world = new FakeWorld([ROUTER, second]).start()
    world.takeCalls()
    world.advance(DOWN)
    expect(world.takeCalls()).toEqual([
      'network.drain',
      'drain eth0',
      'drain eth1',
      'arm api',
      'arm ingress',
      'advertise eth0 vrid 51 priority 128',
      'advertise eth1 vrid 52 priority 128',
      `add ${VIP}/32@2`,
      `add ${VIP2}/32@3`,
      `announce eth0 ${VIP}`,
      `announce eth1 ${VIP2}`,
    ])
  })

  test('ten stalls of any length cause no takeover while the Active is alive', () => {
    const world = new FakeWorld().start()
    for (const stall of [3_501, 4_000, 5_000, 6_999, 7_001, 10_000, 20_000, 60_000, 100_000, 3_600]) {
      const last = world.now + stall
      // The peer keeps advertising while this node does not run. Every packet waits in the queue.
      for (let at = world.now; at + 1000 < last; at += 1000) world.queueAdvertisement(200, { at })
      world.stall(stall)
      expect(world.router().state, `after ${stall} ms; ${world.transitions}`).toBe('Backup')
      world.hear(200)
      world.advance(1)
    }
  })

  test('without the drain a stall causes a takeover, although the Active is alive', () => {
    const world = new FakeWorld([ROUTER], { drainBeforeExpire: false }).start()
    world.hear(200)
    for (let at = world.now + 1_000; at < world.now + 5_000; at += 1_000) world.queueAdvertisement(200, { at })
    world.stall(5_000)
    expect(world.transitions.map((text) => text.split('→ ')[1])).toContain('Active: activeSilent')
  })

  test('link notifications are read before silence counts', () => {
    const world = new FakeWorld().start()
    world.holdNotifications = true
    world.setLink(link(2, 'eth0', { running: false }))
    world.advance(DOWN + 5)
    expect([world.router().faults, world.sent]).toEqual([['linkDown'], []])
  })

  test('priority 0 in the queue does not delay a takeover', () => {
    const world = new FakeWorld().start()
    world.hear(200)
    world.advance(DOWN - 1)
    world.queueAdvertisement(0)
    world.stall(2)
    world.advance(501)
    expect(world.router().state).toBe('Active')
  })
})

describe('packets that were lost', () => {
  test('lost packets extend the wait by one Active_Down_Interval, once', () => {
    const world = new FakeWorld().start()
    world.hear(200)
    world.stall(1)
    world.socket.lost = 7
    world.advance(DOWN)
    expect(world.router().state, 'at the first expiry').toBe('Backup')
    world.socket.lost = 7
    world.advance(DOWN - 10)
    expect(world.router().state, 'just before the second').toBe('Backup')
    world.advance(15)
    expect(world.router().state, 'at the second, although packets were lost again').toBe('Active')
    expect(world.daemon.snapshot().interfaces[0]?.overflowed).toBe(14)
  })

  test('lost packets that an earlier drain reported count at the expiry as well', () => {
    const world = new FakeWorld().start()
    world.hear(200)
    world.advance(DOWN - 100)
    world.socket.lost = 3
    world.queue(GARBAGE)
    world.settle()
    world.advance(105)
    expect(world.router().state).toBe('Backup')
  })

  test('lost packets are forgotten after a packet from an empty queue', () => {
    const world = new FakeWorld().start()
    world.hear(200)
    world.socket.lost = 3
    world.queue(GARBAGE)
    world.settle()
    world.queue(GARBAGE)
    world.settle()
    world.advance(DOWN + 1)
    expect(world.router().state).toBe('Active')
  })

  test('a few hundred packets that are read in several batches do not count as lost', () => {
    const world = new FakeWorld().start()
    world.hear(200)
    world.advance(DOWN - 100)
    for (let i = 0; i < 4 * BATCH; i++) world.queue(GARBAGE)
    world.settle()
    expect(world.socket.queue.length, 'packets that wait').toBe(0)
    world.advance(105)
    expect(world.router().state, 'nothing came after them').toBe('Active')
  })

  test('a stall longer than Active_Down_Interval after the deadline counts as loss', () => {
    const world = new FakeWorld().start()
    world.hear(200)
    world.stall(2 * DOWN + 1)
    expect(world.router().state).toBe('Backup')
    world.advance(DOWN + 1)
    expect(world.router().state).toBe('Active')
  })
})

describe('a flood', () => {
  /** Queue with more packets than a drain reads; it is refilled after each one. */
  function flood(world: FakeWorld, milliseconds: number): void {
    const packet = { family: 'ipv4' as const, source: world.socket.options.source, destination: undefined, ttl: 255 }
    for (let i = 0; i < milliseconds; i += 100) {
      const { queue } = world.socket
      while (queue.length < MOST + 1) queue.push({ ...packet, bytes: GARBAGE, receivedAt: world.moment })
      world.advance(100)
    }
  }

  test('a flood that never ends delays a takeover to at most 2 × Active_Down_Interval', () => {
    const world = new FakeWorld().start()
    world.hear(200)
    const since = world.now
    flood(world, 2 * DOWN + 100)
    const became = world.records.find(({ fields }) => fields.to === 'Active')
    expect(became, `after ${world.now - since} ms of flood; ${world.transitions}`).toBeDefined()
    expect(world.sent[0]?.at ?? Number.NaN, 'first advertisement').toBeLessThanOrEqual(since + 2 * DOWN + 2)
  })

  test('a flood is read up to 4 096 packets at an expiry', () => {
    const world = new FakeWorld().start()
    world.advance(DOWN - 1)
    const { queue } = world.socket
    for (let i = 0; i < 3 * MOST; i++) world.queue(GARBAGE)
    const before = queue.length
    world.holdPackets = true
    world.advance(2)
    expect(before - queue.length).toBe(MOST)
  })

  test('a flood is read two batches at a time between deadlines, so that due work does not wait', () => {
    const world = new FakeWorld().start()
    const { options, queue } = world.socket
    world.holdPackets = true
    for (let i = 0; i < MOST; i++) world.queue(GARBAGE)
    options.onReadable()
    expect(MOST - queue.length).toBe(2 * BATCH)
  })

  test('a flood of packets of 0.1 ms each makes an Active late by at most 40 ms', () => {
    const world = new FakeWorld().start()
    // The second advertisement comes after a phase.
    world.advance(DOWN + 1_001)
    expect(world.router().state).toBe('Active')
    const [second] = world.sent.slice(-1)
    world.advance((second?.at ?? Number.NaN) + 999 - world.now)
    world.holdPackets = true
    world.packetCost = 0.1
    for (let i = 0; i < MOST; i++) world.queue(GARBAGE)
    const { queue } = world.socket
    const before = world.sent.length
    world.advance(2)
    const late = (world.sent[before]?.at ?? Number.NaN) - (second?.at ?? Number.NaN) - 1_000
    expect(late, 'ms after the advertisement was due').toBeLessThan(40)
    expect(late).toBeGreaterThan(25)
    expect(MOST - queue.length, 'packets until then, in two batches').toBe(2 * BATCH)
  })

  test('a flood of slow packets delays the takeover of a Backup to at most 2 × Active_Down_Interval and as much again', () => {
    const world = new FakeWorld().start()
    world.hear(200)
    world.packetCost = 0.1
    const since = world.now
    flood(world, 2 * DOWN + 200)
    expect(world.sent[0]?.at ?? Number.NaN, `first advertisement; ${world.transitions}`).toBeLessThanOrEqual(
      since + 2 * DOWN + 2 * 40,
    )
  })

  test('a flood of invalid packets changes nothing, is counted by reason, and logs little', () => {
    const world = new FakeWorld().start()
    const before = world.router()
    const records = world.records.length
    for (let i = 0; i < 100_000; i++) {
      const bytes = GARBAGE.slice(0, i % 5)
      world.queue(bytes, `198.18.${(i >> 8) & 255}.${i & 255}`)
      if (i % 1000 === 999) world.settle()
    }
    const after = world.router()
    expect([after.state, after.deadlines]).toEqual([before.state, before.deadlines])
    const discarded = world.daemon.snapshot().interfaces[0]?.discarded ?? {}
    expect(Object.values(discarded).reduce((sum, count) => sum + count, 0)).toBe(100_000)
    expect(Object.keys(discarded).length, `reasons: ${Object.keys(discarded)}`).toBeLessThanOrEqual(3)
    expect(world.records.length - records, 'log lines').toBeLessThanOrEqual(257)
  })
})
