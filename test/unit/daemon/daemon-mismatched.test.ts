/**
 * A neighbour whose packets do not count must not look like "there is no Active". Status, log and metrics name its
 * address and the mismatch. A mismatched router changes no state and no timer (VR-RX-20).
 */
import { describe, expect, test } from 'vitest'
import { formatStatus } from '../../../src/cli/status/status.ts'
import { samplesOf } from '../../../src/http/metrics/samples.ts'
import { ipv4Packet } from '../../../src/simulator/ipv4-packet.ts'
import type { Advertisement } from '../../../src/vrrp/advertisement.ts'
import { simplePassword } from '../../../src/vrrp/authentication.ts'
import { encodeAdvertisement } from '../../../src/vrrp/packet.ts'
import { address } from '../../../src/wire/address.ts'
import { centis } from '../../../src/wire/units.ts'
import { FakeWorld, GROUP, PEER, ROUTER, SELF, VIP } from './fake-world.ts'

const DOWN = 3_500
const MISMATCHED = '192.0.2.77'
const ADVERTISEMENT: Advertisement = {
  version: 3,
  vrid: 51,
  priority: 254,
  interval: centis(100),
  addresses: [address(VIP)],
}

/** Receives a packet from MISMATCHED immediately. */
function hear(world: FakeWorld, change: Partial<Advertisement>, password?: string): void {
  const ends = { source: address(MISMATCHED), destination: address(GROUP) }
  const { authentication } = password === undefined ? { authentication: undefined } : simplePassword(password)
  const message = encodeAdvertisement(
    { ...ADVERTISEMENT, ...change },
    { ...ends, checksum: 'pseudo-header', authentication },
  )
  world.queue(ipv4Packet(message, ends), MISMATCHED)
  world.settle()
}

const status = (world: FakeWorld) => formatStatus(world.daemon.snapshot())
const warnings = (world: FakeWorld) =>
  world.records.filter(({ level }) => level === 'warn').map(({ message }) => message)

test('a version 2 Active is named by a version 3 router while Backup, and at its takeover', () => {
  const world = new FakeWorld().start()
  for (let i = 0; i < 3; i++) {
    world.advance(1_000)
    hear(world, { version: 2 })
  }
  expect([world.router().state, world.router().holder.address]).toEqual(['Backup', null])
  expect(status(world)).toContain(
    '\n  holder: unknown: only advertisements with other settings than here have been received\n',
  )
  world.advance(DOWN - 3_000 + 1)
  expect(world.router().state, 'its packets moved no timer').toBe('Active')
  expect(world.router().mismatchedRouters).toEqual([
    { address: MISMATCHED, reason: 'version', version: 2, listenedTo: false, count: 3, lastHeardMsAgo: 501 },
  ])
  expect(status(world)).toContain(
    `\n  MISMATCHED ROUTER: ${MISMATCHED} speaks VRRPv2, this router VRRPv3 (version): ignored, 3 packets, the last 501 ms ago\n`,
  )
  expect(status(world)).toContain(' received, discarded: 3 (its VRRP version is not the expected one)\n')
  expect(warnings(world)).toEqual([
    `Discarded a packet of ${MISMATCHED} on eth0 for api (VRID 51): its VRRP version is 2, this router has 3`,
    `api: Backup → Active: no other router was heard, discarding advertisements of ${MISMATCHED} (version)`,
  ])
})

test('without mismatched routers there is no such line, and the takeover is not a warning', () => {
  const world = new FakeWorld().start()
  world.hear(90)
  world.advance(2 * DOWN)
  expect(world.router().state).toBe('Active')
  expect(status(world)).not.toContain('MISMATCHED ROUTER')
  expect(status(new FakeWorld().start())).toContain(
    'holder: unknown: no advertisement of this virtual router has been received',
  )
  expect(warnings(world)).toEqual([])
})

test('a mismatched router that was silent long before is not named at the takeover', () => {
  const world = new FakeWorld().start()
  hear(world, { version: 2 })
  world.hear(200)
  world.advance(2_000)
  world.hear(200)
  world.advance(DOWN + 1)
  expect(world.transitions.at(-1)).toBe('api: Backup → Active: activeSilent')
  expect(world.router().mismatchedRouters).toMatchObject([{ reason: 'version', lastHeardMsAgo: 5_501 }])
})

