/** Frames that are not in the vectors: probes, announcements of other hosts, and frames that announce nothing. */
import { describe, expect, test } from 'vitest'
import { gratuitousArp } from '../../../src/arp/gratuitous-arp.ts'
import { neighborAdvertisement, readNeighborAdvertisement } from '../../../src/arp/neighbor-advertisement.ts'
import { neighborSolicitation } from '../../../src/arp/neighbor-solicitation.ts'
import { announcementIn, arpProbe, isAnswerTo } from '../../../src/arp/probe.ts'
import { address, addressBytes } from '../../../src/wire/address.ts'
import { concatBytes } from '../../../src/wire/bytes.ts'
import { checksumOf, pseudoHeaderSum, wordSum } from '../../../src/wire/checksum.ts'
import { macFromBytes } from '../../../src/wire/mac.ts'
import { fromHex, toHex } from '../../support/hex.ts'

const MAC = macFromBytes(fromHex('0200000000aa'))
const OTHER = macFromBytes(fromHex('0200000000bb'))
const VIP = address('192.0.2.100')
const VIP6 = address('2001:db8::100')
const changed = (bytes: Uint8Array, changes: Record<number, number>): Uint8Array => {
  const copy = Uint8Array.from(bytes)
  for (const [at, value] of Object.entries(changes)) copy[Number(at)] = value
  return copy
}

test('an ARP probe asks without announcing an address (RFC 5227 §2.1.1)', () => {
  const frame = arpProbe({ address: VIP, mac: MAC })
  expect(toHex(frame)).toBe('ffffffffffff0200000000aa080600010800060400010200000000aa00000000000000000000c0000264')
  expect(announcementIn(frame)).toBeUndefined()
})

test('a Neighbor Solicitation asks the holders of an address, from an address of ours (RFC 4861 §4.3)', () => {
  const frame = neighborSolicitation({ target: VIP6, source: address('fe80::aa'), mac: MAC })
  // Ethernet; IPv6 to ff02::1:ff00:100 with hop limit 255; ICMPv6 135 with the source link-layer option. The checksum
  // was computed without our code.
  expect(toHex(frame)).toBe(
    '3333ff0001000200000000aa86dd' +
      '6000000000203afffe8000000000000000000000000000aaff0200000000000000000001ff000100' +
      '870048110000000020010db800000000000000000000010001010200000000aa',
  )
  expect(announcementIn(frame), 'a question claims nothing').toBeUndefined()
})

test('an answer is a frame to our MAC alone, not an announcement', () => {
  const announcement = neighborAdvertisement({ address: VIP6, mac: OTHER })
  const solicited = (to: readonly number[]) => {
    const frame = changed(announcement, Object.fromEntries(to.map((octet, i) => [i, octet])))
    frame[58] = 0x60
    // S in place of R lowers the sum of the message by 0x4000.
    const sum = ((frame[56] ?? 0) << 8) | (frame[57] ?? 0)
    const fixed = sum + 0x4000 > 0xffff ? sum + 0x4000 - 0xffff : sum + 0x4000
    return changed(frame, { 56: fixed >> 8, 57: fixed & 0xff })
  }
  const ours = solicited([2, 0, 0, 0, 0, 0xaa])
  expect(announcementIn(ours)).toEqual({ address: VIP6, mac: OTHER })
  expect([ours, solicited([2, 0, 0, 0, 0, 0xcc]), announcement].map((frame) => isAnswerTo(frame, MAC))).toEqual([
    true,
    false,
    false,
  ])
})

