/**
 * One router of the virtual LAN: State, Parameters, a receive queue and a clock of its own that may be off. It drains
 * its queue before it lets a deadline fire, exactly as the daemon must (design.md ground rule 2). Packets are real
 * octets: transmit.ts writes them, receive.ts judges them. It does not know the other routers.
 */
import type { Event } from '../../src/vrrp/event.ts'
import { step } from '../../src/vrrp/fsm.ts'
import type { Parameters } from '../../src/vrrp/parameters.ts'
import { receive } from '../../src/vrrp/receive.ts'
import { INITIAL_STATE, nextDeadline, type State } from '../../src/vrrp/state.ts'
import { activeDownInterval } from '../../src/vrrp/timers.ts'
import { advertisementDatagrams } from '../../src/vrrp/transmit.ts'
import type { Address } from '../../src/wire/address.ts'
import { type Millis, millis } from '../../src/wire/units.ts'
import { ipv4Packet } from './ipv4-packet.ts'

/** What lies in a node's queue; `at` is when it arrived, in LAN time. */
export type Delivery =
  | { readonly kind: 'packet'; readonly bytes: Uint8Array; readonly source: Address; readonly at: number }
  | { readonly kind: 'claim'; readonly address: Address; readonly at: number }

/** What a node does to the LAN. */
export type NodeWorld = {
  send(packet: { destination: Address; bytes: Uint8Array }): void
  claim(address: Address): void
  note(text: string): void
  answers(addresses: ReadonlySet<Address>): void
  /** Its state is another one than before. */
  changed(): void
}

/** A socket buffer of this many packets; a full one drops the newest. */
const QUEUE = 256

export class VirtualNode {
  readonly name: string
  parameters: Parameters
  /** What the operator configured: `yield` lowers the effective priority, `resume` gives it back. */
  readonly configured: number
  state: State = INITIAL_STATE
  /** Node clock minus LAN clock. */
  readonly offset: number
  running = false
  stalledUntil: number | undefined
  #stalledSince = 0
  /** How late its timers may fire, as a function that is asked each time. */
  readonly #late: () => number
  #lateness = 0
  readonly #queue: Delivery[] = []
  readonly #installed = new Set<Address>()
  readonly #world: NodeWorld
  #lost = false

  constructor(name: string, parameters: Parameters, offset: number, late: () => number, world: NodeWorld) {
    this.name = name
    this.parameters = parameters
    this.configured = parameters.priority
    this.offset = offset
    this.#late = late
    this.#world = world
  }

  /** In LAN time; undefined while nothing but a packet can wake it. */
  get wakesAt(): number | undefined {
    if (!this.running) return undefined
    if (this.stalledUntil !== undefined) return this.stalledUntil
    const due = nextDeadline(this.state)
    return due === undefined ? undefined : due - this.offset + this.#lateness
  }

