/**
 * Runs nodes on one virtual clock and one or several virtual wires. The LAN has latency, random loss from a seed, cuts
 * in one or both directions (also of one wire or one address family only), stalls, wrong clocks and power failures.
 * Every node runs one virtual router, or the same sync group. Every event is recorded. A test can ask which nodes
 * answered for the addresses, how long no node or two nodes did, and which packets were sent. A LAN that does not come
 * to rest ends with an error.
 */

import { type Change, longestOf, spansIn } from '../../src/lab/watch/history.ts'
import type { Parameters } from '../../src/vrrp/parameters.ts'
import { type Knobs, optionsOf, type ProfileName, profileKnobs } from '../../src/vrrp/profile.ts'
import { activeDownInterval } from '../../src/vrrp/timers.ts'
import { type Address, address, isMulticast } from '../../src/wire/address.ts'
import { centis, millis } from '../../src/wire/units.ts'
import { VirtualGuardian } from './virtual-guardian.ts'
import { ALONE, type MemberSpec, ownAddress, VirtualMember, virtualAddresses } from './virtual-member.ts'
import { type Delivery, VirtualNode } from './virtual-node.ts'

export type NodeSpec = {
  readonly name: string
  readonly priority: number
  /** Milliseconds by which the node's clock is ahead of LAN time. */
  readonly offset?: number
  readonly preempt?: boolean
  /** Last number of the node's address 192.0.2.<host>; absent: the position of the node in the list, from 1 on. */
  readonly host?: number
  readonly minHold?: number
}

export type LanSpec = {
  readonly nodes: readonly NodeSpec[]
  /** Virtual routers of every node; absent: one IPv4 router. */
  readonly members?: readonly MemberSpec[]
  readonly profile?: ProfileName
  readonly knobs?: Partial<Knobs>
  /** Advertisement interval in centiseconds; absent: 100. */
  readonly interval?: number
  /** Milliseconds that a packet needs from one node to another; absent: 0.2. */
  readonly latency?: number
  /** Longest delay of a timer in milliseconds. The delay of each timer is random. Absent: 0. */
  readonly lateness?: number
  readonly seed?: number
  /** True to configure every node with the addresses of the other nodes as its peers (stagger). */
  readonly peers?: boolean
  /**
   * True to give every node a guardian, and addresses with a lifetime. The node then also checks whether it was absent.
   */
  readonly guarded?: boolean
}

export type Note = { readonly at: number; readonly node: string; readonly text: string }
/** Name that stands for the whole LAN. Other names stand for one wire or one address family. */
const EVERYTHING = '*'

const GROUP = { ipv4: address('224.0.0.18'), ipv6: address('ff02::12') }
/** Largest number of events between two commands of a test. Only a LAN that sends without end reaches this number. */
const MOST_TURNS = 200_000
const NOTHING_PLANNED = { at: Number.POSITIVE_INFINITY, act: () => {} }

export class VirtualLan {
  now = 0
  readonly nodes: readonly VirtualNode[]
  readonly notes: Note[] = []
  /**
   * History of the nodes that answered for any virtual address (`answering`), and of the nodes that were Active
   * (`reigning`).
   */
  readonly answering: Change[] = [{ at: 0, holders: [] }]
  readonly reigning: Change[] = [{ at: 0, holders: [] }]
  /** History of the nodes that answered for the addresses of one virtual router, by router name. */
  readonly answeringFor = new Map<string, Change[]>()
  /** Share of the packets that are lost on their way to a node, from 0 to 1. */
  loss = 0
  readonly #latency: number
  readonly #parts: readonly MemberSpec[]
  /** Wires and address families that are cut, by the two node names `from to`. */
  readonly #cut = new Map<string, Set<string>>()
  readonly #wire: { to: VirtualNode; delivery: Delivery }[] = []
  #plans: { readonly at: number; readonly act: () => void }[] = []
  #random: number

