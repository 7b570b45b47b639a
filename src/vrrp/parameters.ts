/**
 * What a virtual router is configured with: the parameters of RFC 9568 §6.1, what it accepts of others, and the options of each
 * extension. Values only. This file does not know where a parameter was configured (profile.ts has the defaults), and
 * `priority` is always the effective one: weights and clamping happened outside.
 */
import type { Address, Family } from '../wire/address.ts'
import type { Centis, Millis } from '../wire/units.ts'
import type { Authentication } from './authentication.ts'

export type OwnAddresses = 'node' | 'installed'
export type ChecksumForm = 'pseudo-header' | 'message-only'

export type Peer = {
  readonly address: Address
  readonly priority?: number
  /** The TTL / hop limit with which its unicast advertisements may arrive, both ends included (VR-UC-04). */
  readonly ttl?: { readonly least: number; readonly most: number }
}
export type Transport =
  | { readonly mode: 'multicast'; readonly group: Address }
  /** `ttl`: of what we send; absent = 255 (VR-UC-03). */
  | { readonly mode: 'unicast'; readonly peers: readonly Peer[]; readonly ttl?: number }

/** What is accepted of others where the RFC, its neighbours and safety disagree (receive.ts). */
export type Reception = {
  readonly checksumAccepted: 'either' | ChecksumForm
  /** Unicast sources must be listed peers. */
  readonly onlyListedPeers: boolean
  /** TTL / hop limit 255 is required in unicast too. Multicast always requires it. */
  readonly ttlCheck: boolean
  /** IPv6: the first address of an advertisement must be link-local (EID 8300). */
  readonly firstAddressLinkLocal: boolean
  /** Discard an advertisement with another address list than ours, unless it is an owner's (RFC 3768 §7.1, VR-V2-08). */
  readonly addressListCheck: boolean
  /**
   * Version 3 as well: discard an advertisement with another interval than ours. Learning it (RFC 9568 §6.4.2) lets one
   * forged packet make a Backup wait for two minutes, or for 30 ms.
   */
  readonly intervalCheck: boolean
  /**
   * In unicast accept IPv4 checksums of keepalived up to 1.3.6 too, whose pseudo-header names the group instead of us
   * (VR-UC-07). Never sent.
   */
  readonly oldUnicastChecksum: boolean
}

/** What an Active does about another one (extensions/competing-active.ts). */
export type CompetingOptions = {
  /** Advertise immediately when a lower advertisement is heard (new in RFC 9568 §6.4.3). */
  readonly answers: boolean
  /** Least spacing of those advertisements for each router; 0 answers every one, as the RFC reads. */
  readonly spacing: Millis
  /** Announce the addresses again. */
  readonly announces: boolean
}

/** The options of each file in extensions/; absent or false: it is off. None is on with `profile: rfc9568`. */
export type ExtensionOptions = {
  /** Act on a demotion of the Active after Skew_Time instead of Active_Down_Interval. */
  readonly fastPreempt?: boolean
  /** An Active that loses sends one last advertisement. */
  readonly lastAdvertisement?: boolean
  /** An Active that loses goes on answering until the winner has announced itself, 20 ms at most (docs/adr/0045). */
  readonly gracePeriod?: boolean
  readonly competingActive?: CompetingOptions | undefined
  /**
   * Ask before every periodic advertisement whether another host answers for our addresses: an Active that yields to the
   * advertisement without one of its own (keepalived) is found in no other way (docs/adr/0007).
   */
  readonly silentActive?: boolean
  /** Ask the whole LAN once a second which other host has any of our addresses (docs/adr/0018). */
  readonly duplicateDetection?: boolean
  /** Backups of equal priority expire one after the other. */
  readonly stagger?: boolean
  /** Keep answering after shutdown or yield until the successor is heard (state Leaving). */
  readonly leaving?: boolean
  /** A router that leaves watches all that follow it, without addresses, and has the winner of several announce again. */
  readonly succession?: boolean
  /** Priority 0 counts only from the Active last accepted, or if none is known. */
  readonly releaseOfActive?: boolean
  /** An Active advertises a change of its effective priority immediately. */
  readonly advertiseChange?: boolean
  /** Of two sync groups of equal priority the addresses of one member decide, not of each (sync-group/tie.ts). */
  readonly groupTie?: boolean
}

export type Parameters = {
  readonly vrid: number
  readonly family: Family
  readonly version: 2 | 3
  /** Effective priority, 1–254, or 255 for the address owner. */
  readonly priority: number
  /**
   * What priority 255 means for the addresses; absent = node, as RFC 9568 §6.1 has it: they are there without us. installed:
   * they come and go like those of any other router, as in keepalived. Without 255 it means nothing.
   */
  readonly ownAddresses?: OwnAddresses | undefined
  readonly advertisementInterval: Centis
  /** All that an Active holds, those of the packet first. */
  readonly addresses: readonly Address[]
  /** Those of the packet, of the family of the router; absent = all (VR-CFG-06). */
  readonly advertised?: readonly Address[] | undefined
  readonly preempt: boolean
  /** Follow lower-priority advertisements this long before preempting (VR-PRE-02); 0 = off. */
  readonly preemptDelay: Millis
  /** No fastPreempt within this time of the last change of the holder. */
  readonly minHold: Millis
  /** Preempt only an Active whose priority is lower than ours by more than this; absent = 0, as the RFC has it. */
  readonly margin?: number | undefined
  /** What our priority would be if every health check that lifts it failed; absent = the same. */
  readonly assured?: number | undefined
  /** Source of our advertisements and our side of the tie-break. */
  readonly primaryAddress: Address
  readonly transport: Transport
  /** Other routers that may take over, for the stagger: unicast peers, or the hint beside multicast. */
  readonly peers: readonly Peer[]
  /** Version 2 only; absent = Auth Type 0 (VR-V2-04). */
  readonly authentication?: Authentication | undefined
  /** IPv4 VRRPv3 checksum that we send; IPv6 always has the pseudo-header (RFC 9568 §5.2.8). */
  readonly checksum: ChecksumForm
  readonly reception: Reception
  readonly extensions: ExtensionOptions
  /**
   * 0 < phase <= 1, absent = 1: the share of Advertisement_Interval until the first periodic advertisement of an Active,
   * so that many routers of one node do not all send in the same millisecond.
   */
  readonly phase?: number | undefined
}

export const advertisedBy = ({ addresses, advertised }: Pick<Parameters, 'addresses' | 'advertised'>) =>
  advertised ?? addresses

/** Whether the router is Active from its start, never outranked and never aside (RFC 9568 §6.4). It may still install its addresses. */
export const isOwner = (parameters: Parameters): boolean => parameters.priority === 255

/** Whether the addresses are the node's own (RFC 9568 §1.7): holdfast does not install, renew or remove them. */
export const ownsAddresses = (parameters: Parameters): boolean =>
  isOwner(parameters) && parameters.ownAddresses !== 'installed'

/** Whether the priority `own` of ours is enough to preempt an Active of priority `active`. */
export const outranks = (own: number, active: number, { margin = 0 }: Pick<Parameters, 'margin'>): boolean =>
  own === 255 ? active < own : own > active + margin

const unpreempting = new WeakMap<Parameters, Parameters>()

/** Returns the same parameters with Preempt_Mode False; the same object each time, because advertisements come often. */
export function withoutPreemption(parameters: Parameters): Parameters {
  const known = unpreempting.get(parameters)
  if (known !== undefined) return known
  const made = { ...parameters, preempt: false }
  unpreempting.set(parameters, made)
  return made
}
