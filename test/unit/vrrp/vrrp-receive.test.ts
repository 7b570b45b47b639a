/** The order of the checks, and the options that the vectors (profile rfc9568) do not set. */
import { describe, expect, test } from 'vitest'
import { ipv4Packet } from '../../../src/simulator/ipv4-packet.ts'
import { type Advertisement, DISCARD_REASONS } from '../../../src/vrrp/advertisement.ts'
import { simplePassword } from '../../../src/vrrp/authentication.ts'
import { encodeAdvertisement, vrrpGroup } from '../../../src/vrrp/packet.ts'
import type { ChecksumForm, Parameters } from '../../../src/vrrp/parameters.ts'
import { advertisementWarnings, type IncomingPacket, receive } from '../../../src/vrrp/receive.ts'
import { type Address, address } from '../../../src/wire/address.ts'
import { checksumOf, wordSum } from '../../../src/wire/checksum.ts'
import { centis } from '../../../src/wire/units.ts'
import { parametersFor } from '../../support/parameters.ts'

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
  readonly password?: string
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
  const authentication = sent.password === undefined ? undefined : simplePassword(sent.password).authentication
  const message = damage(encodeAdvertisement(advertisement, { source, destination, checksum, authentication }))
  return { family: 'ipv4', source, destination, ttl, bytes: ipv4Packet(message, { source, destination, ttl }) }
}

const hear = (sent: Sent, parameters: Parameters = parametersFor()) =>
  receive(
    packet(sent),
    (vrid) => (vrid === parameters.vrid ? parameters : undefined),
    (candidate) => candidate === OWN,
  )

const flipped = (message: Uint8Array) => message.map((octet, i) => (i === 2 ? octet ^ 1 : octet))

