/**
 * Models one node of the virtual LAN: its virtual routers (one, or the members of a sync group), a receive queue and a
 * clock that may be wrong. The node reads its queue before a deadline fires, because a waiting packet counts (ground
 * rule 2). The virtual node runs the effects of a sync group in rounds. Packets are real octets: transmit.ts writes
 * them, receive.ts judges them. This file does not know the other nodes.
 */

import { ipv4Packet } from '../../src/simulator/ipv4-packet.ts'
import type { Effect } from '../../src/vrrp/effect.ts'
import type { Event } from '../../src/vrrp/event.ts'
import { isInGracePeriod } from '../../src/vrrp/extensions/grace-period.ts'
import { wasSilentTooLong } from '../../src/vrrp/extensions/returning.ts'
import { stepGroup } from '../../src/vrrp/extensions/sync-group/sync-group.ts'
import type { Parameters } from '../../src/vrrp/parameters.ts'
import { receive } from '../../src/vrrp/receive.ts'
import { INITIAL_STATE, type State } from '../../src/vrrp/state.ts'
import { activeDownInterval } from '../../src/vrrp/timers.ts'
import { advertisementDatagrams } from '../../src/vrrp/transmit.ts'
import { type Address, familyOf } from '../../src/wire/address.ts'
import { centisToMillis, type Millis, millis } from '../../src/wire/units.ts'
import type { VirtualGuardian } from './virtual-guardian.ts'
import type { VirtualMember } from './virtual-member.ts'

/**
 * A packet or notification in a node's receive queue. `at`: time of arrival in LAN time, in ms. `wire`: the wire of the
 * packet.
 */
export type Delivery = { readonly wire: string; readonly at: number } & (
  | {
      readonly kind: 'packet'
      /** Octets of the packet: the whole packet for IPv4, the VRRP message for IPv6. */
      readonly bytes: Uint8Array
      readonly source: Address
      readonly destination: Address
    }
  | { readonly kind: 'claim'; readonly address: Address }
)

/** Functions of the LAN that a node uses to have an effect outside. */
export type NodeWorld = {
  send(member: VirtualMember, packet: { destination: Address; bytes: Uint8Array }): void
  claim(member: VirtualMember, address: Address): void
  /** Asks the LAN which node has the addresses of the router. A holder answers with a claim. */
  probe(member: VirtualMember): void
  note(text: string): void
  answers(): void
  /** Tells the LAN that the state of a router has changed. */
  changed(): void
}

/** Number of packets that a receive queue holds. A full queue drops the newest packet. */
const QUEUE = 256

export class VirtualNode {
  readonly name: string
  readonly members: readonly VirtualMember[]
  readonly #first: VirtualMember
  /** Configured priority of the node. The effective priority is lower during a yield. */
  readonly configured: number
  /** Milliseconds by which the node's clock is ahead of the LAN's clock. */
  readonly offset: number
  running = false
  stalledUntil: number | undefined
  #stalledSince = 0
  /** Returns the delay of a timer in ms, a new random number for each timer. */
  readonly #late: () => number
  #lateness = 0
  readonly #queue: Delivery[] = []
  readonly #world: NodeWorld
  /**
   * Guardian of the node; `undefined` for a node without one, which has no cleanup plan and does not check whether it
   * was absent.
   */
  readonly #guardian: VirtualGuardian | undefined
  /** LAN time in ms of the event that is being handled. */
  #at = 0
  #said = 0
  /**
   * Called when the engine wants the health checks to run again within `within` ms. answerChecks() reports their result
   * later.
   */
  onAskChecks: (within: number) => void = () => {}

  constructor(
    name: string,
    members: readonly [VirtualMember, ...VirtualMember[]],
    offset: number,
    late: () => number,
    world: NodeWorld,
    guardian?: VirtualGuardian,
  ) {
    this.name = name
    this.members = members
    this.#first = members[0]
    this.configured = members[0].parameters.priority
    this.offset = offset
    this.#late = late
    this.#world = world
    this.#guardian = guardian
  }

