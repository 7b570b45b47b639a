/**
 * The watch of one Backup: while its Active repeats one advertisement, no repetition wakes the engine (docs/adr/0087).
 * This file decides when an advertisement counts as repeated, and which repetitions are still delivered. vrrp/ decides
 * whether a state allows a watch. watch-duty.ts decides when a watch begins. This file does not compare packets for the watch.
 */
import type { Advertisement } from '../../vrrp/advertisement.ts'
import { type Repeated, repeatedTo, repetitionOf } from '../../vrrp/extensions/repetition.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import type { Backup, State } from '../../vrrp/state.ts'
import { centisToMillis, type Millis } from '../../wire/units.ts'
import type { ReceivedPacket, RepetitionPort } from '../ports.ts'
import { gapBounds, MISSING } from '../telemetry/advertisement-gaps.ts'

/** Octets of the IPv4 header, whose ID and checksum differ in each packet. */
const IPV4_HEADER = 20

type Heard = Repeated & { readonly packet: Pick<ReceivedPacket, 'bytes' | 'destination' | 'source' | 'ttl'> }

/** The values from which a watch was made. The watch ends when one of them changes. */
type Made = {
  readonly port: RepetitionPort
  readonly parameters: Parameters
  readonly heard: Heard
  readonly bounds: readonly number[]
  readonly interval: number
  readonly delay: Millis
}

/** Repetitions that a watch has noted since the last reading. `interval`, `bounds` and `sum` are milliseconds. */
export type WatchNews = Repeated & {
  /** State of the router with the time of the last repetition. */
  readonly state: State
  readonly heardAt: Millis
  readonly count: number
  readonly interval: number
  readonly bounds: readonly number[]
  readonly cells: readonly number[]
  readonly sum: number
}

export class RouterWatch {
  /** Last accepted advertisement; `undefined` if there is none, or if it had a warning, which each packet repeats. */
  #heard: Heard | undefined
  #isRepeated = false
  #made: Made | undefined
  /** State of the router when the engine last read the counters of the addon's watch. */
  #state: Backup | undefined

  /** True while repetitions do not wake the engine. */
  get isArmed(): boolean {
    return this.#made !== undefined
  }

  /** Notes an accepted advertisement that was delivered to the engine. */
  note(packet: ReceivedPacket, advertisement: Advertisement, hasWarnings: boolean): void {
    const { destination, family, source, ttl } = packet
    this.#isRepeated = !hasWarnings && this.#heard !== undefined && isSame(this.#heard.packet, packet)
    if (this.#isRepeated) return
    const start = family === 'ipv4' ? IPV4_HEADER : 0
    const isUsual = !hasWarnings && packet.bytes.length > start
    const bytes = packet.bytes.slice()
    this.#heard = isUsual ? { source, advertisement, packet: { bytes, destination, source, ttl } } : undefined
  }

  /** Tells whether the watch still fits the state and the parameters of the router. */
  isCurrent(state: State, parameters: Parameters, port: RepetitionPort | undefined): boolean {
    return this.#made?.parameters === parameters && this.#made.port === port && this.#state === state
  }

  /** Starts the watch if the router is only waiting for repetitions. */
  arm(port: RepetitionPort, state: State, parameters: Parameters): void {
    const heard = this.#heard
    if (heard === undefined || !this.#isRepeated || state.name !== 'Backup') return
    const repetition = repetitionOf(state, heard, parameters)
    if (repetition === undefined || state.active === undefined) return
    const interval = centisToMillis(state.activeAdverInterval)
    const bounds = gapBounds(interval)
    const { delay, until } = repetition
    const { heardAt } = state.active
    const limits = { heardAt, until, within: MISSING * interval, delay, bounds }
    if (!port.watch({ ...heard.packet, vrid: parameters.vrid, ...limits })) return
    this.#made = { port, parameters, heard, bounds, interval, delay }
    this.#state = state
  }

  /** Ends the watch. Returns what read() returns. */
  end(state: State): WatchNews | undefined {
    const news = this.read(state)
    this.#made?.port.end(this.#made.parameters.vrid)
    this.#made = undefined
    this.#state = undefined
    return news
  }

  /**
   * Returns what the watch has noted since the last reading; `undefined` if that is nothing. `state` is the present
   * state of the router. A state that is newer than the watch does not change.
   */
  read(state: State): WatchNews | undefined {
    const made = this.#made
    if (made === undefined || this.#state === undefined) return undefined
    const read = made.port.read(made.parameters.vrid)
    if (read === undefined || read.count === 0) return undefined
    const { bounds, delay, interval } = made
    const { advertisement, source } = made.heard
    const isPresent = state === this.#state
    this.#state = repeatedTo(this.#state, read.heardAt, delay)
    return { ...read, advertisement, source, bounds, interval, state: isPresent ? this.#state : state }
  }
}

function isSame(known: Heard['packet'], { bytes, destination, family, source, ttl }: ReceivedPacket): boolean {
  if (known.source !== source || known.destination !== destination || known.ttl !== ttl) return false
  if (known.bytes.length !== bytes.length) return false
  const start = family === 'ipv4' ? IPV4_HEADER : 0
  return bytes.subarray(start).every((octet, i) => octet === known.bytes[start + i])
}
