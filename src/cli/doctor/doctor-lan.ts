/**
 * Examines one interface for `holdfast doctor`: which routers are heard, which MACs answer for addresses, and the
 * kernel's settings. This file decides which addresses are asked for (virtual addresses, peers, the node's own) and
 * with which source address. This file judges no answer.
 */
import type { Link, PresentAddress, SocketPort } from '../../daemon/ports.ts'
import {
  isUnmeasured,
  type LanState,
  type Listening,
  type PlannedRouter,
  type Unmeasured,
  type WayBack,
} from '../../doctor/measurement.ts'
import { routeTable } from '../../doctor/route-table.ts'
import type { NativeAddon } from '../../linux/native.ts'
import type { ReversePath } from '../../linux/reverse-path.ts'
import { openVrrpTap } from '../../linux/sockets/frame-tap.ts'
import { vrrpGroup } from '../../vrrp/packet.ts'
import { type Address, type Family, familyOf, isLinkLocal } from '../../wire/address.ts'
import { lanManager, lanSettings, routesText } from './doctor-machine.ts'
import { type Question, Questions } from './doctor-questions.ts'
import { Receiver } from './doctor-receiver.ts'

/** Milliseconds between two messages to other doctors. */
const CALL_EVERY = 500
const DAD_FAILED = 0x08
const ETHERTYPE = { ipv4: 0x0800, ipv6: 0x86dd } as const
const FAMILIES = ['ipv4', 'ipv6'] as const

export type LanOptions = {
  readonly native: NativeAddon
  readonly sockets: SocketPort
  readonly reversePath: ReversePath
  readonly link: Link
  readonly links: readonly Link[]
  /** Addresses of all interfaces of this node. */
  readonly addresses: readonly PresentAddress[]
  readonly routers: readonly PlannedRouter[]
  readonly shared: boolean
  /**
   * Reason why the doctor cannot listen on the interface, such as a missing CAP_NET_RAW; `undefined` if it can listen.
   */
  readonly obstacle: string | undefined
}

/** Examines an interface from its creation on. `end` returns the observations after `durationMs`. */
export class LanExamination {
  readonly #options: LanOptions
  readonly #receivers = new Map<Family, Receiver | Unmeasured>()
  #questions: Questions | undefined
  #close: (() => void)[] = []

  constructor(options: LanOptions, durationMs: number) {
    this.#options = options
    const { link, obstacle } = options
    if (obstacle !== undefined || !link.up) {
      const why = { unmeasured: obstacle ?? 'the interface is turned off' }
      for (const family of FAMILIES) this.#receivers.set(family, why)
      return
    }
    this.#listen()
    this.#ask(durationMs)
  }