  get state(): State {
    return this.#first.state
  }

  get parameters(): Parameters {
    return this.#first.parameters
  }

  /** LAN time in ms of the node's next deadline; `undefined` while only a packet can wake the node. */
  get wakesAt(): number | undefined {
    if (!this.running) return undefined
    const guarded = this.#guardian?.wakesAt ?? Number.POSITIVE_INFINITY
    const nearest = Math.min(guarded, this.#engineWakesAt ?? Number.POSITIVE_INFINITY)
    return nearest === Number.POSITIVE_INFINITY ? undefined : nearest
  }

  get #engineWakesAt(): number | undefined {
    if (this.stalledUntil !== undefined) return this.stalledUntil
    const due = this.members.flatMap((member) => member.due ?? [])
    return due.length === 0 ? undefined : Math.min(...due) - this.offset + this.#lateness
  }

  arrive(delivery: Delivery): void {
    if (!this.running) return
    if (this.#queue.length >= QUEUE) for (const member of this.members) member.lost = true
    else this.#queue.push(delivery)
    if (this.stalledUntil !== undefined) return
    this.#noticeAbsence(delivery.at)
    this.#drain(delivery.at)
  }

  stall(now: number, duration: number): void {
    this.#stalledSince = now
    this.stalledUntil = now + duration
  }

  /** Stops the engine for `engine` ms and its guardian for `guardian` ms. The node's kernel continues to answer. */
  freeze(now: number, engine: number, guardian: number): void {
    if (engine > 0) this.stall(now, engine)
    if (guardian > 0) this.#guardian?.freeze(now, guardian)
  }

  /** Handles the end of a stall, or a deadline: the node first reads its receive queue, then decides. */
  wake(now: number): void {
    this.#guard(now)
    const due = this.#engineWakesAt
    if (due === undefined || due > now) return
    if (this.stalledUntil !== undefined) {
      this.stalledUntil = undefined
      for (const member of this.members) this.#judgeStall(member, now)
    }
    this.#noticeAbsence(now)
    this.#drain(now)
    this.#lateness = this.#late()
    for (const member of this.members) {
      const { due } = member
      if (due === undefined || due - this.offset > now) continue
      const overslept = member.overslept && member.state.name !== 'Returning'
      this.post({ kind: 'deadlineReached', receptionLost: member.lost || overslept }, now, member)
    }
    // The receive queue was empty at this moment, so no packet that was lost can still be expected.
    for (const member of this.members) {
      member.lost = false
      member.overslept = false
    }
  }

  #guard(now: number): void {
    const order = this.#guardian?.run(now)
    if (order === undefined) return
    this.#world.note(order === 'execute' ? 'has its cleanup plan executed' : 'has its addresses expire')
    for (const { installed } of this.members) installed.clear()
    this.#world.answers()
    if (order === 'expire') return
    for (const member of this.members) this.#send(member, 0)
  }

