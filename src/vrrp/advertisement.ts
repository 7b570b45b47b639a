/**
 * Defines the content of a VRRP advertisement and the reasons to discard a packet. Every reason and every warning is a
 * literal, because it is also a metric label and a field of the log.
 */
import type { Address } from '../wire/address.ts'
import type { Centis } from '../wire/units.ts'

export type Advertisement = {
  readonly version: 2 | 3
  readonly vrid: number
  /** Priority of the sender: 0 means that the sender stops being Active, 255 means address owner (RFC 9568 §5.2.4). */
  readonly priority: number
  /**
   * Max Advertise Interval in centiseconds (RFC 9568 §5.2.7 with EID 8301): 1 to 4095 in version 3, 100 to 25500 (whole
   * seconds) in version 2.
   */
  readonly interval: Centis
  readonly addresses: readonly Address[]
}

/**
 * Reasons for which a packet is discarded, in the order of the checks (VR-RX-10). The first check that fails gives the
 * reason.
 */
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

/** Reasons for which the state machine refuses a valid advertisement (RFC 9568 §6.4). */
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

/** Unusual properties of an accepted advertisement. The log and the metrics name them. */
export type ReceiveWarning =
  /**
   * The advertisement's interval is not ours. Another interval is a warning in version 3 only; version 2 discards such
   * a packet.
   */
  | 'interval-mismatch'
  /**
   * The advertisement has no address. A missing address is a warning in version 2 only, because RFC 3768 does not
   * forbid it (VR-V2-09).
   */
  | 'addr-count-zero'
  | 'address-list-mismatch'
  | 'advert-received-while-owner'
  | 'multiple-owners'
  | 'checksum-form-differs'
  | 'unlisted-peer'
  | 'source-not-link-local'