describe('the order of the checks (VR-RX-10): of two faults the earlier one is reported', () => {
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

  test('a discarded packet has the VRID of the packet, if there is one', () => {
    expect(hear({ advertisement: { vrid: 7 } })).toEqual({
      kind: 'discarded',
      reason: 'vrid-unknown',
      vrid: 7,
      version: 3,
    })
    expect(hear({ damage: (m) => m.subarray(0, 1) })).toMatchObject({ reason: 'truncated', vrid: undefined })
  })

  test('VRID 0 matches no router (VR-PKT-04)', () => {
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
    expect(received).toEqual({ kind: 'discarded', reason: 'vrid-unknown', vrid: 0, version: 3 })
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
    // A source with which the pseudo-header sums to zero.
    const received = hear({ source: address('1.0.30.113') }, parametersFor({ knobs: { checksum: ours } }))
    expect(received).toMatchObject({ kind: 'accepted', warnings: [] })
    expect(received.kind === 'accepted' ? received.checksumForms : received).toHaveLength(2)
  },
)

describe('unicast', () => {
  const unlisted = address('192.0.2.77')
  test.each([
    ['holdfast', unlisted, { kind: 'accepted', warnings: ['unlisted-peer'] }],
    ['keepalived', unlisted, { kind: 'accepted', warnings: ['unlisted-peer'] }],
    ['rfc9568', unlisted, { kind: 'discarded', reason: 'unknown-peer' }],
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

  test('a unicast router discards a multicast packet, from this link or another one', () => {
    const parameters = parametersFor({ transport: UNICAST })
    expect(hear({}, parameters)).toMatchObject({ reason: 'multicast-unexpected' })
    expect(hear({ ttl: 64 }, parameters)).toMatchObject({ reason: 'ttl' })
  })

  const ranged = (least: number, most: number): Parameters =>
    parametersFor({ transport: { mode: 'unicast', peers: [{ address: PEER, ttl: { least, most } }] } })
  test.each([
    [249, 'ttl-range'],
    [250, 'accepted'],
    [252, 'accepted'],
    [253, 'ttl-range'],
    [255, 'ttl-range'],
  ] as const)('TTL range 250 to 252, TTL %i: %s (VR-UC-04)', (ttl, expected) => {
    const received = hear({ destination: OWN, ttl }, ranged(250, 252))
    expect(received.kind === 'accepted' ? 'accepted' : received.reason).toBe(expected)
  })
  test('a TTL range applies to its own peer only', () => {
    expect(hear({ destination: OWN, ttl: 9, source: unlisted }, ranged(250, 252))).toMatchObject({
      kind: 'accepted',
      warnings: ['unlisted-peer'],
    })
  })

  describe('oldUnicastChecksum (VR-UC-07)', () => {
    // Packet as keepalived up to 1.3.6 made it: the checksum names the group, the packet comes to us.
    const old = (): IncomingPacket => {
      const advertisement: Advertisement = {
        version: 3,
        vrid: 51,
        priority: 100,
        interval: centis(100),
        addresses: [address('192.0.2.100')],
      }
      const message = encodeAdvertisement(advertisement, {
        source: PEER,
        destination: GROUP,
        checksum: 'pseudo-header',
      })
      return {
        family: 'ipv4',
        source: PEER,
        destination: OWN,
        ttl: 255,
        bytes: ipv4Packet(message, { source: PEER, destination: OWN }),
      }
    }
    const hearOld = (parameters: Parameters) =>
      receive(
        old(),
        () => parameters,
        () => false,
      )
    const knobs = { oldUnicastChecksum: true }
    test('the old unicast checksum is refused unless oldUnicastChecksum is on, and then has a warning', () => {
      expect(hearOld(parametersFor({ transport: UNICAST }))).toMatchObject({ reason: 'checksum' })
      expect(hearOld(parametersFor({ transport: UNICAST, knobs }))).toMatchObject({
        kind: 'accepted',
        checksumForms: ['pseudo-header-multicast'],
        warnings: ['checksum-form-differs'],
      })
    })
    test('oldUnicastChecksum does not relax a strict checksumAccepted, and has no effect in multicast', () => {
      const strict = { ...knobs, checksumAccepted: 'pseudo-header' } as const
      expect(hearOld(parametersFor({ transport: UNICAST, knobs: strict }))).toMatchObject({ reason: 'checksum' })
      expect(hearOld(parametersFor({ knobs }))).toMatchObject({ reason: 'checksum' })
    })
    test('a checksum that matches a present form is not reported as the old form', () => {
      expect(hear({ destination: OWN }, parametersFor({ transport: UNICAST, knobs }))).toMatchObject({
        checksumForms: ['pseudo-header'],
        warnings: [],
      })
    })
    test('a damaged packet is discarded with oldUnicastChecksum, too', () => {
      expect(hear({ destination: OWN, damage: flipped }, parametersFor({ transport: UNICAST, knobs }))).toMatchObject({
        reason: 'checksum',
      })
    })
  })

  test('multicast requires TTL 255 whatever ttlCheck is', () => {
    expect(hear({ ttl: 254 }, parametersFor({ knobs: { ttlCheck: false } }))).toMatchObject({ reason: 'ttl' })
  })
})

describe('multicast groups', () => {
  const group = address('239.1.2.3')
  const parameters = parametersFor({ transport: { mode: 'multicast', group } })
  test('a router with another multicast group accepts that group only (VR-RX-17)', () => {
    expect(hear({ destination: group }, parameters)).toMatchObject({ kind: 'accepted' })
    expect(hear({ destination: GROUP }, parameters)).toMatchObject({ reason: 'destination' })
  })
})

/** Corrects the checksum of a changed version 2 message, as an attacker can. */
function resummed(change: (message: Uint8Array) => Uint8Array): (message: Uint8Array) => Uint8Array {
  return (message) => {
    const changed = Uint8Array.from(change(message))
    const view = new DataView(changed.buffer)
    view.setUint16(6, 0)
    view.setUint16(6, checksumOf(wordSum(changed)))
    return changed
  }
}

describe('version 2 (RFC 3768 §7.1)', () => {
  const TWO = { version: 2 } as const
  const open = parametersFor({ version: 2 })
  const locked = parametersFor({ version: 2, ...simplePassword('secret') })
  const other = [address('192.0.2.9')]

  test('a version 2 router accepts a packet with its own authentication only', () => {
    expect(hear({ advertisement: TWO }, open)).toMatchObject({ kind: 'accepted', warnings: [], advertisement: TWO })
    expect(hear({ advertisement: TWO, password: 'secret' }, locked)).toMatchObject({ kind: 'accepted', warnings: [] })
  })

  test('only eight octets of a version 2 password count (VR-V2-06)', () => {
    const long = parametersFor({ version: 2, ...simplePassword('123456789') })
    expect(hear({ advertisement: TWO, password: '12345678' }, long)).toMatchObject({ kind: 'accepted' })
    expect(hear({ advertisement: TWO, password: '1234567' }, long)).toMatchObject({ reason: 'auth-data' })
  })

  test.each([
    ['holdfast', true],
    ['rfc9568', true],
    ['holdfast', false],
  ] as const)('its one checksum is no matter of taste: profile %s, pseudo-header wanted %s', (profile, strict) => {
    const knobs = strict ? ({ checksumAccepted: 'pseudo-header' } as const) : {}
    const parameters = parametersFor({ version: 2, profile, knobs })
    expect(hear({ advertisement: TWO }, parameters)).toMatchObject({ kind: 'accepted', warnings: [] })
  })

  const cases: readonly [string, Sent, Parameters, string][] = [
    ['version 3 at a version 2 router', {}, open, 'version'],
    ['version 2 at a version 3 router', { advertisement: TWO }, parametersFor(), 'version'],
    ['checksum before VRID', { advertisement: { ...TWO, vrid: 7 }, damage: flipped }, open, 'checksum'],
    [
      'another group of version 2, here version 3 runs',
      { advertisement: { ...TWO, vrid: 7 } },
      parametersFor(),
      'vrid-unknown',
    ],
    ['the way it came before authentication', { advertisement: TWO, destination: OWN }, locked, 'unicast-unexpected'],
    ['a password where none is wanted', { advertisement: TWO, password: 'secret' }, open, 'auth-type'],
    ['none where one is wanted', { advertisement: TWO }, locked, 'auth-type'],
    [
      'Auth Type 2',
      { advertisement: TWO, password: 'secret', damage: resummed((m) => m.with(4, 2)) },
      locked,
      'auth-type',
    ],
    [
      'authentication before the interval',
      { advertisement: { ...TWO, interval: centis(200) }, password: 'Secret' },
      locked,
      'auth-data',
    ],
    [
      'the interval before the addresses',
      { advertisement: { ...TWO, interval: centis(200), addresses: other } },
      parametersFor({ version: 2, knobs: { addressListCheck: true } }),
      'interval-mismatch',
    ],
    ['interval 0', { advertisement: TWO, damage: resummed((m) => m.with(5, 0)) }, open, 'interval-mismatch'],
  ]
  test.each(cases)('%s', (_, sent, parameters, reason) => {
    expect(hear(sent, parameters)).toMatchObject({ kind: 'discarded', reason })
  })

  test('a discarded packet has the version of the packet', () => {
    expect(hear({ advertisement: TWO })).toEqual({ kind: 'discarded', reason: 'version', vrid: 51, version: 2 })
    expect(hear({}, open)).toEqual({ kind: 'discarded', reason: 'version', vrid: 51, version: 3 })
  })

  const none = resummed((m) => {
    const shorter = new Uint8Array(m.length - 4)
    shorter.set(m.subarray(0, 8))
    return shorter.with(3, 0)
  })
  test('a version 2 packet without addresses is accepted with a warning of its own (VR-V2-09)', () => {
    expect(hear({ advertisement: TWO, damage: none }, open)).toMatchObject({
      kind: 'accepted',
      advertisement: { addresses: [] },
      warnings: ['addr-count-zero'],
    })
  })
})

describe('addressListCheck (VR-V2-08)', () => {
  const addresses = [address('192.0.2.9')]
  const cases = ([2, 3] as const).flatMap(
    (version) =>
      [
        [version, true, 100, { kind: 'discarded', reason: 'address-list-mismatch' }],
        [version, true, 0, { kind: 'discarded', reason: 'address-list-mismatch' }],
        [version, true, 255, { kind: 'accepted', warnings: ['address-list-mismatch'] }],
        [version, false, 100, { kind: 'accepted', warnings: ['address-list-mismatch'] }],
      ] as const,
  )
  test.each(cases)('version %i, knob %s, priority %i', (version, addressListCheck, priority, expected) => {
    const parameters = parametersFor({ version, knobs: { addressListCheck } })
    expect(hear({ advertisement: { version, addresses, priority } }, parameters)).toMatchObject(expected)
  })

  test('the same addresses in another order are the same list', () => {
    const list = ['192.0.2.100', '192.0.2.9'].map(address)
    const parameters = parametersFor({ addresses: list, knobs: { addressListCheck: true } })
    expect(hear({ advertisement: { addresses: list.toReversed() } }, parameters)).toMatchObject({ kind: 'accepted' })
  })

  test.each([
    ['holdfast', 2, false],
    ['holdfast', 3, false],
    ['keepalived', 2, false],
    ['rfc9568', 2, true],
    ['rfc9568', 3, false],
  ] as const)('profile %s, version %i: %s', (profile, version, expected) => {
    expect(parametersFor({ profile, version }).reception.addressListCheck).toBe(expected)
  })
})

describe('intervalCheck', () => {
  const other = { interval: centis(4095) }
  test.each([
    [3, false, 100, { kind: 'accepted', warnings: ['interval-mismatch'] }],
    [3, true, 100, { kind: 'discarded', reason: 'interval-mismatch' }],
    [3, true, 255, { kind: 'discarded', reason: 'interval-mismatch' }],
    [3, true, 0, { kind: 'discarded', reason: 'interval-mismatch' }],
  ] as const)('version %i, knob %s, priority %i', (version, intervalCheck, priority, expected) => {
    const parameters = parametersFor({ version, knobs: { intervalCheck } })
    expect(hear({ advertisement: { ...other, version, priority } }, parameters)).toMatchObject(expected)
  })

  test('intervalCheck accepts our own interval', () => {
    const parameters = parametersFor({ knobs: { intervalCheck: true } })
    expect(hear({}, parameters)).toMatchObject({ kind: 'accepted' })
  })
})

describe('IPv6', () => {
  const parameters = parametersFor({ family: 'ipv6' })
  const link = { source: address('fe80::3'), destination: vrrpGroup('ipv6') }
  const message = (addresses: readonly string[], ends = link) =>
    encodeAdvertisement(
      { version: 3, vrid: 51, priority: 100, interval: centis(100), addresses: addresses.map(address) },
      { ...ends, checksum: 'pseudo-header' },
    )
  const hear6 = (
    change: Partial<IncomingPacket>,
    addresses: readonly string[] = ['fe80::100', '2001:db8::100'],
    heard = parameters,
  ) =>
    receive(
      { family: 'ipv6', ...link, ttl: 255, bytes: message(addresses), ...change },
      (vrid) => (vrid === 51 ? heard : undefined),
      () => false,
    )

  test('a valid IPv6 advertisement is accepted', () =>
    expect(hear6({})).toMatchObject({ kind: 'accepted', warnings: [] }))
  test('an unknown hop limit is accepted from a link-local source only, because no router forwards it', () => {
    expect(hear6({ ttl: undefined, source: address('2001:db8::3') })).toMatchObject({ reason: 'ttl' })
    expect(hear6({ ttl: undefined })).toMatchObject({ kind: 'accepted' })
    expect(hear6({ ttl: 64 }), 'one that it told').toMatchObject({ reason: 'ttl' })
  })
  test('a global IPv6 source causes a warning, except from a listed unicast peer (VR-RX-19)', () => {
    const source = address('2001:db8::3')
    const hearFrom = (transport: Parameters['transport']) => {
      const destination = transport.mode === 'multicast' ? transport.group : address('2001:db8::4')
      const bytes = message(parameters.addresses, { source, destination })
      return hear6({ source, destination, bytes }, parameters.addresses, parametersFor({ family: 'ipv6', transport }))
    }
    expect(hearFrom({ mode: 'unicast', peers: [{ address: source }] })).toMatchObject({
      kind: 'accepted',
      warnings: [],
    })
    expect(hearFrom({ mode: 'unicast', peers: [] })).toMatchObject({
      kind: 'accepted',
      warnings: ['unlisted-peer', 'source-not-link-local'],
    })
    expect(hearFrom(parameters.transport)).toMatchObject({ kind: 'accepted', warnings: ['source-not-link-local'] })
  })
  test('an IPv6 packet without a destination is discarded', () => {
    expect(hear6({ destination: undefined })).toMatchObject({ reason: 'destination' })
  })
  test('an IPv6 packet without a link-local first address is refused with rfc9568 and accepted with holdfast (VR-RX-18)', () => {
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
  test('an advertisement like ours has no warnings', () =>
    expect(advertisementWarnings(heard, parametersFor())).toEqual([]))
  test('an advertisement may have several warnings', () => {
    const other = { ...heard, interval: centis(50), addresses: [address('192.0.2.9')] }
    expect(advertisementWarnings(other, parametersFor({ priority: 255 }))).toEqual([
      'interval-mismatch',
      'address-list-mismatch',
      'advert-received-while-owner',
    ])
  })
  test('an owner warns of another owner (EID 8298)', () => {
    expect(advertisementWarnings({ ...heard, priority: 255 }, parametersFor({ priority: 255 }))).toEqual([
      'multiple-owners',
    ])
  })
})

describe('an address owner that receives an advertisement (RFC 9568 §7.1 with EID 8298)', () => {
  const owner = parametersFor({ priority: 255 })
  test('an advertisement of a Backup that took over is accepted by the owner with a warning', () => {
    expect(hear({ advertisement: { priority: 100 } }, owner)).toMatchObject({
      kind: 'accepted',
      warnings: ['advert-received-while-owner'],
    })
  })
  test('an advertisement of a second owner is accepted with two warnings', () => {
    expect(hear({ advertisement: { priority: 255 } }, owner)).toMatchObject({
      kind: 'accepted',
      warnings: ['multiple-owners', 'advert-received-while-owner'],
    })
  })
})

test('reasons are label values: unique and free of spaces', () => {
  expect(new Set(DISCARD_REASONS).size).toBe(DISCARD_REASONS.length)
  expect(DISCARD_REASONS.filter((reason) => !/^[a-z-]+$/.test(reason))).toEqual([])
})
