/**
 * Asks which host has an IPv6 address, with a Neighbor Solicitation (RFC 4861 §4.3, §7.2.2). The question is sent to
 * the solicited-node group, which only holders of the address have joined. The source of the question is an address of
 * this node, so that only this node gets the answer. The answer to an unspecified source would go to all nodes and
 * change their caches (docs/adr/0007). The callers decide when to ask and what an answer means.
 */
import { type Address, address, addressBytes, isMulticast } from '../wire/address.ts'
import { concatBytes } from '../wire/bytes.ts'
import { type Mac, macBytes } from '../wire/mac.ts'
import { icmpv6Frame, linkLayerOption, readNeighborMessage } from './icmpv6-frame.ts'
import { solicitedNodeGroup } from './neighbor-advertisement.ts'

const NEIGHBOR_SOLICITATION = 135
const SOURCE_LINK_LAYER = 1
const UNSPECIFIED = address('::')

export type NeighborSolicitation = {
  readonly target: Address
  /** Address of this node on the link of the question; the source of the frame. */
  readonly source: Address
  readonly mac: Mac
}

export function neighborSolicitation({ target, source, mac }: NeighborSolicitation): Uint8Array {
  const group = solicitedNodeGroup(target)
  const message = concatBytes(
    Uint8Array.of(NEIGHBOR_SOLICITATION, 0, 0, 0, 0, 0, 0, 0),
    addressBytes(target),
    // The source link-layer option is mandatory for a group (RFC 4861 §4.3). With this option, the host that answers
    // needs no question for our address.
    Uint8Array.of(SOURCE_LINK_LAYER, 1),
    macBytes(mac),
  )
  return icmpv6Frame({ source, group, mac, message })
}

export type NeighborQuestion = {
  readonly target: Address
  /**
   * MAC of the solicitation's sender; `undefined` in duplicate address detection, and if the option with the MAC is
   * missing.
   */
  readonly linkLayer: Mac | undefined
  /** True for duplicate address detection, in which the source is unspecified (RFC 4862 §5.4.2). */
  readonly duplicateDetection: boolean
}

/** Reads a Neighbor Solicitation. `undefined` if a check of RFC 4861 §7.1.1 fails, and for all other frames. Never throws. */
export function readNeighborSolicitation(frame: Uint8Array): NeighborQuestion | undefined {
  const read = readNeighborMessage(frame, NEIGHBOR_SOLICITATION)
  if (read === undefined || isMulticast(read.target)) return undefined
  const linkLayer = linkLayerOption(read.options, SOURCE_LINK_LAYER)
  if (linkLayer === 'malformed') return undefined
  const duplicateDetection = read.source === UNSPECIFIED
  if (duplicateDetection && (linkLayer !== undefined || read.destination !== solicitedNodeGroup(read.target))) {
    return undefined
  }
  return { target: read.target, linkLayer, duplicateDetection }
}
