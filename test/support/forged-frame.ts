/**
 * Builds forged Ethernet frames of an attacker: advertisements with any content and sender, and claims of addresses.
 * The frames are well formed on purpose, because the product's own code writes them. Malformed packets come from
 * flood.mjs and the property tests. This file does not decide where a frame is sent and how often.
 */
import { arpRequest } from '../../src/arp/arp-packet.ts'
import { gratuitousArp } from '../../src/arp/gratuitous-arp.ts'
import { neighborAdvertisement } from '../../src/arp/neighbor-advertisement.ts'
import { ipv4Packet } from '../../src/simulator/ipv4-packet.ts'
import { simplePassword } from '../../src/vrrp/authentication.ts'
import { encodeAdvertisement } from '../../src/vrrp/packet.ts'
import { type Address, address, addressBytes, familyOf, isMulticast } from '../../src/wire/address.ts'
import { concatBytes, uint16 } from '../../src/wire/bytes.ts'
import { macBytes, macFromBytes, multicastMac } from '../../src/wire/mac.ts'
import { centis } from '../../src/wire/units.ts'

export type Forgery = {
  /** Forged source address of the packet. */
  readonly source: string
  readonly priority: number
  /** Destination address of the packet; absent: the VRRP group of the address family. */
  readonly destination?: string
  /** MAC address to which the frame is sent; absent for a group address, which determines its own MAC address. */
  readonly destinationMac?: string
  readonly addresses?: readonly string[]
  readonly vrid?: number
  readonly version?: 2 | 3
  readonly ttl?: number
  readonly intervalMs?: number
  readonly password?: string
}

/** A locally administered MAC address that no host has, so that a switch learns nothing false from it. */
export const FORGED_MAC = '02:00:00:00:0b:ad'

const mac = (text: string) => macFromBytes(Uint8Array.from(text.split(':'), (octet) => Number.parseInt(octet, 16)))

export function advertisementFrame(forgery: Forgery): Uint8Array {
  const { intervalMs = 100, password, priority, ttl = 255, version = 3, vrid = 51 } = forgery
  const source = address(forgery.source)
  const v6 = familyOf(source) === 'ipv6'
  const destination = address(forgery.destination ?? (v6 ? 'ff02::12' : '224.0.0.18'))
  const addresses = (forgery.addresses ?? [v6 ? 'fd00:77::100' : '10.77.0.100']).map(address)
  const authentication = password === undefined ? undefined : simplePassword(password).authentication
  const message = encodeAdvertisement(
    { version, vrid, priority, interval: centis(intervalMs / 10), addresses },
    { source, destination, checksum: 'pseudo-header', authentication },
  )
  const to = isMulticast(destination) ? multicastMac(destination) : mac(forgery.destinationMac ?? 'ff:ff:ff:ff:ff:ff')
  const packet = v6 ? ipv6Packet(message, source, destination, ttl) : ipv4Packet(message, { source, destination, ttl })
  return concatBytes(macBytes(to), macBytes(mac(FORGED_MAC)), uint16(v6 ? 0x86dd : 0x0800), packet)
}

function ipv6Packet(payload: Uint8Array, source: Address, destination: Address, hopLimit: number): Uint8Array {
  return concatBytes(
    Uint8Array.of(0x6c, 0, 0, 0),
    uint16(payload.length),
    Uint8Array.of(112, hopLimit),
    addressBytes(source),
    addressBytes(destination),
    payload,
  )
}

/**
 * Builds a gratuitous ARP packet or an unsolicited Neighbor Advertisement with Override, to all hosts. The packet
 * claims that the address `claimed` has the MAC address `from`.
 */
export function claimFrame(claimed: string, from = FORGED_MAC): Uint8Array {
  const announced = { address: address(claimed), mac: mac(from) }
  return familyOf(announced.address) === 'ipv4' ? gratuitousArp(announced) : neighborAdvertisement(announced)
}

/**
 * Builds an ARP reply that no host has asked for, to one host. The reply claims that the address `claimed` has the MAC
 * address `from`.
 */
export function arpReplyFrame(claimed: string, to: { readonly mac: string; readonly address: string }, from: string) {
  const frame = arpRequest({
    senderMac: mac(from),
    senderAddress: address(claimed),
    targetMac: mac(to.mac),
    targetAddress: address(to.address),
  })
  frame.set(macBytes(mac(to.mac)))
  frame[21] = 2
  return frame
}
