/**
 * What the routers of one segment ask the LAN, and to whom it goes: who else has an address of ours, and whether known
 * peers are there. Decided here: which frames, and how often where others have to hear them. When a router asks is
 * router.ts, what an answer leads to is decided elsewhere; refuses to know sockets.
 */
import { neighborSolicitation } from '../../arp/neighbor-solicitation.ts'
import { arpProbe } from '../../arp/probe.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import type { Address } from '../../wire/address.ts'
import { BROADCAST_MAC, type Mac, multicastMac, virtualRouterMac } from '../../wire/mac.ts'
import { centisToMillis, type Millis } from '../../wire/units.ts'
import { RATES, type Rate, TokenBucket } from '../telemetry/token-bucket.ts'
import type { HeardClaim } from './arp-listener.ts'
import { RollCall } from './roll-call.ts'

/** In whose name is asked. */
export type Asking = { readonly source: Address; readonly mac: Mac }

export class Inquiry {
  readonly #asking: () => Asking
  readonly #rollCall = new RollCall()
  readonly #broadcasts = new BucketByVrid(RATES.broadcastQuestion)
  readonly #followUps = new BucketByVrid(RATES.followUpQuestion)
  /** By VRID: an Active asks the same again and again, and most of what a turn allocated was these frames. */
  readonly #written = new Map<number, Asking & { parameters: Parameters; frames: readonly Uint8Array[] }>()

  constructor(asking: () => Asking) {
    this.#asking = asking
  }

  /**
   * Asking costs no other host anything: only VRRP routers listen to the group's address, and only holders of an IPv6
   * address to its solicited-node group (docs/adr/0009). A router that answers through a macvlan (FRR) hears of IPv4's
   * groups none, so its virtual MAC is asked, too (docs/adr/0012). Unicast routers of IPv4 have no address in common:
   * the whole LAN is asked, less often.
   */
  before(parameters: Parameters, now: Millis): readonly Uint8Array[] {
    const { family, transport, vrid } = parameters
    if (family === 'ipv4' && transport.mode === 'unicast' && !this.#broadcasts.take(vrid, now)) return []
    const { mac, source } = this.#asking()
    const known = this.#written.get(vrid)
    if (known?.parameters === parameters && known.mac === mac && known.source === source) return known.frames
    const frames = questionsOf(parameters, { mac, source })
    this.#written.set(vrid, { parameters, mac, source, frames })
    return frames
  }

  /**
   * The question before may have been lost in a cut that the advertisement found healed. In multicast it is asked once
   * more: whoever yields is hardly faster. Known peers are asked for what they do not give up, their own address.
   */
  after(parameters: Parameters, now: Millis): readonly Uint8Array[] {
    const { advertisementInterval, peers, transport, vrid } = parameters
    const again = transport.mode === 'multicast' && this.#followUps.take(vrid, now)
    const called = peers.map(({ address }) => address)
    const interval = centisToMillis(advertisementInterval)
    const calls = this.#rollCall.ask(called, this.#asking(), interval, now)
    if (!again) return calls
    const questions = this.before(parameters, now)
    return calls.length === 0 ? questions : [...questions, ...calls]
  }

  /** What a peer answered; undefined: it is none that was asked. */
  hear({ address, isAnswer, mac }: HeardClaim, heardAt: Millis): 'present' | 'back' | undefined {
    return isAnswer ? this.#rollCall.hear(address, mac, heardAt) : undefined
  }

  /** Nobody asks any more: a silence that lasts until the next term is none of it. */
  end(): void {
    this.#rollCall.clear()
  }
}

function questionsOf(
  { vrid, addresses, family, transport }: Parameters,
  { mac, source }: Asking,
): readonly Uint8Array[] {
  const [address] = addresses
  if (address === undefined) return []
  if (family === 'ipv6') return [neighborSolicitation({ target: address, source, mac })]
  const whom =
    transport.mode === 'multicast' ? [multicastMac(transport.group), virtualRouterMac(vrid, family)] : [BROADCAST_MAC]
  return whom.map((to) => arpProbe({ address, mac, to }))
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