describe('announcementIn an ARP frame', () => {
  const frame = gratuitousArp({ address: VIP, mac: MAC })
  const reply = changed(frame, { 21: 2 })
  const kept = { address: VIP, mac: MAC }

  test('announcementIn reads requests and replies, also with Ethernet padding', () => {
    expect(announcementIn(frame)).toEqual(kept)
    expect(announcementIn(reply)).toEqual(kept)
    expect(announcementIn(concatBytes(frame, new Uint8Array(18)))).toEqual(kept)
  })
  const none: readonly [string, Uint8Array][] = [
    ['nothing', new Uint8Array()],
    ['one octet short', frame.subarray(0, 41)],
    ['another EtherType', changed(frame, { 12: 0x88 })],
    ['another hardware type', changed(frame, { 15: 6 })],
    ['another protocol', changed(frame, { 16: 0x86 })],
    ['another hardware length', changed(frame, { 18: 8 })],
    ['operation 3', changed(frame, { 21: 3 })],
    ['sender 0.0.0.0', frame.map((octet, i) => (i >= 28 && i < 32 ? 0 : octet))],
    ['sender 255.255.255.255', frame.map((octet, i) => (i >= 28 && i < 32 ? 255 : octet))],
    ['sender 224.0.0.18', changed(frame, { 28: 224, 29: 0, 30: 0, 31: 18 })],
    ['group MAC', changed(frame, { 22: 1 })],
    ['MAC of zeros', changed(frame, { 22: 0, 27: 0 })],
  ]
  test.each(none)('none: %s', (_, bytes) => expect(announcementIn(bytes)).toBeUndefined())
})

describe('announcementIn a Neighbor Advertisement', () => {
  const frame = neighborAdvertisement({ address: VIP6, mac: MAC })
  /** Rebuilds ICMPv6 message and lengths, so that only the change is wrong. */
  const withMessage = (message: Uint8Array): Uint8Array => {
    const copy = Uint8Array.from(message)
    copy[2] = 0
    copy[3] = 0
    const sum = checksumOf(wordSum(copy) + pseudoHeaderSum(VIP6, address('ff02::1'), 58, copy.length))
    copy[2] = sum >> 8
    copy[3] = sum & 0xff
    return concatBytes(changed(frame.subarray(0, 54), { 19: copy.length }), copy)
  }
  const message = frame.subarray(54)

  test('announcementIn reads target and link-layer option', () =>
    expect(announcementIn(frame)).toEqual({ address: VIP6, mac: MAC }))
  test('R is set for a router (RFC 4861 §4.4), S is 0 and O is 1', () => {
    expect(frame[58]).toBe(0xa0)
    const host = neighborAdvertisement({ address: VIP6, mac: MAC, router: false })
    expect(host[58]).toBe(0x20)
    expect(announcementIn(host)).toEqual({ address: VIP6, mac: MAC })
  })
  test('without the option the Ethernet source is the MAC', () => {
    expect(announcementIn(withMessage(message.subarray(0, 24)))).toEqual({ address: VIP6, mac: MAC })
  })
  test('other options before the link-layer option are skipped', () => {
    const nonce = Uint8Array.of(14, 1, 1, 2, 3, 4, 5, 6)
    const both = withMessage(concatBytes(message.subarray(0, 24), nonce, message.subarray(24)))
    expect(readNeighborAdvertisement(both)).toEqual({ target: VIP6, linkLayer: MAC, solicited: false })
  })
  const none: readonly [string, Uint8Array][] = [
    ['one octet short', frame.subarray(0, frame.length - 1)],
    ['hop limit 254 (RFC 4861 §7.1.2)', changed(frame, { 21: 254 })],
    ['next header 17', changed(frame, { 20: 17 })],
    ['IP version 4', changed(frame, { 14: 0x45 })],
    ['checksum', changed(frame, { 56: 0 })],
    ['code 1', withMessage(changed(message, { 1: 1 }))],
    ['a Neighbor Solicitation', withMessage(changed(message, { 0: 135 }))],
    ['option of length 0', withMessage(changed(message, { 25: 0 }))],
    ['option longer than the message', withMessage(changed(message, { 25: 2 }))],
    ['group target', withMessage(changed(message, { 8: 0xff }))],
    ['target ::', withMessage(message.map((octet, i) => (i >= 8 && i < 24 ? 0 : octet)))],
  ]
  test.each(none)('none: %s', (_, bytes) => expect(announcementIn(bytes)).toBeUndefined())
  test('the frame says what the octets of the target say', () => {
    expect(frame.subarray(62, 78)).toEqual(addressBytes(VIP6))
  })
})
