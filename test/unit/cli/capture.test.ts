/**
 * `holdfast capture` without a network: frames that other daemons sent (conformance vectors), our own announcements,
 * lines for people and programs, and the pcap file.
 */
import { describe, expect, test } from 'vitest'
import { gratuitousArp } from '../../../src/arp/gratuitous-arp.ts'
import { icmpv6Frame } from '../../../src/arp/icmpv6-frame.ts'
import { neighborAdvertisement, solicitedNodeGroup } from '../../../src/arp/neighbor-advertisement.ts'
import { neighborSolicitation } from '../../../src/arp/neighbor-solicitation.ts'
import { arpProbe } from '../../../src/arp/probe.ts'
import { type Sighting, sightingOf } from '../../../src/cli/capture/capture-decode.ts'
import { captureInterfaces } from '../../../src/cli/capture/capture-host.ts'
import { CaptureTable, formatJson, type Seen } from '../../../src/cli/capture/capture-line.ts'
import { pcapHeader, pcapRecord } from '../../../src/cli/capture/pcap-file.ts'
import { address } from '../../../src/wire/address.ts'
import { concatBytes, uint16 } from '../../../src/wire/bytes.ts'
import { BROADCAST_MAC, macBytes, macFromBytes, multicastMac } from '../../../src/wire/mac.ts'
import { type PacketVector, packetVectors } from '../../conformance/vector-file.ts'
import { fromHex, toHex } from '../../support/hex.ts'

const MAC = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 7))
const OTHER = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 9))
const VIP = address('192.0.2.100')
const VIP6 = address('2001:db8::100')

/** The vectors have IP packets; captured ones say which Ethernet header was around them. */
function frameOf({ input, receiver }: PacketVector): Uint8Array {
  const { eth_dst = multicastMac(address('224.0.0.18')), eth_src = MAC } = input
  const octets = (mac: unknown) => Uint8Array.from(String(mac).split(':'), (octet) => Number.parseInt(octet, 16))
  const type = uint16(receiver.family === 'ipv4' ? 0x0800 : 0x86dd)
  return concatBytes(octets(eth_dst), octets(eth_src), type, fromHex(input.ip_packet_hex))
}

const formatLine = (one: Seen): string => new CaptureTable().lines(one).at(-1) ?? ''

function seen(frame: Uint8Array): Sighting {
  const sighting = sightingOf(frame)
  if (sighting === undefined) throw new Error(`nothing seen in ${toHex(frame)}`)
  return sighting
}

describe('what other daemons sent', () => {
  const captured = packetVectors('packets-captured')
  test.each(captured.map((vector) => [`${vector.id} ${vector.title}`, vector] as const))('%s', (_name, vector) => {
    const { decoded, warnings } = vector.expect
    const sighting = seen(frameOf(vector))
    expect(sighting).toMatchObject({
      kind: 'vrrp',
      family: vector.receiver.family,
      source: vector.input.src,
      destination: vector.input.dst,
      ttl: vector.input.ttl,
      sourceMac: vector.input.eth_src,
      destinationMac: vector.input.eth_dst,
      discard: undefined,
    })
    if (decoded === undefined) return
    const { advertise_interval_s: seconds, max_advertise_interval_cs: centis = 0 } = decoded
    expect(sighting).toMatchObject({
      version: decoded.version,
      vrid: decoded.vrid,
      priority: decoded.priority,
      intervalMs: seconds === undefined ? centis * 10 : seconds * 1000,
      addresses: decoded.addresses,
      authentication: [undefined, undefined, ['none', 'simple'][Number(decoded.auth_type)]][decoded.version],
    })
    if (warnings !== undefined && sighting.kind === 'vrrp') expect(sighting.warnings).toEqual(warnings)
  })

  test('a password is in no line, whatever its form', () => {
    const [vector] = captured.filter(({ title = '' }) => title.includes("PASS 'secret'"))
    if (vector === undefined) throw new Error('no vector with a password')
    expect(vector.input.ip_packet_hex).toContain(toHex(new TextEncoder().encode('secret')))
    const told = { sighting: seen(frameOf(vector)), interfaceName: 'eth0', at: 0 }
    const text = formatLine(told) + formatJson(told)
    expect(text).toContain('simple')
    expect(text).not.toMatch(/secret|736563726574|115,\s*101,\s*99/)
  })
})

