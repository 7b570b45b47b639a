/**
 * Builds the questions (ARP or NDP requests) of the routers of one segment: which other host has an address of ours,
 * and whether known peers answer. This file decides which frames are sent, from which source, and how often if other
 * hosts receive them. When a router asks is decided in router-effects.ts. This file knows nothing about sockets, and
 * the consequences of an answer.
 */
import { neighborSolicitation } from '../../arp/neighbor-solicitation.ts'
import { arpProbe } from '../../arp/probe.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import { type Address, type Family, isLinkLocal } from '../../wire/address.ts'
import { BROADCAST_MAC, type Mac, multicastMac, virtualRouterMac } from '../../wire/mac.ts'
import { centisToMillis, type Millis, millis } from '../../wire/units.ts'
import type { NetworkView } from '../addresses/network-view.ts'
import type { ClockRecord } from '../ports.ts'
import type { HostedRouter, RepeatedQuestions } from '../router/router-io.ts'
import { RATES, type Rate, TokenBucket } from '../telemetry/token-bucket.ts'
import type { HeardAnnouncement } from './arp-listener.ts'
import { type Asking, PeerCheck, SPACING } from './peer-check.ts'
import { probesFor } from './secondary-interface.ts'
import type { SecondaryInterfaces } from './secondary-interfaces.ts'

/** The fields of the segment that questions use. */
type Home = {
  readonly family: Family
  readonly source: Address
  readonly mac: Mac
  readonly interfaceIndex: number
  readonly routers: ReadonlyMap<number, HostedRouter>
}

export class Questions {
  readonly #home: Home
  readonly #view: Pick<NetworkView, 'on'>
  readonly #secondary: Pick<SecondaryInterfaces, 'onSegment'>
  readonly #peerCheck: PeerCheck
  readonly #broadcasts = new BucketByVrid(RATES.broadcastQuestion)
  readonly #followUps = new BucketByVrid(RATES.followUpQuestion)
  /**
   * Frames of the last question to the LAN, by VRID. The frames are stored, because an Active asks the same question
   * repeatedly and new frames used most of the memory of a turn.
   */
  readonly #written = new Map<number, Asking & { parameters: Parameters; frames: readonly Uint8Array[] }>()

  /** `answeredAt` returns the time of the last expected answer of a peer (peer-check.ts). */
  constructor(
    home: Home,
    view: Pick<NetworkView, 'on'>,
    secondary: Pick<SecondaryInterfaces, 'onSegment'>,
    answeredAt: (peer: Address) => Millis | undefined,
  ) {
    this.#home = home
    this.#peerCheck = new PeerCheck(answeredAt)
    this.#view = view
    this.#secondary = secondary
  }

