/**
 * Asks from outside, every millisecond, which nodes answer for a virtual address, in three ways. A broadcast ARP
 * request or Neighbor Solicitation reaches every kernel that has the address, and so finds two holders. UDP in
 * broadcast frames stands for a client without a neighbour entry: the service of every holder answers. UDP along a
 * cached neighbour entry is a normal client. This file does not know which node should answer, nor how long an outage
 * may be.
 *
 *   const witness = await startWitness(lab, { addresses: [LAB_VIP], observer: lab.host('observer'), client: lab.client })
 *   …
 *   const records = await witness.stop()      // one for each address; witness.look() gives the same while it runs
 *   records[0].holders                         // [{ from, to, holders: ['r1'] }, …] without gaps, by ARP or NS
 *   spans(records[0].holders, (n) => n > 1)    // the times in which two nodes answered
 *   records[0].unanswered, .stranded          // [{ from, to }]: no node answered UDP; no node answered the cached client
 *
 * All times are CLOCK_MONOTONIC in ms (monotonicMs()). The hosts `observer` and `client` must differ. Nodes have the
 * names of lab.routers, and are found by the MAC address of their eth0. A router that gets a new interface must keep
 * its MAC address.
 */
import { ip, macOf } from '../ip.ts'
import type { Host, Lab } from '../lab.ts'
import { eventually, monotonicMs } from '../wait.ts'
import { type Change, type History, type Span, sightsOf } from './history.ts'
import { numberOf, PROBE_PORT, ProbeProcess, startResponder } from './probe.ts'

/**
 * Record of one virtual address. `duplicates`: number of UDP probes that two services answered, about one for each ms.
 */
export type WitnessRecord = History & { readonly from: number; readonly to: number; readonly duplicates: number }

export type WitnessOptions = {
  readonly addresses: readonly string[]
  /** Host that asks as a client without a neighbour entry. */
  readonly observer: Host
  /** Host that asks as a client with a neighbour entry. */
  readonly client: Host
}

export type Witness = {
  look(): readonly WitnessRecord[]
  stop(): Promise<readonly WitnessRecord[]>
}

/** Observes one virtual address. */
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
    // UDP to this permanent neighbour entry is sent to the broadcast MAC address, and no gratuitous ARP replaces the
    // entry.
    const entry = `neighbour replace ${address} lladdr ff:ff:ff:ff:ff:ff dev eth0 nud permanent`
    ip(observer, entry)
    const asks = ['arp', 'eth0', address, '--interval-ms', '1', '--fifo']
    const probes = ['probe', address, String(PROBE_PORT), '--interval-us', '1000', '--fifo']
    this.#processes = [
      new ProbeProcess(lab, observer, asks, (fields) => {
        if (fields.event !== 'claim' || !Array.isArray(fields.macs)) return
        const holders = fields.macs.map((mac) => names.get(String(mac)) ?? String(mac)).sort()
        this.#claims.push({ at: numberOf(fields, 't'), holders })
      }),
      new ProbeProcess(lab, observer, probes, (fields) => this.#takeProbe(fields, this.#unanswered, true)),
      new ProbeProcess(lab, client, probes, (fields) => this.#takeProbe(fields, this.#stranded, false)),
    ]
  }

  #takeProbe(fields: Readonly<Record<string, unknown>>, gaps: Span[], sees: boolean): void {
    if (fields.event === 'holder') this.#answered = true
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
      holders: sightsOf(this.#claims, to),
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

/**
 * Starts the service on every router and the observers of each address. Resolves immediately: no router needs to answer
 * yet.
 */
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

/** Resolves when the router `name` alone has answered for every address for `steady` ms. Throws after `within` ms. */
export async function settlesOn(witness: Witness, name: string, steady: number, within: number): Promise<void> {
  const last = () => witness.look().map(({ address, holders }) => ({ address, ...holders.at(-1) }))
  await eventually(
    `${name} alone to answer for ${steady} ms`,
    () => last().every((one) => one.holders?.join() === name && monotonicMs() - (one.from ?? 0) >= steady),
    {
      sight: () => last().map(({ address, holders }) => `${address}: ${holders?.join() ?? 'no answer'}`),
      within,
      every: 50,
    },
  )
}
