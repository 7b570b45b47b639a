/**
 * What a virtual router is told: RFC 9568 §6.1 plus the knobs of docs/architecture.md, Protocol decisions, and the three profiles that give them
 * their defaults. Values only. This file does not know where a parameter was configured, and `priority` is always the
 * effective one: weights and clamping happened outside.
 */
import type { Address, Family } from '../wire/address.ts'
import { type Centis, type Millis, millis } from '../wire/units.ts'
import type { Authentication } from './authentication.ts'

export type ProfileName = 'holdfast' | 'keepalived' | 'rfc9568'
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

/** Everything on which the RFC, its neighbours and safety disagree (docs/architecture.md, Protocol decisions, table). */
export type Knobs = {
  /** IPv4 VRRPv3 checksum that we send; IPv6 always has the pseudo-header (RFC 9568 §5.2.8). */
  readonly checksum: ChecksumForm
  readonly checksumAccepted: 'either' | ChecksumForm
  /** Act on a demotion of the Active after Skew_Time instead of Active_Down_Interval. */
  readonly fastPreempt: boolean
  /** An Active that loses sends one last advertisement. */
  readonly lastAdvertisement: boolean
  /** An Active that loses goes on answering until the winner has announced itself, 20 ms at most (docs/adr/0045). */
  readonly keepUntilClaimed: boolean
  /** Announce again when a rival is heard. */
  readonly announceOnRival: boolean
  /**
   * Ask before every periodic advertisement whether somebody else answers for our addresses: a rival that yields to the
   * advertisement without a word (keepalived) is heard of in no other way (docs/adr/0007).
   */
  readonly probeRivals: boolean
  /** Ask once a second, and everybody, who else has any of our addresses: duplicate owners (docs/adr/0018). */
  readonly radar: boolean
  /** Equal-priority Backups expire one after the other. */
  readonly stagger: boolean
  /** Keep answering after shutdown or yield until the successor is heard (state Leaving). */
  readonly leaving: boolean
  /** Who leaves stays, without addresses, until all who follow have spoken, and has the winner of several announce again. */
  readonly remindSuccessor: boolean
  /** Unicast sources must be listed peers. */
  readonly onlyListedPeers: boolean
  /** TTL / hop limit 255 is required in unicast too. Multicast always requires it. */
  readonly ttlCheck: boolean
  /** IPv6: the first address of an advertisement must be link-local (EID 8300). */
  readonly firstAddressLinkLocal: boolean
  /** Do not listen to another address list than ours, unless the owner (255) says it (RFC 3768 §7.1, VR-V2-08). */
  readonly addressListCheck: boolean
  /**
   * Version 3 as well: do not listen to an advertisement with another interval than ours. Learning it (RFC 9568 §6.4.2)
   * lets one forged packet make a Backup wait for two minutes, or for 30 ms.
   */
  readonly intervalCheck: boolean
  /**
   * In unicast take IPv4 checksums of keepalived up to 1.3.6 too, whose pseudo-header names the group instead of us
   * (VR-UC-07). Never sent.
   */
  readonly oldUnicastChecksum: boolean
  /** Advertise at once when a lower-priority advertisement is heard while Active (new in RFC 9568 §6.4.3). */
  readonly assertOnLower: boolean
  /** Least spacing of those immediate advertisements per rival; 0 answers every one, as the RFC reads. */
  readonly assertSpacing: Millis
  /** Priority 0 counts only from the Active last accepted, or when none is known. */
  readonly priorityZeroFromActiveOnly: boolean
  /** Of two sync groups of equal priority the addresses of one member decide, not of each (group-tie.ts). */
  readonly groupTie: boolean
  /** An Active advertises a change of its effective priority at once. */
  readonly advertisePriorityChange: boolean
}