  /**
   * Returns the frames that ask, before an advertisement, which other host has the router's first VIP. The question
   * does not disturb other hosts: only VRRP routers receive the multicast group of VRRP, and only holders of an IPv6
   * address its solicited-node group (docs/adr/0007). A router that answers through a macvlan (FRR) receives no IPv4
   * group, so its virtual MAC is asked, too (docs/adr/0007). IPv4 routers with unicast have no common address. For
   * these routers the question goes to the whole LAN, less often.
   */
  before(parameters: Parameters, now: Millis): readonly Uint8Array[] {
    const { family, transport, vrid } = parameters
    if (family === 'ipv4' && transport.mode === 'unicast' && !this.#broadcasts.take(vrid, now)) return []
    const { mac, source } = this.#home
    const known = this.#written.get(vrid)
    if (known?.parameters === parameters && known.mac === mac && known.source === source) return known.frames
    const frames = questionsOf(parameters, { mac, source })
    this.#written.set(vrid, { parameters, mac, source, frames })
    return frames
  }

  /**
   * Returns the frames that ask the same question after an advertisement. The question before the advertisement may
   * have been lost in a network split that healed in between (docs/adr/0022). In multicast the question is repeated,
   * because a router hardly gives way faster. Listed peers are asked for their own addresses, which they never give up.
   */
  after(parameters: Parameters, now: Millis): readonly Uint8Array[] {
    const { advertisementInterval, peers, transport, vrid } = parameters
    const again = transport.mode === 'multicast' && this.#followUps.take(vrid, now)
    const addresses = peers.map(({ address }) => address)
    const { mac, source } = this.#home
    const calls = this.#peerCheck.ask(addresses, { mac, source }, centisToMillis(advertisementInterval), now)
    if (!again) return calls
    const questions = this.before(parameters, now)
    return calls.length === 0 ? questions : [...questions, ...calls]
  }

  /**
   * Returns the questions that a clock sends with the advertisements from `first` on (docs/adr/0086): the same as
   * before() and after(), at the same rates. With `detectionPeriod` the clock also asks for duplicates.
   */
  repeated(router: HostedRouter, first: Millis, detectionPeriod: Millis | undefined): RepeatedQuestions {
    const { advertisementInterval, extensions, family, peers, transport, vrid } = router.parameters
    const interval = centisToMillis(advertisementInterval)
    const { mac, source } = this.#home
    const rounds = (spacing: number) => Math.max(1, Math.ceil(spacing / interval))
    const detection = detectionPeriod && { period: detectionPeriod, every: rounds(detectionPeriod) }
    const probes = detection === undefined ? [] : withEvery(this.#probes(router.parameters.addresses), detection.every)
    if (extensions.silentActive !== true) return { before: [], after: probes, detection }
    const isUnicast = transport.mode === 'unicast'
    const questions = questionsOf(router.parameters, { mac, source })
    const before = isUnicast && family === 'ipv4' ? rounds(RATES.broadcastQuestion.every) : 1
    const again = isUnicast ? [] : withEvery(questions, rounds(RATES.followUpQuestion.every))
    const grid = { first, period: millis(rounds(SPACING) * interval) }
    const addresses = peers.map(({ address }) => address)
    const calls = this.#peerCheck.repeat(addresses, { mac, source }, { grid, interval, vrid })
    return { before: withEvery(questions, before), after: [...again, ...calls, ...probes], detection }
  }

  /** Takes back the questions to peers from the clock of this router. */
  takeBack(vrid: number): void {
    this.#peerCheck.takeBack(vrid)
  }

  /** Tells whether the guardian's clock asks all peers of the router. */
  isRepeated({ extensions, peers }: Parameters): boolean {
    return extensions.silentActive !== true || this.#peerCheck.isRepeated(peers.map(({ address }) => address))
  }

  /** Tells whether all addresses of the router belong on the interface of the segment. */
  areHere(router: HostedRouter): boolean {
    const { addresses } = router.parameters
    return this.#secondary.onSegment(router, addresses, () => {}).length === addresses.length
  }

  /**
   * Returns questions to all hosts for these addresses of the router, because a host that has such an address may not
   * speak VRRP. Questions on secondary interfaces are sent immediately.
   */
  probesOf(router: HostedRouter): readonly Uint8Array[] {
    const { addresses } = router.parameters
    return this.#probes(this.#secondary.onSegment(router, addresses, (secondary, those) => secondary.ask(those)))
  }

  /** Returns the questions of duplicate address detection. Questions on secondary interfaces are sent immediately. */
  detectionProbes(addresses: readonly Address[]): readonly Uint8Array[] {
    const own = new Set(addresses)
    // Only peers on this LAN are asked for their own address.
    for (const router of this.#home.routers.values()) {
      const asked = router.parameters.addresses.filter((address) => own.has(address))
      const here = this.#secondary.onSegment(router, asked, (secondary, those) => secondary.ask(those))
      for (const address of asked) if (!here.includes(address)) own.delete(address)
    }
    return own.size === 0 ? [] : this.#probes([...own])
  }

  /**
   * Notes an answer to a question. Returns `back` for a peer that answers after a silence; `undefined` if the host was
   * not asked.
   */
  hear({ address, isAnswer, mac }: HeardAnnouncement, heardAt: Millis): 'present' | 'back' | undefined {
    return isAnswer ? this.#peerCheck.hear(address, mac, heardAt) : undefined
  }

  /** Returns the milliseconds of silence after which an answer of a peer is `back`. */
  patienceFor(peer: Address): number {
    return this.#peerCheck.patienceFor(peer)
  }

  /** Notes the answers of peers that did not wake the engine, because their times are about to be forgotten. */
  noteAnswers(): void {
    this.#peerCheck.noteAnswers()
  }

  /** Stops asking on this segment. The time until the next question does not count as silence of a peer. */
  end(): void {
    this.#peerCheck.clear()
  }

  #probes(addresses: readonly Address[]): readonly Uint8Array[] {
    const { family, mac } = this.#home
    return probesFor(addresses, { family, mac, source: family === 'ipv4' ? undefined : this.#linkLocal() })
  }

  /**
   * Returns a link-local address of the node that is not a VIP. Every asked host learns the MAC of this address, which
   * must stay valid for longer than a takeover.
   */
  #linkLocal(): Address {
    const { family, interfaceIndex, routers, source } = this.#home
    if (isLinkLocal(source)) return source
    const virtual = new Set([...routers.values()].flatMap(({ parameters }) => parameters.addresses))
    const own = this.#view
      .on(interfaceIndex, family)
      .find(({ address, tentative }) => isLinkLocal(address) && !tentative && !virtual.has(address))
    return own?.address ?? source
  }
}

const withEvery = (frames: readonly Uint8Array[], every: number): readonly ClockRecord[] =>
  frames.map((frame) => ({ every, frame }))

function questionsOf(
  { vrid, addresses, family, transport }: Parameters,
  { mac, source }: Asking,
): readonly Uint8Array[] {
  const [address] = addresses
  if (address === undefined) return []
  if (family === 'ipv6') return [neighborSolicitation({ target: address, source, mac })]
  const targets =
    transport.mode === 'multicast' ? [multicastMac(transport.group), virtualRouterMac(vrid, family)] : [BROADCAST_MAC]
  return targets.map((to) => arpProbe({ address, mac, to }))
}

class BucketByVrid {
  readonly #buckets = new Map<number, TokenBucket>()
  readonly #rate: Rate

  constructor(rate: Rate) {
    this.#rate = rate
  }

  take(vrid: number, now: Millis): boolean {
    const bucket = this.#buckets.get(vrid) ?? new TokenBucket(this.#rate)
    this.#buckets.set(vrid, bucket)
    return bucket.take(now) !== undefined
  }
}
