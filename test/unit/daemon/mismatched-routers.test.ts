/**
 * Which mismatched routers are remembered, for how long, and that a flood of invented sources replaces the oldest only.
 */
import { describe, expect, test } from 'vitest'
import {
  describeMismatch,
  isMismatch,
  MismatchedRouters,
  type Sighting,
} from '../../../src/daemon/lan/mismatched-routers.ts'
import { DISCARD_REASONS } from '../../../src/vrrp/advertisement.ts'
import { address } from '../../../src/wire/address.ts'
import { millis } from '../../../src/wire/units.ts'

const SEVEN = address('10.0.0.7')
const MINUTE = 60_000

function sighting(heardAt: number, rest: Partial<Sighting> = {}): Sighting {
  return { address: SEVEN, reasons: ['version'], version: 2, listenedTo: false, heardAt: millis(heardAt), ...rest }
}

describe('MismatchedRouters', () => {
  test('mismatched routers are counted by source and reason', () => {
    const peers = new MismatchedRouters()
    peers.note(sighting(0))
    peers.note(sighting(1_000))
    peers.note(sighting(2_000, { reasons: ['address-list-mismatch', 'unlisted-peer'], version: 3, listenedTo: true }))
    expect(peers.list(millis(2_500))).toEqual([
      { address: SEVEN, reason: 'version', version: 2, listenedTo: false, count: 2, lastHeardAt: 1_000 },
      { address: SEVEN, reason: 'address-list-mismatch', version: 3, listenedTo: true, count: 1, lastHeardAt: 2_000 },
      { address: SEVEN, reason: 'unlisted-peer', version: 3, listenedTo: true, count: 1, lastHeardAt: 2_000 },
    ])
  })

  test('the latest source is first, and of nine sources the one that is silent longest is forgotten', () => {
    const peers = new MismatchedRouters()
    for (let i = 1; i <= 8; i++) peers.note(sighting(i, { address: address(`10.0.0.${i}`) }))
    peers.note(sighting(9, { address: address('10.0.0.1') }))
    peers.note(sighting(10, { address: address('10.0.0.9') }))
    const sources = peers.list(millis(10)).map((router) => router.address)
    expect(sources).toEqual(['10.0.0.9', '10.0.0.1', ...[8, 7, 6, 5, 4, 3].map((i) => `10.0.0.${i}`)])
  })

  test('invented sources replace one source in 100 ms', () => {
    const peers = new MismatchedRouters()
    const flood = (from: number, to: number) => {
      for (let at = from; at < to; at++) peers.note(sighting(at, { address: address(`10.1.0.${at % 200}`) }))
    }
    flood(0, 8)
    const before = peers.list(millis(8)).map((router) => router.address)
    flood(8, 108)
    const after = peers.list(millis(108)).map((router) => router.address)
    expect(after.filter((one) => !before.includes(one))).toEqual(['10.1.0.8'])
  })

  test('100 000 invented sources leave eight', () => {
    const peers = new MismatchedRouters()
    for (let i = 0; i < 100_000; i++) peers.note(sighting(i, { address: address(`10.1.${(i >> 8) & 255}.${i & 255}`) }))
    expect(peers.list(millis(100_000))).toHaveLength(8)
  })

  test('a mismatched router is forgotten ten minutes after its last packet, and counted from 1 afterwards', () => {
    const peers = new MismatchedRouters()
    peers.note(sighting(0))
    expect(peers.list(millis(10 * MINUTE))).toHaveLength(1)
    expect(peers.list(millis(10 * MINUTE + 1))).toEqual([])
    peers.note(sighting(11 * MINUTE))
    peers.note(sighting(22 * MINUTE))
    expect(peers.list(millis(22 * MINUTE))).toMatchObject([{ count: 1 }])
  })

  test('a corrected router is forgotten', () => {
    const peers = new MismatchedRouters()
    const good = (at: number) => sighting(at, { reasons: [], version: 3, listenedTo: true })
    peers.note(sighting(0))
    peers.note(good(5_000))
    expect(peers.list(millis(5_000)), 'two daemons on one node are both seen').toHaveLength(1)
    peers.note(good(10_001))
    expect(peers.list(millis(10_001))).toEqual([])
  })

  test('a packet without a mismatch of a router changes nothing', () => {
    const peers = new MismatchedRouters()
    peers.note(sighting(0))
    peers.note(sighting(60_000, { reasons: ['self-originated'] }))
    expect(peers.list(millis(60_000))).toMatchObject([{ reason: 'version', count: 1 }])
  })

  test('unheeded() lists only recent routers whose advertisements do not count', () => {
    const peers = new MismatchedRouters()
    peers.note(sighting(0, { address: address('10.0.0.1') }))
    peers.note(sighting(5_000, { address: address('10.0.0.2'), reasons: ['unlisted-peer'], listenedTo: true }))
    peers.note(sighting(5_000))
    expect(peers.unheeded(millis(2_000)).map((router) => router.address)).toEqual(['10.0.0.7'])
  })
})

test('a mismatch of the version names both versions', () => {
  expect(describeMismatch('version', 2, 3)).toBe('speaks VRRPv2, this router VRRPv3')
  expect(describeMismatch('version', null, 3)).toBe('speaks another version')
  expect(describeMismatch('auth-data', 2, 2)).toBe('has another password')
})

test('our own packets, other groups and other protocols are not a mismatch', () => {
  expect(DISCARD_REASONS.filter((reason) => !isMismatch(reason))).toEqual([
    'not-vrrp',
    'fragment',
    'ip-header',
    'truncated-ip',
    'self-originated',
    'destination',
    'truncated',
    'vrid-unknown',
  ])
})
