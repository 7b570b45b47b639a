/**
 * Listens for VRRP of one family on one interface, on the wire and at a socket as the daemon has it. This file decides
 * what is counted for each router, and that a VRRP packet tests this node's own packet filter without reaching any
 * wire. The receiver sends no advertisement and does not disturb a running daemon. The counts are judged in src/doctor.
 */
import { randomBytes } from 'node:crypto'
import type { Failure, SocketPort } from '../../daemon/ports.ts'
import type { HeardRouter, Listening, Unmeasured } from '../../doctor/measurement.ts'
import type { NativeAddon } from '../../linux/native.ts'
import { type GroupSocket, openGroupSocket } from '../../linux/sockets/group-datagram.ts'
import { sendUnsent } from '../../linux/sockets/unsent-vrrp.ts'
import { vrrpGroup } from '../../vrrp/packet.ts'
import { type Address, type Family, isMulticast } from '../../wire/address.ts'
import { type Sighting, sightingOf } from '../capture/capture-decode.ts'
import { MESSAGE_PORT, PeerMessages } from './doctor-messages.ts'

/** Limit of recorded routers of one family. More routers are only possible if a host sends forged packets. */
const MOST = 600
const MAX_BATCHES = 128
const UDP = 17
const VRRP = 112
const PROTOCOL_AT = { ipv4: 14 + 9, ipv6: 14 + 6 } as const

export type EarOptions = {
  readonly native: NativeAddon
  readonly sockets: Pick<SocketPort, 'openAdvertisementSocket'>
  readonly interfaceIndex: number
  readonly interfaceName: string
  readonly family: Family
  readonly source: Address
  /** Addresses of this node on any interface. Packets from these addresses come from this node. */
  readonly own: ReadonlySet<Address>
  /** True if another process of this node listens for VRRP. The test packet must then not come back to this node. */
  readonly shared: boolean
}

type Heard = Omit<HeardRouter, 'packets' | 'delivered'> & { packets: number; delivered: number }

export class Receiver {
  readonly #options: EarOptions
  readonly #group: Address
  readonly #heard = new Map<string, Heard>()
  readonly #messages = new PeerMessages(randomBytes(8).toString('hex'))
  readonly #close: (() => void)[] = []
  #failure: Failure | undefined
  #sender: GroupSocket | undefined
  #senderFailure: Failure | undefined
  #unsent: ReturnType<typeof sendUnsent> = 'not tried'
  #looped: boolean | undefined
  #left = 0
  #messagesSent = 0
  #messagesLeft = 0

  constructor(options: EarOptions) {
    this.#options = options
    this.#group = vrrpGroup(options.family)
    this.#listen()
  }

  #listen(): void {
    const { family, interfaceIndex, interfaceName, native, own, shared, sockets, source } = this.#options
    const socket = sockets.openAdvertisementSocket({
      ...{ interfaceIndex, interfaceName, family, source, group: this.#group },
      onReadable: () => {
        if (!('drain' in socket)) return
        socket.drain(MAX_BATCHES, (packet) => {
          if (own.has(packet.source)) this.#looped = true
          else this.#deliver(packet.source, vridOf(family, packet.bytes))
        })
      },
      onFailure: () => {},
    })
    if (!('drain' in socket)) {
      this.#failure = socket
      return
    }
    this.#close.push(() => socket.close())
    const sender = openGroupSocket(native, {
      ...{ interfaceIndex, interfaceName, group: this.#group, port: MESSAGE_PORT },
      onDatagram: (bytes, from) => {
        if (!own.has(from)) this.#messages.hear(bytes, from)
      },
    })
    if ('send' in sender) {
      this.#sender = sender
      this.#close.push(() => sender.close())
    } else this.#senderFailure = sender
    if (!shared) this.#looped = false
    this.#unsent = sendUnsent(native, {
      ...{ interfaceIndex, interfaceName, family, source, group: this.#group },
      loop: !shared,
    })
  }

  /** Sends this doctor's message to other doctors. */
  call(): void {
    const failure = this.#sender?.send(this.#messages.message())
    if (failure !== undefined) this.#senderFailure = failure
    else if (this.#sender !== undefined) this.#messagesSent++
  }

  /** Counts a frame that the tap of the interface saw. */
  frame(frame: Uint8Array, outgoing: boolean): void {
    const protocol = frame[PROTOCOL_AT[this.#options.family]]
    if (outgoing) {
      if (protocol === UDP) this.#messagesLeft++
      if (protocol === VRRP) this.#left++
      return
    }
    const sighting = protocol === VRRP ? sightingOf(frame) : undefined
    if (sighting?.kind === 'vrrp' && !this.#options.own.has(sighting.source)) this.#see(sighting)
  }

  #see(seen: Extract<Sighting, { readonly kind: 'vrrp' }>): void {
    const { destination, discard, source, sourceMac: mac, vrid = 0 } = seen
    const key = `${source} ${vrid}`
    const known = this.#heard.get(key)
    if (known === undefined && this.#heard.size >= MOST) return
    const { addresses = [], intervalMs = 0, priority = 0, version = 0 } = seen
    const counts = known ?? { packets: 0, delivered: 0 }
    const fields = { source, mac, vrid, version, intervalMs, addresses, discard, group: isMulticast(destination) }
    // A router that leaves sends priority 0. The doctor then reports the priority that the router had before.
    const last = priority === 0 ? (known?.priority ?? 0) : priority
    this.#heard.set(key, { ...fields, priority: last, packets: counts.packets + 1, delivered: counts.delivered })
  }

  /**
   * Numbers of packets delivered to the socket. The numbers of packets are counted separately, because the tap may be
   * read later than the socket.
   */
  readonly #deliveries = new Map<string, number>()
  #deliver(source: Address, vrid: number): void {
    const key = `${source} ${vrid}`
    if (this.#deliveries.size < MOST) this.#deliveries.set(key, (this.#deliveries.get(key) ?? 0) + 1)
  }

  senders(): readonly Pick<HeardRouter, 'source' | 'group'>[] {
    return [...this.#heard.values()]
  }

  result(forMs: number): Listening | Unmeasured {
    if (this.#failure !== undefined) return { unmeasured: this.#failure.message }
    const heard = [...this.#heard.entries()].map(([key, one]) => ({
      ...one,
      delivered: this.#deliveries.get(key) ?? 0,
    }))
    return {
      forMs,
      heard: heard.sort((a, b) => a.vrid - b.vrid),
      left: this.#left,
      refused: typeof this.#unsent === 'string' ? undefined : this.#unsent.message,
      passedOutput: this.#unsent === 'passed' || this.#left > 0,
      looped: this.#looped,
      messages: {
        sent: this.#messagesSent,
        left: this.#messagesLeft,
        failure: this.#senderFailure?.message,
        heard: this.#messages.heard,
      },
    }
  }

  close(): void {
    for (const close of this.#close) close()
  }
}

/**
 * Returns the VRID of a received packet. An IPv4 packet begins with the IP header, an IPv6 packet with the VRRP
 * message.
 */
function vridOf(family: Family, bytes: Uint8Array): number {
  const header = family === 'ipv4' ? ((bytes[0] ?? 0) & 0x0f) * 4 : 0
  return bytes[header + 1] ?? 0
}
