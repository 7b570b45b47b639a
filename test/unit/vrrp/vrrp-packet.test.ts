/**
 * Cases of the codec that are not in the vectors: refusals to encode, and one advertisement for several destinations.
 */
import { describe, expect, test } from 'vitest'
import type { Advertisement } from '../../../src/vrrp/advertisement.ts'
import { authenticationData, sameAuthenticationData, simplePassword } from '../../../src/vrrp/authentication.ts'
import { checksumForms, encodeAdvertisement, messageLength, readMessage } from '../../../src/vrrp/packet.ts'
import { advertisementDatagrams, advertisementOf } from '../../../src/vrrp/transmit.ts'
import { address } from '../../../src/wire/address.ts'
import { centis } from '../../../src/wire/units.ts'
import { fromHex, toHex } from '../../support/hex.ts'
import { parametersFor } from '../../support/parameters.ts'

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
    ['VRID 0', { vrid: 0 }, /VRID 0: an integer from 1 to 255 is required/],
    ['VRID 256', { vrid: 256 }, /VRID 256/],
    ['priority 256', { priority: 256 }, /priority 256: an integer from 0 to 255 is required/],
    ['priority -1', { priority: -1 }, /priority -1/],
    ['priority 1.5', { priority: 1.5 }, /priority 1.5/],
    ['interval 0', { interval: centis(0) }, /interval 0 cs: 1 to 4095 is required/],
    ['interval 4096', { interval: centis(4096) }, /interval 4096 cs/],
    ['interval 92.5 cs', { interval: centis(92.5) }, /interval 92.5 cs/],
    ['no address', { addresses: [] }, /0 addresses: 1 to 255 are required/],
    ['256 addresses', { addresses: many }, /256 addresses/],
    ['an IPv6 address in IPv4', { addresses: [address('fe80::1')] }, /another family than ipv4/],
  ]
  test.each(refusals)('the encoder refuses %s, which is a bug of ours', (_, change, message) => {
    expect(() => encodeAdvertisement({ ...GOOD, ...change }, { ...IPV4, checksum: 'message-only' })).toThrow(message)
  })
  test('the encoder refuses an IPv6 destination from an IPv4 source', () => {
    const mixed = { source: IPV4.source, destination: address('ff02::12'), checksum: 'message-only' } as const
    expect(() => encodeAdvertisement(GOOD, mixed)).toThrow(RangeError)
  })
  test('an IPv6 checksum has the pseudo-header whatever the option is (RFC 9568 §5.2.8)', () => {
    const ipv6: Advertisement = { ...GOOD, addresses: [address('fe80::100')] }
    const link = { source: address('fe80::3'), destination: address('ff02::12') }
    const [one, other] = (['message-only', 'pseudo-header'] as const).map((checksum) =>
      toHex(encodeAdvertisement(ipv6, { ...link, checksum })),
    )
    expect(one).toBe(other)
    expect(checksumForms(fromHex(one ?? ''), link, 3)).toEqual(['pseudo-header'])
  })
})

describe('version 2 (RFC 3768 §5)', () => {
  const TWO: Advertisement = { ...GOOD, version: 2 }
  const { authentication } = simplePassword('secret')
  const refusals: readonly [string, Partial<Advertisement>, RegExp][] = [
    ['0 s', { interval: centis(0) }, /interval 0 cs: 1 to 255 whole seconds are required/],
    ['0.4 s, which would become 0 and a flood (VR-V2-13)', { interval: centis(40) }, /interval 40 cs/],
    ['1.5 s', { interval: centis(150) }, /interval 150 cs/],
    ['256 s', { interval: centis(25_600) }, /interval 25600 cs/],
  ]
  test.each(refusals)('the encoder refuses an interval of %s in version 2', (_, change, message) => {
    expect(() => encodeAdvertisement({ ...TWO, ...change }, { ...IPV4, checksum: 'message-only' })).toThrow(message)
  })
  test('the encoder refuses version 2 over IPv6, a password in version 3, and a password that is not 8 octets', () => {
    const link = { source: address('fe80::3'), destination: address('ff02::12'), checksum: 'message-only' } as const
    expect(() => encodeAdvertisement({ ...TWO, addresses: [address('fe80::100')] }, link)).toThrow(/does not exist/)
    const plain = { ...IPV4, checksum: 'message-only' } as const
    expect(() => encodeAdvertisement(GOOD, { ...plain, authentication })).toThrow(/version 3 has none/)
    const short = { type: 'simple', octets: [1, 2, 3] } as const
    expect(() => encodeAdvertisement(TWO, { ...plain, authentication: short })).toThrow(/3 octets of authentication/)
  })
  test('a version 2 checksum has no pseudo-header, and no other sum matches (VR-V2-02)', () => {
    const [one, other] = (['message-only', 'pseudo-header'] as const).map((checksum) =>
      encodeAdvertisement(TWO, { ...IPV4, checksum, authentication }),
    )
    if (one === undefined || other === undefined) return expect.unreachable()
    expect(toHex(one)).toBe(toHex(other))
    expect(checksumForms(one, IPV4, 2)).toEqual(['message-only'])
    // A source with which the pseudo-header sums to zero.
    expect(checksumForms(one, { ...IPV4, source: address('1.0.30.113') }, 2)).toEqual(['message-only'])
  })
})