  constructor(spec: LanSpec) {
    const { nodes, profile = 'holdfast', knobs, interval = 100, latency = 0.2, peers = false } = spec
    const { lateness = 0, seed = 1, guarded = false } = spec
    this.#latency = latency
    this.#random = seed >>> 0 || 1
    this.#parts = spec.members ?? ALONE
    const hosts = nodes.map(({ host }, position) => host ?? position + 1)
    this.nodes = nodes.map((member, i) => {
      const { name, priority, offset = 0, preempt = true, minHold = 10_000 } = member
      const build = (part: MemberSpec, index: number): VirtualMember => {
        const all = hosts.map((host) => ownAddress(part, host))
        const own = ownAddress(part, hosts[i] ?? 0)
        const parameters: Parameters = {
          vrid: 51 + index,
          family: part.family,
          version: 3,
          priority,
          advertisementInterval: centis(interval),
          addresses: virtualAddresses(part, index),
          preempt,
          preemptDelay: millis(0),
          minHold: millis(minHold),
          primaryAddress: own,
          transport: { mode: 'multicast', group: GROUP[part.family] },
          peers: peers ? all.filter((other) => other !== own).map((other) => ({ address: other })) : [],
          ...optionsOf({ ...profileKnobs(profile, 3), ...knobs }, 3),
        }
        return new VirtualMember(part.name, part.wire, parameters)
      }
      const [first = ALONE[0], ...rest] = this.#parts
      if (first === undefined) throw new Error('a node has a virtual router')
      const members = [build(first, 0), ...rest.map((part, index) => build(part, index + 1))] as const
      const node: VirtualNode = new VirtualNode(
        name,
        members,
        offset,
        () => this.#draw() * lateness,
        {
          send: (from, { destination, bytes }) => {
            const { primaryAddress: source } = from.parameters
            this.#deliver(node, from, { kind: 'packet', wire: from.wire, bytes, source, destination, at: 0 })
          },
          probe: (from) => this.#probe(node, from),
          claim: (from, claimed) =>
            this.#deliver(node, from, { kind: 'claim', wire: from.wire, address: claimed, at: 0 }),
          note: (text) => this.notes.push({ at: this.now, node: name, text }),
          answers: () => this.#recordAnswers(),
          changed: () => this.reigning.push({ at: this.now, holders: this.active }),
        },
        guarded ? new VirtualGuardian(activeDownInterval(priority, centis(interval), 3)) : undefined,
      )
      return node
    })
  }

  node(name: string): VirtualNode {
    const found = this.nodes.find((node) => node.name === name)
    if (found === undefined) throw new Error(`Cannot find node "${name}": have ${this.names(() => true)}`)
    return found
  }

  names(wanted: (node: VirtualNode) => boolean): string[] {
    return this.nodes.filter(wanted).map(({ name }) => name)
  }

  /** Names of the nodes that are Active with at least one of their virtual routers. */
  get active(): string[] {
    return this.names(({ running, members }) => running && members.some(({ state }) => state.name === 'Active'))
  }

  /** Names of the nodes that answer for any address, or for the addresses of one virtual router. */
  get holders(): string[] {
    return this.names(({ members }) => members.some(({ installed }) => installed.size > 0))
  }

  holdersOf(member: string): string[] {
    return this.names(({ members }) => members.some(({ name, installed }) => name === member && installed.size > 0))
  }

  /** Returns true if exactly these nodes are Active, each of them with all of its virtual routers. */
  isAll(active: readonly string[]): boolean {
    const wanted = active.join(' ')
    if (this.active.join(' ') !== wanted || this.holders.join(' ') !== wanted) return false
    return active.every((name) =>
      this.node(name).members.every(({ installed, state }) => state.name === 'Active' && installed.size > 0),
    )
  }

  start(name: string): void {
    this.node(name).startup(this.now)
  }

  startAll(): void {
    for (const { name } of this.nodes) this.start(name)
  }

  shutdown(name: string): void {
    this.node(name).post({ kind: 'shutdown' }, this.now)
  }

  yield(name: string): void {
    this.node(name).yield(this.now)
  }

  setPriority(name: string, priority: number): void {
    this.node(name).setPriority(priority, this.now)
  }

  /** Switches the power of the node off: from now on the node sends nothing and answers nothing. */
  crash(name: string): void {
    this.#note(name, 'is gone')
    this.node(name).vanish()
  }