  /**
   * Checks at the beginning of a turn whether the node was absent, before anything else, above all before it reads its
   * queue (ground rule 3).
   */
  #noticeAbsence(now: number): void {
    if (this.#guardian === undefined) return
    const { executed } = this.#guardian
    this.#guardian.executed = false
    const silent = this.members.some(({ parameters, state }) => wasSilentTooLong(state, parameters, this.#own(now)))
    if (!executed && !silent) return
    this.post({ kind: 'absenceNoticed', cause: executed ? 'willExecuted' : 'stalled', linkWasUp: true }, now)
  }

  #judgeStall(member: VirtualMember, now: number): void {
    const { priority, advertisementInterval, version } = member.parameters
    const interval = member.state.name === 'Backup' ? member.state.activeAdverInterval : advertisementInterval
    if (now - this.#stalledSince > activeDownInterval(priority, interval, version)) member.overslept = true
  }

  startup(now: number): void {
    this.running = true
    for (const member of this.members) this.post({ kind: 'startup' }, now, member)
  }

  /** Sets the priority of the node. `assured`: the priority without those health checks that raise it. */
  setPriority(priority: number, now: number, assured = priority): void {
    for (const member of this.members) {
      const previous = member.parameters.priority
      member.parameters = { ...member.parameters, priority, assured: assured < priority ? assured : undefined }
      if (previous === priority) continue
      if (this.running) this.post({ kind: 'priorityChanged', previous }, now, member)
    }
  }

  /**
   * Passes on the result of the health checks that `onAskChecks` has requested. `assured`: the priority that the checks
   * have confirmed.
   */
  answerChecks(assured: number, now: number): void {
    if (this.running) this.post({ kind: 'checksAnswered', assured }, now)
  }

  /**
   * Makes the node yield for the configured time, with effective priority 1 (docs/architecture.md, Protocol decisions).
   * An Active then advertises only priority 0, and not also priority 1.
   */
  yield(now: number): void {
    if (this.members.every(({ state }) => state.name !== 'Active')) {
      this.setPriority(1, now)
      return
    }
    for (const member of this.members) member.parameters = { ...member.parameters, priority: 1 }
    this.post({ kind: 'yield' }, now)
  }

  /** Reports a change of a wire's carrier to the node, as the kernel does to a daemon. */
  link(wire: string, up: boolean, now: number): void {
    const there = this.members.filter((member) => member.wire === wire)
    for (const member of there) member.canSend = up
    for (const member of there) {
      const event: Event = up
        ? { kind: 'faultCleared', fault: 'linkDown' }
        : { kind: 'faultRaised', fault: 'linkDown', canSend: false }
      if (this.running) this.post(event, now, member)
    }
  }

  /** Switches the power of the node off: the node sends nothing and answers nothing. */
  vanish(): void {
    this.running = false
    this.stalledUntil = undefined
    this.#guardian?.withdraw()
    this.#queue.length = 0
    for (const member of this.members) {
      member.installed.clear()
      member.state = INITIAL_STATE
    }
    this.#world.changed()
    this.#world.answers()
  }

  #drain(now: number): void {
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) this.#read(next, now)
  }

