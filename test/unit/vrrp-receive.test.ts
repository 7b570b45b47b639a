/** The ladder's order, and the profiles' knobs that the vectors (profile rfc9568) do not turn. */
import { describe, expect, test } from 'vitest'
import { type Advertisement, DISCARD_REASONS } from '../../src/vrrp/advertisement.ts'
import { encodeAdvertisement, vrrpGroup } from '../../src/vrrp/packet.ts'
import type { ChecksumForm, Parameters } from '../../src/vrrp/parameters.ts'
import { advertisementWarnings, type IncomingPacket, receive } from '../../src/vrrp/receive.ts'
import { type Address, address } from '../../src/wire/address.ts'
import { centis } from '../../src/wire/units.ts'
import { ipv4Packet } from '../support/ipv4-packet.ts'
import { parametersFor } from '../support/parameters.ts'

const PEER = address('192.0.2.3')
const OWN = address('192.0.2.2')
const GROUP = vrrpGroup('ipv4')
const UNICAST = { mode: 'unicast', peers: [{ address: PEER }] } as const

type Sent = {
  readonly advertisement?: Partial<Advertisement>
  readonly source?: Address
  readonly destination?: Address
  readonly ttl?: number
  readonly checksum?: ChecksumForm
  /** Changes octets of the message after its checksum was computed. */
  readonly damage?: (message: Uint8Array) => Uint8Array
}

function packet(sent: Sent = {}): IncomingPacket {
  const { source = PEER, destination = GROUP, ttl = 255, checksum = 'pseudo-header', damage = (m) => m } = sent
  const advertisement: Advertisement = {
    version: 3,
    vrid: 51,
    priority: 100,
    interval: centis(100),
    addresses: [address('192.0.2.100')],
    ...sent.advertisement,
  }
  const message = damage(encodeAdvertisement(advertisement, { source, destination, checksum }))
  return { family: 'ipv4', source, destination, ttl, bytes: ipv4Packet(message, { source, destination, ttl }) }
}

const hear = (sent: Sent, parameters: Parameters = parametersFor()) =>
  receive(
    packet(sent),
    (vrid) => (vrid === parameters.vrid ? parameters : undefined),
    (candidate) => candidate === OWN,
  )

const flipped = (message: Uint8Array) => message.map((octet, i) => (i === 2 ? octet ^ 1 : octet))

describe('order of the ladder (VR-RX-10): of two faults the earlier is named', () => {
  const cases: readonly [string, Sent, string][] = [
    ['own source before TTL', { source: OWN, ttl: 1 }, 'self-originated'],
    ['group before TTL', { destination: address('224.0.0.19'), ttl: 1 }, 'destination'],
    ['TTL before version', { ttl: 254, damage: (m) => m.fill(0x21, 0, 1) }, 'ttl'],
    ['version before type', { damage: (m) => m.fill(0x42, 0, 1) }, 'version'],
    ['type before length', { damage: (m) => m.fill(0x32, 0, 1).subarray(0, 9) }, 'type'],
    ['length before checksum', { damage: (m) => flipped(m).subarray(0, 11) }, 'length'],
    ['checksum before VRID', { advertisement: { vrid: 7 }, damage: flipped }, 'checksum'],
    ['VRID', { advertisement: { vrid: 7 } }, 'vrid-unknown'],
    ['VRID before the way it came', { advertisement: { vrid: 7 }, destination: OWN }, 'vrid-unknown'],
    ['the way it came', { destination: OWN }, 'unicast-unexpected'],
  ]
  test.each(cases)('%s', (_, sent, reason) => {
    expect(hear(sent)).toMatchObject({ kind: 'discarded', reason })
  })

  test('the VRID is told as it stands in the packet, where there is one', () => {
    expect(hear({ advertisement: { vrid: 7 } })).toEqual({ kind: 'discarded', reason: 'vrid-unknown', vrid: 7 })
    expect(hear({ damage: (m) => m.subarray(0, 1) })).toMatchObject({ reason: 'truncated', vrid: undefined })
  })

  test('VRID 0 belongs to nobody, even if somebody offers a router for it (VR-PKT-04)', () => {
    const toVridZero = (message: Uint8Array) => {
      const copy = Uint8Array.from(message)
      const view = new DataView(copy.buffer)
      // The VRID is the low octet of its word, so the checksum grows by what the VRID loses.
      view.setUint16(6, view.getUint16(6) + view.getUint8(1))
      view.setUint8(1, 0)
      return copy
    }
    const zero = packet({ checksum: 'message-only', damage: toVridZero })
    const received = receive(
      zero,
      () => parametersFor(),
      () => false,
    )
    expect(received).toEqual({ kind: 'discarded', reason: 'vrid-unknown', vrid: 0 })
  })
})

describe('checksum (VR-CK-05, VR-CK-06, VR-CK-10)', () => {
  const forms = ['message-only', 'pseudo-header'] as const
  test.each(forms.flatMap((sent) => forms.map((ours) => [sent, ours] as const)))(
    'a peer sends %s, we send %s',
    (checksum, ours) => {
      expect(hear({ checksum }, parametersFor({ knobs: { checksum: ours } }))).toMatchObject({
        kind: 'accepted',
        checksumForms: [checksum],
        warnings: checksum === ours ? [] : ['checksum-form-differs'],
      })
    },
  )
  test.each(forms.flatMap((sent) => forms.map((accepted) => [sent, accepted] as const)))(
    'a peer sends %s, we accept %s only',
    (checksum, checksumAccepted) => {
      expect(hear({ checksum }, parametersFor({ knobs: { checksumAccepted } }))).toMatchObject(
        checksum === checksumAccepted ? { kind: 'accepted' } : { kind: 'discarded', reason: 'checksum' },
      )
    },
  )
})

