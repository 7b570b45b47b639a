/**
 * Converts ARP packets for IPv4 over Ethernet (RFC 826) between frames and fields. The callers decide the use of a
 * frame.
 */
import { type Address, addressBytes, addressFromBytes } from '../wire/address.ts'
import { concatBytes, uint16, viewOf } from '../wire/bytes.ts'
import { BROADCAST_MAC, type Mac, macBytes, macFromBytes } from '../wire/mac.ts'

export const ETHERTYPE_ARP = 0x0806
const ETHERNET_HEADER = 14
const FRAME = ETHERNET_HEADER + 28
/** ARP fields: hardware type Ethernet, protocol type IPv4, address lengths 6 and 4. */
const HARDWARE_AND_PROTOCOL = Uint8Array.of(0, 1, 8, 0, 6, 4)
const REQUEST = 1
const REPLY = 2
const OPERATION = ETHERNET_HEADER + 7

export type ArpFields = {
  readonly senderMac: Mac
  readonly senderAddress: Address
  readonly targetMac: Mac
  readonly targetAddress: Address
}

/**
 * Returns a broadcast ARP request. The Ethernet source of the request is the sender's MAC, because RFC 5227 §2.1.1 and
 * §2.3 require equal addresses.
 */
export function arpRequest({ senderMac, senderAddress, targetMac, targetAddress }: ArpFields): Uint8Array {
  return concatBytes(
    macBytes(BROADCAST_MAC),
    macBytes(senderMac),
    uint16(ETHERTYPE_ARP),
    HARDWARE_AND_PROTOCOL,
    uint16(REQUEST),
    macBytes(senderMac),
    addressBytes(senderAddress),
    macBytes(targetMac),
    addressBytes(targetAddress),
  )
}

/** Reads an ARP request or reply for IPv4 over Ethernet; `undefined` for other frames. Never throws. */
export function readArp(frame: Uint8Array): ArpFields | undefined {
  if (frame.length < FRAME) return undefined
  const view = viewOf(frame)
  if (view.getUint16(12) !== ETHERTYPE_ARP) return undefined
  if (HARDWARE_AND_PROTOCOL.some((octet, i) => frame[ETHERNET_HEADER + i] !== octet)) return undefined
  const operation = view.getUint16(ETHERNET_HEADER + 6)
  if (operation !== REQUEST && operation !== REPLY) return undefined
  return {
    senderMac: macFromBytes(frame.subarray(22, 28)),
    senderAddress: addressFromBytes(frame.subarray(28, 32)),
    targetMac: macFromBytes(frame.subarray(32, 38)),
    targetAddress: addressFromBytes(frame.subarray(38, 42)),
  }
}

export const isArpReply = (frame: Uint8Array): boolean => readArp(frame) !== undefined && frame[OPERATION] === REPLY
