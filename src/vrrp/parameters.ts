/**
 * The configuration of a virtual router as values: the parameters of RFC 9568 §6.1, what it accepts from other routers,
 * and the options of each extension. This file does not know where a parameter was configured; profile.ts has the
 * defaults. `priority` is always the effective priority, after weights and clamping.
 */
import type { Address, Family } from '../wire/address.ts'
import type { Centis, Millis } from '../wire/units.ts'
import type { Authentication } from './authentication.ts'

export type OwnAddresses = 'node' | 'installed'
export type ChecksumForm = 'pseudo-header' | 'message-only'

export type Peer = {
  readonly address: Address
  readonly priority?: number
  /** Range of TTL or hop limit of its unicast advertisements, both ends included (VR-UC-04). */
  readonly ttl?: { readonly least: number; readonly most: number }
}
export type Transport =
  | { readonly mode: 'multicast'; readonly group: Address }
  /** `ttl` is that of the packets that we send; absent = 255 (VR-UC-03). */
  | { readonly mode: 'unicast'; readonly peers: readonly Peer[]; readonly ttl?: number }

/** Packets that are accepted from other routers where the RFC, other implementations and safety disagree (receive.ts). */
export type Reception = {
  readonly checksumAccepted: 'either' | ChecksumForm
  /** True if a unicast advertisement must come from a listed peer. */
  readonly onlyListedPeers: boolean
  /** True if unicast also requires TTL or hop limit 255. Multicast always requires it. */
  readonly ttlCheck: boolean
  /** IPv6: true if the first address of an advertisement must be link-local (EID 8300). */
  readonly firstAddressLinkLocal: boolean
  /**
   * True if an advertisement with another address list than ours is discarded, unless it comes from an owner (RFC 3768
   * §7.1, VR-V2-08).
   */
  readonly addressListCheck: boolean
  /**
   * True if version 3, too, discards an advertisement with another interval than ours. If the interval is learned (RFC
   * 9568 §6.4.2), one forged packet can make a Backup wait for two minutes, or for only 30 ms.
   */
  readonly intervalCheck: boolean
  /**
   * True if unicast also accepts the IPv4 checksum of keepalived up to 1.3.6. Its pseudo-header has the group in place
   * of our address (VR-UC-07). This form is never sent.
   */
  readonly oldUnicastChecksum: boolean
}

/** Options for an Active that receives advertisements of a competing Active (extensions/competing-active.ts). */
export type CompetingOptions = {
  /** True: advertise immediately after an advertisement of lower priority (new in RFC 9568 §6.4.3). */
  readonly answers: boolean
  /** Least time between two such advertisements to the same router. 0: answer every one, as the RFC says. */
  readonly spacing: Millis
  /** True: announce the addresses again. */
  readonly announces: boolean
}

/** The options of the extensions. An absent or false option is off. With `profile: rfc9568` all are off. */
export type ExtensionOptions = {
  /** Take over after Skew_Time, not Active_Down_Interval, if the Active lowers its priority. */
  readonly fastPreempt?: boolean
  /** An Active that loses the election sends one last advertisement. */
  readonly lastAdvertisement?: boolean
  /**
   * An Active that loses the election keeps answering until the winner announces itself, 20 ms at most (docs/adr/0045).
   */
  readonly gracePeriod?: boolean
  readonly competingActive?: CompetingOptions | undefined
  /**
   * Ask before every periodic advertisement whether another host answers for our addresses. keepalived gives way to our
   * advertisement without sending one of its own. Only this question finds it (docs/adr/0007).
   */
  readonly silentActive?: boolean
  /** Ask the LAN once a second which other host has any of our addresses (docs/adr/0018). */
  readonly duplicateDetection?: boolean
  /** Backups of equal priority take over at different times. */
  readonly stagger?: boolean
  /** Keep answering after shutdown or yield until the successor advertises (state Leaving). */
  readonly leaving?: boolean
  /**
   * A router in Leaving watches all routers that take over from it. If there are several, it makes the winner announce
   * again.
   */
  readonly succession?: boolean
  /** Priority 0 counts only if it comes from the Active last accepted, or if no Active is known. */
  readonly releaseOfActive?: boolean
  /** An Active advertises a change of its effective priority immediately. */
  readonly advertiseChange?: boolean
  /**
   * Between two sync groups of equal priority, the addresses of one member decide, not those of each member
   * (sync-group/tie.ts).
   */
  readonly groupTie?: boolean
}

