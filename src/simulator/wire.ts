/**
 * Models the LAN of a simulation: one broadcast domain of stations. This file decides by the faults at this moment
 * whether a packet arrives, when, how often and in which order. This file does not know the content of a packet.
 */
import type { Address, Family } from '../wire/address.ts'
import { type Mac, macFromBytes } from '../wire/mac.ts'
import type { Chance } from './chance.ts'
import type { VirtualTime } from './virtual-time.ts'

/**
 * A message on the LAN. `vrrp`: a VRRP message without its IP header. `frame`: a whole ARP or Neighbor Discovery frame.
 */
export type Carried =
  | {
      readonly kind: 'vrrp'
      readonly family: Family
      readonly source: Address
      readonly destination: Address
      readonly ttl: number
      readonly bytes: Uint8Array
    }
  | { readonly kind: 'frame'; readonly bytes: Uint8Array }

export type Station = {
  readonly name: string
  /** True if the station has power and its network card has carrier. */
  readonly connected: boolean
  /** MAC address of the station's network card. A switch delivers frames to this address and to group addresses. */
  readonly mac: Mac
  take(carried: Carried): void
}

/**
 * Disturbances of each message on the LAN: shares of lost (`loss`) and duplicated (`twice`) messages, from 0 to 1, and
 * the longest additional `delay` in ms. The delay is random for each message. 0 means no disturbance.
 */
export type Weather = { readonly loss: number; readonly delay: number; readonly twice: number }
export const FAIR: Weather = { loss: 0, delay: 0, twice: 0 }

const LATENCY = 0.15
const JITTER = 0.1

/** A cut of the path from one station to another, for all messages or only for VRRP messages. */
export type Cut = { readonly from: string; readonly to: string; readonly vrrpOnly: boolean }

export class Wire {
  readonly stations = new Map<string, Station>()
  /** Cuts at this moment. Each fault adds entries of its own, so that two faults may cut the same direction. */
  readonly #cuts = new Set<Cut>()
  readonly #weathers = new Set<Weather>()
  readonly #time: VirtualTime
  readonly #chance: Chance
  readonly #onChange: () => void

  constructor(time: VirtualTime, chance: Chance, onChange: () => void) {
    this.#time = time
    this.#chance = chance
    this.#onChange = onChange
  }

  /** Cuts the path in these directions. Returns the function that ends the cuts. */
  cut(cuts: readonly Cut[]): () => void {
    for (const cut of cuts) this.#cuts.add(cut)
    this.#onChange()
    return () => {
      for (const cut of cuts) this.#cuts.delete(cut)
      this.#onChange()
    }
  }

  change(weather: Weather): () => void {
    this.#weathers.add(weather)
    return () => void this.#weathers.delete(weather)
  }

  /** Returns true if a message from the station `from` reaches the station `to`. Random loss is not considered. */
  reaches(from: string, to: string, vrrp = false): boolean {
    if (this.stations.get(from)?.connected !== true || this.stations.get(to)?.connected !== true) return false
    for (const cut of this.#cuts) if (cut.from === from && cut.to === to && (vrrp || !cut.vrrpOnly)) return false
    return true
  }

  send(from: string, carried: Carried): void {
    const whom =
      carried.kind === 'frame' && (carried.bytes[0] ?? 0) % 2 === 0
        ? macFromBytes(carried.bytes.subarray(0, 6))
        : undefined
    for (const to of this.stations.values()) {
      if (whom !== undefined && to.mac !== whom) continue
      if (to.name === from || !this.reaches(from, to.name, carried.kind === 'vrrp')) continue
      this.#deliver(from, to, carried)
      for (const { twice } of this.#weathers) if (twice > 0 && this.#chance() < twice) this.#deliver(from, to, carried)
    }
  }

  #deliver(from: string, to: Station, carried: Carried): void {
    let late = LATENCY + JITTER * this.#chance()
    for (const { loss, delay } of this.#weathers) {
      if (loss > 0 && this.#chance() < loss) return
      if (delay > 0) late += delay * this.#chance()
    }
    this.#time.after(late, () => {
      if (this.reaches(from, to.name, carried.kind === 'vrrp')) to.take(carried)
    })
  }
}
