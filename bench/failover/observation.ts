/**
 * Observes an accident on the LAN. A client probes the virtual address every millisecond, an observer asks all hosts
 * for it, and a service answers on every router (bench/native). This file decides how both address families are
 * observed, and which figures describe an accident. This file does not know the daemons, the accidents, nor the
 * expected results.
 *
 *   const observation = await startObservation(lab, { family: 4, cachedNeighbour: true })
 *   …                                                       // daemons start, one becomes Active
 *   await observation.answeredBy('r1')
 *   const at = lab.cut(lab.router(1))
 *   const measurement = await observation.measure(at, 3_000)   // observes until at + 3 s
 *   await observation.close()
 */
import { ip, macOf } from '../../src/lab/ip.ts'
import { type Host, LAB_VIP, type LabView } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import type { HolderChange } from '../../src/lab/watch/probe.ts'
import { ClientRecord, type Punctuality } from './client-record.ts'
import { GAUGE_PORT, Gauge } from './gauge.ts'
import { ObserverRecord } from './observer-record.ts'

export type Family = 4 | 6

/** Times in ms after the accident; `undefined` for an event that did not happen. */
export type Phases = {
  /** Time of the client's last reply before the outage. */
  readonly outageAtMs: number | undefined
  /**
   * Time of the last reply of the former node, before the first reply of another node. Negative: the reply came before
   * the accident.
   */
  readonly lastReplyMs: number | undefined
  /** Time of the first gratuitous ARP or unsolicited Neighbor Advertisement of another router. */
  readonly announcedMs: number | undefined
  /** Time of the observer's first broadcast question that another router answered. */
  readonly claimedMs: number | undefined
  /** Time from which a single router answered the client, until the end of the observation. */
  readonly settledMs: number | undefined
}

export type Measurement = {
  /**
   * Longest time in ms between two replies to the client around the accident; one probe interval if no reply was lost.
   */
  readonly outageMs: number
  readonly sent: number
  readonly lost: number
  /** Time in ms from the accident to the first reply of another router; `undefined` if no other router replied. */
  readonly movedMs: number | undefined
  /** Time in ms in which two routers answered the observer for the virtual address. */
  readonly overlapMs: number
  /** Time in ms in which no router answered the observer for the virtual address. */
  readonly silenceMs: number
  /** True if two routers still answered the observer at the end of the observation. */
  readonly stale: boolean
  readonly phases: Phases
  /** Punctuality of the measuring programs themselves. */
  readonly gauge: Punctuality
}

export type ObservationOptions = {
  readonly family: Family
  /**
   * True for a client with the virtual address in its neighbour cache, false for a client that resolves the address
   * before each probe.
   */
  readonly cachedNeighbour: boolean
}

/** Microseconds between two probes of the client, and between two questions of the observer. */
const INTERVAL_US = '1000'
/** Milliseconds after which a probe at the end of a window counts as lost. */
const LAST_REPLIES = 250

const VIPS: Readonly<Record<Family, string>> = { 4: LAB_VIP, 6: 'fd77::100' }
/** Returns the virtual address that the client probes. The scenario has to configure this address on the routers. */
export const vipOf = (family: Family): string => VIPS[family]

/** Returns the host's own address of the address family. In IPv6, fd77::N belongs to 10.77.0.N. */
export const addressOf = (host: Host, family: Family): string =>
  family === 4 ? host.address : `fd77::${host.address.split('.').at(-1)}`

/** Gives every host of the lab an own address of the address family, unless the host has one. Idempotent. */
export function prepareFamily(lab: LabView, family: Family): void {
  if (family === 4) return
  for (const host of lab.hosts.values()) ip(host, `address replace ${addressOf(host, 6)}/64 dev eth0 nodad`)
}

const since = (from: number, at: number | undefined) => (at === undefined ? undefined : at - from)

export class Observation {
  readonly address: string
  readonly #names: readonly string[]
  readonly #macs: readonly string[]
  readonly #client = new ClientRecord()
  readonly #observer = new ObserverRecord()
  readonly #gauges: readonly Gauge[]

