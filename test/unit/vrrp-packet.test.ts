/** What the vectors do not say about the codec: refusals to encode, and one advertisement for several destinations. */
import { describe, expect, test } from 'vitest'
import type { Advertisement } from '../../src/vrrp/advertisement.ts'
import { checksumForms, encodeAdvertisement, readMessage } from '../../src/vrrp/packet.ts'
import { advertisementDatagrams, advertisementOf } from '../../src/vrrp/transmit.ts'
import { address } from '../../src/wire/address.ts'
import { centis } from '../../src/wire/units.ts'
import { fromHex, toHex } from '../support/hex.ts'
import { parametersFor } from '../support/parameters.ts'

const GOOD: Advertisement = {
  version: 3,
  vrid: 51,
  priority: 100,
  interval: centis(100),
  addresses: [address('192.0.2.100')],
}
const IPV4 = { source: address('192.0.2.3'), destination: address('224.0.0.18') }

describe('encodeAdvertisement', () => {
  const many = Array.from({ length: 256 }, () => address('192.0.2.100'))
  const refusals: readonly [string, Partial<Advertisement>, RegExp][] = [
    ['version 2', { version: 2 }, /version 2: 3 wanted/],
    ['VRID 0', { vrid: 0 }, /VRID 0: 1–255 wanted/],
    ['VRID 256', { vrid: 256 }, /VRID 256/],
    ['priority 256', { priority: 256 }, /priority 256: 0–255 wanted/],
    ['priority -1', { priority: -1 }, /priority -1/],
    ['priority 1.5', { priority: 1.5 }, /priority 1.5/],
    ['interval 0', { interval: centis(0) }, /interval 0 cs: 1–4095 wanted/],
    ['interval 4096', { interval: centis(4096) }, /interval 4096 cs/],
    ['interval 92.5 cs', { interval: centis(92.5) }, /interval 92.5 cs/],
    ['no address', { addresses: [] }, /0 addresses: 1–255 wanted/],
    ['256 addresses', { addresses: many }, /256 addresses/],
    ['an IPv6 address in IPv4', { addresses: [address('fe80::1')] }, /another family than ipv4/],
  ]
  test.each(refusals)('refuses %s: that is our own bug', (_, change, message) => {
    expect(() => encodeAdvertisement({ ...GOOD, ...change }, { ...IPV4, checksum: 'message-only' })).toThrow(message)
  })
  test('refuses an IPv6 destination from an IPv4 source', () => {
    const mixed = { source: IPV4.source, destination: address('ff02::12'), checksum: 'message-only' } as const
    expect(() => encodeAdvertisement(GOOD, mixed)).toThrow(RangeError)
  })
  test('IPv6 has the pseudo-header whatever the knob says (RFC 9568 §5.2.8)', () => {
    const ipv6: Advertisement = { ...GOOD, addresses: [address('fe80::100')] }
    const link = { source: address('fe80::3'), destination: address('ff02::12') }
    const [one, other] = (['message-only', 'pseudo-header'] as const).map((checksum) =>
      toHex(encodeAdvertisement(ipv6, { ...link, checksum })),
    )
    expect(one).toBe(other)
    expect(checksumForms(fromHex(one ?? ''), link)).toEqual(['pseudo-header'])
  })
})

describe('readMessage names what is wrong in the order of VR-RX-10', () => {
  const cases: readonly [string, string, string][] = [
    ['nothing', '', 'truncated'],
    ['one octet of another version', '21', 'version'],
    ['one octet of another type', '32', 'type'],
    ['seven octets', '31336401006400', 'truncated'],
    ['an address too few', '3133640100640000', 'length'],
    ['an octet too many', '3133640100640000c000026400', 'length'],
  ]
  test.each(cases)('%s', (_, hex, fault) => {
    expect(readMessage(fromHex(hex), 'ipv4', 3)).toBe(fault)
  })
  test('a version 3 message is none for a version 2 router, and version 2 is not read yet', () => {
    expect(readMessage(fromHex('313364010064a802c0000264'), 'ipv4', 2)).toBe('version')
    expect(readMessage(fromHex('213364010001b865c00002640000000000000000'), 'ipv4', 2)).toBe('version')
  })
})

describe('advertisementDatagrams', () => {
  test('a release is the same advertisement with priority 0 (VR-TX-02)', () => {
    const parameters = parametersFor()
    expect(advertisementOf(parameters, 0)).toEqual({ ...advertisementOf(parameters, 100), priority: 0 })
  })
  test('one copy per unicast peer, each with its own checksum; none without peers (VR-UC-01, VR-UC-06)', () => {
    const peers = ['192.0.2.3', '192.0.2.4'].map((text) => ({ address: address(text) }))
    const sent = advertisementDatagrams(parametersFor({ transport: { mode: 'unicast', peers }, peers }), 100)
    expect(sent.map(({ destination }) => destination)).toEqual(['192.0.2.3', '192.0.2.4'])
    for (const { bytes, destination } of sent) {
      expect(checksumForms(bytes, { source: address('192.0.2.2'), destination })).toEqual(['pseudo-header'])
    }
    expect(advertisementDatagrams(parametersFor({ transport: { mode: 'unicast', peers: [] } }), 100)).toEqual([])
  })
  test('IPv6: the link-local address goes first, the others keep their order (VR-TX-04)', () => {
    const addresses = ['2001:db8::3', '2001:db8::1', 'fe80::9', 'fe80::1'].map(address)
    expect(advertisementOf(parametersFor({ family: 'ipv6', addresses }), 100).addresses).toEqual([
      'fe80::9',
      '2001:db8::3',
      '2001:db8::1',
      'fe80::1',
    ])
  })
})