  stall(name: string, duration: number): void {
    this.#note(name, `stalls for ${duration} ms`)
    this.node(name).stall(this.now, duration)
  }

  /**
   * Stops the engine of the node and continues it after `engine` ms (SIGSTOP, SIGCONT). The guardian is stopped for
   * `guardian` ms. The node's kernel continues to answer.
   */
  freeze(name: string, engine: number, guardian = 0): void {
    this.#note(name, `is frozen for ${engine} ms, its guardian for ${guardian} ms`)
    this.node(name).freeze(this.now, engine, guardian)
  }

  /** Cuts a node off on all wires, or on one wire or address family. A holder still answers on its side of the cut. */
  cut(name: string, part?: string): void {
    this.#note(name, `is cut off${part === undefined ? '' : ` (${part})`}`)
    for (const other of this.nodes) {
      if (other.name === name) continue
      this.#cutPair(name, other.name, part)
      this.#cutPair(other.name, name, part)
    }
  }

  heal(name: string, part?: string): void {
    this.#note(name, `is connected again${part === undefined ? '' : ` (${part})`}`)
    for (const [pair, parts] of this.#cut) {
      if (!pair.split(' ').includes(name)) continue
      if (part === undefined) parts.clear()
      else parts.delete(part)
    }
  }

  /** Drops every packet from the node `from` to the node `to`. */
  cutOneWay(from: string, to: string): void {
    this.#note(from, `is not heard by ${to}`)
    this.#cutPair(from, to, undefined)
  }

