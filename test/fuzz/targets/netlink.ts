/**
 * The netlink codec. The codec finds as many messages as a second walk along the lengths, and reads nothing beyond the
 * datagram. A request for an address reads as the notification of the same address.
 */
import type { WantedAddress } from '../../../src/daemon/ports.ts'
import { HEADER, NLM_F_ACK, request, words } from '../../../src/linux/netlink/frame.ts'
import {
  addAddressRequest,
  addressesRequest,
  linkRequest,
  type NetlinkMessage,
  parseMessages,
  removeAddressRequest,
  renewAddressRequest,
} from '../../../src/linux/netlink/message.ts'
import { address, addressBytes, addressFromBytes } from '../../../src/wire/address.ts'
import { concatBytes } from '../../../src/wire/bytes.ts'
import { must, octets, same, surrounded, type Target } from '../target.ts'

const NEW = { link: 16, address: 20, route: 24, neighbor: 28 } as const

export const NETLINK: Target = {
  name: 'netlink',
  corpus,
  words: [
    ...[NEW.link, 17, NEW.address, 21, NEW.route, 25, NEW.neighbor, 29, 2, 3, 4].map((type) => Uint8Array.of(type, 0)),
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 18, 29].map((type) => Uint8Array.of(8, 0, type, 0, 1, 0, 0, 0)),
    ...[0, 1, 3, 4, 5].map((length) => Uint8Array.of(length, 0, 1, 0)),
    words(0xffffffff),
    words(0x7fffffff),
    words(HEADER),
  ],
  largest: 1_000,
  short: 20_000,
  examine(input) {
    if (input[0] === 0xee && input.length >= 24) return comesBack(input)
    const [one, other] = [0x00, 0xff].map((around) => parseMessages(surrounded(input, around)))
    must(same(one, other), 'It reads beyond the datagram', () => [one, other])
    const envelopes = one ?? []
    const found = walk(input)
    must(envelopes.length === found.length, 'It has another number of messages', () => [found, envelopes])
    for (const [i, { message, sequence }] of envelopes.entries()) {
      const expected = found[i]
      must(
        expected === undefined ? message.kind === 'malformed' : sequence === expected.sequence,
        'It is another one',
        () => one,
      )
      if (expected !== undefined) must(fits(message, expected.type), 'Its kind is wrong', () => [expected, message])
    }
    const kinds = new Set(envelopes.map(({ message }) => wordOf(message)))
    return [...kinds].sort().slice(0, 3).join(' ')
  },
}

/** Walks by the lengths alone. This walk ends with `undefined` if the rest is no message. */
function walk(input: Uint8Array): readonly ({ readonly type: number; readonly sequence: number } | undefined)[] {
  const found: ({ readonly type: number; readonly sequence: number } | undefined)[] = []
  const bytes = Buffer.from(input)
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.length - at < HEADER ? 0 : bytes.readUInt32LE(at)
    if (length < HEADER || length > bytes.length - at) return [...found, undefined]
    found.push({ type: bytes.readUInt16LE(at + 4), sequence: bytes.readUInt32LE(at + 8) })
    at += length + ((4 - (length % 4)) % 4)
  }
  return found
}

const KINDS: Readonly<Record<number, readonly NetlinkMessage['kind'][]>> = {
  2: ['ack', 'malformed'],
  3: ['done'],
  4: ['overrun'],
  [NEW.link]: ['link', 'other', 'malformed'],
  17: ['linkGone', 'other', 'malformed'],
  [NEW.address]: ['address', 'other', 'malformed'],
  21: ['addressGone', 'other', 'malformed'],
  [NEW.route]: ['routes', 'malformed'],
  [NEW.neighbor]: ['neighbor', 'other', 'malformed'],
  29: ['neighbor', 'other', 'malformed'],
}
const fits = (message: NetlinkMessage, type: number): boolean => (KINDS[type] ?? ['other']).includes(message.kind)

function wordOf(message: NetlinkMessage): string {
  if (message.kind === 'routes') return `routes${Math.min(3, message.routes.length)}`
  if (message.kind === 'neighbor') return message.resolution
  if (message.kind === 'address') return `address${addressBytes(message.present.address).length}`
  return message.kind
}

