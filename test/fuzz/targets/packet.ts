/**
 * Packet receive. `receive` accepts exactly the packets that a second reading of RFC 9568 §7.1 accepts, written here
 * without a line of the first one. An accepted packet encodes to the same octets again, and every packet that can be
 * sent is accepted.
 *
 * An input has the receiver, the repairs (of checksums, so that a change behind them is not the end), then an IPv4
 * packet. For IPv6 it has source, destination, hop limit (0: unknown) and message.
 */

import { ipv4Packet } from '../../../src/simulator/ipv4-packet.ts'
import { DISCARD_REASONS } from '../../../src/vrrp/advertisement.ts'
import { simplePassword } from '../../../src/vrrp/authentication.ts'
import { encodeAdvertisement, vrrpGroup } from '../../../src/vrrp/packet.ts'
import type { Parameters } from '../../../src/vrrp/parameters.ts'
import { type Accepted, type IncomingPacket, receive } from '../../../src/vrrp/receive.ts'
import { type Address, address, addressBytes, addressFromBytes } from '../../../src/wire/address.ts'
import { centis } from '../../../src/wire/units.ts'
import { fromHex } from '../../support/hex.ts'
import { parametersFor } from '../../support/parameters.ts'
import { filesIn, valuesOf } from '../corpus.ts'
import { must, same, surrounded, type Target } from '../target.ts'

const PEER = address('192.0.2.3')
const PEER6 = address('fe80::3')
const OWN = new Set([address('192.0.2.2'), address('fe80::2')])
const UNICAST = {
  mode: 'unicast',
  peers: [{ address: PEER, ttl: { least: 250, most: 254 } }, { address: address('192.0.2.4') }],
} as const

const RECEIVERS: readonly Parameters[] = [
  parametersFor(),
  parametersFor({ profile: 'rfc9568' }),
  parametersFor({ profile: 'keepalived' }),
  parametersFor({ knobs: { checksumAccepted: 'message-only' } }),
  parametersFor({ knobs: { checksumAccepted: 'pseudo-header', addressListCheck: true } }),
  parametersFor({ knobs: { intervalCheck: true } }),
  parametersFor({ transport: UNICAST }),
  parametersFor({ transport: UNICAST, knobs: { ttlCheck: false, onlyListedPeers: true } }),
  parametersFor({ transport: UNICAST, knobs: { ttlCheck: false, onlyListedPeers: false, oldUnicastChecksum: true } }),
  parametersFor({ version: 2, profile: 'keepalived' }),
  parametersFor({ version: 2, ...simplePassword('secret') }),
  parametersFor({ version: 2, profile: 'rfc9568', transport: UNICAST, ...simplePassword('p') }),
  parametersFor({ priority: 255 }),
  parametersFor({ family: 'ipv6' }),
  parametersFor({ family: 'ipv6', profile: 'rfc9568' }),
  parametersFor({ family: 'ipv6', profile: 'keepalived' }),
  parametersFor({ family: 'ipv6', transport: { mode: 'unicast', peers: [{ address: PEER6 }] } }),
]
const FIRST_OF_IPV6 = RECEIVERS.findIndex(({ family }) => family === 'ipv6')
const HEAD = 2
const IPV6_HEAD = 33

/** Reports whether no receiver has this VRID: one of eight. */
const nobodys = (vrid: number): boolean => vrid % 8 === 7

