/**
 * Who answers for a virtual address, asked every millisecond from outside, three ways: by broadcast ARP or neighbour
 * solicitation (every kernel that has the address answers: two owners are seen), by UDP in frames for everybody (a client
 * without a neighbour entry; every holder's service answers), by UDP along a cached entry (a normal client). Refuses to know
 * who should answer and for how long not.
 *
 *   const witness = await startWitness(lab, { addresses: [LAB_VIP], observer: lab.host('observer'), client: lab.client })
 *   …
 *   const records = await witness.stop()      // one for each address; witness.look() gives the same while it runs
 *   records[0].owners                         // [{ from, to, owners: ['r1'] }, …] without holes, by ARP or NS
 *   spans(records[0].owners, (n) => n > 1)    // the times in which two answered
 *   records[0].unanswered, .stranded          // [{ from, to }]: nobody answered UDP; the cached client was not
 *
 * All times are CLOCK_MONOTONIC in ms (monotonicMs()). The two hosts must be different ones. Names are those of
 * lab.routers, by the MAC that their eth0 has now; a router that gets a new interface must keep its MAC.
 */
import { ip, macOf } from '../ip.ts'
import type { Host, Lab } from '../lab.ts'
import { eventually, monotonicMs } from '../wait.ts'
import { type Change, type History, type Span, sightsOf } from './history.ts'
import { numberOf, PROBE_PORT, ProbeProcess, startResponder } from './probe.ts'

/** `duplicates`: UDP probes that two services answered, about one for each ms. */
export type WitnessRecord = History & { readonly from: number; readonly to: number; readonly duplicates: number }

export type WitnessOptions = {
  readonly addresses: readonly string[]
  /** Has no neighbour entry. */
  readonly observer: Host
  /** Has one. */
  readonly client: Host
}

export type Witness = {
  look(): readonly WitnessRecord[]
  stop(): Promise<readonly WitnessRecord[]>
}

/** One address. */
class Watch {
  readonly address: string
  readonly from = monotonicMs()
  readonly #claims: Change[] = []
  readonly #unanswered: Span[] = []
  readonly #stranded: Span[] = []
  readonly #blind: Span[] = []
  readonly #processes: readonly ProbeProcess[]
  #duplicates = 0
  #answered = false
  #ended: number | undefined

  constructor(lab: Lab, { observer, client }: WitnessOptions, address: string, names: ReadonlyMap<string, string>) {
    this.address = address
    // What is sent to it goes to everybody, and no gratuitous ARP replaces it.
    const everybody = `neighbour replace ${address} lladdr ff:ff:ff:ff:ff:ff dev eth0 nud permanent`
    ip(observer, everybody.split(' ').join(' '))
    const asks = ['arp', 'eth0', address, '--interval-ms', '1', '--fifo']
    const probes = ['probe', address, String(PROBE_PORT), '--interval-us', '1000', '--fifo']
    this.#processes = [
      new ProbeProcess(lab, observer, asks, (fields) => {
        if (fields.event !== 'claim' || !Array.isArray(fields.macs)) return
        const owners = fields.macs.map((mac) => names.get(String(mac)) ?? String(mac)).sort()
        this.#claims.push({ at: numberOf(fields, 't'), owners })
      }),
      new ProbeProcess(lab, observer, probes, (fields) => this.#takeProbe(fields, this.#unanswered, true)),
      new ProbeProcess(lab, client, probes, (fields) => this.#takeProbe(fields, this.#stranded, false)),
    ]
  }

  #takeProbe(fields: Readonly<Record<string, unknown>>, gaps: Span[], sees: boolean): void {
    if (fields.event === 'owner') this.#answered = true
    if (fields.event === 'gap') gaps.push({ from: numberOf(fields, 'from'), to: numberOf(fields, 'to') })
    if (fields.event === 'stall' && sees) {
      const to = numberOf(fields, 't')
      this.#blind.push({ from: to - numberOf(fields, 'ms'), to })
    }
    if (fields.event === 'summary' && sees) this.#duplicates = numberOf(fields, 'duplicates')
  }

  get answered(): boolean {
    return this.#answered && this.#claims.length > 0
  }

  get record(): WitnessRecord {
    const to = this.#ended ?? monotonicMs()
    return {
      address: this.address,
      from: this.from,
      to,
      owners: sightsOf(this.#claims, to),
      unanswered: [...this.#unanswered],
      stranded: [...this.#stranded],
      duplicates: this.#duplicates,
      blind: [...this.#blind],
    }
  }

  async stop(): Promise<void> {
    this.#ended ??= monotonicMs()
    await Promise.all(this.#processes.map((process) => process.stop()))
  }
}

/** Starts a service on every router. Resolves at once: nobody need answer yet. */
export function startWitness(lab: Lab, options: WitnessOptions): Witness {
  const names = new Map(lab.routers.map((host) => [macOf(host), host.name]))
  for (const host of lab.routers) startResponder(lab, host)
  const watches = options.addresses.map((address) => new Watch(lab, options, address, names))
  return {
    look: () => watches.map((watch) => watch.record),
    async stop() {
      await Promise.all(watches.map((watch) => watch.stop()))
      return watches.map((watch) => watch.record)
    },
  }
}

/** Until this router alone has answered for every address for `steady` ms. */
export async function settlesOn(witness: Witness, name: string, steady: number, within: number): Promise<void> {
  const last = () => witness.look().map(({ address, owners }) => ({ address, ...owners.at(-1) }))
  await eventually(
    `${name} alone to answer for ${steady} ms`,
    () => last().every((one) => one.owners?.join() === name && monotonicMs() - (one.from ?? 0) >= steady),
    () => last().map(({ address, owners }) => `${address}: ${owners?.join() ?? 'never anybody'}`),
    { within, every: 50 },
  )
}
