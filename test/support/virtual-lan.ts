/**
 * Routers on one virtual clock and one virtual wire: latency, seeded loss, cuts in one or both directions, stalls,
 * clocks that are off, power failures. Everything that happened is kept, so that a test can ask who answered for the
 * addresses, how long nobody or two did, and what was sent. Bounded: a LAN that does not come to rest fails.
 */
import { type Knobs, type Parameters, type ProfileName, profileKnobs } from '../../src/vrrp/parameters.ts'
import { type Address, address } from '../../src/wire/address.ts'
import { centis, millis } from '../../src/wire/units.ts'
import { type Delivery, VirtualNode } from './virtual-node.ts'

export type NodeSpec = {
  readonly name: string
  readonly priority: number
  /** Milliseconds by which its clock is ahead. */
  readonly offset?: number
  readonly preempt?: boolean
  /** 192.0.2.<host>; by default 1, 2, … in the order of the list. */
  readonly host?: number
  readonly minHold?: number
}

export type LanSpec = {
  readonly nodes: readonly NodeSpec[]
  readonly profile?: ProfileName
  readonly knobs?: Partial<Knobs>
  /** Centiseconds; 100 by default. */
  readonly interval?: number
  /** Milliseconds from one node to another; 0.2 by default. */
  readonly latency?: number
  /** Up to this many milliseconds a timer fires late, each time anew; 0 by default. */
  readonly lateness?: number
  readonly seed?: number
  /** Every node is told who the others are (stagger). */
  readonly peers?: boolean
}

export type Note = { readonly at: number; readonly node: string; readonly text: string }
/** From `at` on it is these nodes, in the order of the list. */
export type Span = { readonly at: number; readonly nodes: readonly string[] }

export const VIRTUAL_VIP = address('198.51.100.1')
const GROUP = address('224.0.0.18')
/** More than any test needs between two commands; reached only by a LAN that talks without end. */
const MOST_TURNS = 200_000

export class VirtualLan {
  now = 0
  readonly nodes: readonly VirtualNode[]
  readonly notes: Note[] = []
  /** Who answered for the VIP, and who was Active. */
  readonly answering: Span[] = [{ at: 0, nodes: [] }]
  readonly reigning: Span[] = [{ at: 0, nodes: [] }]
  /** Of 0 to 1: how many deliveries are lost. */
  loss = 0
  readonly #latency: number
  readonly #answers = new Set<string>()
  readonly #cut = new Set<string>()
  readonly #wire: { to: VirtualNode; delivery: Delivery }[] = []
  #random: number