  arrive(delivery: Delivery): void {
    if (!this.running) return
    if (this.#queue.length >= QUEUE) this.#lost = true
    else this.#queue.push(delivery)
    if (this.stalledUntil === undefined) this.#drain(delivery.at)
  }

  stall(now: number, duration: number): void {
    this.#stalledSince = now
    this.stalledUntil = now + duration
  }

  /** The end of a stall, or a deadline: drain first, then decide. */
  wake(now: number): void {
    if (this.stalledUntil !== undefined) {
      this.stalledUntil = undefined
      const { priority, advertisementInterval, version } = this.parameters
      const interval = this.state.name === 'Backup' ? this.state.activeAdverInterval : advertisementInterval
      if (now - this.#stalledSince > activeDownInterval(priority, interval, version)) this.#lost = true
    }
    this.#drain(now)
    const due = nextDeadline(this.state)
    this.#lateness = this.#late()
    if (due !== undefined && due - this.offset <= now) {
      this.post({ kind: 'deadlineReached', receptionLost: this.#lost }, now)
    }
    // The queue was seen empty: whatever was lost is behind us.
    this.#lost = false
  }

  setPriority(priority: number, now: number): void {
    const previous = this.parameters.priority
    if (previous === priority) return
    this.parameters = { ...this.parameters, priority }
    if (this.running) this.post({ kind: 'priorityChanged', previous }, now)
  }

  /** design.md §3: effective priority 1 for its duration. An Active says priority 0 and not the 1 as well. */
  yield(now: number): void {
    if (this.state.name !== 'Active') {
      this.setPriority(1, now)
      return
    }
    this.parameters = { ...this.parameters, priority: 1 }
    this.post({ kind: 'yield' }, now)
  }

  /** Power off: nothing is said and nothing is answered. */
  vanish(): void {
    this.running = false
    this.stalledUntil = undefined
    this.#queue.length = 0
    this.#installed.clear()
    this.state = INITIAL_STATE
    this.#world.changed()
    this.#world.answers(this.#installed)
  }

  #drain(now: number): void {
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) this.#read(next, now)
  }

  #read(delivery: Delivery, now: number): void {
    const at = this.#own(delivery.at)
    if (delivery.kind === 'claim') {
      if (this.parameters.addresses.includes(delivery.address)) {
        this.post({ kind: 'claimHeard', address: delivery.address, heardAt: at }, now)
      }
      return
    }
    const { bytes, source } = delivery
    const packet = { family: 'ipv4' as const, source, destination: undefined, ttl: undefined, bytes }
    const known = (vrid: number) => (vrid === this.parameters.vrid ? this.parameters : undefined)
    const received = receive(packet, known, (address) => address === this.parameters.primaryAddress)
    if (received.kind === 'discarded') {
      this.#world.note(`discards a packet: ${received.reason}`)
      return
    }
    const { advertisement } = received
    this.post({ kind: 'advertisementReceived', source: received.source, advertisement, receivedAt: at }, now)
  }

  #own(at: number): Millis {
    return millis(at + this.offset)
  }

  post(event: Event, at: number): void {
    const due = nextDeadline(this.state)
    // LAN time and node time differ by rounding; a deadline that woke us has been reached.
    const reached = event.kind === 'deadlineReached' && due !== undefined ? Math.max(due, this.#own(at)) : this.#own(at)
    const [state, effects] = step(this.state, event, this.parameters, millis(reached))
    const changed = state.name !== this.state.name
    this.state = state
    // A daemon that was told to go, and has gone, listens to nothing.
    if (changed && state.name === 'Initialize' && state.stopped) this.running = false
    if (changed) this.#world.changed()
    if (event.kind === 'deadlineReached' && event.receptionLost && state.name === 'Backup' && state.extended) {
      this.#world.note('has lost packets and listens once more')
    }
    for (const effect of effects) {
      switch (effect.kind) {
        case 'sendAdvertisement':
          this.#world.note(`sends ${effect.priority} (${effect.reason})`)
          for (const { destination, bytes } of advertisementDatagrams(this.parameters, effect.priority)) {
            const packet = ipv4Packet(bytes, { source: this.parameters.primaryAddress, destination })
            this.#world.send({ destination, bytes: packet })
          }
          break
        case 'installAddresses':
          for (const address of this.parameters.addresses) this.#installed.add(address)
          this.#world.note('installs its addresses')
          this.#world.answers(this.#installed)
          break
        case 'removeAddresses':
          for (const address of effect.addresses) this.#installed.delete(address)
          this.#world.note(`removes ${effect.addresses.join(' ')}`)
          this.#world.answers(this.#installed)
          break
        case 'announce':
          this.#world.note(`announces (${effect.reason})`)
          for (const address of this.parameters.addresses) this.#world.claim(address)
          break
        case 'transition':
          this.#world.note(`${effect.from} -> ${effect.to} (${effect.reason})`)
          break
        case 'refused':
          this.#world.note(`refuses ${effect.source} (${effect.reason})`)
          break
      }
    }
  }
}
