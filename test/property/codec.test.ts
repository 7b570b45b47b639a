/**
 * Encoded packets decode to the same values, for every value that may be sent. A checksum verifies in the form in which
 * it was made.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { gratuitousArp } from '../../src/arp/gratuitous-arp.ts'
import { neighborAdvertisement } from '../../src/arp/neighbor-advertisement.ts'
import { announcementIn } from '../../src/arp/probe.ts'
import type { Advertisement } from '../../src/vrrp/advertisement.ts'
import { authenticationData } from '../../src/vrrp/authentication.ts'
import { addressesOf, checksumForms, encodeAdvertisement, readMessage } from '../../src/vrrp/packet.ts'
import { address, familyOf } from '../../src/wire/address.ts'
import { macFromBytes } from '../../src/wire/mac.ts'
import { centis } from '../../src/wire/units.ts'
import { addresses, advertisements, checksumForm, damage, families, hosts, passwords } from '../support/arbitraries.ts'
import { forAll } from '../support/for-all.ts'

const exchanges = families.chain((family) =>
  fc.record({
    family: fc.constant(family),
    advertisement: advertisements(family),
    source: hosts(family),
    destination: fc.oneof(hosts(family), addresses(family)),
    checksum: checksumForm,
    password: passwords,
  }),
)

const SOME: Advertisement = {
  version: 3,
  vrid: 51,
  priority: 100,
  interval: centis(100),
  addresses: [address('10.0.0.100')],
}

describe('VRRP codec', () => {
  test('encoding and decoding keeps a packet of both versions, families and forms, with any password', () => {
    forAll(100, [exchanges], ({ advertisement, checksum, destination, family, password, source }) => {
      const { version } = advertisement
      const authentication = version === 2 ? password : undefined
      const bytes = encodeAdvertisement(advertisement, { source, destination, checksum, authentication })
      const message = readMessage(bytes, family, version)
      if (typeof message === 'string') return expect.fail(message)
      expect({
        version: message.version,
        vrid: message.vrid,
        priority: message.priority,
        interval: message.interval,
        addresses: addressesOf(message, family),
      }).toEqual(advertisement)
      const sent = { type: authentication === undefined ? 0 : 1, data: authenticationData(authentication) }
      expect(message.authentication).toEqual(version === 2 ? sent : undefined)
      const made = version === 2 ? 'message-only' : family === 'ipv6' ? 'pseudo-header' : checksum
      expect(checksumForms(bytes, { source, destination }, version)).toContain(made)
    })
  })

  test('both checksum forms verify exactly if both encodings have the same octets (VR-CK-07)', () => {
    fc.assert(
      fc.property(
        advertisements('ipv4', fc.constant(3)),
        hosts('ipv4'),
        addresses('ipv4'),
        (advertisement, source, destination) => {
          const [plain, pseudo] = (['message-only', 'pseudo-header'] as const).map((checksum) =>
            encodeAdvertisement(advertisement, { source, destination, checksum }),
          )
          if (plain === undefined || pseudo === undefined) return
          const same = plain.every((octet, i) => octet === pseudo[i])
          const forms = checksumForms(plain, { source, destination }, 3)
          expect(forms.length === 2, `${source} to ${destination}: ${forms}`).toBe(same)
        },
      ),
      // A source address for which the sum of the pseudo-header is zero.
      { examples: [[SOME, address('1.0.30.113'), address('224.0.0.18')]] },
    )
  })
})

const macs = fc.uint8Array({ minLength: 6, maxLength: 6 }).map((bytes) => macFromBytes(bytes.with(0, 0x02)))
const frames = families
  .chain((family) => fc.record({ address: hosts(family), mac: macs }))
  .map((claim) => ({
    claim,
    frame: familyOf(claim.address) === 'ipv4' ? gratuitousArp(claim) : neighborAdvertisement(claim),
  }))

describe('the reader of address claims', () => {
  test('reads an announcement of the codec as the same claim', () => {
    forAll(100, [frames], ({ claim, frame }) => {
      expect(announcementIn(frame)).toEqual(claim)
    })
  })

  test('never throws, on any octets', () => {
    forAll(2000, [fc.uint8Array({ maxLength: 200 })], (bytes) => void announcementIn(bytes))
  })

  test('never throws, on octets that resemble a frame', () => {
    const damaged = frames.chain(({ frame }) => damage(frame))
    forAll(2000, [damaged], (bytes) => void announcementIn(bytes))
  })
})