describe('another group with our VRID is named', () => {
  test('another address list counts (RFC 9568 §7.1), and is named', () => {
    const world = new FakeWorld().start()
    hear(world, { addresses: [address('192.0.2.9')] })
    expect(world.router().holder.address).toBe(MISMATCHED)
    expect(world.router().mismatchedRouters).toMatchObject([
      { reason: 'address-list-mismatch', listenedTo: true, count: 1 },
    ])
    expect(status(world)).toContain(
      `  MISMATCHED ROUTER: ${MISMATCHED} advertises other addresses (address-list-mismatch): accepted, 1 packet,`,
    )
    expect(warnings(world)).toEqual([
      `api: address-list-mismatch in an advertisement of ${MISMATCHED}: it advertises other addresses`,
    ])
  })

  test('another address list does not count with addressListCheck, and is named', () => {
    const world = new FakeWorld([{ ...ROUTER, addressListCheck: true }]).start()
    hear(world, { addresses: [address('192.0.2.9')] })
    expect(world.router().holder.address).toBe(null)
    expect(world.router().mismatchedRouters).toMatchObject([
      { reason: 'address-list-mismatch', listenedTo: false, count: 1 },
    ])
  })

  test('another VRID is not reported, in any version', () => {
    const world = new FakeWorld().start()
    hear(world, { version: 2, vrid: 7 })
    hear(world, { vrid: 7 })
    expect([world.router().mismatchedRouters, warnings(world)]).toEqual([[], []])
    expect(world.daemon.snapshot().interfaces[0]?.discarded).toEqual({ 'vrid-unknown': 2 })
  })
})

describe('an address owner that receives advertisements (EID 8298)', () => {
  const owner = () => new FakeWorld([{ ...ROUTER, addresses: [SELF], priority: 255 }]).start()
  const counted = (world: FakeWorld) => world.router().counters.warnings

  test('a second owner is in log and counters, at a limited rate', () => {
    const world = owner()
    for (let i = 0; i < 3; i++) {
      hear(world, { priority: 255, addresses: [address(SELF)] })
      world.advance(100)
    }
    expect(counted(world)).toMatchObject({ 'advert-received-while-owner': 3, 'multiple-owners': 3 })
    // MISMATCHED has the higher address: this owner becomes Backup, and a changed state lifts the limit.
    expect(warnings(world).slice(0, 2)).toEqual([
      `api: multiple-owners in an advertisement of ${MISMATCHED}: it has priority 255 as well: only one router can be the address owner`,
      `api: advert-received-while-owner in an advertisement of ${MISMATCHED}: it has priority 255, and this router is the address owner (priority 255)`,
    ])
    expect(warnings(world)).toHaveLength(4)
  })

  test('an advertisement of a Backup that took over is logged with its reason', () => {
    const world = owner()
    hear(world, { priority: 100, addresses: [address(SELF)] })
    expect(counted(world)).toEqual({ 'advert-received-while-owner': 1 })
    expect(warnings(world)).toEqual([
      `api: advert-received-while-owner in an advertisement of ${MISMATCHED}: it has priority 100, and this router is the address owner (priority 255)`,
    ])
  })
})

test('a corrected router is removed from the status', () => {
  const world = new FakeWorld().start()
  hear(world, { version: 2 })
  for (let i = 0; i < 11; i++) {
    world.advance(1_000)
    hear(world, {})
  }
  expect([world.router().mismatchedRouters, world.router().state]).toEqual([[], 'Backup'])
})

test('mismatched routers are a metric by reason', () => {
  const world = new FakeWorld().start()
  hear(world, { version: 2 })
  world.hear(90, { source: PEER, addresses: ['192.0.2.9'] })
  const samples = samplesOf(world.daemon.snapshot(), '1').filter(
    ({ name }) => name === 'holdfast_vrrp_mismatched_routers',
  )
  expect(samples.map(({ labels, value }) => [labels.router, labels.reason, value]).sort()).toEqual([
    ['api', 'address-list-mismatch', 1],
    ['api', 'version', 1],
  ])
})
