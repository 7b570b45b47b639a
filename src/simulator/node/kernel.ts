/**
 * Models the kernel of a node, as its daemon and its LAN see the kernel. The kernel has one interface, addresses with
 * lifetimes, and queued notifications. The simulated kernel answers ARP and Neighbor Discovery for every installed
 * address, whether a daemon runs or not.
 */
import { arpRequest, readArp } from '../../arp/arp-packet.ts'
import { icmpv6Frame } from '../../arp/icmpv6-frame.ts'
import type {
  AddressOutcome,
  AddressStep,
  Link,
  NetworkEvent,
  NetworkPort,
  PresentAddress,
  WantedAddress,
} from '../../daemon/ports.ts'
import { type Address, addressBytes, addressFromBytes } from '../../wire/address.ts'
import { concatBytes } from '../../wire/bytes.ts'
import { type Mac, macBytes, macFromBytes } from '../../wire/mac.ts'
import type { Cancel } from '../virtual-time.ts'
import type { Timers } from './local-clock.ts'

export const INDEX = 2
const ARP_REPLY = 2
const SOLICITATION = 135
const ADVERTISEMENT = 136
/** Flags of a Neighbor Advertisement that answers: Solicited and Override (RFC 4861 §4.4). */
const ANSWER = 0x60
/**
 * Milliseconds between two moments at which Linux removes expired addresses, because its timer is coarse
 * (docs/adr/0015).
 */
const COARSE = 100

type Installed = { readonly present: PresentAddress; end: Cancel | undefined }

export type KernelContext = {
  /** Name of the only network interface of the node. */
  readonly interfaceName: string
  readonly timers: Timers
  /** True if addresses disappear at the end of their lifetime. */
  readonly expires: boolean
  /** Sends a frame of the kernel itself, such as an ARP reply. */
  readonly send: (frame: Uint8Array) => void
  /** Called when a notification for the daemon has been queued. */
  readonly onNews: () => void
  /** Called when the set of installed addresses may have changed. */
  readonly onChange: () => void
}

const keyOf = ({ address, prefixLength }: { address: Address; prefixLength: number }) => `${address}/${prefixLength}`

export class Kernel {
  readonly mac: Mac
  readonly #context: KernelContext
  readonly #installed = new Map<string, Installed>()
  #link: Link
  #news: NetworkEvent[] = []
  #deliver: ((event: NetworkEvent) => void) | undefined
  /** True while the daemon has a monitor socket open. The kernel queues notifications for the daemon from then on. */
  #open = false

  constructor(mac: Mac, own: readonly PresentAddress[], context: KernelContext) {
    this.mac = mac
    this.#context = context
    this.#link = { index: INDEX, name: context.interfaceName, mac, mtu: 1500, up: true, running: true }
    for (const present of own) this.#installed.set(keyOf(present), { present, end: undefined })
  }

  get carrier(): boolean {
    return this.#link.running
  }

  setCarrier(running: boolean): void {
    this.#link = { ...this.#link, running }
    this.#tell({ kind: 'link', link: this.#link })
    this.#context.onChange()
  }

  has(address: Address): boolean {
    for (const { present } of this.#installed.values()) if (present.address === address) return true
    return false
  }

  get addresses(): readonly PresentAddress[] {
    return [...this.#installed.values()].map(({ present }) => present)
  }

  /** Installs an address, as RTM_NEWADDR with REPLACE does. Returns true if the address was not installed before. */
  put(wanted: WantedAddress, lifetime: number | undefined): boolean {
    const key = keyOf(wanted)
    const known = this.#installed.get(key)
    known?.end?.()
    const { address, prefixLength } = wanted
    const present: PresentAddress = {
      ...{ interfaceIndex: INDEX, address, prefixLength, tentative: false, permanent: lifetime === undefined },
    }
    const end =
      lifetime === undefined || !this.#context.expires
        ? undefined
        : this.#context.timers.after(lifetime * 1_000 + COARSE, () => this.remove(wanted))
    this.#installed.set(key, { present, end })
    if (known === undefined) {
      this.#tell({ kind: 'addressAdded', present })
      this.#context.onChange()
    }
    return known === undefined
  }

  /** Removes an address. Returns false if the address was not installed. */
  remove(wanted: { readonly address: Address; readonly prefixLength: number }): boolean {
    const key = keyOf(wanted)
    const known = this.#installed.get(key)
    if (known === undefined) return false
    known.end?.()
    this.#installed.delete(key)
    this.#tell({ kind: 'addressRemoved', present: known.present })
    this.#context.onChange()
    return true
  }

  /** Drops the queued notifications of a monitor socket that was closed. */
  forgetWatch(): void {
    this.#deliver = undefined
    this.#open = false
    this.#news = []
  }

  get hasNews(): boolean {
    return this.#deliver !== undefined && this.#news.length > 0
  }

  readNews(): void {
    for (let event = this.#news.shift(); event !== undefined; event = this.#news.shift()) this.#deliver?.(event)
  }

  /** Answers a received ARP request or Neighbor Solicitation for an installed address. */
  answer(frame: Uint8Array): void {
    const arp = readArp(frame)
    if (arp !== undefined) {
      const { senderAddress, senderMac, targetAddress } = arp
      if (frame[21] === ARP_REPLY || senderAddress === targetAddress || !this.has(targetAddress)) return
      const reply = arpRequest({
        ...{ senderMac: this.mac, senderAddress: targetAddress, targetMac: senderMac, targetAddress: senderAddress },
      })
      reply[21] = ARP_REPLY
      reply.set(macBytes(senderMac))
      return this.#context.send(reply)
    }
    if (frame[20] !== 58 || frame[54] !== SOLICITATION) return
    const target = addressFromBytes(frame.subarray(62, 78))
    if (!this.has(target)) return
    const message = concatBytes(
      Uint8Array.of(ADVERTISEMENT, 0, 0, 0, ANSWER, 0, 0, 0),
      addressBytes(target),
      Uint8Array.of(2, 1),
      macBytes(this.mac),
    )
    const asker = addressFromBytes(frame.subarray(22, 38))
    const reply = icmpv6Frame({ source: target, group: asker, mac: this.mac, message })
    reply.set(frame.subarray(6, 12))
    this.#context.send(reply)
  }

  port(): NetworkPort {
    this.#open = true
    return {
      links: () => [this.#link],
      addresses: () => this.addresses,
      settle: () => {},
      apply: (steps) => steps.map((step) => this.#apply(step)),
      watch: (deliver) => {
        this.#deliver = deliver
        this.readNews()
      },
      drain: () => this.readNews(),
      close: () => this.forgetWatch(),
    }
  }

  #apply(step: AddressStep): AddressOutcome {
    const changed = step.action === 'add' ? this.put(step, step.lifetime) : this.remove(step)
    return { step, ok: true, changed }
  }

  #tell(event: NetworkEvent): void {
    if (!this.#open) return
    this.#news.push(event)
    this.#context.onNews()
  }
}

export const macOf = (position: number): Mac => macFromBytes(Uint8Array.of(2, 0, 0, 0, position >> 8, position & 255))
