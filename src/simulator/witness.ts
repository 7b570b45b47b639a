/**
 * Models a client of all virtual addresses, like the chaos suite's witness (docs/adr/0020). The witness records which
 * nodes would answer a broadcast question, and whether the node in the client's neighbour entry answers. This file
 * decides how a neighbour entry changes. A neighbour entry changes by announcements, and by a new question, which Linux
 * asks when it gets no answer. The model stores each change with its time, so no change is missed.
 */
import { announcementIn } from '../arp/probe.ts'
import type { Address } from '../wire/address.ts'
import type { Mac } from '../wire/mac.ts'
import { macOf } from './node/kernel.ts'
import type { Machine } from './node/machine.ts'
import type { Cancel, VirtualTime } from './virtual-time.ts'
import type { Carried, Station, Wire } from './wire.ts'

/**
 * Milliseconds after which Linux gives up a neighbour entry: delay_first_probe_time, and three probes a second apart.
 */
const GIVES_UP = 8_000
/** Milliseconds between two questions of a client: RetransTimer of RFC 4861 §10, and the same time in Linux for ARP. */
const ASKS_AGAIN = 1_000

export type Moment = { readonly at: number; readonly holders: readonly string[]; readonly served: string | undefined }

type Lan = { readonly time: VirtualTime; readonly wire: Wire; readonly note: (text: string) => void }

export class Witness implements Station {
  readonly name = 'client'
  readonly connected = true
  readonly mac = macOf(0)
  readonly moments = new Map<Address, Moment[]>()
  readonly #time: VirtualTime
  readonly #wire: Wire
  readonly #note: (text: string) => void
  readonly #nodes: readonly Machine[]
  readonly #byMac = new Map<Mac, Machine>()
  readonly #entries = new Map<Address, Mac>()
  readonly #asking = new Map<Address, Cancel>()
  #due = false

  constructor(lan: Lan, nodes: readonly Machine[], addresses: readonly Address[]) {
    const { note, time, wire } = lan
    this.#time = time
    this.#note = note
    this.#wire = wire
    this.#nodes = nodes
    for (const node of nodes) this.#byMac.set(node.kernel.mac, node)
    for (const address of addresses) this.moments.set(address, [{ at: 0, holders: [], served: undefined }])
    wire.stations.set(this.name, this)
  }

  take(carried: Carried): void {
    if (carried.kind !== 'frame') return
    const claim = announcementIn(carried.bytes)
    if (claim === undefined || !this.moments.has(claim.address) || !this.#entries.has(claim.address)) return
    this.#note(`learns that ${claim.address} is at ${this.#byMac.get(claim.mac)?.name ?? claim.mac}`)
    this.#entries.set(claim.address, claim.mac)
    this.#look(claim.address)
  }

  /** Records a change of the nodes that answer. Several changes at the same time are recorded as one. */
  notice(): void {
    if (this.#due) return
    this.#due = true
    this.#time.after(0, () => {
      this.#due = false
      for (const address of this.moments.keys()) this.#look(address)
    })
  }

  #look(address: Address): void {
    const moments = this.moments.get(address) ?? []
    const holders = this.#nodes
      .filter((node) => node.kernel.has(address) && this.#isReached(node))
      .map(({ name }) => name)
    const mac = this.#entries.get(address)
    const named = mac === undefined ? undefined : this.#byMac.get(mac)?.name
    const served = named !== undefined && holders.includes(named) ? named : undefined
    const last = moments.at(-1)
    if (served !== undefined) this.#stopAsking(address)
    else if (!this.#asking.has(address)) this.#ask(address, mac === undefined ? 0 : GIVES_UP)
    if (last !== undefined && last.served === served && last.holders.join() === holders.join()) return
    const moment = { at: this.#time.now, holders, served }
    if (last?.at === this.#time.now) moments[moments.length - 1] = moment
    else moments.push(moment)
  }

  #isReached({ name }: Machine): boolean {
    return this.#wire.reaches(this.name, name) && this.#wire.reaches(name, this.name)
  }

  #ask(address: Address, wait: number): void {
    const cancel = this.#time.after(wait, () => {
      this.#asking.delete(address)
      const holder = this.#nodes.find((node) => node.kernel.has(address) && this.#isReached(node))
      if (holder === undefined) return this.#ask(address, ASKS_AGAIN)
      this.#entries.set(address, holder.kernel.mac)
      this.#look(address)
    })
    this.#asking.set(address, cancel)
  }

  #stopAsking(address: Address): void {
    this.#asking.get(address)?.()
    this.#asking.delete(address)
  }
}