/** Reads a request as if the kernel had sent it. */
function comesBack(input: Uint8Array): string {
  const bytes = Buffer.from(input)
  const wide = (input[1] ?? 0) % 2 === 1
  const size = wide ? 16 : 4
  const label = String.fromCharCode(...input.subarray(24, 39).filter((octet) => octet > 0x20 && octet < 0x7f))
  const wanted: WantedAddress = {
    interfaceIndex: bytes.readUInt32LE(3),
    address: addressFromBytes(input.slice(8, 8 + size)),
    prefixLength: (input[2] ?? 0) % (8 * size + 1),
    ...(label === '' || wide ? {} : { label }),
  }
  const lifetime = (input[7] ?? 0) < 128 ? undefined : bytes.readUInt32LE(3)
  const asked = [addAddressRequest, renewAddressRequest].map((make) => make(wanted, 77, lifetime))
  const [envelopes, gone] = [parseMessages(concatBytes(...asked)), parseMessages(removeAddressRequest(wanted, 78))]
  must(envelopes.length === 2 && gone.length === 1, 'It is another number of messages')
  for (const { message, sequence } of envelopes) {
    must(message.kind === 'address' && sequence === 77, 'It does not read as an address', () => message)
    const { interfaceIndex, address: read, prefixLength, label: called } = message.present
    const back = { interfaceIndex, address: read, prefixLength, ...(called === undefined ? {} : { label: called }) }
    must(same(back, wanted), 'It comes back as another one', () => [back, wanted])
  }
  const [last] = gone
  must(
    last?.message.kind === 'addressGone' && last.message.present.address === wanted.address,
    'The removal is of another one',
  )
  return `comes back ${size}`
}

function corpus(): readonly Uint8Array[] {
  const four = { interfaceIndex: 3, address: address('192.0.2.10'), prefixLength: 24, label: 'eth0:1' }
  const six = { interfaceIndex: 3, address: address('2001:db8::10'), prefixLength: 128 }
  const message = (type: number, fixed: Uint8Array, attributes: readonly (readonly [number, Uint8Array])[]) =>
    request(
      type,
      0,
      5,
      fixed,
      attributes.map(([kind, value]) => ({ type: kind, value })),
    )
  const via = [addressBytes(address('192.0.2.1')), addressBytes(address('fe80::1'))] as const
  const hop = Uint8Array.of(16, 0, 0, 0, 3, 0, 0, 0, 8, 0, 5, 0, ...via[0])
  const link = words(0, 3, 0x41, 0)
  return [
    addAddressRequest(four, 1, 20),
    addAddressRequest(six, 2),
    removeAddressRequest(six, 3),
    linkRequest(4),
    addressesRequest(5),
    message(NEW.link, link, [
      [3, octets('eth0\0')],
      [1, Uint8Array.of(2, 0, 0, 0, 0, 1)],
      [4, words(1500)],
      [18, concatBytes(Uint8Array.of(11, 0, 4, 0), octets('bridge\0'), new Uint8Array(1))],
    ]),
    message(17, link, [[3, octets('eth0\0')]]),
    message(NEW.neighbor, concatBytes(words(2, 3), Uint8Array.of(2, 0, 0, 1)), [[1, via[0]]]),
    message(NEW.neighbor, concatBytes(words(10, 3), Uint8Array.of(16, 0, 0, 1)), [[1, via[1]]]),
    message(NEW.route, Uint8Array.of(2, 24, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0), [
      [1, addressBytes(address('198.51.100.0'))],
      [4, words(3)],
      [5, via[0]],
      [6, words(100)],
    ]),
    message(NEW.route, Uint8Array.of(10, 0, 0, 0, 254, 9, 0, 1, 0, 0, 0, 0), [
      [4, words(3)],
      [5, via[1]],
      [15, words(254)],
    ]),
    message(NEW.route, Uint8Array.of(2, 0, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0), [[9, concatBytes(hop, hop)]]),
    request(2, NLM_F_ACK, 6, words(0xffffffef, 0, 0, 0, 0), []),
    request(3, 0, 7, words(0), []),
    concatBytes(addAddressRequest(four, 8), addAddressRequest(six, 9), request(3, 0, 9, words(0), [])),
    Uint8Array.of(0xee, 0, 24, 3, 0, 0, 0, 0, ...via[0], ...new Uint8Array(12), ...octets('eth0:vip')),
    Uint8Array.of(0xee, 1, 64, 3, 0, 0, 0, 200, ...via[1], 0),
  ]
}