export const PACKET: Target = {
  name: 'packet',
  corpus,
  words: [
    ...['c0000203', 'e0000012', 'c0000202', '31', '21', 'ff', '70', '0064', '0fff', 'c0000264', '000000000000000000'],
    ...['fe800000000000000000000000000003', 'ff020000000000000000000000000012'],
  ].map(fromHex),
  largest: 1_200,
  short: 20_000,
  examine(input) {
    const receiver = RECEIVERS[(input[0] ?? 0) % RECEIVERS.length]
    if (receiver === undefined || input.length < HEAD) return 'nothing'
    const rest = input.slice(HEAD)
    if (receiver.family === 'ipv6' && rest.length < IPV6_HEAD) return 'nothing'
    mend(rest, receiver, (input[1] ?? 0) % 4)
    const answers = [0x00, 0xff].map((around) => heard(surrounded(rest, around), receiver))
    must(same(answers[0], answers[1]), 'It reads beyond the packet', () => answers)
    const [answer] = answers
    if (answer === undefined) return 'nothing'
    const wanted = acceptable(rest, receiver)
    must(wanted === (answer.kind === 'accepted'), `It is ${answer.kind}, which is wrong`, () => [answer, receiver])
    if (answer.kind === 'discarded') {
      must(DISCARD_REASONS.includes(answer.reason), 'It has no name', () => answer)
      return `${receiver.family}, ${answer.reason}`
    }
    comesBack(answer, rest, receiver)
    const { advertisement, checksumForms, warnings } = answer
    return `${receiver.family}, ${advertisement.version}: ${checksumForms.join('+')} ${[...warnings].sort().join(' ')}`
  },
}

const findIn = (receiver: Parameters) => (vrid: number) => (nobodys(vrid) ? undefined : { ...receiver, vrid })

function packetOf(rest: Uint8Array, { family }: Parameters): IncomingPacket {
  if (family === 'ipv4') return { family, source: PEER, destination: undefined, ttl: undefined, bytes: rest }
  return {
    family,
    source: addressFromBytes(rest.subarray(0, 16)),
    destination: addressFromBytes(rest.subarray(16, 32)),
    ttl: rest[32] === 0 ? undefined : rest[32],
    bytes: rest.subarray(IPV6_HEAD),
  }
}

const heard = (rest: Uint8Array, receiver: Parameters) =>
  receive(packetOf(rest, receiver), findIn(receiver), (own) => OWN.has(own))

/** Returns the checksum of RFC 1071, octet by octet. */
function sumOf(...parts: readonly Uint8Array[]): number {
  let sum = 0
  for (const part of parts)
    for (let i = 0; i < part.length; i++) {
      sum += (part[i] ?? 0) * (i % 2 === 0 ? 256 : 1)
      if (sum > 0xffff) sum -= 0xffff
    }
  return sum
}

function pseudoHeader(source: Uint8Array, destination: Uint8Array, length: number): Uint8Array {
  const tail =
    source.length === 4 ? [0, 112, length >> 8, length & 0xff] : [0, 0, length >> 8, length & 0xff, 0, 0, 0, 112]
  return Uint8Array.of(...source, ...destination, ...tail)
}

type Opened = {
  readonly source: Uint8Array
  readonly destination: Uint8Array
  readonly ttl: number | undefined
  readonly message: Uint8Array
}

const number16 = (bytes: Uint8Array, at: number): number => (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0)

function opened(rest: Uint8Array, { family }: Parameters): Opened | undefined {
  if (family === 'ipv6') {
    const [source, destination] = [rest.subarray(0, 16), rest.subarray(16, 32)]
    return { source, destination, ttl: rest[32] === 0 ? undefined : rest[32], message: rest.subarray(IPV6_HEAD) }
  }
  if (rest.length < 20 || rest[0] === undefined || Math.floor(rest[0] / 16) !== 4 || rest[9] !== 112) return undefined
  const [header, total] = [(rest[0] % 16) * 4, number16(rest, 2)]
  if (number16(rest, 6) % 16384 !== 0 || header < 20 || total < header || rest.length < total) return undefined
  if (sumOf(rest.subarray(0, header)) !== 0xffff) return undefined
  const [source, destination] = [rest.subarray(12, 16), rest.subarray(16, 20)]
  return { source, destination, ttl: rest[8], message: rest.subarray(header, total) }
}

