/** Checksum arithmetic at its limits, and the IPv4 header as a raw socket delivers it. */
import { describe, expect, test } from 'vitest'
import { address } from '../../../src/wire/address.ts'
import { checksumHolds, checksumOf, pseudoHeaderSum, wordSum } from '../../../src/wire/checksum.ts'
import { readIpv4 } from '../../../src/wire/ipv4.ts'
import { fromHex, toHex } from '../../support/hex.ts'

describe('checksum (RFC 1071)', () => {
  test('the example of RFC 1071 §3: 00 01 f2 03 f4 f5 f6 f7', () => {
    expect(checksumOf(wordSum(fromHex('0001f203f4f5f6f7')))).toBe(0x220d)
  })
  test('an odd last octet is the high half of a word', () => {
    expect(wordSum(fromHex('010203'))).toBe(0x0102 + 0x0300)
    expect(wordSum(new Uint8Array())).toBe(0)
  })
  test('0x0000 is not replaced, and 0xffff in its place verifies (VR-CK-08)', () => {
    expect(checksumOf(0xffff)).toBe(0)
    expect(checksumHolds(0xffff + 0x0000)).toBe(true)
    expect(checksumHolds(0xffff + 0xffff)).toBe(true)
    expect(checksumHolds(0)).toBe(false)
  })
  test('carries fold until none is left, also past 32 bits', () => {
    expect(checksumOf(0x1ffff)).toBe(0xfffe)
    expect(checksumOf(0xffff * 0x20000)).toBe(0)
    expect(checksumHolds(0xffff * 0x123456)).toBe(true)
  })
  test('the pseudo-header sums of IPv4 and IPv6 match those of RFC 9568', () => {
    expect(pseudoHeaderSum(address('192.0.2.3'), address('224.0.0.18'), 112, 12)).toBe(
      0xc000 + 0x0203 + 0xe000 + 0x0012 + 112 + 12,
    )
    expect(pseudoHeaderSum(address('fe80::3'), address('ff02::12'), 112, 40)).toBe(
      0xfe80 + 3 + 0xff02 + 0x12 + 112 + 40,
    )
  })
})

describe('readIpv4 (VR-RX-01, VR-RX-06)', () => {
  const header = '45c0002000010000ff701897c0000203e0000012'
  const message = '313364010064a802c0000264'
  const good = fromHex(header + message)
  /** Corrects the header checksum, so that only the change is wrong. */
  const withOctets = (changes: Record<number, number>, bytes = good): Uint8Array => {
    const copy = Uint8Array.from(bytes)
    for (const [at, value] of Object.entries(changes)) copy[Number(at)] = value
    const length = ((copy[0] ?? 0) & 0x0f) * 4
    copy[10] = 0
    copy[11] = 0
    const sum = checksumOf(wordSum(copy.subarray(0, length)))
    copy[10] = sum >> 8
    copy[11] = sum & 0xff
    return copy
  }

  test('readIpv4 returns addresses, TTL and payload of a valid packet', () => {
    const read = readIpv4(good, 112)
    if (typeof read === 'string') return expect.fail(read)
    expect({ ...read, payload: toHex(read.payload) }).toEqual({
      source: '192.0.2.3',
      destination: '224.0.0.18',
      ttl: 255,
      payload: message,
    })
  })
  test("a view into somebody else's buffer is read at its own offset", () => {
    const buffer = new Uint8Array(200).fill(0xee)
    buffer.set(good, 77)
    const read = readIpv4(buffer.subarray(77, 77 + good.length), 112)
    expect(typeof read === 'string' ? read : toHex(read.payload)).toBe(message)
  })
  test("Don't Fragment is no fragment; padding is not payload", () => {
    const padded = new Uint8Array([...withOctets({ 6: 0x40 }), 1, 2, 3])
    const read = readIpv4(padded, 112)
    expect(typeof read === 'string' ? read : toHex(read.payload)).toBe(message)
  })

  const faults: readonly [string, Uint8Array, string][] = [
    ['nothing', new Uint8Array(), 'truncated-ip'],
    ['19 octets', good.subarray(0, 19), 'truncated-ip'],
    ['another protocol', withOctets({ 9: 51 }), 'other-protocol'],
    ['More Fragments', withOctets({ 6: 0x20 }), 'fragment'],
    ['fragment offset', withOctets({ 7: 1 }), 'fragment'],
    ['IP version 6', withOctets({ 0: 0x65 }), 'ip-header'],
    ['IHL 4', withOctets({ 0: 0x44 }), 'ip-header'],
    ['Total Length below IHL', withOctets({ 3: 19 }), 'ip-header'],
    // An incomplete header has no checksum to check.
    ['IHL past the octets received', Uint8Array.from(good).fill(0x4f, 0, 1).fill(60, 3, 4), 'truncated-ip'],
    ['Total Length past the octets received', withOctets({ 3: 33 }), 'truncated-ip'],
    ['header checksum', Uint8Array.from(good).fill(0, 10, 12), 'ip-header'],
  ]
  test.each(faults)('%s', (_, bytes, fault) => {
    expect(readIpv4(bytes, 112)).toBe(fault)
  })
})
