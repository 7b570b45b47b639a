/**
 * Two routers of different make on one LAN, one virtual address, 100 ms advertisements: what every interop scenario
 * starts from, and what must hold for the neighbour and on the wire after each of them.
 */
import { expect } from 'vitest'
import { Prober, startResponder } from '../../src/cli/demo-probe.ts'
import { activeDownIntervalMs, type Daemon, type DaemonKind } from '../support/daemon.ts'
import type { Keepalived } from '../support/keepalived.ts'
import { createLab, type Host, LAB_VIP, type Lab } from '../support/lab.ts'
import { startDaemon } from '../support/start-daemon.ts'
import { Capture, type Frame, faults } from '../support/tshark.ts'
import { eventually, monotonicMs } from '../support/wait.ts'

export type Transport = 'multicast' | 'unicast'
export const INTERVAL = 100
const PRIORITY = { high: 200, low: 100 } as const
/** Generous: order and outcome are asserted, speed is measured elsewhere. */
const WITHIN = 3_000

export class Pair {
  readonly lab: Lab
  readonly high: { readonly kind: DaemonKind; readonly host: Host }
  readonly low: { readonly kind: DaemonKind; readonly host: Host }
  readonly #transport: Transport
  readonly #daemons = new Map<Host, Daemon>()
  #capture: Capture | undefined
  #prober: Prober | undefined

  constructor(transport: Transport, high: DaemonKind, low: DaemonKind) {
    this.#transport = transport
    this.lab = createLab({ routers: 2 })
    this.high = { kind: high, host: this.lab.router(1) }
    this.low = { kind: low, host: this.lab.router(2) }
  }

  async listen(): Promise<void> {
    for (const { host } of [this.high, this.low]) startResponder(this.lab, host)
    this.#capture = await Capture.start(this.lab, 'pair')
    this.#prober = new Prober(this.lab, this.lab.client, LAB_VIP)
  }

  async start(which: 'high' | 'low'): Promise<Daemon> {
    const { kind, host } = this[which]
    const other = this[which === 'high' ? 'low' : 'high'].host
    const plan = { host, priority: PRIORITY[which], intervalMs: INTERVAL, address: LAB_VIP }
    const unicast = this.#transport === 'unicast' ? { unicastPeers: [other.address] } : {}
    const daemon = startDaemon(kind, this.lab, { ...plan, ...unicast })
    this.#daemons.set(host, daemon)
    await daemon.ready()
    return daemon
  }

  daemon(which: 'high' | 'low'): Daemon {
    const daemon = this.#daemons.get(this[which].host)
    if (daemon === undefined) throw new Error(`Cannot use the ${which} router: it was not started`)
    return daemon
  }

  /** Both by their own account, and the addresses in both kernels. */
  async sight() {
    const states = [...this.#daemons.values()].map(async (d) => [`${d.kind} on ${d.plan.host.name}`, await d.state()])
    return {
      ...Object.fromEntries(await Promise.all(states)),
      holders: this.lab.holders(LAB_VIP),
      client: this.#prober?.owner,
    }
  }

  /** The address is there and nowhere else, its router says Active, and the client is answered by it. */
  async settlesOn(which: 'high' | 'low', occasion: string): Promise<void> {
    const { host } = this[which]
    const settled = async () =>
      this.lab.holders(LAB_VIP).join() === host.name &&
      this.#prober?.owner === host.name &&
      (await this.daemon(which).state()) === 'Active'
    await eventually(
      `${this[which].kind} on ${host.name} alone to be Active after ${occasion}`,
      settled,
      () => this.sight(),
      { within: WITHIN },
    )
  }

  /** Each side of a cut believes itself to be alone. */
  async splits(): Promise<void> {
    const both = async () =>
      (await this.daemon('high').state()) === 'Active' && (await this.daemon('low').state()) === 'Active'
    await eventually('both to be Active while cut', both, () => this.sight(), { within: WITHIN })
  }

  /** Milliseconds that the client was without an answer since `at`. */
  silenceSince(at: number): number {
    return this.#prober?.longestGap(at, monotonicMs()) ?? Number.NaN
  }

  get splitMs(): number {
    return 2 * activeDownIntervalMs(PRIORITY.low, INTERVAL)
  }

  /** What the neighbour counted and logged. */
  async neighbourIsContent(keepalived: Keepalived): Promise<void> {
    const { received, sent, ...errors } = await keepalived.counters()
    expect(
      errors,
      `error counters of keepalived on ${keepalived.plan.host.name} (received ${received}, sent ${sent})`,
    ).toEqual({
      lengthErrors: 0,
      ttlErrors: 0,
      typeErrors: 0,
      intervalErrors: 0,
      addressListErrors: 0,
      checksumErrors: 0,
    })
    this.neighbourIsQuiet(keepalived)
  }

  neighbourIsQuiet(keepalived: Keepalived): void {
    expect(
      keepalived.warnings(),
      `log lines of keepalived on ${keepalived.plan.host.name} that are no plain news`,
    ).toEqual([])
  }

  /** Ends the capture; everything in it must decode cleanly. Returns the advertisements in order. */
  async wireIsClean(): Promise<Frame[]> {
    const frames = (await this.#capture?.stop()) ?? []
    expect(faults(frames), `what tshark finds wrong with ${frames.length} frames`).toEqual([])
    const advertisements = frames.filter((frame) => frame.versionAndType !== '')
    expect(advertisements.length, 'advertisements captured').toBeGreaterThan(0)
    const destinations = new Set(advertisements.map(({ destination }) => destination))
    if (this.#transport === 'multicast') expect([...destinations]).toEqual(['224.0.0.18'])
    else expect([...destinations]).not.toContain('224.0.0.18')
    return advertisements
  }

  from(which: 'high' | 'low', advertisements: readonly Frame[]): Frame[] {
    return advertisements.filter(({ source }) => source === this[which].host.address)
  }
}
