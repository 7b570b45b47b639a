/**
 * Generates random protocol values for fast-check: every value that a VRRP router may send, and some values that it may
 * not send.
 */
import fc from 'fast-check'
import { ipv4Packet } from '../../src/simulator/ipv4-packet.ts'
import type { Advertisement } from '../../src/vrrp/advertisement.ts'
import { type Authentication, simplePassword } from '../../src/vrrp/authentication.ts'
import { encodeAdvertisement, vrrpGroup } from '../../src/vrrp/packet.ts'
import type { ChecksumForm } from '../../src/vrrp/parameters.ts'
import type { IncomingPacket } from '../../src/vrrp/receive.ts'
import { type Address, addressFromBytes, type Family } from '../../src/wire/address.ts'
import { centis } from '../../src/wire/units.ts'

export const families = fc.constantFrom<Family>('ipv4', 'ipv6')
export const checksumForm = fc.constantFrom<ChecksumForm>('message-only', 'pseudo-header')

export const addresses = (family: Family): fc.Arbitrary<Address> => {
  const length = family === 'ipv4' ? 4 : 16
  return fc.uint8Array({ minLength: length, maxLength: length }).map(addressFromBytes)
}

/** Generates host addresses: no group address, and not the address of the tests' own router (192.0.2.2, fe80::2). */
export const hosts = (family: Family): fc.Arbitrary<Address> =>
  fc
    .uint8Array({ minLength: 6, maxLength: 6 })
    .map((tail) =>
      addressFromBytes(
        family === 'ipv4'
          ? Uint8Array.of(10, ...tail.subarray(3))
          : Uint8Array.of(0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, ...tail),
      ),
    )

/** Generates VRRP versions. Version 2 exists only for IPv4 and counts its interval in whole seconds. */
export const versions = (family: Family): fc.Arbitrary<2 | 3> =>
  family === 'ipv4' ? fc.constantFrom<2 | 3>(2, 3) : fc.constant<3>(3)

export const advertisements = (
  family: Family,
  version: fc.Arbitrary<2 | 3> = versions(family),
): fc.Arbitrary<Advertisement> =>
  version.chain((each) =>
    fc.record({
      version: fc.constant(each),
      vrid: fc.integer({ min: 1, max: 255 }),
      priority: fc.integer({ min: 0, max: 255 }),
      interval: (each === 2
        ? fc.integer({ min: 1, max: 255 }).map((s) => s * 100)
        : fc.integer({ min: 1, max: 4095 })
      ).map(centis),
      addresses: fc.array(addresses(family), { minLength: 1, maxLength: 255, size: 'small' }),
    }),
  )

export const passwords: fc.Arbitrary<Authentication | undefined> = fc.option(
  fc.string({ maxLength: 12, unit: 'grapheme' }).map((text) => simplePassword(text).authentication),
  { nil: undefined },
)

export type Sent = {
  readonly family: Family
  readonly advertisement: Advertisement
  readonly checksum: ChecksumForm
  readonly authentication: Authentication | undefined
  readonly packet: IncomingPacket
}

/**
 * Generates valid packets to the VRRP group, in the form in which the raw socket of the address family delivers them.
 */
export const sentPackets: fc.Arbitrary<Sent> = families.chain((family) =>
  fc
    .record({
      advertisement: advertisements(family),
      checksum: checksumForm,
      source: hosts(family),
      password: passwords,
    })
    .map(({ advertisement, checksum, password, source }) => {
      const destination = vrrpGroup(family)
      const authentication = advertisement.version === 2 ? password : undefined
      const message = encodeAdvertisement(advertisement, { source, destination, checksum, authentication })
      const bytes = family === 'ipv4' ? ipv4Packet(message, { source, destination }) : message
      return {
        family,
        advertisement,
        checksum,
        authentication,
        packet: { family, source, destination, ttl: 255, bytes },
      }
    }),
)

/** Generates damaged copies of these octets, as a bad cable, a faulty router or an attacker would change them. */
export const damage = (bytes: Uint8Array): fc.Arbitrary<Uint8Array> =>
  fc
    .array(
      fc.oneof(
        fc.record({ kind: fc.constant('set' as const), at: fc.nat(), value: fc.nat({ max: 255 }) }),
        fc.record({ kind: fc.constant('cut' as const), at: fc.nat(), value: fc.nat({ max: 255 }) }),
        fc.record({ kind: fc.constant('insert' as const), at: fc.nat(), value: fc.nat({ max: 255 }) }),
      ),
      { minLength: 1, maxLength: 8 },
    )
    .map((steps) => {
      let octets = [...bytes]
      for (const { at, kind, value } of steps) {
        const where = at % (octets.length + 1)
        if (kind === 'set' && where < octets.length) octets[where] = value
        if (kind === 'cut') octets = octets.slice(0, where)
        if (kind === 'insert') octets.splice(where, 0, value)
      }
      return Uint8Array.from(octets)
    })
