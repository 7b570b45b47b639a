/**
 * The configuration of a virtual router as values: the parameters of RFC 9568 §6.1, the rules for packets of other
 * routers, and the options of each extension. `parameters.ts` does not know where a parameter was configured;
 * profile.ts has the defaults. `priority` is always the effective priority, after weights and clamping.
 */
import type { Address, Family } from '../wire/address.ts'
import type { Centis, Millis } from '../wire/units.ts'
import type { Authentication } from './authentication.ts'

export type OwnAddresses = 'node' | 'installed'
export type ChecksumForm = 'pseudo-header' | 'message-only'

export type Peer = {
  readonly address: Address
  readonly priority?: number
  /** Accepted TTL or hop limit of the unicast advertisements of a peer, both ends included (VR-UC-04). */
  readonly ttl?: { readonly least: number; readonly most: number }
}
export type Transport =
  | { readonly mode: 'multicast'; readonly group: Address }
  /** `ttl` is the TTL or hop limit of the unicast packets that we send; absent = 255 (VR-UC-03). */
  | { readonly mode: 'unicast'; readonly peers: readonly Peer[]; readonly ttl?: number }

/**
 * Which packets of other routers are accepted where the RFC, other implementations and safety disagree (receive.ts).
 */
export type Reception = {
  readonly checksumAccepted: 'either' | ChecksumForm
  /** True if a unicast advertisement must come from a listed peer. */
  readonly onlyListedPeers: boolean
  /** True if TTL or hop limit 255 is required of unicast packets, too. 255 is always required of multicast packets. */
  readonly ttlCheck: boolean
  /** IPv6: true if the first address of an advertisement must be link-local (EID 8300). */
  readonly firstAddressLinkLocal: boolean
  /**
   * True if an advertisement whose address list differs from ours is discarded, unless its sender is an owner (RFC 3768
   * §7.1, VR-V2-08).
   */
  readonly addressListCheck: boolean
  /**
   * True if version 3, too, discards an advertisement whose interval differs from ours. If the interval is learned (RFC
   * 9568 §6.4.2), one forged packet can make a Backup wait for two minutes, or for only 30 ms.
   */
  readonly intervalCheck: boolean
  /**
   * True if unicast also accepts the IPv4 checksum of keepalived up to 1.3.6. The pseudo-header of that checksum has
   * the multicast group in place of our address (VR-UC-07). holdfast never sends this checksum form.
   */
  readonly oldUnicastChecksum: boolean
}

/** Options for an Active that receives advertisements of a competing Active (extensions/competing-active.ts). */
export type CompetingOptions = {
  /** True: an Active advertises immediately after an advertisement of lower priority (new in RFC 9568 §6.4.3). */
  readonly answers: boolean
  /**
   * Least time in milliseconds between two answering advertisements to the same router. 0: the router answers every
   * advertisement, as the RFC says.
   */
  readonly spacing: Millis
  /** True: an Active announces its addresses again after an advertisement of a competing Active. */
  readonly announces: boolean
}

/**
 * The options of the extensions. An absent or false option turns its extension off. With `profile: rfc9568` all
 * extensions are off.
 */
export type ExtensionOptions = {
  /**
   * True: a Backup takes over after Skew_Time instead of Active_Down_Interval if the Active lowers its own priority.
   */
  readonly fastPreempt?: boolean
  /** True: an Active that loses the election sends one last advertisement. */
  readonly lastAdvertisement?: boolean
  /**
   * An Active that loses the election keeps answering until the winner announces the addresses, 20 ms at most
   * (docs/adr/0045).
   */
  readonly gracePeriod?: boolean
  readonly competingActive?: CompetingOptions | undefined
  /**
   * True: an Active asks before every periodic advertisement whether another host answers for its addresses. A second
   * Active that is keepalived gives way to our advertisement without advertising. Only this question finds such an
   * Active (docs/adr/0007).
   */
  readonly silentActive?: boolean
  /** True: an Active asks the LAN once a second which other host has any of its addresses (docs/adr/0018). */
  readonly duplicateDetection?: boolean
  /** True: Backups of equal priority take over at different times. */
  readonly stagger?: boolean
  /** True: after shutdown or yield, a router goes on answering until the successor advertises (state Leaving). */
  readonly leaving?: boolean
  /**
   * True: a router in Leaving watches all routers that take over from it. If several routers take over, the router in
   * Leaving makes the winner announce again.
   */
  readonly succession?: boolean
  /**
   * True: an advertisement with priority 0 counts only if it comes from the Active last accepted, or if no Active is
   * known.
   */
  readonly releaseOfActive?: boolean
  /** True: an Active immediately advertises a change of its effective priority. */
  readonly advertiseChange?: boolean
  /**
   * Between two sync groups of equal priority, the addresses of one member decide for all members (sync-group/tie.ts).
   */
  readonly groupTie?: boolean
}