  #read(delivery: Delivery, now: number): void {
    const at = this.#own(delivery.at)
    const here = this.members.filter(({ wire }) => wire === delivery.wire)
    if (delivery.kind === 'claim') {
      for (const member of here) {
        if (!member.parameters.addresses.includes(delivery.address)) continue
        this.post({ kind: 'announcementHeard', address: delivery.address, heardAt: at }, now, member)
      }
      return
    }
    const { bytes, destination, source } = delivery
    const family = familyOf(source)
    const ofFamily = here.filter(({ parameters }) => parameters.family === family)
    // An IPv6 socket is asked to require a hop limit of 255. In IPv4 the packet's own header has the TTL.
    const ttl = family === 'ipv6' ? 255 : undefined
    const routerOf = (vrid: number) => ofFamily.find(({ parameters }) => parameters.vrid === vrid)
    const received = receive(
      { family, source, destination, ttl, bytes },
      (vrid) => routerOf(vrid)?.parameters,
      (address) => ofFamily.some(({ parameters }) => parameters.primaryAddress === address),
    )
    if (received.kind === 'discarded') {
      this.#world.note(`discards a packet: ${received.reason}`)
      return
    }
    const { advertisement } = received
    const event: Event = {
      kind: 'advertisementReceived',
      source: received.source,
      advertisement,
      receivedAt: at,
    }
    this.post(event, now, routerOf(advertisement.vrid))
  }

  #own(at: number): Millis {
    return millis(at + this.offset)
  }

  post(event: Event, at: number, whom = this.#first): void {
    this.#at = at
    // LAN time and node time differ by rounding. A deadline that has woken the node counts as reached.
    const deadline = event.kind === 'deadlineReached' ? whom.due : undefined
    const now = millis(Math.max(deadline ?? Number.NEGATIVE_INFINITY, this.#own(at)))
    const steps = stepGroup(this.members, this.members.indexOf(whom), event, now)
    let changed = false
    this.members.forEach((member, i) => {
      const state = steps[i]?.state ?? member.state
      // The rule is the same as in daemon/guard/absence-deadline.ts.
      if (isInGracePeriod(state) && member.state.name === 'Active') this.#guardian?.promise(member.name, at + 70)
      changed ||= state.name !== member.state.name
      member.state = state
    })
    // A daemon that has left receives nothing more.
    if (this.members.every(({ state }) => state.name === 'Initialize' && state.stopped)) this.running = false
    if (changed) this.#world.changed()
    if (
      event.kind === 'deadlineReached' &&
      event.receptionLost &&
      whom.state.name === 'Backup' &&
      whom.state.extended
    ) {
      this.#note(whom, 'has lost packets and listens once more')
    }
    const rounds = Math.max(...steps.map(({ effects }) => effects.length))
    for (let round = 0; round < rounds; round++) {
      this.members.forEach((member, i) => {
        const effect = steps[i]?.effects[round]
        if (effect !== undefined) this.#run(member, effect)
      })
    }
    if (
      this.members.every(({ state }) => state.name !== 'Active' && state.name !== 'Leaving' && !isInGracePeriod(state))
    ) {
      this.#guardian?.withdraw()
    }
  }

  /**
   * Sets the guardian's deadline of a router: 3 intervals after the last advertisement. The time is 1.5 intervals after
   * an advertisement that lets a Backup act after Skew_Time (docs/architecture.md).
   */
  #promise({ name, parameters }: VirtualMember, priority: number): void {
    const interval = centisToMillis(parameters.advertisementInterval)
    const demoted = priority < this.#said
    this.#said = priority
    this.#guardian?.promise(name, this.#at + (demoted ? Math.max(1.5 * interval, interval + 50) : 3 * interval))
  }

  #send(member: VirtualMember, priority: number): void {
    const { parameters } = member
    for (const { destination, bytes } of advertisementDatagrams(parameters, priority)) {
      const { family, primaryAddress: source } = parameters
      const packet = family === 'ipv4' ? ipv4Packet(bytes, { source, destination }) : bytes
      this.#world.send(member, { destination, bytes: packet })
    }
  }

  #note(member: VirtualMember, text: string): void {
    this.#world.note(member.name === '' ? text : `${member.name} ${text}`)
  }

  #run(member: VirtualMember, effect: Effect): void {
    const { installed, parameters } = member
    switch (effect.kind) {
      case 'sendAdvertisement':
        this.#note(member, `sends ${effect.priority} (${effect.reason})`)
        this.#send(member, effect.priority)
        if (effect.reason !== 'lost') this.#promise(member, effect.priority)
        break
      case 'installAddresses':
        for (const address of parameters.addresses) installed.add(address)
        this.#guardian?.installed(this.#at)
        this.#note(member, 'installs its addresses')
        this.#world.answers()
        break
      case 'removeAddresses':
        for (const address of effect.addresses) installed.delete(address)
        this.#note(member, `removes ${effect.addresses.join(' ')}`)
        this.#world.answers()
        break
      case 'probeAddresses':
        this.#note(member, 'asks for its addresses')
        this.#world.probe(member)
        break
      case 'announce':
        this.#note(member, `announces (${effect.reason})`)
        for (const address of parameters.addresses) this.#world.claim(member, address)
        break
      case 'transition':
        this.#note(member, `${effect.from} -> ${effect.to} (${effect.reason})`)
        break
      case 'askChecks':
        this.#note(member, 'asks its checks')
        this.onAskChecks(effect.within)
        break
      case 'refused':
        this.#note(member, `refuses ${effect.source} (${effect.reason})`)
        break
    }
  }
}