describe('simplePassword: eight octets, whatever the operator wrote (VR-V2-06)', () => {
  const cases: readonly [string, string, boolean][] = [
    ['', '0000000000000000', false],
    ['secret', '7365637265740000', false],
    ['12345678', '3132333435363738', false],
    ['123456789', '3132333435363738', true],
    ['pässwört', '70c3a4737377c3b6', true],
    ['€😀', 'e282acf09f988000', false],
  ]
  test.each(cases)('"%s"', (text, hex, cut) => {
    const made = simplePassword(text)
    expect([toHex(Uint8Array.from(made.authentication.octets)), made.cut]).toEqual([hex, cut])
  })
  test('two passwords are equal only if all eight octets are', () => {
    const data = authenticationData(simplePassword('12345678').authentication)
    expect(sameAuthenticationData(data, Uint8Array.from(data))).toBe(true)
    for (let i = 0; i < 8; i++) {
      expect(sameAuthenticationData(data, data.with(i, (data[i] ?? 0) ^ 1)), `octet ${i}`).toBe(false)
    }
    expect(sameAuthenticationData(data, data.subarray(0, 7)), 'seven octets').toBe(false)
  })
})

describe('messageLength (VR-PKT-10)', () => {
  const many = (prefix: string) => Array.from({ length: 255 }, (_, i) => address(`${prefix}${i + 1}`))
  const cases: readonly [string, Parameters<typeof parametersFor>[0], number][] = [
    ['version 3', {}, 12],
    ['version 2: with the authentication octets', { version: 2 }, 20],
    ['version 2, 255 addresses', { version: 2, addresses: many('192.0.2.') }, 1036],
    ['IPv6, 255 addresses', { family: 'ipv6', addresses: many('fe80::') }, 4088],
  ]
  test.each(cases)('%s', (_, wanted, length) => {
    const parameters = parametersFor(wanted)
    expect(messageLength(parameters)).toBe(length)
    expect(advertisementDatagrams(parameters, 100)[0]?.bytes.length, 'octets that are sent').toBe(length)
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
  test('a message of one version is a fault for a router of the other version', () => {
    const [two, three] = ['213364010001b865c00002640000000000000000', '313364010064a802c0000264'].map(fromHex)
    if (two === undefined || three === undefined) return expect.unreachable()
    expect(readMessage(three, 'ipv4', 2)).toBe('version')
    expect(readMessage(two, 'ipv4', 3)).toBe('version')
    expect(readMessage(two, 'ipv4', 2)).toMatchObject({ version: 2, interval: 100, count: 1 })
  })
  test('version 2 over IPv6 is refused, even if its octets could be read (VR-V2-11)', () => {
    const octets = fromHex(`2133640100010000${'fe800000000000000000000000000100'}${'00'.repeat(8)}`)
    expect(readMessage(octets, 'ipv6', 2)).toBe('version')
  })
})

describe('advertisementDatagrams', () => {
  test('a release is the same advertisement with priority 0 (VR-TX-02)', () => {
    const parameters = parametersFor()
    expect(advertisementOf(parameters, 0)).toEqual({ ...advertisementOf(parameters, 100), priority: 0 })
  })
  test('each unicast peer has a copy with its own checksum, and no peers means no copy (VR-UC-01, VR-UC-06)', () => {
    const peers = ['192.0.2.3', '192.0.2.4'].map((text) => ({ address: address(text) }))
    const sent = advertisementDatagrams(parametersFor({ transport: { mode: 'unicast', peers }, peers }), 100)
    expect(sent.map(({ destination }) => destination)).toEqual(['192.0.2.3', '192.0.2.4'])
    for (const { bytes, destination } of sent) {
      expect(checksumForms(bytes, { source: address('192.0.2.2'), destination }, 3)).toEqual(['pseudo-header'])
    }
    expect(advertisementDatagrams(parametersFor({ transport: { mode: 'unicast', peers: [] } }), 100)).toEqual([])
  })
  test('an IPv6 advertisement has the link-local address first, and the others in their order (VR-TX-04)', () => {
    const addresses = ['2001:db8::3', '2001:db8::1', 'fe80::9', 'fe80::1'].map(address)
    expect(advertisementOf(parametersFor({ family: 'ipv6', addresses }), 100).addresses).toEqual([
      'fe80::9',
      '2001:db8::3',
      '2001:db8::1',
      'fe80::1',
    ])
  })
})
