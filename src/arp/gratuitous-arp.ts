/**
 * The frame that moves IPv4 traffic to a new Active: a broadcast ARP request for the announced address by its holder
 * (RFC 9568 §6.4.2 with EID 7949, VR-ARP-03). It carries the interface MAC, because holdfast has no virtual one
 * (VR-ARP-05). When it is sent is the announcement plan's business.
 */
import type { Address } from '../wire/address.ts'
import { BROADCAST_MAC, type Mac } from '../wire/mac.ts'
import { arpRequest } from './arp-packet.ts'

export type GratuitousArp = {
  readonly address: Address
  readonly mac: Mac
  /**
   * Target hardware address, which receivers of a request ignore (VR-ARP-04): the neighbours' ff:ff:ff:ff:ff:ff by
   * default; zeros in RFC 5227, the virtual MAC in RFC 9568.
   */
  readonly targetMac?: Mac
}

export function gratuitousArp({ address, mac, targetMac = BROADCAST_MAC }: GratuitousArp): Uint8Array {
  return arpRequest({ senderMac: mac, senderAddress: address, targetMac, targetAddress: address })
}
