/**
 * Plays one packet vector to `receive`, with the settings of profile rfc9568 unless the vector's receiver has others.
 * Compared exactly: result, reason, every decoded field, checksum forms, warnings.
 */
import { describe, expect, test } from 'vitest'
import { simplePassword } from '../../src/vrrp/authentication.ts'
import { addressesOf, readMessage, vrrpGroup } from '../../src/vrrp/packet.ts'
import type { Parameters, Reception } from '../../src/vrrp/parameters.ts'
import { type Knobs, optionsOf, type ProfileName, profileKnobs } from '../../src/vrrp/profile.ts'
import { type IncomingPacket, type Received, receive } from '../../src/vrrp/receive.ts'
import { address } from '../../src/wire/address.ts'
import { readIpv4 } from '../../src/wire/ipv4.ts'
import { centis, millis } from '../../src/wire/units.ts'
import { fromHex, toHex } from '../support/hex.ts'
import { declareApplicability, sortVectors, whyNotPacket } from './applicability.ts'
import { type PacketInstance, type PacketVector, packetVectors } from './vector-file.ts'

/** The vectors' name of a warning, if it differs from the daemon's. */
const WARNING_NAMES: Record<string, string> = { 'src-not-link-local': 'source-not-link-local' }

export function parametersOf(vector: PacketVector, instance: PacketInstance, profile: ProfileName): Parameters {
  const { receiver } = vector
  const family = instance.family ?? receiver.family
  const version = instance.version === 2 ? 2 : 3
  const peers = (instance.unicast_peers ?? []).map(({ address: text, max_ttl, min_ttl }) => ({
    address: address(text),
    ...(min_ttl === undefined && max_ttl === undefined ? {} : { ttl: { least: min_ttl ?? 0, most: max_ttl ?? 255 } }),
  }))
  const letter = profileKnobs(profile, version)
  const knobs: Knobs = {
    ...letter,
    checksumAccepted:
      receiver.checksum_mode === undefined || receiver.checksum_mode === 'any' ? 'either' : receiver.checksum_mode,
    onlyListedPeers: instance.check_unicast_src ?? letter.onlyListedPeers,
    // If the RFC and real neighbours disagree, the vector names the setting, and `log` is its default.
    addressListCheck: instance.v2_address_check === 'drop',
    oldUnicastChecksum: instance.old_unicast_checksum ?? letter.oldUnicastChecksum,
    ttlCheck: instance.unicast_ttl_policy === undefined ? letter.ttlCheck : instance.unicast_ttl_policy === 'gtsm',
  }
  return {
    vrid: instance.vrid,
    family,
    version,
    priority: instance.priority,
    advertisementInterval: centis(instance.advertisement_interval_cs),
    addresses: instance.addresses.map(address),
    preempt: true,
    preemptDelay: millis(0),
    minHold: millis(0),
    primaryAddress: address(receiver.local_address),
    transport:
      instance.mode === 'multicast' ? { mode: 'multicast', group: vrrpGroup(family) } : { mode: 'unicast', peers },
    peers,
    ...(instance.auth_type === 1 ? simplePassword(instance.password ?? '') : {}),
    ...optionsOf(knobs, version),
  }
}

export function incoming({ input, receiver }: PacketVector): IncomingPacket {
  const { family } = receiver
  return {
    family,
    source: address(input.src),
    destination: address(input.dst),
    ttl: input.ttl,
    bytes: family === 'ipv4' ? fromHex(input.ip_packet_hex) : fromHex(input.vrrp_payload_hex ?? ''),
  }
}

/** Plays a vector; `adjust` changes a setting for a vector about another configuration. */
export function receiveVector(
  vector: PacketVector,
  profile: ProfileName = 'rfc9568',
  adjust: Partial<Reception> = {},
): Received {
  const { receiver } = vector
  const find = (vrid: number) => {
    const instance = receiver.instances.find(
      (one) => one.vrid === vrid && (one.family ?? receiver.family) === receiver.family,
    )
    if (instance === undefined) return undefined
    const parameters = parametersOf(vector, instance, profile)
    return { ...parameters, reception: { ...parameters.reception, ...adjust } }
  }
  return receive(incoming(vector), find, (candidate) => candidate === address(receiver.local_address))
}

