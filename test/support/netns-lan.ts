/**
 * Builds the LAN of the shared scenarios in network namespaces: the daemon runs as an operator starts it, and the
 * kernels show which node has an address. This file decides how each accident is made on a real machine. At a power
 * failure, first the cable goes, then all processes, then the address. This file does not know what a scenario expects.
 * This file knows only the status of the daemon.
 */
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { ip, nft } from '../../src/lab/ip.ts'
import { createLab, type Host, LAB_VIP, LAB_VIP6, type Lab } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import type { Family } from '../../src/wire/address.ts'
import type { Lan, LanNode, LanPlan, OpenLan } from './lan.ts'

/** Priority of a node whose uplink is down. The weight of a tracked interface is fixed when the daemon starts. */
const DEMOTED = 50
/**
 * Virtual addresses outside of the lab's networks. An IPv6 virtual router needs only link-local addresses of the nodes.
 */
const VIPS: Readonly<Record<Family, string>> = { ipv4: LAB_VIP, ipv6: LAB_VIP6 }
/**
 * Returns a link-local address for each host, in the order of the hosts' IPv4 addresses, because addresses decide
 * between equal priorities. The link-local addresses that the kernel makes do not have this order.
 */
const linkLocalOf = (host: Host, reversed: boolean): string => {
  const last = Number(host.address.split('.').at(-1))
  return `fe80::${reversed ? 255 - last : last}`
}
/** Milliseconds that are longer than the state `Leaving` ever takes. */
const LEAVES_WITHIN = 10_000

/**
 * Returns packet filter rules that drop received IP packets. If the sender dropped them, the sender would get an error
 * (EPERM). Frames without IP (ARP) pass.
 */
function dropAll(family: Family, source?: string): string {
  const table = family === 'ipv4' ? 'ip' : 'ip6'
  const rule = source === undefined ? 'drop' : `${table} saddr ${source} drop`
  return `table ${table} cut {\n chain arriving {\n type filter hook prerouting priority -300\n ${rule}\n }\n }\n`
}

type Member = { readonly node: LanNode; readonly host: Host; daemon: Holdfast | undefined }
type Note = { readonly at: number; readonly text: string }

/** Choices that a scenario leaves open: how the daemon reads and writes advertisements, and the address family. */
export type NetnsVariant = { readonly io: 'addon' | 'raw-socket'; readonly family: Family }

class NetnsLan implements Lan {
  readonly interval: number
  readonly #lab: Lab
  readonly #variant: NetnsVariant
  readonly #members: readonly Member[]
  readonly #peers: boolean
  readonly #reversed: boolean
  /** Address families of every node: one family, or both families of a sync group. */
  readonly #families: readonly Family[]
  readonly #vips: readonly string[]
  readonly #notes: Note[] = []
  readonly #openedAt = monotonicMs()
  /**
   * Time of the last accident in ms, from which `until` measures. The duration of the accident's own command is
   * included.
   */
  #causedAt = this.#openedAt

  constructor({ bothFamilies = false, nodes, interval, peers, reversed = false }: LanPlan, variant: NetnsVariant) {
    this.interval = interval
    this.#variant = variant
    this.#families = bothFamilies ? ['ipv4', 'ipv6'] : [variant.family]
    this.#vips = this.#families.map((family) => VIPS[family])
    this.#peers = peers
    this.#reversed = reversed
    this.#lab = createLab({ routers: nodes.length })
    try {
      this.#members = nodes.map((node, i) => ({ node, host: this.#lab.router(i + 1), daemon: undefined }))
      for (const { host } of this.#members) {
        this.#addUplink(host)
        if (this.#families.includes('ipv6')) this.#setLinkLocal(host)
      }
    } catch (error) {
      this.#lab.destroy()
      throw error
    }
  }

  #addUplink({ namespace }: Host): void {
    const lines = ['link add uplink type veth peer name far', 'link set uplink up', 'link set far up']
    ip(namespace, ...lines)
  }

