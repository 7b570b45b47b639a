/**
 * The valid values behind VRRP bytes: what a router advertises, and why a packet was discarded.
 * Reasons and warnings are literals because each is also a metric label, a log field and a line of the vectors.
 */
import type { Address } from '../wire/address.ts'
import type { Centis } from '../wire/units.ts'

export type Advertisement = {
  readonly version: 2 | 3
  readonly vrid: number
  /** 0 = "I stop being Active", 255 = address owner (RFC 9568 §5.2.4). */
  readonly priority: number
  /** Max Advertise Interval, 1–4095 (RFC 9568 §5.2.7 with EID 8301); version 2: whole seconds, 100–25500. */
  readonly interval: Centis
  readonly addresses: readonly Address[]
}

/** In the order of VR-RX-10; the first check that fails names the packet. */
export const DISCARD_REASONS = [
  'not-vrrp',
  'fragment',
  'ip-header',
  'truncated-ip',
  'self-originated',
  'destination',
  'ttl',
  'truncated',
  'version',
  'type',
  'length',
  'checksum',
  'vrid-unknown',
  'addr-count-zero',
  'first-addr-not-link-local',
  'adver-int-zero',
  'multicast-unexpected',
  'unicast-unexpected',
  'unknown-peer',
  'ttl-range',
  'auth-type',
  'auth-data',
  'interval-mismatch',
  'address-list-mismatch',
] as const
export type DiscardReason = (typeof DISCARD_REASONS)[number]

/** Discards that only the state machine can decide (RFC 9568 §6.4): the packet was valid. */
export const REFUSAL_REASONS = [
  'self-originated',
  'lower-priority',
  'lower-address',
  'priority-zero-not-from-active',
  'initialize',
  'leaving',
  'tie-of-group',
] as const
export type RefusalReason = (typeof REFUSAL_REASONS)[number]

/** What is reported of an accepted packet. */
export type ReceiveWarning =
  /** Version 3 only; version 2 discards it. */
  | 'interval-mismatch'
  /** Version 2 only: no address at all, which RFC 3768 does not forbid (VR-V2-09). */
  | 'addr-count-zero'
  | 'address-list-mismatch'
  | 'advert-received-while-owner'
  | 'multiple-owners'
  | 'checksum-form-differs'
  | 'unlisted-peer'
  | 'source-not-link-local'