export type Parameters = {
  readonly vrid: number
  readonly family: Family
  readonly version: 2 | 3
  /** Effective priority, 1 to 254, or 255 for the address owner. */
  readonly priority: number
  /**
   * Handling of the addresses of an owner. `node`, or absent: they belong to the node, as in RFC 9568 §6.1.
   * `installed`: holdfast installs and removes them like those of any other router, as keepalived does. Has no effect
   * without priority 255.
   */
  readonly ownAddresses?: OwnAddresses | undefined
  readonly advertisementInterval: Centis
  /** All addresses that an Active holds, those of the packet first. */
  readonly addresses: readonly Address[]
  /** Addresses in the packet, of the router's address family; absent = all (VR-CFG-06). */
  readonly advertised?: readonly Address[] | undefined
  readonly preempt: boolean
  /** Time to follow an Active of lower priority before preempting it (VR-PRE-02); 0 = off. */
  readonly preemptDelay: Millis
  /** Time after a change of holder in which fastPreempt is off. */
  readonly minHold: Millis
  /** Preempt only if our priority is higher by more than this; absent = 0, as in the RFC. */
  readonly margin?: number | undefined
  /** Our priority if every health check that raises it had failed; absent = no check raises it. */
  readonly assured?: number | undefined
  /** Source address of our advertisements, also compared if priorities are equal. */
  readonly primaryAddress: Address
  readonly transport: Transport
  /** Other routers that may take over, for the stagger: the unicast peers, or those listed beside multicast. */
  readonly peers: readonly Peer[]
  /** Password of version 2; absent = Auth Type 0 (VR-V2-04). */
  readonly authentication?: Authentication | undefined
  /** Checksum form that we send for IPv4 in version 3. IPv6 always has the pseudo-header (RFC 9568 §5.2.8). */
  readonly checksum: ChecksumForm
  readonly reception: Reception
  readonly extensions: ExtensionOptions
  /**
   * Share of Advertisement_Interval until the first periodic advertisement of an Active: 0 < phase <= 1, absent = 1. It
   * keeps many routers of one node from sending in the same millisecond.
   */
  readonly phase?: number | undefined
}

/** Returns the addresses of the router's advertisements. */
export const advertisedBy = ({ addresses, advertised }: Pick<Parameters, 'addresses' | 'advertised'>) =>
  advertised ?? addresses

/**
 * Tells whether the router has priority 255: it is Active from its start and cannot yield (RFC 9568 §6.4). It may still
 * install its addresses.
 */
export const isOwner = (parameters: Parameters): boolean => parameters.priority === 255

/**
 * Tells whether the addresses are the node's own (RFC 9568 §1.7). holdfast then does not install, renew or remove them.
 */
export const ownsAddresses = (parameters: Parameters): boolean =>
  isOwner(parameters) && parameters.ownAddresses !== 'installed'

/** Tells whether our priority `own` is high enough to preempt an Active of priority `active`. */
export const outranks = (own: number, active: number, { margin = 0 }: Pick<Parameters, 'margin'>): boolean =>
  own === 255 ? active < own : own > active + margin

const unpreempting = new WeakMap<Parameters, Parameters>()

/**
 * Returns the parameters with Preempt_Mode False. The same input gives the same object, because this runs for each
 * advertisement.
 */
export function withoutPreemption(parameters: Parameters): Parameters {
  const known = unpreempting.get(parameters)
  if (known !== undefined) return known
  const made = { ...parameters, preempt: false }
  unpreempting.set(parameters, made)
  return made
}