  #setLinkLocal(host: Host): void {
    const own = linkLocalOf(host, this.#reversed)
    const flush = ['link set eth0 addrgenmode none', 'address flush dev eth0 scope link']
    ip(host, ...flush, `address add ${own}/64 dev eth0 nodad`)
  }

  #member(name: string): Member {
    const member = this.#members.find(({ node }) => node.name === name)
    if (member === undefined) throw new Error(`Cannot find node "${name}": have ${this.#named(() => true)}`)
    return member
  }

  #running(name: string): Holdfast {
    const { daemon } = this.#member(name)
    if (daemon === undefined) throw new Error(`Cannot use the daemon of "${name}": it was not started`)
    return daemon
  }

  #named(wanted: (member: Member) => boolean): string[] {
    return this.#members.filter(wanted).map(({ node }) => node.name)
  }

  #cause(text: string): void {
    this.#causedAt = monotonicMs()
    this.#notes.push({ at: this.#causedAt, text: `> ${text}` })
  }

  async start(...names: string[]): Promise<void> {
    this.#cause(`start ${names.join(' ')}`)
    const named = new Set(names.map((name) => this.#member(name)))
    const members = this.#members.filter((member) => named.has(member))
    const priorities = new Set(members.map(({ node }) => node.priority))
    // Processes do not start in the same millisecond, and of equal nodes the first to start stays Active (RFC 9568
    // §6.4.2). For this reason the nodes start one after the other, the highest address first. A start at the same time
    // would have the same result.
    const started = [...priorities].map(async (priority) => {
      for (const member of members.toReversed()) if (member.node.priority === priority) await this.#startOne(member)
    })
    await Promise.all(started)
    this.#causedAt = monotonicMs()
  }

  async #startOne(member: Member): Promise<void> {
    const { daemon, host, node } = member
    if (daemon !== undefined) {
      const last = () => daemon.lines.slice(-3).map(({ text }) => text)
      const ended = () => daemon.process.exit !== undefined
      await eventually(`the earlier daemon of ${node.name} to have ended`, ended, {
        sight: last,
        within: LEAVES_WITHIN,
      })
    }
    this.#lab.heal(host)
    member.daemon = this.#daemonOf(member)
    await member.daemon.ready()
  }

  #daemonOf({ node, host }: Member): Holdfast {
    const { priority, preempt = true } = node
    const hosts = this.#members.filter((other) => other.host !== host).map((other) => other.host)
    const othersOf = (family: Family) =>
      hosts.map((other) => (family === 'ipv4' ? other.address : linkLocalOf(other, this.#reversed)))
    const peersOf = (family: Family) => (this.#peers ? { peers: othersOf(family) } : {})
    // A weight of 0 is not allowed. A node whose planned priority is not above DEMOTED cannot fall to DEMOTED.
    const weighs = priority > DEMOTED ? { track: [{ interface: 'uplink', weight: DEMOTED - priority }] } : {}
    const [address = LAB_VIP] = this.#vips
    const plan = { host, priority, preempt, intervalMs: this.interval, address }
    const { io } = this.#variant
    if (this.#families.length === 1) {
      return new Holdfast(this.#lab, plan, { ...weighs, ...peersOf(this.#variant.family) }, [], { io })
    }
    const virtualRouters = this.#families.map((family) => ({
      ...{ name: family, vrid: 51, interface: 'eth0', addresses: [VIPS[family]], priority, preempt },
      ...{ advertisementInterval: `${this.interval}ms`, ...peersOf(family) },
    }))
    const syncGroups = [{ name: 'both', members: this.#families, ...weighs }]
    return new Holdfast(this.#lab, plan, {}, [], { io, virtualRouters, syncGroups })
  }

  async stop(name: string): Promise<void> {
    const daemon = this.#running(name)
    this.#cause(`stop ${name}`)
    daemon.terminate()
  }

  async kill(name: string): Promise<void> {
    const { host } = this.#member(name)
    const daemon = this.#running(name)
    this.#cause(`kill ${name}`)
    this.#lab.cut(host)
    daemon.killAll()
    await daemon.exited
    // After a power failure, the kernel of the node has no virtual address any longer.
    const isVirtual = (one: string) => this.#vips.some((vip) => one.startsWith(`${vip}/`))
    for (const held of this.#lab.addresses(host).filter(isVirtual)) {
      ip(host, `address delete ${held} dev eth0`)
    }
  }

  async cut(name: string, family?: Family): Promise<void> {
    this.#cause(`cut ${name}${family === undefined ? '' : ` ${family}`}`)
    const { host } = this.#member(name)
    if (family === undefined) return void this.#lab.cut(host)
    const source = family === 'ipv4' ? host.address : linkLocalOf(host, this.#reversed)
    for (const other of this.#members) {
      const rules = other.host === host ? dropAll(family) : dropAll(family, source)
      nft(other.host, rules)
    }
  }

  async heal(name: string): Promise<void> {
    this.#cause(`heal ${name}`)
    this.#lab.heal(this.#member(name).host)
    for (const { host } of this.#members) nft(host, 'flush ruleset')
  }

  /** Sets the carrier of the node's uplink, which gives the node one of two priorities: the planned one or DEMOTED. */
  async priority(name: string, value: number): Promise<void> {
    const { host, node } = this.#member(name)
    if (value !== node.priority && (value !== DEMOTED || node.priority < DEMOTED)) {
      throw new Error(`Cannot set the priority of "${name}" to ${value}: ${node.priority} or ${DEMOTED} wanted`)
    }
    this.#cause(`priority ${name} ${value}`)
    ip(host, `link set far ${value === node.priority ? 'up' : 'down'}`)
  }

  async wait(ms: number): Promise<void> {
    await sleep(ms)
    this.#causedAt = monotonicMs()
  }

  async active(): Promise<readonly string[]> {
    const active = await this.#activeRouters()
    return this.#members.filter((_, i) => (active[i] ?? 0) > 0).map(({ node }) => node.name)
  }

  async #activeRouters(): Promise<readonly number[]> {
    const snapshots = await Promise.all(this.#members.map(({ daemon }) => daemon?.snapshot()))
    return snapshots.map((one) => one?.routers.filter(({ state }) => state === 'Active').length ?? 0)
  }

  /**
   * Returns the nodes whose kernel answers a neighbour that asks for the addresses. A node that is cut off also
   * answers, on its own side.
   */
  async answering(): Promise<readonly string[]> {
    const holders = this.#vips.flatMap((vip) => this.#lab.holders(vip))
    return this.#named(({ host }) => holders.includes(host.name))
  }

  /** Returns the nodes that are Active and whose kernels answer for every address. */
  async #whole(): Promise<readonly string[]> {
    const active = await this.#activeRouters()
    const holders = this.#vips.map((vip) => this.#lab.holders(vip))
    const { length } = this.#vips
    return this.#members
      .filter(({ host }, i) => active[i] === length && holders.every((names) => names.includes(host.name)))
      .map(({ node }) => node.name)
  }

  async until(active: readonly string[], within: number): Promise<number> {
    const wanted = active.join(' ')
    const holds = async () => {
      const seen = [await this.active(), await this.answering(), await this.#whole()]
      return seen.every((names) => names.join(' ') === wanted)
    }
    const sight = async () => ({ active: await this.active(), answering: await this.answering() })
    await eventually(`only ${wanted || 'nobody'} Active and answering`, holds, { sight, within })
    const at = monotonicMs()
    const took = at - this.#causedAt
    this.#causedAt = at
    this.#notes.push({ at, text: `= ${wanted || 'nobody'}` })
    return took
  }

  async story(): Promise<string> {
    const logged = this.#members.flatMap(({ node, daemon }) =>
      (daemon?.lines ?? []).map(({ at, text }) => ({ at, text: `${node.name} ${text}` })),
    )
    return [...this.#notes, ...logged]
      .sort((one, other) => one.at - other.at)
      .map(({ at, text }) => `${(at - this.#openedAt).toFixed(1)} ${text}`)
      .join('\n')
  }

  async close(): Promise<void> {
    this.#lab.destroy()
  }
}

export const openNetnsLan =
  (variant: NetnsVariant): OpenLan =>
  async (plan) =>
    new NetnsLan(plan, variant)
