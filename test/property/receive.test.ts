/** Property tests of `receive`: it never throws, and no single flipped bit stays unnoticed. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DISCARD_REASONS } from '../../src/vrrp/advertisement.ts'
import type { Parameters } from '../../src/vrrp/parameters.ts'
import { type IncomingPacket, type Received, receive } from '../../src/vrrp/receive.ts'
import { address } from '../../src/wire/address.ts'
import { damage, families, type Sent, sentPackets } from '../support/arbitraries.ts'
import { forAll } from '../support/for-all.ts'
import { toHex } from '../support/hex.ts'
import { parametersFor } from '../support/parameters.ts'

const OWN = [address('192.0.2.2'), address('fe80::2')]

/** Returns the configuration of a router that accepts the packet `bytes`. */
const listenerOf = ({ advertisement, authentication }: Sent): Partial<Parameters> => ({
  version: advertisement.version,
  advertisementInterval: advertisement.interval,
  authentication,
})

/** Receives a packet on a node that runs every VRID of the packet's family. */
function hear(packet: IncomingPacket, over: Partial<Parameters> = {}): Received {
  return receive(
    packet,
    (vrid) => parametersFor({ family: packet.family, ...over, vrid }),
    (candidate) => OWN.includes(candidate),
  )
}

const wellFormed = (received: Received): void => {
  if (received.kind === 'discarded') expect(DISCARD_REASONS).toContain(received.reason)
  else expect(received.advertisement.addresses.length).toBeGreaterThan(0)
}

const envelopes = families.chain((family) =>
  fc.record({
    family: fc.constant(family),
    source: fc.constant(family === 'ipv4' ? address('10.0.0.3') : address('fe80::3')),
    destination: fc.constantFrom(undefined, address('224.0.0.18'), address('ff02::12'), address('fe80::2')),
    ttl: fc.constantFrom(undefined, 255, 64),
  }),
)

describe('receive', () => {
  test('receive accepts every valid packet with the sent content', () => {
    forAll(100, [sentPackets], (sent) => {
      const { advertisement, checksum, family, packet } = sent
      const received = hear(packet, listenerOf(sent))
      expect(received).toMatchObject({ kind: 'accepted', advertisement, source: packet.source })
      if (received.kind !== 'accepted') return
      const made = advertisement.version === 2 ? 'message-only' : family === 'ipv6' ? 'pseudo-header' : checksum
      expect(received.checksumForms).toContain(made)
    })
  })

  test('receive never throws on any octets', () => {
    forAll(3000, [envelopes, fc.uint8Array({ maxLength: 300 })], (envelope, bytes) =>
      wellFormed(hear({ ...envelope, bytes })),
    )
  })

  test('receive never throws on any mutation of a valid packet', () => {
    const damaged = sentPackets.chain((sent) =>
      damage(sent.packet.bytes).map((bytes) => ({ packet: { ...sent.packet, bytes }, listener: listenerOf(sent) })),
    )
    forAll(3000, [damaged], ({ listener, packet }) => wellFormed(hear(packet, listener)))
  })

  /**
   * A checksum changes with every single bit, so a packet never keeps its form after a flip. A packet may turn into the
   * other form (VR-CK-05 accepts that). In this case `checksumForms` differs, even if the flipped bit is reserved and
   * the values stay the same.
   */
  test('a packet with a single flipped bit is discarded or visibly different', () => {
    const flips = sentPackets.chain(({ packet, ...sent }) =>
      fc.nat({ max: packet.bytes.length * 8 - 1 }).map((bit) => {
        const bytes = Uint8Array.from(packet.bytes)
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        return { packet, bit, flipped: { ...packet, bytes }, listener: listenerOf({ packet, ...sent }) }
      }),
    )
    forAll(3000, [flips], ({ bit, flipped, listener, packet }) => {
      const after = hear(flipped, listener)
      if (after.kind === 'discarded') return
      expect(after, `bit ${bit} of ${toHex(packet.bytes)} made no difference`).not.toEqual(hear(packet, listener))
    })
  })

  test('with one accepted checksum form every packet with a flipped bit is discarded', () => {
    const strict = sentPackets.chain(({ checksum, packet, ...sent }) =>
      fc.nat({ max: packet.bytes.length * 8 - 1 }).map((bit) => {
        const bytes = Uint8Array.from(packet.bytes)
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        const listener = listenerOf({ checksum, packet, ...sent })
        return { checksum, flipped: { ...packet, bytes }, packet, bit, listener }
      }),
    )
    forAll(2000, [strict], ({ bit, checksum, flipped, listener, packet }) => {
      const { reception } = parametersFor({ knobs: { checksumAccepted: checksum } })
      expect(hear(packet, { ...listener, reception }), 'before the flip').toMatchObject({ kind: 'accepted' })
      expect(hear(flipped, { ...listener, reception }), `bit ${bit} of ${toHex(packet.bytes)}`).toMatchObject({
        kind: 'discarded',
      })
    })
  })

  test('receive does not change its input', () => {
    forAll(100, [sentPackets], ({ packet }) => {
      const before = toHex(packet.bytes)
      hear(packet)
      expect(toHex(packet.bytes)).toBe(before)
    })
  })
})
