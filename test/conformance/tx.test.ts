/** Packets of a configuration on the wire, octet by octet, see vectors/PROVENANCE.md. */
import { describe, expect, test } from 'vitest'
import { simplePassword } from '../../src/vrrp/authentication.ts'
import { VRRP_PROTOCOL, VRRP_TRAFFIC_CLASS, VRRP_TTL, vrrpGroup } from '../../src/vrrp/packet.ts'
import type { Parameters } from '../../src/vrrp/parameters.ts'
import { optionsOf, profileKnobs } from '../../src/vrrp/profile.ts'
import { advertisementDatagrams } from '../../src/vrrp/transmit.ts'
import { address } from '../../src/wire/address.ts'
import { multicastMac } from '../../src/wire/mac.ts'
import { centis, millis } from '../../src/wire/units.ts'
import { toHex } from '../support/hex.ts'
import { declareApplicability, sortVectors, whyNotTx } from './applicability.ts'
import { type TxVector, txVectors } from './vector-file.ts'

function parametersOf({ config }: TxVector): Parameters {
  const peers = (config.unicast_peers ?? []).map((peer) => ({ address: address(peer) }))
  const version = config.version === 2 ? 2 : 3
  return {
    vrid: config.vrid,
    family: config.family,
    version,
    priority: config.priority,
    advertisementInterval: centis(config.advertisement_interval_cs),
    addresses: config.addresses.map(address),
    preempt: true,
    preemptDelay: millis(0),
    minHold: millis(0),
    primaryAddress: address(config.primary_address),
    transport:
      config.mode === 'unicast' ? { mode: 'unicast', peers } : { mode: 'multicast', group: vrrpGroup(config.family) },
    peers,
    ...(config.auth_type === 1 ? simplePassword(config.password ?? '') : {}),
    ...optionsOf(profileKnobs('rfc9568', version), version),
    checksum: config.checksum,
  }
}

/** Reads the priority of `send_advert` or `send_advert(priority=0)`. */
function priorityOf(vector: TxVector): number {
  const [, given] = /^send_advert(?:\(priority=(\d+)\))?$/.exec(vector.event) ?? []
  expect(vector.event, `${vector.id}: an event this harness knows`).toMatch(/^send_advert/)
  return given === undefined ? vector.config.priority : Number(given)
}

const all = txVectors()
const sorted = sortVectors(all, whyNotTx)

describe('a sent advertisement with profile rfc9568', () => {
  test.each(sorted.run)('has the octets of vector %s', (_, vector) => {
    const parameters = parametersOf(vector)
    const sent = advertisementDatagrams(parameters, priorityOf(vector)).map(({ bytes, destination }) => ({
      src: parameters.primaryAddress,
      dst: destination,
      ttl: VRRP_TTL,
      protocol: VRRP_PROTOCOL,
      traffic_class: VRRP_TRAFFIC_CLASS,
      vrrp_payload_hex: toHex(bytes),
      // The Ethernet source is the interface MAC here (VR-MAC-04); the group MAC is the kernel's, by the same mapping.
      ...(parameters.transport.mode === 'multicast' ? { eth_dst: multicastMac(destination) } : {}),
    }))
    const wanted = vector.expect.packets.map(
      ({ dst, eth_dst, protocol, src, traffic_class, ttl, vrrp_payload_hex }) => ({
        src,
        dst,
        ttl,
        protocol,
        traffic_class,
        vrrp_payload_hex,
        ...(vector.config.mode === 'multicast' ? { eth_dst } : {}),
      }),
    )
    expect(sent, `${vector.id}: packets of one advertisement`).toEqual(wanted)
  })

  declareApplicability(all, sorted)

  test.for(sorted.listed)(
    'does not have the octets of vector %s, which does not apply (%3$s)',
    ([, vector, reason]) => {
      expect(whyNotTx(vector)).toBe(reason)
      // Each router has one version, never both versions.
      expect(advertisementDatagrams(parametersOf(vector), priorityOf(vector))).toHaveLength(1)
    },
  )
})
