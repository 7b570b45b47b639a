/**
 * Forged whole Ethernet frames of an attacker: advertisements with any content and sender, and claims of addresses.
 * They are well formed on purpose (the codec is the product's). Malformed packets come from flood.mjs and the
 * property tests. Decides nothing about where a frame is sent and how often.
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
  /** Forged source address. */
  readonly source: string
  readonly priority: number
  /** The VRRP group of the family by default. */
  readonly destination?: string
  /** MAC address of a host; a group address determines its own. */
  readonly destinationMac?: string
  readonly addresses?: readonly string[]
  readonly vrid?: number
  readonly version?: 2 | 3
  readonly ttl?: number
  readonly intervalMs?: number
  readonly password?: string
}

/** A locally administered MAC address without a host: a switch learns nothing false from it. */
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

/** Builds a gratuitous ARP, or an unsolicited Neighbor Advertisement with Override, to all hosts. */
export function claimFrame(claimed: string, from = FORGED_MAC): Uint8Array {
  const announced = { address: address(claimed), mac: mac(from) }
  return familyOf(announced.address) === 'ipv4' ? gratuitousArp(announced) : neighborAdvertisement(announced)
}

/** Builds an unsolicited ARP reply to one host: `claimed` is at `from`. */
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