  constructor(spec: LanSpec) {
    const { nodes, profile = 'holdfast', knobs, interval = 100, latency = 0.2, peers = false } = spec
    const { lateness = 0, seed = 1 } = spec
    this.#latency = latency
    this.#random = seed >>> 0 || 1
    const at = ({ host }: NodeSpec, position: number) => address(`192.0.2.${host ?? position + 1}`)
    const all = nodes.map(at)
    this.nodes = nodes.map((member, i) => {
      const { name, priority, offset = 0, preempt = true, minHold = 10_000 } = member
      const own = at(member, i)
      const parameters: Parameters = {
        vrid: 51,
        family: 'ipv4',
        version: 3,
        priority,
        advertisementInterval: centis(interval),
        addresses: [VIRTUAL_VIP],
        preempt,
        preemptDelay: millis(0),
        minHold: millis(minHold),
        primaryAddress: own,
        transport: { mode: 'multicast', group: GROUP },
        peers: peers ? all.filter((other) => other !== own).map((other) => ({ address: other })) : [],
        knobs: { ...profileKnobs(profile, 3), ...knobs },
      }
      const node: VirtualNode = new VirtualNode(name, parameters, offset, () => this.#draw() * lateness, {
        send: ({ destination, bytes }) => this.#send(node, destination, bytes),
        claim: (claimed) => this.#broadcast(node, { kind: 'claim', address: claimed, at: 0 }),
        note: (text) => this.notes.push({ at: this.now, node: name, text }),
        answers: (addresses) => this.#recordAnswer(name, addresses.size > 0),
        changed: () => this.reigning.push({ at: this.now, nodes: this.active }),
      })
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

  get active(): string[] {
    return this.names(({ running, state }) => running && state.name === 'Active')
  }

  get holders(): string[] {
    return this.names(({ name }) => this.#answers.has(name))
  }

  start(name: string): void {
    const node = this.node(name)
    node.running = true
    node.post({ kind: 'startup' }, this.now)
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

  /** Power off: from now on it neither sends nor answers. */
  crash(name: string): void {
    this.#note(name, 'is gone')
    this.node(name).vanish()
  }

  stall(name: string, duration: number): void {
    this.#note(name, `stalls for ${duration} ms`)
    this.node(name).stall(this.now, duration)
  }

  /** Nothing gets in or out; whoever answers keeps answering on its own side. */
  cut(name: string): void {
    this.#note(name, 'is cut off')
    for (const other of this.nodes) {
      if (other.name === name) continue
      this.#cut.add(`${name} ${other.name}`).add(`${other.name} ${name}`)
    }
  }

  heal(name: string): void {
    this.#note(name, 'is connected again')
    for (const pair of this.#cut) if (pair.split(' ').includes(name)) this.#cut.delete(pair)
  }

  /** What `from` sends does not reach `to`. */
  cutOneWay(from: string, to: string): void {
    this.#note(from, `is not heard by ${to}`)
    this.#cut.add(`${from} ${to}`)
  }

  healAll(): void {
    this.#cut.clear()
  }

  /** Lets `duration` ms pass. */
  run(duration: number): void {
    const until = this.now + duration
    for (let turns = 0; ; turns++) {
      if (turns > MOST_TURNS) throw new Error(`Cannot reach ${until} ms: ${turns} turns, now ${this.now} ms`)
      if (!this.#turn(until)) break
    }
    this.now = until
  }

  /** Stops at the first moment at which it holds; fails with what it saw instead. Returns how long it took. */
  runUntil(expected: string, holds: () => boolean, within: number): number {
    const began = this.now
    for (let turns = 0; !holds(); turns++) {
      if (turns > MOST_TURNS || !this.#turn(began + within)) {
        const states = this.nodes.map(({ name, state }) => `${name} ${state.name}`).join(', ')
        const seen = `active: [${this.active}], answering: [${this.holders}], ${states}`
        throw new Error(`Expected ${expected} within ${within} ms after ${began} ms; at ${this.now} ms ${seen}`)
      }
    }
    return this.now - began
  }

  /** The longest time from `since` on in which the number of answering nodes satisfied `wanted`. */
  longest(wanted: (count: number) => boolean, since = 0): number {
    return longestSpan(this.answering, wanted, since, this.now)
  }

  /** The same for the nodes in state Active. */
  longestReign(wanted: (count: number) => boolean, since = 0): number {
    return longestSpan(this.reigning, wanted, since, this.now)
  }

  /** Packets and announcements: everything that is due first comes first, and arrivals before deadlines. */
  #turn(until: number): boolean {
    let arrives: { to: VirtualNode; delivery: Delivery } | undefined
    for (const one of this.#wire) if (arrives === undefined || one.delivery.at < arrives.delivery.at) arrives = one
    let wakes: VirtualNode | undefined
    for (const node of this.nodes) {
      const at = node.wakesAt
      if (at !== undefined && at < (wakes?.wakesAt ?? Number.POSITIVE_INFINITY)) wakes = node
    }
    const wakesAt = Math.max(wakes?.wakesAt ?? Number.POSITIVE_INFINITY, this.now)
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

  #send(from: VirtualNode, destination: Address, bytes: Uint8Array): void {
    const source = from.parameters.primaryAddress
    for (const to of this.nodes) {
      if (destination !== GROUP && to.parameters.primaryAddress !== destination) continue
      this.#deliver(from, to, { kind: 'packet', bytes, source, at: this.now + this.#latency })
    }
  }

  #broadcast(from: VirtualNode, delivery: Delivery): void {
    for (const to of this.nodes) this.#deliver(from, to, { ...delivery, at: this.now + this.#latency })
  }

  #deliver(from: VirtualNode, to: VirtualNode, delivery: Delivery): void {
    if (from === to || this.#cut.has(`${from.name} ${to.name}`)) return
    if (this.loss > 0 && this.#draw() < this.loss) return
    this.#wire.push({ to, delivery })
  }

  #recordAnswer(name: string, answers: boolean): void {
    if (this.#answers.has(name) === answers) return
    if (answers) this.#answers.add(name)
    else this.#answers.delete(name)
    this.answering.push({ at: this.now, nodes: this.holders })
  }

  #note(node: string, text: string): void {
    this.notes.push({ at: this.now, node, text })
  }

  /** xorshift32: a failure replays from its seed. */
  #draw(): number {
    let x = this.#random
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    this.#random = x >>> 0
    return this.#random / 2 ** 32
  }
}

function longestSpan(spans: readonly Span[], wanted: (count: number) => boolean, since: number, until: number): number {
  let longest = 0
  let began: number | undefined
  spans.forEach(({ at, nodes }, i) => {
    const ends = spans[i + 1]?.at ?? until
    if (ends <= since) return
    if (!wanted(nodes.length)) began = undefined
    else began ??= Math.max(at, since)
    if (began !== undefined) longest = Math.max(longest, ends - began)
  })
  return longest
}