  #listen(): void {
    const { addresses, link, native, shared, sockets } = this.#options
    const own = new Set(addresses.map(({ address }) => address))
    const at = { interfaceIndex: link.index, interfaceName: link.name }
    for (const family of FAMILIES) {
      const source = this.#sourceOf(family)
      this.#receivers.set(
        family,
        source === undefined
          ? { unmeasured: `the interface has no ${family === 'ipv4' ? 'IPv4' : 'link-local IPv6'} address` }
          : new Receiver({ ...at, native, sockets, family, source, own, shared }),
      )
    }
    const tap = openVrrpTap(native, {
      ...at,
      onFrame: (frame, outgoing) => {
        const type = ((frame[12] ?? 0) << 8) | (frame[13] ?? 0)
        for (const family of FAMILIES) if (type === ETHERTYPE[family]) this.#earOf(family)?.frame(frame, outgoing)
      },
      onFailure: () => {},
    })
    if ('close' in tap) this.#close.push(() => tap.close())
    const call = () => {
      for (const family of FAMILIES) this.#earOf(family)?.call()
    }
    call()
    const timer = setInterval(call, CALL_EVERY)
    this.#close.push(() => clearInterval(timer))
  }

  #earOf(family: Family): Receiver | undefined {
    const receiver = this.#receivers.get(family)
    return receiver instanceof Receiver ? receiver : undefined
  }

  /**
   * Returns the source address of the doctor's packets. A virtual address is not used, because it may move away. IPv6
   * routers send from the link-local address (RFC 9568 §5.1.2.1).
   */
  #sourceOf(family: Family): Address | undefined {
    const here = this.#own.filter(({ address, tentative }) => familyOf(address) === family && !tentative)
    const usable = here.filter(({ address }) => !this.#isVirtual(address))
    if (family === 'ipv4') return usable[0]?.address
    return usable.find(({ address }) => isLinkLocal(address))?.address
  }

  get #own(): readonly PresentAddress[] {
    const { addresses, link } = this.#options
    return addresses.filter(({ interfaceIndex }) => interfaceIndex === link.index)
  }

  #isVirtual(address: Address): boolean {
    return this.#options.routers.some(({ held, owner }) => !owner && held.some((one) => one.address === address))
  }

  #ask(durationMs: number): void {
    const { link, links, routers, sockets } = this.#options
    const ownMacs = new Set(links.map(({ mac }) => mac))
    const at = { interfaceIndex: link.index, interfaceName: link.name, mac: link.mac }
    const questions = new Questions({ ...at, sockets, ownMacs })
    const here = (on: string | undefined) => on === link.name
    const virtual = routers.flatMap(({ held, interface: on, owner }) =>
      owner ? [] : held.filter((one) => here(one.interface ?? on)).map(({ address }) => address),
    )
    const peers = routers.filter(({ interface: on }) => here(on)).flatMap((router) => router.peers)
    const primary = this.#own.map(({ address }) => address).filter((address) => !this.#isVirtual(address))
    const wanted = [...new Set([...virtual, ...peers, ...primary])]
    questions.ask(
      wanted.map((address) => this.#question(address)),
      durationMs,
    )
    this.#questions = questions
    this.#close.push(() => questions.close())
  }

  /**
   * Returns the ARP or NDP question for an address. For IPv6, the source of the question is never the asked address,
   * because this node would then answer.
   */
  #question(address: Address): Question {
    if (familyOf(address) === 'ipv4') return { address }
    const sources = this.#own.filter(
      (own) =>
        familyOf(own.address) === 'ipv6' && own.address !== address && !own.tentative && !this.#isVirtual(own.address),
    )
    const linkLocal = sources.find((own) => isLinkLocal(own.address))
    return { address, source: (linkLocal ?? sources[0])?.address }
  }

  end(forMs: number): LanState {
    const { link } = this.#options
    const { index, mac, mtu, name, portOf, running, up } = link
    const state: LanState = {
      interface: name,
      ...{ mac, mtu, up, carrier: running, portOf },
      own: this.#own.map(({ address, deprecated, flags = 0, prefixLength }) => ({
        address,
        prefixLength,
        dadFailed: (flags & DAD_FAILED) !== 0,
        deprecated: deprecated === true,
      })),
      settings: lanSettings(name),
      manager: lanManager(index),
      listening: { ipv4: this.#listening('ipv4', forMs), ipv6: this.#listening('ipv6', forMs) },
      claims: this.#questions?.claims ?? [],
      asked: this.#questions?.asked ?? [],
      routes: this.#waysBack(),
    }
    for (const close of this.#close) close()
    for (const family of FAMILIES) this.#earOf(family)?.close()
    return state
  }

  /**
   * Returns the routes from this node to routers that are peers or were heard on the LAN. The kernel is asked while
   * this node is a member of the VRRP group.
   */
  #waysBack(): readonly WayBack[] {
    const { link, reversePath, routers } = this.#options
    const heard = this.#earOf('ipv4')?.senders() ?? []
    const peers = routers
      .filter((router) => router.interface === link.name && router.family === 'ipv4')
      .flatMap(({ multicast: group, peers }) => peers.map((source) => ({ source, group })))
    const routeTo = routeTable(routesText())
    const own = this.#sourceOf('ipv4')
    // Without a membership in the group the kernel would refuse every packet.
    const joined = isUnmeasured(this.#listening('ipv4', 0)) ? undefined : vrrpGroup('ipv4')
    const senders = new Map([...peers, ...heard].map(({ group, source }) => [source, group]))
    return [...senders].map(([address, group]) => {
      const destination = group ? joined : own
      const packet = { source: address, interfaceIndex: link.index }
      const refused = destination === undefined ? undefined : reversePath.refuses({ ...packet, destination })
      return { address, interface: routeTo(address), refused }
    })
  }

  #listening(family: Family, forMs: number): Listening | Unmeasured {
    const receiver = this.#receivers.get(family)
    if (receiver === undefined) return { unmeasured: 'no receiver was open' }
    return receiver instanceof Receiver
      ? receiver.result(forMs)
      : isUnmeasured(receiver)
        ? receiver
        : { unmeasured: 'no receiver was open' }
  }
}
