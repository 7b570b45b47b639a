/**
 * Builds the frame that moves IPv6 traffic to a new Active: an unsolicited Neighbor Advertisement to all nodes (RFC
 * 9568 §6.4.2, RFC 4861 §4.4 and §7.2.6). The functions of this file also read such frames. `announcement.ts` decides
 * when it is sent. The kernel answers solicitations.
 */
import { type Address, address, addressBytes, addressFromBytes } from '../wire/address.ts'
import { concatBytes } from '../wire/bytes.ts'
import { type Mac, macBytes } from '../wire/mac.ts'
import { icmpv6Frame, linkLayerOption, readNeighborMessage } from './icmpv6-frame.ts'

const ALL_NODES = address('ff02::1')
const NEIGHBOR_ADVERTISEMENT = 136
const TARGET_LINK_LAYER = 2
const ROUTER = 0x80
const SOLICITED = 0x40
const OVERRIDE = 0x20

export type UnsolicitedNeighborAdvertisement = {
  readonly address: Address
  readonly mac: Mac
  /**
   * Router flag R. Without flag R, hosts remove us from their list of default routers (RFC 4861 §7.2.5), so only hosts
   * that are no routers may leave the flag out.
   */
  readonly router?: boolean
}

/**
 * Returns an unsolicited Neighbor Advertisement. S=0 because it is not an answer, O=1 because the old cache entry is
 * wrong. The source is the announced address (VR-ND-03).
 */
export function neighborAdvertisement(announced: UnsolicitedNeighborAdvertisement): Uint8Array {
  const { mac, router = true } = announced
  const target = addressBytes(announced.address)
  const message = concatBytes(
    Uint8Array.of(NEIGHBOR_ADVERTISEMENT, 0, 0, 0, (router ? ROUTER : 0) | OVERRIDE, 0, 0, 0),
    target,
    Uint8Array.of(TARGET_LINK_LAYER, 1),
    macBytes(mac),
  )
  return icmpv6Frame({ source: announced.address, group: ALL_NODES, mac, message })
}

export type NeighborAnnouncement = {
  readonly target: Address
  readonly linkLayer: Mac | undefined
  /** Solicited flag S: the frame is an answer to a question. */
  readonly solicited: boolean
}

/**
 * Reads a Neighbor Advertisement. `undefined` if a check of RFC 4861 §7.1.2 fails, and for all other frames. Never
 * throws.
 */
export function readNeighborAdvertisement(frame: Uint8Array): NeighborAnnouncement | undefined {
  const read = readNeighborMessage(frame, NEIGHBOR_ADVERTISEMENT)
  if (read === undefined) return undefined
  const linkLayer = linkLayerOption(read.options, TARGET_LINK_LAYER)
  if (linkLayer === 'malformed') return undefined
  return { target: read.target, linkLayer, solicited: ((read.message[4] ?? 0) & SOLICITED) !== 0 }
}

/**
 * Returns the solicited-node group: ff02::1:ff and the low 24 bits (RFC 4291 §2.7.1). An Active must receive packets to
 * this group (VR-ND-05).
 */
export function solicitedNodeGroup(target: Address): Address {
  const bytes = addressBytes(address('ff02::1:ff00:0'))
  bytes.set(addressBytes(target).subarray(13), 13)
  return addressFromBytes(bytes)
}