  #cutPair(from: string, to: string, part = EVERYTHING): void {
    const pair = `${from} ${to}`
    this.#cut.set(pair, (this.#cut.get(pair) ?? new Set()).add(part))
  }

  healAll(): void {
    this.#cut.clear()
  }

  /** Unplugs a wire from a node: the wire is cut, and the node notices the loss of carrier. */
  unplug(name: string, wire: string): void {
    this.cut(name, wire)
    this.node(name).link(wire, false, this.now)
  }

  plug(name: string, wire: string): void {
    this.heal(name, wire)
    this.node(name).link(wire, true, this.now)
  }

  /** Schedules an event that is no action of a router, in `after` ms. */
  later(after: number, act: () => void): void {
    this.#plans.push({ at: this.now + after, act })
  }

  /** Lets `duration` ms of virtual time pass. */
  run(duration: number): void {
    const until = this.now + duration
    for (let turns = 0; ; turns++) {
      if (turns > MOST_TURNS) throw new Error(`Cannot reach ${until} ms: ${turns} turns, now ${this.now} ms`)
      if (!this.#turn(until)) break
    }
    this.now = until
  }

  /**
   * Runs the LAN until `holds` returns true. Returns how long that took in virtual ms. Throws with the last state after
   * `within` ms.
   */
  runUntil(expected: string, holds: () => boolean, within: number): number {
    const began = this.now
    for (let turns = 0; !holds(); turns++) {
      if (turns > MOST_TURNS || !this.#turn(began + within)) {
        const states = this.nodes
          .map(({ name, members }) => `${name} ${members.map(({ state }) => state.name).join('/')}`)
          .join(', ')
        const seen = `active: [${this.active}], answering: [${this.holders}], ${states}`
        throw new Error(`Expected ${expected} within ${within} ms after ${began} ms; at ${this.now} ms ${seen}`)
      }
    }
    return this.now - began
  }

  /**
   * Returns the longest time in ms, after the time `since`, in which `wanted` accepts the number of answering nodes;
   * with `member`, only for the addresses of that router.
   */
  longest(wanted: (count: number) => boolean, since = 0, member?: string): number {
    const changes = member === undefined ? this.answering : (this.answeringFor.get(member) ?? [{ at: 0, holders: [] }])
    return longestOf(spansIn(changes, wanted, { from: since, to: this.now }))
  }

  /**
   * Returns the longest time in ms, after the time `since`, in which `wanted` accepts the number of nodes in state
   * Active.
   */
  longestReign(wanted: (count: number) => boolean, since = 0): number {
    return longestOf(spansIn(this.reigning, wanted, { from: since, to: this.now }))
  }

  /**
   * Handles the next event of all planned events, packets and deadlines: the earliest first, and arrivals before
   * deadlines. Returns false if no event is left before `until`.
   */
  #turn(until: number): boolean {
    let arrives: { to: VirtualNode; delivery: Delivery } | undefined
    for (const one of this.#wire) if (arrives === undefined || one.delivery.at < arrives.delivery.at) arrives = one
    let wakes: VirtualNode | undefined
    for (const node of this.nodes) {
      const at = node.wakesAt
      if (at !== undefined && at < (wakes?.wakesAt ?? Number.POSITIVE_INFINITY)) wakes = node
    }
    const wakesAt = Math.max(wakes?.wakesAt ?? Number.POSITIVE_INFINITY, this.now)
    const plan = this.#plans.reduce((first, one) => (one.at < first.at ? one : first), NOTHING_PLANNED)
    if (plan.at <= Math.min(arrives?.delivery.at ?? Number.POSITIVE_INFINITY, wakesAt, until)) {
      this.now = Math.max(this.now, plan.at)
      this.#plans = this.#plans.filter((one) => one !== plan)
      plan.act()
      return true
    }
    if (arrives !== undefined && arrives.delivery.at <= Math.min(wakesAt, until)) {
      this.now = Math.max(this.now, arrives.delivery.at)
      this.#wire.splice(this.#wire.indexOf(arrives), 1)
      arrives.to.arrive(arrives.delivery)
      return true
    }
    if (wakes === undefined || wakesAt > until) return false
    this.now = wakesAt
    wakes.wake(wakesAt)
    return true
  }

  #deliver(node: VirtualNode, member: VirtualMember, sent: Delivery): void {
    const delivery = { ...sent, at: this.now + this.#latency }
    const { family } = member.parameters
    for (const to of this.nodes) {
      if (node === to) continue
      const meant = (address: Address) =>
        isMulticast(address) || to.members.some(({ parameters }) => parameters.primaryAddress === address)
      if (sent.kind === 'packet' && !meant(sent.destination)) continue
      const cut = this.#cut.get(`${node.name} ${to.name}`)
      if (cut !== undefined && [EVERYTHING, member.wire, family].some((part) => cut.has(part))) continue
      if (this.loss > 0 && this.#draw() < this.loss) continue
      this.#wire.push({ to, delivery })
    }
  }

  /**
   * Lets the kernels of the other nodes answer a question for the addresses; kernels of stopped processes answer too.
   * The answer arrives after twice the latency.
   */
  #probe(node: VirtualNode, asking: VirtualMember): void {
    const at = this.now + 2 * this.#latency
    const { addresses, family } = asking.parameters
    for (const other of this.nodes) {
      if (other === node) continue
      const pairs = [`${node.name} ${other.name}`, `${other.name} ${node.name}`]
      if (pairs.some((pair) => [EVERYTHING, asking.wire, family].some((part) => this.#cut.get(pair)?.has(part))))
        continue
      if (this.loss > 0 && this.#draw() < this.loss) continue
      for (const address of addresses) {
        const has = other.members.some(({ installed, wire }) => wire === asking.wire && installed.has(address))
        if (has) this.#wire.push({ to: node, delivery: { kind: 'claim', wire: asking.wire, address, at } })
      }
    }
  }

  #recordAnswers(): void {
    const { holders, answering, now } = this
    if (answering.at(-1)?.holders.join(' ') !== holders.join(' ')) answering.push({ at: now, holders })
    for (const { name } of this.#parts) {
      const spans = this.answeringFor.get(name) ?? [{ at: 0, holders: [] }]
      this.answeringFor.set(name, spans)
      const ofMember = this.holdersOf(name)
      if (spans.at(-1)?.holders.join(' ') !== ofMember.join(' ')) spans.push({ at: now, holders: ofMember })
    }
  }

  #note(node: string, text: string): void {
    this.notes.push({ at: this.now, node, text })
  }

  /** Returns the next random number of xorshift32, so that a failure can be repeated from its seed. */
  #draw(): number {
    let x = this.#random
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    this.#random = x >>> 0
    return this.#random / 2 ** 32
  }
}
