/**
 * Builds the frame that moves IPv4 traffic to a new Active: a broadcast ARP request of the holder for its own address
 * (RFC 9568 §6.4.2 with EID 7949, VR-ARP-03). The frame has the MAC of the interface, because holdfast has no virtual
 * MAC (VR-ARP-05). `announcement.ts` decides when it is sent.
 */
import type { Address } from '../wire/address.ts'
import { BROADCAST_MAC, type Mac } from '../wire/mac.ts'
import { arpRequest } from './arp-packet.ts'

export type GratuitousArp = {
  readonly address: Address
  readonly mac: Mac
  /**
   * Target hardware address, which receivers of a request ignore (VR-ARP-04). The default is ff:ff:ff:ff:ff:ff, as in
   * other implementations. RFC 5227 has zeros, RFC 9568 the virtual MAC.
   */
  readonly targetMac?: Mac
}

export function gratuitousArp({ address, mac, targetMac = BROADCAST_MAC }: GratuitousArp): Uint8Array {
  return arpRequest({ senderMac: mac, senderAddress: address, targetMac, targetAddress: address })
}