export type Parameters = {
  readonly vrid: number
  readonly family: Family
  readonly version: 2 | 3
  /** Effective priority of this router, 1 to 254, or 255 for the address owner. */
  readonly priority: number
  /** Priority of this router before weights, as in `Peer.priority`; absent: `priority`. */
  readonly basePriority?: number | undefined
  /**
   * Handling of the addresses of an owner. `node`, or absent: the addresses belong to the node, as in RFC 9568 §6.1.
   * `installed`: holdfast installs and removes them like those of any other router, as keepalived does. Without
   * priority 255 this field has no effect.
   */
  readonly ownAddresses?: OwnAddresses | undefined
  readonly advertisementInterval: Centis
  /** All addresses that an Active holds. The addresses in the advertisement come first. */
  readonly addresses: readonly Address[]
  /** Addresses in the advertisement, all of the router's address family; absent = all addresses (VR-CFG-06). */
  readonly advertised?: readonly Address[] | undefined
  readonly preempt: boolean
  /**
   * Milliseconds for which a Backup follows an Active of lower priority before preempting it (VR-PRE-02); 0 = no delay.
   */
  readonly preemptDelay: Millis
  /** Milliseconds after a change of the holder in which fastPreempt is off. */
  readonly minHold: Millis
  /**
   * Margin by which this router's priority must exceed that of an Active before this router preempts it; absent = 0, as
   * in the RFC.
   */
  readonly margin?: number | undefined
  /**
   * Priority that this router would have if every health check that raises its priority had failed; absent: no check
   * raises it.
   */
  readonly assured?: number | undefined
  /**
   * Source address of this router's advertisements. Between routers of equal priority this address decides the
   * election.
   */
  readonly primaryAddress: Address
  readonly transport: Transport
  /**
   * Other routers that may take over: the unicast peers, or the peers listed beside multicast. The stagger uses this
   * list.
   */
  readonly peers: readonly Peer[]
  /** Password of VRRP version 2; absent = Auth Type 0 (VR-V2-04). */
  readonly authentication?: Authentication | undefined
  /**
   * Checksum form of the packets that we send for IPv4 in version 3. IPv6 always has the pseudo-header (RFC 9568
   * §5.2.8).
   */
  readonly checksum: ChecksumForm
  readonly reception: Reception
  readonly extensions: ExtensionOptions
  /**
   * Share of Advertisement_Interval until the first periodic advertisement of an Active: 0 < phase <= 1, absent = 1.
   * Different phases keep many routers of one node from sending in the same millisecond.
   */
  readonly phase?: number | undefined
}

/** Returns the addresses of the router's advertisements. */
export const advertisedBy = ({ addresses, advertised }: Pick<Parameters, 'addresses' | 'advertised'>) =>
  advertised ?? addresses

/**
 * Tells whether the router has priority 255. A router with priority 255 is Active from its start and cannot yield (RFC
 * 9568 §6.4). holdfast may still install its addresses.
 */
export const isOwner = (parameters: Parameters): boolean => parameters.priority === 255

/**
 * Tells whether the virtual addresses are the node's own (RFC 9568 §1.7). holdfast does not install, renew or remove
 * such addresses.
 */
export const ownsAddresses = (parameters: Parameters): boolean =>
  isOwner(parameters) && parameters.ownAddresses !== 'installed'

/** Tells whether our priority `own` is high enough to preempt an Active of priority `active`. */
export const outranks = (own: number, active: number, { margin = 0 }: Pick<Parameters, 'margin'>): boolean =>
  own === 255 ? active < own : own > active + margin

const unpreempting = new WeakMap<Parameters, Parameters>()

/**
 * Returns the parameters with Preempt_Mode False. Equal parameters give the same object, because the function runs for
 * each advertisement.
 */
export function withoutPreemption(parameters: Parameters): Parameters {
  const known = unpreempting.get(parameters)
  if (known !== undefined) return known
  const made = { ...parameters, preempt: false }
  unpreempting.set(parameters, made)
  return made
}
