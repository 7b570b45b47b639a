/**
 * Frames of a LAN outside VRRP: ARP, Neighbor Discovery, and the text of `holdfast capture` for a frame. No octet is
 * read beyond the frame, and a claim names octets of the frame. An ARP request that was read is written as the same
 * frame again.
 */
import { arpRequest, readArp } from '../../../src/arp/arp-packet.ts'
import { neighborAdvertisement, readNeighborAdvertisement } from '../../../src/arp/neighbor-advertisement.ts'
import { neighborSolicitation } from '../../../src/arp/neighbor-solicitation.ts'
import { announcementIn, isAnswerTo } from '../../../src/arp/probe.ts'
import { sightingOf } from '../../../src/cli/capture/capture-decode.ts'
import { ipv4Packet } from '../../../src/simulator/ipv4-packet.ts'
import { encodeAdvertisement, vrrpGroup } from '../../../src/vrrp/packet.ts'
import { address, addressBytes } from '../../../src/wire/address.ts'
import { BROADCAST_MAC, macBytes, multicastMac, parseMac } from '../../../src/wire/mac.ts'
import { centis } from '../../../src/wire/units.ts'
import { fromHex } from '../../support/hex.ts'
import { filesIn, valuesOf } from '../corpus.ts'
import { must, same, surrounded, type Target } from '../target.ts'

const MAC = parseMac('02:00:00:00:00:03') ?? BROADCAST_MAC

export const FRAME: Target = {
  name: 'frame',
  corpus,
  words: ['0806', '0800', '86dd', '8100', '0001080006040001', '0002', '3a', '70', '88', '0201', 'ffffffffffff'].map(
    fromHex,
  ),
  largest: 400,
  short: 20_000,
  examine(frame) {
    const [one, other] = [0x00, 0xff].map((around) => read(surrounded(frame, around)))
    must(same(one, other), 'It reads beyond the frame', () => [one, other])
    if (one === undefined) return 'nothing'
    const { arp, claim, neighbor, sighting } = one
    if (arp !== undefined && frame[21] === 1) {
      const head = arpRequest(arp)
      must(same([...head.subarray(14)], [...frame.subarray(14, 42)]), 'The same request is other octets', () => arp)
    }
    if (claim !== undefined) {
      must(contains(frame, macBytes(claim.mac)), 'The claim names a MAC that nobody said', () => claim)
      must(contains(frame, addressBytes(claim.address)), 'The claim names an address that nobody said', () => claim)
    }
    return [
      arp === undefined ? '' : 'arp',
      claim === undefined ? '' : 'claim',
      neighbor === undefined ? '' : `na ${neighbor.linkLayer === undefined}`,
      sighting === undefined ? '' : `${sighting.kind} ${sighting.kind === 'vrrp' ? sighting.discard : ''}`,
      sighting?.vlan === undefined ? '' : 'vlan',
    ].join(' ')
  },
}

function read(frame: Uint8Array) {
  return {
    arp: readArp(frame),
    claim: announcementIn(frame),
    neighbor: readNeighborAdvertisement(frame),
    // Asked only for a frame that makes a claim.
    answers: announcementIn(frame) !== undefined && isAnswerTo(frame, MAC),
    sighting: sightingOf(frame),
  }
}

const contains = (frame: Uint8Array, octets: Uint8Array): boolean => Buffer.from(frame).includes(Buffer.from(octets))

function corpus(): readonly Uint8Array[] {
  const sender = { senderMac: MAC, senderAddress: address('192.0.2.3') }
  const [own, group] = [address('fe80::3'), vrrpGroup('ipv6')]
  const ethernet = (to: Uint8Array, type: number, payload: Uint8Array) =>
    Uint8Array.of(...to, ...macBytes(MAC), type >> 8, type & 0xff, ...payload)
  const [source, destination] = [address('192.0.2.3'), vrrpGroup('ipv4')]
  const body = { version: 3, vrid: 51, priority: 100, interval: centis(100) } as const
  const four = encodeAdvertisement(
    { ...body, addresses: [address('192.0.2.100')] },
    { source, destination, checksum: 'pseudo-header' },
  )
  const six = encodeAdvertisement(
    { ...body, addresses: [address('fe80::100')] },
    { source: own, destination: group, checksum: 'pseudo-header' },
  )
  const header6 = [0x6c, 0, 0, 0, 0, six.length, 112, 255, ...addressBytes(own), ...addressBytes(group)]
  const vrrp = ethernet(macBytes(multicastMac(destination)), 0x0800, ipv4Packet(four, { source, destination }))
  return [
    arpRequest({ ...sender, targetMac: BROADCAST_MAC, targetAddress: sender.senderAddress }),
    arpRequest({ ...sender, targetMac: MAC, targetAddress: address('192.0.2.9') }),
    neighborAdvertisement({ address: address('fe80::100'), mac: MAC }),
    neighborSolicitation({ target: address('fe80::100'), source: own, mac: MAC }),
    vrrp,
    Uint8Array.of(...vrrp.subarray(0, 12), 0x81, 0, 0, 5, ...vrrp.subarray(12)),
    ethernet(macBytes(multicastMac(group)), 0x86dd, Uint8Array.of(...header6, ...six)),
    ...filesIn('test/conformance/vectors', 'l2.json')
      .flatMap((file) => valuesOf(file, 'frame_hex'))
      .flatMap((hex) => (typeof hex === 'string' ? [fromHex(hex)] : [])),
  ]
}