test.each(['message-only', 'pseudo-header'] as const)(
  'a packet that verifies in both forms tells nothing about the peer, we send %s (VR-CK-07)',
  (ours) => {
    // A source for which the pseudo-header adds up to nothing.
    const received = hear({ source: address('1.0.30.113') }, parametersFor({ knobs: { checksum: ours } }))
    expect(received).toMatchObject({ kind: 'accepted', warnings: [] })
    expect(received.kind === 'accepted' ? received.checksumForms : received).toHaveLength(2)
  },
)

describe('unicast', () => {
  const stranger = address('192.0.2.77')
  test.each([
    ['holdfast', stranger, { kind: 'accepted', warnings: ['unlisted-peer'] }],
    ['keepalived', stranger, { kind: 'accepted', warnings: ['unlisted-peer'] }],
    ['rfc9568', stranger, { kind: 'discarded', reason: 'unknown-peer' }],
    ['holdfast', PEER, { kind: 'accepted', warnings: [] }],
  ] as const)('profile %s, source %s', (profile, source, expected) => {
    const parameters = parametersFor({ profile, transport: UNICAST, knobs: { checksum: 'pseudo-header' } })
    expect(hear({ source, destination: OWN }, parameters)).toMatchObject(expected)
  })

  test.each([
    ['holdfast', 64, 'accepted'],
    ['rfc9568', 64, 'ttl'],
    ['rfc9568', 255, 'accepted'],
  ] as const)('profile %s, TTL %i: %s (VR-UC-03)', (profile, ttl, expected) => {
    const received = hear({ destination: OWN, ttl }, parametersFor({ profile, transport: UNICAST }))
    expect(received.kind === 'accepted' ? 'accepted' : received.reason).toBe(expected)
  })

  test('a group packet to a unicast router, from the link or from afar', () => {
    const parameters = parametersFor({ transport: UNICAST })
    expect(hear({}, parameters)).toMatchObject({ reason: 'multicast-unexpected' })
    expect(hear({ ttl: 64 }, parameters)).toMatchObject({ reason: 'ttl' })
  })

  test('multicast always wants TTL 255, whatever ttlCheck says', () => {
    expect(hear({ ttl: 254 }, parametersFor({ knobs: { ttlCheck: false } }))).toMatchObject({ reason: 'ttl' })
  })
})

describe('multicast groups', () => {
  const group = address('239.1.2.3')
  const parameters = parametersFor({ transport: { mode: 'multicast', group } })
  test('the configured group counts, and then the usual one does not (VR-RX-17)', () => {
    expect(hear({ destination: group }, parameters)).toMatchObject({ kind: 'accepted' })
    expect(hear({ destination: GROUP }, parameters)).toMatchObject({ reason: 'destination' })
  })
})

describe('IPv6', () => {
  const parameters = parametersFor({ family: 'ipv6' })
  const link = { source: address('fe80::3'), destination: vrrpGroup('ipv6') }
  const message = (addresses: readonly string[]) =>
    encodeAdvertisement(
      { version: 3, vrid: 51, priority: 100, interval: centis(100), addresses: addresses.map(address) },
      { ...link, checksum: 'pseudo-header' },
    )
  const hear6 = (change: Partial<IncomingPacket>, addresses = ['fe80::100', '2001:db8::100'], heard = parameters) =>
    receive(
      { family: 'ipv6', ...link, ttl: 255, bytes: message(addresses), ...change },
      (vrid) => (vrid === 51 ? heard : undefined),
      () => false,
    )

  test('accepted', () => expect(hear6({})).toMatchObject({ kind: 'accepted', warnings: [] }))
  test('a hop limit that the kernel did not tell is not 255', () => {
    expect(hear6({ ttl: undefined })).toMatchObject({ reason: 'ttl' })
  })
  test('without a destination nothing can be verified', () => {
    expect(hear6({ destination: undefined })).toMatchObject({ reason: 'destination' })
  })
  test('first address: refused with rfc9568, taken with holdfast (VR-RX-18)', () => {
    const strict = parametersFor({ family: 'ipv6', profile: 'rfc9568' })
    expect(hear6({}, ['2001:db8::100'], strict)).toMatchObject({ reason: 'first-addr-not-link-local' })
    expect(hear6({}, ['2001:db8::100'])).toMatchObject({ kind: 'accepted', warnings: ['address-list-mismatch'] })
  })
})

describe('advertisementWarnings', () => {
  const heard: Advertisement = {
    version: 3,
    vrid: 51,
    priority: 100,
    interval: centis(100),
    addresses: [address('192.0.2.100')],
  }
  test('nothing to say', () => expect(advertisementWarnings(heard, parametersFor())).toEqual([]))
  test('everything at once', () => {
    const other = { ...heard, interval: centis(50), addresses: [address('192.0.2.9')] }
    expect(advertisementWarnings(other, parametersFor({ priority: 255 }))).toEqual([
      'interval-mismatch',
      'address-list-mismatch',
      'advert-received-while-owner',
    ])
  })
  test('two owners (EID 8298)', () => {
    expect(advertisementWarnings({ ...heard, priority: 255 }, parametersFor({ priority: 255 }))).toEqual([
      'multiple-owners',
    ])
  })
})

test('reasons are label values: unique and free of spaces', () => {
  expect(new Set(DISCARD_REASONS).size).toBe(DISCARD_REASONS.length)
  expect(DISCARD_REASONS.filter((reason) => !/^[a-z-]+$/.test(reason))).toEqual([])
})