/** Returns the fields of the octets, in the vectors' terms. */
export function fieldsOf(vector: PacketVector): Record<string, unknown> {
  const { family } = vector.receiver
  const packet = incoming(vector)
  const opened = family === 'ipv4' ? readIpv4(packet.bytes, 112) : { payload: packet.bytes }
  if (typeof opened === 'string') return { fault: opened }
  const message = readMessage(opened.payload, family, vector.expect.decoded?.version === 2 ? 2 : 3)
  if (typeof message === 'string') return { fault: message }
  const { authentication, interval } = message
  return {
    version: message.version,
    type: 1,
    vrid: message.vrid,
    priority: message.priority,
    addr_count: message.count,
    ...(authentication === undefined
      ? { max_advertise_interval_cs: interval }
      : {
          auth_type: authentication.type,
          auth_data_hex: toHex(authentication.data),
          advertise_interval_s: interval / 100,
        }),
    checksum: `0x${message.checksum.toString(16).padStart(4, '0')}`,
    addresses: addressesOf(message, family),
  }
}

/**
 * Returns the vectors' warnings, and the daemon's additional ones about a peer's checksum and about mismatched
 * routers.
 */
function expectedWarnings(vector: PacketVector): string[] {
  const { expect: expected, input, receiver } = vector
  const warnings = (expected.warnings ?? []).map((name) => WARNING_NAMES[name] ?? name)
  // VR-CK-10: profile rfc9568 sends message-only.
  const forms = expected.checksum_matches ?? []
  if (receiver.family === 'ipv4' && expected.decoded?.version === 3 && !forms.includes('message-only'))
    warnings.push('checksum-form-differs')
  const addressed = receiver.instances.find((one) => one.vrid === expected.decoded?.vrid)
  const peers = addressed?.unicast_peers?.map((peer) => peer.address) ?? []
  if (addressed?.mode === 'unicast' && !peers.includes(input.src)) warnings.push('unlisted-peer')
  return warnings.sort()
}

function check(vector: PacketVector): void {
  const received = receiveVector(vector)
  const { checksum_matches, decoded, reason, result } = vector.expect
  if (result !== 'accept') {
    expect(received, `${vector.id}: outcome of receive()`).toMatchObject({ kind: 'discarded', reason })
    return
  }
  expect(received, `${vector.id}: outcome of receive()`).toMatchObject({ kind: 'accepted' })
  if (received.kind !== 'accepted') return
  const { advertisement } = received
  expect(fieldsOf(vector), `${vector.id}: fields of the message`).toEqual(decoded)
  expect(advertisement, `${vector.id}: the advertisement`).toEqual({
    version: decoded?.version,
    vrid: decoded?.vrid,
    priority: decoded?.priority,
    interval: decoded?.max_advertise_interval_cs ?? (decoded?.advertise_interval_s ?? 0) * 100,
    addresses: decoded?.addresses,
  })
  expect([...received.checksumForms].sort(), `${vector.id}: checksum forms`).toEqual(
    [...(checksum_matches ?? [])].sort(),
  )
  expect([...received.warnings].sort(), `${vector.id}: warnings`).toEqual(expectedWarnings(vector))
}

export function declarePacketFile(name: string): readonly PacketVector[] {
  const all = packetVectors(name)
  const sorted = sortVectors(all, whyNotPacket)
  describe(`receive() with profile rfc9568, for the packets of ${name}`, () => {
    test.each(sorted.run)('has the outcome of vector %s', (_, vector) => check(vector))
    declareApplicability(all, sorted)
    // The vectors of packets must do no harm: no packet from the network may cause an exception.
    test.for(sorted.listed)('throws no exception for vector %s, which does not apply (%3$s)', ([, vector, reason]) => {
      expect(whyNotPacket(vector)).toBe(reason)
      expect(['accepted', 'discarded']).toContain(receiveVector(vector).kind)
    })
  })
  return all
}