describe('what everybody discards', () => {
  /** Decided by the octets alone; the other reasons belong to a receiver's configuration. */
  const OF_THE_PACKET = ['fragment', 'ip-header', 'truncated-ip', 'ttl', 'truncated', 'type', 'length', 'checksum']
  const bad = ['packets-v3-ipv4', 'packets-v3-ipv6', 'packets-v2-ipv4']
    .flatMap(packetVectors)
    .filter(({ expect: { reason = '' } }) => [...OF_THE_PACKET, 'addr-count-zero', 'adver-int-zero'].includes(reason))
    // A receiver that accepts one of the two checksums only is a choice, and there is no mixed mode.
    .filter(({ receiver: { checksum_mode: mode } }) => mode === undefined || mode === 'any')
    .filter(({ receiver: { instances } }) => instances.every(({ version }) => version !== '2+3'))

  test('there are such vectors', () => expect(bad.length).toBeGreaterThan(20))
  test.each(bad.map((vector) => [`${vector.id} ${vector.title}`, vector] as const))('%s', (_name, vector) => {
    const sighting = seen(frameOf(vector))
    expect(sighting).toMatchObject({ kind: 'vrrp', discard: vector.expect.reason })
    expect(formatLine({ sighting, interfaceName: 'eth0', at: 0 })).toContain(`DISCARDED ${vector.expect.reason}`)
  })

  test('any octets are a sighting or none, never an exception', () => {
    const [vector] = packetVectors('packets-v3-ipv6')
    if (vector === undefined) throw new Error('no vectors')
    const frame = frameOf(vector)
    for (let length = 0; length <= frame.length; length++) sightingOf(frame.subarray(0, length))
    for (let i = 12; i < frame.length; i++) sightingOf(frame.with(i, 0xff))
  })
})

describe('ARP and Neighbor Discovery', () => {
  test('announcements, probes, and who answers', () => {
    const gratuitous = gratuitousArp({ address: VIP, mac: MAC })
    expect(seen(gratuitous)).toMatchObject({ kind: 'arp', what: 'gratuitous', address: VIP, mac: MAC })
    expect(seen(arpProbe({ address: VIP, mac: MAC }))).toMatchObject({ what: 'probe', address: VIP, mac: MAC })
    const question = gratuitous.with(41, 1)
    expect(sightingOf(question), 'an ordinary question').toBeUndefined()
    expect(seen(question.with(21, 2))).toMatchObject({ what: 'reply', address: VIP, mac: MAC })
    expect(seen(gratuitous.with(21, 2)), 'said of itself in a reply').toMatchObject({ what: 'gratuitous' })
  })

  test('a Neighbor Advertisement with its flags; a broken one says so', () => {
    const frame = neighborAdvertisement({ address: VIP6, mac: MAC })
    const flags = { router: true, solicited: false, override: true }
    expect(seen(frame)).toMatchObject({ kind: 'na', source: VIP6, address: VIP6, mac: MAC, ...flags })
    const broken = seen(frame.with(60, 0xaa))
    expect(broken).toMatchObject({ kind: 'na', address: undefined })
    expect(formatLine({ sighting: broken, interfaceName: 'eth0', at: 0 })).toContain('INVALID')
  })

  test('a Neighbor Solicitation: the question of a host, and duplicate address detection', () => {
    const source = address('fe80::7')
    const group = solicitedNodeGroup(VIP6)
    const asked = neighborSolicitation({ target: VIP6, source, mac: MAC })
    const question = { kind: 'ns', address: VIP6, destination: group, sourceMac: MAC }
    expect(seen(asked)).toMatchObject({ ...question, source, mac: MAC, duplicateDetection: false })
    expect(formatLine({ sighting: seen(asked), interfaceName: 'eth0', at: 0 })).toMatch(
      / NS .*who has 2001:db8::100\?$/,
    )

    const nobody = address('::')
    const message = asked.slice(54, 78).fill(0, 2, 4)
    const probe = icmpv6Frame({ source: nobody, group, mac: MAC, message: message.slice() })
    expect(seen(probe)).toMatchObject({ ...question, source: nobody, mac: undefined, duplicateDetection: true })
    expect(formatLine({ sighting: seen(probe), interfaceName: 'eth0', at: 0 })).toContain('probe: who has')
  })

  test.each([
    ['a changed octet', (asked: Uint8Array) => asked.with(60, 0xaa)],
    ['another hop limit', (asked: Uint8Array) => asked.with(21, 254)],
    ['an option without a length', (asked: Uint8Array) => asked.with(79, 0)],
  ])('a Neighbor Solicitation with %s is shown as invalid', (_what, damage) => {
    const asked = neighborSolicitation({ target: VIP6, source: address('fe80::7'), mac: MAC })
    const sighting = seen(damage(asked))
    expect(sighting).toMatchObject({ kind: 'ns', address: undefined })
    expect(formatLine({ sighting, interfaceName: 'eth0', at: 0 })).toContain('INVALID')
  })

  test('duplicate address detection with a link-layer option is invalid (RFC 4861 §7.1.1)', () => {
    const group = solicitedNodeGroup(VIP6)
    const message = neighborSolicitation({ target: VIP6, source: address('fe80::7'), mac: MAC })
      .slice(54)
      .fill(0, 2, 4)
    const probe = icmpv6Frame({ source: address('::'), group, mac: MAC, message })
    expect(seen(probe)).toMatchObject({ kind: 'ns', address: undefined })
  })

  test('a VLAN tag is taken off and told', () => {
    const frame = gratuitousArp({ address: VIP, mac: MAC })
    const tagged = concatBytes(frame.subarray(0, 12), uint16(0x8100), uint16(0xa005), frame.subarray(12))
    expect(seen(tagged)).toMatchObject({ what: 'gratuitous', vlan: 5, sourceMac: MAC, destinationMac: BROADCAST_MAC })
  })

  test('what is none of our business', () => {
    for (const type of [0x0800, 0x86dd, 0x88cc]) {
      const frame = concatBytes(macBytes(MAC), macBytes(OTHER), uint16(type), new Uint8Array(60))
      expect(sightingOf(frame)).toBeUndefined()
    }
  })
})

