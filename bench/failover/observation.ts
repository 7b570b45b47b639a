/**
 * What the LAN saw of an accident: a client that probes the virtual address, an observer that asks who has it, a service
 * that answers on every router. Decides how both families are watched and which figures describe an accident. Refuses to
 * know which daemons run, what happens to them and what ought to come of it.
 *
 *   const observation = await startObservation(lab, { family: 4, cachedNeighbour: true })
 *   …                                                       // daemons start, one becomes Active
 *   await observation.answeredBy('r1')
 *   const at = lab.cut(lab.router(1))
 *   const measurement = await observation.measure(at, 3_000)   // looks until at + 3 s
 *   await observation.close()
 */
import { run } from '../../src/cli/demo-network.ts'
import { type OwnerChange, Prober, startResponder } from '../../src/cli/demo-probe.ts'
import { ArpObserver } from '../../test/support/arp-observer.ts'
import { type Host, LAB_VIP, type Lab } from '../../test/support/lab.ts'
import { eventually, monotonicMs, sleep } from '../../test/support/wait.ts'

export type Family = 4 | 6

export type Measurement = {
  /** Longest time between two replies around the accident; one probe interval when nothing was lost. */
  readonly outageMs: number
  readonly lost: number
  /** Accident until the first reply of another router; undefined when none came. */
  readonly movedMs: number | undefined
  /** Time in which two routers answered for the address. */
  readonly overlapMs: number
  /** The old owner's kernel still answered when the observation ended. */
  readonly stale: boolean
}

export type ObservationOptions = {
  readonly family: Family
  /** A client that has the address in its neighbour cache, or one that has to ask anew before each probe. */
  readonly cachedNeighbour: boolean
}

const VIPS: Readonly<Record<Family, string>> = { 4: LAB_VIP, 6: 'fd77::100' }
/** The address that clients ask; the scenario has to configure this one. */
export const vipOf = (family: Family): string => VIPS[family]

/** A host's own address of the family: fd77::N for 10.77.0.N. */
export const addressOf = (host: Host, family: Family): string =>
  family === 4 ? host.address : `fd77::${host.address.split('.').at(-1)}`

/** Every host of the lab gets its address of the family, where it has none. Idempotent. */
export function prepareFamily(lab: Lab, family: Family): void {
  if (family === 4) return
  for (const host of lab.hosts.values())
    run(['ip', '-n', host.namespace, 'address', 'replace', `${addressOf(host, 6)}/64`, 'dev', 'eth0', 'nodad'])
}

export class Observation {
  readonly address: string
  readonly #prober: Prober
  readonly #observer: ArpObserver

  constructor(lab: Lab, { family, cachedNeighbour }: ObservationOptions) {
    if (!cachedNeighbour) throw new Error('Cannot probe without a neighbour entry: not with this prober')
    this.address = vipOf(family)
    prepareFamily(lab, family)
    for (const host of lab.routers) startResponder(lab, host)
    this.#prober = new Prober(lab, lab.client, this.address)
    this.#observer = new ArpObserver(lab, lab.host('observer'), this.address)
  }

  /** Who answered the client, each time that it was another. */
  get owners(): readonly OwnerChange[] {
    return this.#prober.owners
  }

  /** Who answered the client last. */
  get owner(): string | undefined {
    return this.#prober.owner
  }

  /** The first time at or after `at` that somebody other than `before` answered. */
  movedFrom(before: string, at: number): OwnerChange | undefined {
    return this.#prober.movedFrom(before, at)
  }

  async answeredBy(name: string, within = 5_000): Promise<void> {
    await eventually(
      `the client to reach ${name}`,
      () => this.owner === name,
      () => this.owners,
      { within, every: 20 },
    )
  }

  /** Looks until `accidentAt + windowMs` (monotonicMs()) and says what was seen from the accident on. */
  async measure(accidentAt: number, windowMs: number): Promise<Measurement> {
    await sleep(Math.max(0, accidentAt + windowMs - monotonicMs()))
    const until = accidentAt + windowMs
    const gaps = this.#prober.gaps.filter((gap) => gap.to >= accidentAt - 5 && gap.from <= until)
    const before = this.owners.findLast((change) => change.at <= accidentAt)?.name ?? ''
    const moved = this.movedFrom(before, accidentAt)
    return {
      outageMs: Math.max(1, ...gaps.map((gap) => gap.to - gap.from)),
      lost: gaps.reduce((sum, gap) => sum + gap.lost, 0),
      movedMs: moved === undefined ? undefined : moved.at - accidentAt,
      overlapMs: this.#observer.overlap(accidentAt, until),
      stale: (this.#observer.claims.at(-1)?.macs.length ?? 0) > 1,
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#prober.stop(), this.#observer.stop()])
  }
}

/** Resolves when client, observer and services run; nobody need answer yet. */
export function startObservation(lab: Lab, options: ObservationOptions): Promise<Observation> {
  return Promise.resolve(new Observation(lab, options))
}