/** Applies the rules of RFC 9568 §7.1, RFC 3768 §7.1 and docs/rfc9568.md, in no particular order. */
function acceptable(rest: Uint8Array, given: Parameters): boolean {
  const packet = opened(rest, given)
  if (packet === undefined) return false
  const { destination, message, source, ttl } = packet
  const [first = 0, vrid = 0, priority = 0, count = 0] = message
  const { authentication, family, reception, transport, version } = given
  if (message.length < 8 || vrid === 0 || nobodys(vrid) || first !== version * 16 + 1) return false
  const size = source.length
  if (message.length !== 8 + size * count + (version === 2 ? 8 : 0)) return false
  const from = addressFromBytes(source)
  if (OWN.has(from)) return false
  const group = addressBytes(vrrpGroup(family))
  const toGroup = same([...destination], [...group])
  const isGroup = size === 4 ? Math.floor((destination[0] ?? 0) / 16) === 14 : destination[0] === 0xff
  if (isGroup !== toGroup || toGroup !== (transport.mode === 'multicast')) return false
  const linkLocal = (octets: Uint8Array) => size === 16 && octets[0] === 0xfe && (octets[1] ?? 0) >> 6 === 2
  const far = ttl !== 255 && !(ttl === undefined && linkLocal(source))
  if (far && (transport.mode === 'multicast' || reception.ttlCheck)) return false
  if (transport.mode === 'unicast') {
    const peer = transport.peers.find(({ address: listed }) => listed === from)
    if (peer === undefined && reception.onlyListedPeers) return false
    if (peer?.ttl !== undefined && (ttl === undefined || ttl < peer.ttl.least || ttl > peer.ttl.most)) return false
  }
  if (!sumsUp(packet, given)) return false
  const interval = version === 3 ? number16(message, 4) % 4096 : (message[5] ?? 0) * 100
  if (version === 3 && (count === 0 || interval === 0)) return false
  if ((version === 2 || reception.intervalCheck) && interval !== given.advertisementInterval) return false
  if (version === 2) {
    if (message[4] !== (authentication === undefined ? 0 : 1)) return false
    const data = [...message.subarray(message.length - 8)]
    if (authentication !== undefined && !same(data, authentication.octets)) return false
  }
  if (size === 16 && reception.firstAddressLinkLocal && !linkLocal(message.subarray(8))) return false
  if (!reception.addressListCheck || priority === 255) return true
  const said = new Set(
    Array.from({ length: count }, (_, i) => addressFromBytes(message.slice(8 + size * i).subarray(0, size))),
  )
  return same([...said].sort(), [...new Set(given.advertised ?? given.addresses)].sort())
}

function sumsUp({ destination, message, source }: Opened, { reception, transport, version }: Parameters): boolean {
  const bare = sumOf(message) === 0xffff
  if (version === 2) return bare
  const withHeader = (to: Uint8Array) => sumOf(pseudoHeader(source, to, message.length), message) === 0xffff
  const whole = withHeader(destination)
  if (source.length === 16) return whole
  if (reception.checksumAccepted === 'message-only') return bare
  if (reception.checksumAccepted === 'pseudo-header') return whole
  const old = reception.oldUnicastChecksum && transport.mode === 'unicast'
  return bare || whole || (old && withHeader(addressBytes(vrrpGroup('ipv4'))))
}

/**
 * Checks that encoding gives the same octets. Reserved bits, unused authentication data and a form that is never sent
 * may differ.
 */
function comesBack({ advertisement, checksumForms, source }: Accepted, rest: Uint8Array, receiver: Parameters): void {
  const packet = opened(rest, receiver)
  if (packet === undefined || (advertisement.addresses.length === 0 && advertisement.version === 2)) return
  const [form] = checksumForms
  must(form !== undefined, 'It is accepted with no checksum')
  const { authentication } = receiver
  const destination = form === 'pseudo-header-multicast' ? vrrpGroup('ipv4') : addressFromBytes(packet.destination)
  const checksum = form === 'message-only' ? form : 'pseudo-header'
  const again = encodeAdvertisement(advertisement, { source, destination, checksum, authentication })
  const plain = (message: Uint8Array) => {
    const copy = message.slice()
    if (advertisement.version === 3) copy[4] = (copy[4] ?? 0) % 16
    else if (authentication === undefined) copy.fill(0, copy.length - 8)
    copy.fill(0, 6, 8)
    return [...copy]
  }
  must(same(plain(again), plain(packet.message)), 'It encodes to another message', () => [...again])
  // A packet that can be sent is accepted by each receiver of this form.
  if (form === 'pseudo-header-multicast') return
  const family = receiver.family
  const ttl = packet.ttl ?? 255
  const bytes = family === 'ipv4' ? ipv4Packet(again, { source, destination, ttl }) : again
  const back = receive({ family, source, destination, ttl, bytes }, findIn(receiver), () => false)
  must(back.kind === 'accepted', 'What it sends it does not take', () => back)
  must(same(back.advertisement, advertisement), 'It comes back as another one', () => [
    back.advertisement,
    advertisement,
  ])
}