  constructor(lab: LabView, { family, cachedNeighbour }: ObservationOptions) {
    this.address = vipOf(family)
    prepareFamily(lab, family)
    this.#names = lab.routers.map(({ name }) => name)
    this.#macs = lab.routers.map((host) => macOf(host))
    const probe = ['probe', this.address, `${GAUGE_PORT}`, INTERVAL_US, ...(cachedNeighbour ? [] : ['eth0'])]
    const ask = ['ask', 'eth0', this.address, INTERVAL_US]
    this.#gauges = [
      ...lab.routers.map((host, i) => new Gauge(lab, host, ['respond', `${i + 1}`, `${GAUGE_PORT}`], () => {})),
      new Gauge(lab, lab.client, probe, (entry) => this.#client.take(entry)),
      new Gauge(lab, lab.host('observer'), ask, (entry) => this.#observer.take(entry)),
    ]
  }

  async ready(): Promise<void> {
    await Promise.all(this.#gauges.map((gauge) => gauge.ready()))
  }

  #nameOf(by: number): string {
    return this.#names[by - 1] ?? `number ${by}`
  }

  /** Nodes that answered the client, with one entry for each change of the node. */
  get holders(): readonly HolderChange[] {
    return this.#client.holders.map(({ at, by }) => ({ at, name: this.#nameOf(by) }))
  }

  /** Name of the node that answered the client last; `undefined` before the first answer. */
  get holder(): string | undefined {
    const last = this.#client.holders.at(-1)
    return last === undefined ? undefined : this.#nameOf(last.by)
  }

  /**
   * Returns the first change, at or after the time `at`, to another node than `before`; `undefined` if there is none.
   */
  movedFrom(before: string, at: number): HolderChange | undefined {
    const moved = this.#client.movedFrom(this.#names.indexOf(before) + 1, at)
    return moved === undefined ? undefined : { at: moved.at, name: this.#nameOf(moved.by) }
  }

  async answeredBy(name: string, within = 5_000): Promise<void> {
    const reached = () => {
      for (const gauge of this.#gauges) gauge.check()
      return this.holder === name
    }
    await eventually(`the client to reach ${name}`, reached, { sight: () => this.holders, within, every: 20 })
  }

  /** Observes until `accidentAt + windowMs` (monotonicMs()). Returns the figures from the accident on. */
  async measure(accidentAt: number, windowMs: number): Promise<Measurement> {
    const until = accidentAt + windowMs
    await sleep(Math.max(0, until + LAST_REPLIES - monotonicMs()))
    for (const gauge of this.#gauges) gauge.check()
    const client = this.#client
    const before = client.holderAt(accidentAt) ?? 0
    return {
      outageMs: client.outage(accidentAt, until),
      sent: client.sent(accidentAt, until),
      lost: client.lost(accidentAt, until),
      movedMs: since(accidentAt, client.movedFrom(before, accidentAt, until)?.at),
      overlapMs: this.#observer.overlap(accidentAt, until),
      silenceMs: this.#observer.silence(accidentAt, until),
      stale: this.#observer.doubled(until),
      phases: this.#phases(before, accidentAt, until),
      gauge: client.punctuality(accidentAt, until),
    }
  }

  #phases(before: number, accidentAt: number, until: number): Phases {
    const known = new Set(this.#macs[before - 1] === undefined ? [] : [this.#macs[before - 1] ?? ''])
    const announced = this.#observer.announced(accidentAt, until).find(({ mac }) => !known.has(mac))
    const settledAt = this.#client.settledAt(until)
    const movedAt = this.#client.movedFrom(before, accidentAt, until)?.at
    return {
      outageAtMs: since(accidentAt, this.#client.outageAt(accidentAt, until)),
      lastReplyMs: since(accidentAt, this.#client.lastOf(before, movedAt ?? until)),
      announcedMs: since(accidentAt, announced?.at),
      claimedMs: since(accidentAt, this.#observer.claimedBy(known, accidentAt, until)),
      settledMs: settledAt === undefined || settledAt < accidentAt ? undefined : settledAt - accidentAt,
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#gauges.map((gauge) => gauge.stop()))
  }
}

/** Starts client, observer and services. Resolves when all of them run; no router needs to answer yet. */
export async function startObservation(lab: LabView, options: ObservationOptions): Promise<Observation> {
  const observation = new Observation(lab, options)
  await observation.ready()
  return observation
}