export type Parameters = {
  readonly vrid: number
  readonly family: Family
  readonly version: 2 | 3
  /** Effective priority, 1–254, or 255 for the address owner. */
  readonly priority: number
  /**
   * What priority 255 says of the addresses; absent = node, as RFC 9568 §6.1 has it: they are there without us. installed:
   * they come and go like those of any other router, as in keepalived. Without 255 it says nothing.
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
  /** No fastPreempt within this time of the last owner change seen. */
  readonly minHold: Millis
  /** Preempt only an Active whose priority is lower than ours by more than this; absent = 0, as the RFC has it. */
  readonly margin?: number | undefined
  /** What our priority would be if every health check that lifts it failed; absent = the same. */
  readonly assured?: number | undefined
  /** Source of our advertisements and our side of the tie-break. */
  readonly primaryAddress: Address
  readonly transport: Transport
  /** Who else may take over, for the stagger: unicast peers, or the hint beside multicast. */
  readonly peers: readonly Peer[]
  /** Version 2 only; absent = Auth Type 0 (VR-V2-04). */
  readonly authentication?: Authentication | undefined
  readonly knobs: Knobs
  /**
   * 0 < phase <= 1, absent = 1: the share of Advertisement_Interval until the first periodic advertisement of an Active,
   * so that many routers of one node do not all send in the same millisecond.
   */
  readonly phase?: number | undefined
}

export const advertisedBy = ({ addresses, advertised }: Pick<Parameters, 'addresses' | 'advertised'>) =>
  advertised ?? addresses

/** In the election (RFC 9568 §6.4): Active from its start, never outranked, never aside. Says nothing of who installs. */
export const isOwner = (parameters: Parameters): boolean => parameters.priority === 255

/** The addresses are the node's own (RFC 9568 §1.7): nobody of ours installs them, renews them or takes them off. */
export const ownsAddresses = (parameters: Parameters): boolean =>
  isOwner(parameters) && parameters.ownAddresses !== 'installed'

/** `own`: a priority of ours; the advantage that is enough to preempt that Active. */
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

const SAFE: Knobs = {
  checksum: 'pseudo-header',
  checksumAccepted: 'either',
  fastPreempt: true,
  lastAdvertisement: true,
  keepUntilClaimed: true,
  announceOnRival: true,
  probeRivals: true,
  radar: true,
  stagger: true,
  leaving: true,
  remindSuccessor: false,
  onlyListedPeers: false,
  ttlCheck: false,
  firstAddressLinkLocal: false,
  addressListCheck: false,
  intervalCheck: false,
  oldUnicastChecksum: false,
  assertOnLower: true,
  assertSpacing: millis(100),
  priorityZeroFromActiveOnly: true,
  advertisePriorityChange: true,
  groupTie: true,
}

/**
 * The defaults of each profile. `assertOnLower` of rfc9568 holds for version 3; RFC 3768 (version 2) is silent.
 * `addressListCheck` is the other way round: RFC 9568 §7.1 only logs another list.
 */
export function profileKnobs(profile: ProfileName, version: 2 | 3): Knobs {
  // Equal keepalived nodes take over together (docs/adr/0036); holdfast nodes do not, or tell each other.
  if (profile === 'keepalived') return { ...SAFE, remindSuccessor: true }
  if (profile !== 'rfc9568') return SAFE
  return {
    checksum: 'message-only',
    checksumAccepted: 'either',
    fastPreempt: false,
    lastAdvertisement: false,
    keepUntilClaimed: false,
    announceOnRival: false,
    probeRivals: false,
    radar: false,
    stagger: false,
    leaving: false,
    remindSuccessor: false,
    onlyListedPeers: true,
    ttlCheck: true,
    firstAddressLinkLocal: true,
    addressListCheck: version === 2,
    intervalCheck: false,
    oldUnicastChecksum: false,
    assertOnLower: version === 3,
    assertSpacing: millis(0),
    priorityZeroFromActiveOnly: false,
    advertisePriorityChange: false,
    groupTie: false,
  }
}