/** Repairs nothing (0), the header of IPv4 (1), with the message by itself (2), or with its pseudo-header (3). */
function mend(rest: Uint8Array, { family }: Parameters, how: number): void {
  if (how === 0) return
  const put = (bytes: Uint8Array, at: number, ...with_: readonly Uint8Array[]) => {
    if (bytes.length < at + 2) return
    bytes.fill(0, at, at + 2)
    const sum = sumOf(...with_, bytes)
    bytes[at] = (0xffff - sum) >> 8
    bytes[at + 1] = (0xffff - sum) & 0xff
  }
  if (family === 'ipv6') {
    const message = rest.subarray(IPV6_HEAD)
    put(message, 6, pseudoHeader(rest.subarray(0, 16), rest.subarray(16, 32), message.length))
    return
  }
  if (rest.length < 20) return
  const header = Math.max(20, ((rest[0] ?? 0) % 16) * 4)
  if (how > 1) {
    rest[2] = rest.length >> 8
    rest[3] = rest.length & 0xff
    const message = rest.subarray(header)
    const pseudo = pseudoHeader(rest.subarray(12, 16), rest.subarray(16, 20), message.length)
    put(message, 6, ...(how === 3 ? [pseudo] : []))
  }
  put(rest.subarray(0, header), 10)
}

function corpus(): readonly Uint8Array[] {
  const found: Uint8Array[] = []
  const own: readonly [Address, Address] = [PEER, vrrpGroup('ipv4')]
  for (const [index, receiver] of RECEIVERS.entries()) {
    const { addresses, authentication, family, transport, version } = receiver
    const [source, group] = family === 'ipv4' ? own : [PEER6, vrrpGroup('ipv6')]
    const to = transport.mode === 'multicast' ? group : receiver.primaryAddress
    // A packet to an own address would come from the router itself, so a peer sends it.
    const message = encodeAdvertisement(
      { version, vrid: 51, priority: 100, interval: centis(100), addresses },
      { source, destination: to, checksum: 'pseudo-header', authentication },
    )
    const bytes =
      family === 'ipv4'
        ? ipv4Packet(message, { source, destination: to })
        : Uint8Array.of(...addressBytes(source), ...addressBytes(to), 255, ...message)
    found.push(Uint8Array.of(index, 0, ...bytes), Uint8Array.of(index, 3, ...bytes))
  }
  const packets = filesIn('test/conformance/vectors', '.json')
    .filter((file) => file.includes('/packets-'))
    .flatMap((file) => valuesOf(file, 'ip_packet_hex'))
    .flatMap((hex) => (typeof hex === 'string' ? [fromHex(hex)] : []))
  for (const [i, bytes] of packets.entries()) {
    const isIpv4 = (bytes[0] ?? 0) >> 4 === 4
    const rest = isIpv4 ? bytes : Uint8Array.of(...bytes.subarray(8, 40), bytes[7] ?? 0, ...bytes.subarray(40))
    const receiver = isIpv4 ? i % FIRST_OF_IPV6 : FIRST_OF_IPV6 + (i % (RECEIVERS.length - FIRST_OF_IPV6))
    found.push(Uint8Array.of(receiver, 0, ...rest))
  }
  return found
}
