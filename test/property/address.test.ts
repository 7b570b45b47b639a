/** Three forms of an IP address agree for any octets: the text, the octets, and the member of a network. */
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { expect, test } from 'vitest'
import { sameNetwork } from '../../src/config/network.ts'
import {
  address,
  addressBytes,
  addressFromBytes,
  compareAddresses,
  isMulticast,
  parseAddress,
} from '../../src/wire/address.ts'
import { forAll } from '../support/for-all.ts'

/** Octets of an address. Zeros occur often and in runs, because the text leaves runs of zeros out. */
const octet = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.constantFrom(0xff, 0xfe, 0x80), fc.nat(255))
const octets = (length: number) =>
  fc
    .uint8Array({ minLength: length, maxLength: length })
    .chain((random) =>
      fc
        .array(octet, { minLength: length, maxLength: length })
        .map((often) => (random[0] === 0 ? random : Uint8Array.from(often))),
    )
const either = fc.oneof(octets(4), octets(16))

test('octets survive a round trip, and another library reads the same text', () => {
  fc.assert(
    fc.property(either, (bytes) => {
      const text = addressFromBytes(bytes)
      expect(addressBytes(text)).toEqual(bytes)
      expect(address(text)).toBe(text)
      expect([...bytes]).toEqual(ipaddr.parse(text).toByteArray())
    }),
    { numRuns: 1000, examples: [[new Uint8Array(16)], [Uint8Array.of(...Array(10).fill(0), 255, 255, 10, 0, 0, 1)]] },
  )
})

test('a prefix contains the same addresses as in another library', () => {
  const pair = fc
    .constantFrom(4, 16)
    .chain((length) =>
      fc.record({ a: octets(length), b: octets(length), shared: fc.nat(8 * length), prefix: fc.nat(8 * length) }),
    )
  forAll(1000, [pair], ({ a, b, shared, prefix }) => {
    // Without this rule, random addresses never lie in a network with a long prefix.
    const near = b.map((value, i) => (8 * i < shared ? (a[i] ?? 0) : value))
    const [left, right] = [ipaddr.parse(addressFromBytes(a)), ipaddr.parse(addressFromBytes(near))]
    expect(sameNetwork(a, near, prefix)).toBe(right.match(left, prefix))
  })
})

test('addresses have the order of their octets', () => {
  forAll(100, [octets(16), octets(16)], (a, b) => {
    const expected = Buffer.compare(Buffer.from(a), Buffer.from(b))
    expect(Math.sign(compareAddresses(addressFromBytes(a), addressFromBytes(b)))).toBe(expected)
  })
})

test('typed text is read as by another library, except for 010 and zones', () => {
  const part = fc.oneof(fc.nat(300).map(String), fc.constantFrom('010', '00', '', '0x1', ' 1', '1e1', '-1', '+1'))
  const group = fc.oneof(
    fc.nat(0xffff).map((n) => n.toString(16)),
    fc.constantFrom('', '0', 'FFFF', '00001', 'g', '1.2.3.4', '%x'),
  )
  const four = fc.array(part, { minLength: 3, maxLength: 5 }).map((parts) => parts.join('.'))
  const six = fc.array(group, { minLength: 2, maxLength: 9 }).map((groups) => groups.join(':'))
  forAll(2000, [fc.oneof(four, six, fc.string())], (text) => {
    const read = parseAddress(text)
    const isFour = ipaddr.IPv4.isValidFourPartDecimal(text) && !/(^|\.)0\d/.test(text)
    const isSix = text.includes(':') && !text.includes('%') && ipaddr.IPv6.isValid(text)
    expect(read !== undefined).toBe(isFour || isSix)
    if (read === undefined) return
    expect(ipaddr.parse(read).toByteArray()).toEqual(ipaddr.parse(text).toByteArray())
    expect(isMulticast(read)).toBe(ipaddr.parse(text).range() === 'multicast')
  })
})