describe('lines', () => {
  const arp = seen(gratuitousArp({ address: VIP, mac: MAC }))
  const six = seen(neighborAdvertisement({ address: address('2001:db8:1234:5678:9abc:def0:1234:5678'), mac: MAC }))
  const line = (sighting: Sighting) => ({ sighting, interfaceName: 'eth0', at: 0 })

  test('the columns stand below their headings, with MAC addresses and with the longest IPv6 addresses', () => {
    const table = new CaptureTable()
    const narrow = [table.heading(), ...table.lines(line(arp))]
    const wide = [...table.lines(line(six)), ...table.lines(line(arp)), ...table.lines(line(six))]
    // The heading comes again with the first IPv6 line, and the columns keep their width afterwards.
    expect(wide.map((text) => text.split(/ +/)[1])).toEqual(['KIND', 'NA', 'ARP', 'NA'])
    for (const block of [narrow, wide]) {
      const at = ['KIND', 'FROM', 'TO', 'WHAT'].map((name) => block[0]?.indexOf(name) ?? -1)
      for (const text of block) {
        expect(at.map((column) => /^ \S/.test(text.slice(column - 1, column + 1)))).toEqual([true, true, true, true])
      }
    }
    expect(Math.max(...narrow.map((text) => text.indexOf('WHAT')))).toBeLessThan(65)
  })

  const at = Date.UTC(2026, 10, 21, 12, 0, 0, 7) + 0.25
  test('one for a person', () => {
    const [vector] = packetVectors('packets-captured')
    if (vector === undefined) throw new Error('no vectors')
    const text = formatLine({ sighting: seen(frameOf(vector)), interfaceName: 'eth0', at })
    expect(text).toMatch(
      /^\d\d:00:00\.007250 VRRPv3 {2}192\.0\.2\.10 {8}224\.0\.0\.18 {8}vrid 51, priority 100, every 1000 ms: 198\.51\.100\.1$/,
    )
  })

  test('one for a program: an object with time, interface and everything seen', () => {
    const text = formatJson({ sighting: seen(gratuitousArp({ address: VIP, mac: MAC })), interfaceName: 'eth0', at })
    expect(JSON.parse(text)).toEqual({
      at: '2026-11-21T12:00:00.007250Z',
      interface: 'eth0',
      kind: 'arp',
      what: 'gratuitous',
      address: VIP,
      mac: MAC,
      sourceMac: MAC,
      destinationMac: BROADCAST_MAC,
    })
  })
})

test('the pcap file: header and record as pcap-savefile(5) has them', () => {
  expect(toHex(pcapHeader())).toBe('d4c3b2a1020004000000000000000000ffff000001000000')
  const record = pcapRecord(Uint8Array.of(1, 2, 3), 1_700_000_000_123.456)
  expect(toHex(record)).toBe(`00f15365${'40e20100'}0300000003000000010203`)
})

test('the interface that is meant when none is named has an address and is not the loopback', () => {
  const link = { mtu: 1500, up: true, running: true }
  const links = [
    { ...link, index: 1, name: 'lo', mac: macFromBytes(new Uint8Array(6)) },
    { ...link, index: 2, name: 'eth0', mac: MAC },
    { ...link, index: 3, name: 'veth1', mac: OTHER },
  ]
  const present = (interfaceIndex: number, text: string) => ({
    interfaceIndex,
    address: address(text),
    prefixLength: 64,
    tentative: false,
    deprecated: false,
    scope: 0,
  })
  const addresses = [present(1, '127.0.0.1'), present(2, '192.0.2.1'), present(3, 'fe80::1')]
  const found = captureInterfaces({ links: () => links, addresses: () => addresses })
  expect(found.filter(({ addressed }) => addressed).map(({ name }) => name)).toEqual(['eth0'])
})
