/**
 * Builds three holdfast routers (priorities 200, 150, 100) for every failover test in namespaces. A client probes every millisecond
 * with a cached neighbour entry, and an observer has no entry. Assertions use the kernel, the client and the observer. The status of
 * the daemon must agree with them.
 */
import { onTestFinished, type TestContext } from 'vitest'
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'
import { type Extra, Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { ArpObserver } from '../../src/lab/watch/arp-observer.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'

export const INTERVAL = 100
export const PRIORITIES = [200, 150, 100] as const
/** Limit in ms. The tests judge order and outcome; the benchmark measures times. */
export const WITHIN = 5_000
/** Additional time in ms for a deadline: rounding to centiseconds, and a machine with two cores. */
export const MARGIN = 100

export const downMs = (priority: number) => activeDownIntervalMs(priority, INTERVAL)

type OnFinished = TestContext['onTestFinished']

export class ThreeRouters {
  readonly lab: Lab
  /** Virtual address. All other addresses have the same family. */
  readonly address: string
  readonly prober: Prober
  readonly observer: ArpObserver
  readonly #daemons = new Map<Host, Holdfast>()
  readonly #options: readonly string[]

  /**
   * Creates the LAN, which is removed when the test ends. `options` are options of every `holdfast run`. A test that runs beside others
   * of its file gives its own `finished`.
   */
  constructor(address = LAB_VIP, options: readonly string[] = [], finished: OnFinished = onTestFinished) {
    this.address = address
    this.#options = options
    this.lab = createLab({ routers: PRIORITIES.length, ipv6: address.includes(':') })
    finished(() => this.lab.destroy())
    for (const host of this.lab.routers) startResponder(this.lab, host)
    this.prober = new Prober(this.lab, this.lab.client, address)
    this.observer = new ArpObserver(this.lab, this.lab.host('observer'), address)
  }

  /** Starts all three routers. Resolves when r1 is Active. */
  static async settled(address = LAB_VIP, extra: Extra = {}, finished?: OnFinished): Promise<ThreeRouters> {
    const threeRouters = new ThreeRouters(address, [], finished)
    await Promise.all(PRIORITIES.map((priority, i) => threeRouters.start(i + 1, priority, extra)))
    await threeRouters.settlesOn(1, 'all started')
    return threeRouters
  }

  async start(position: number, priority: number, extra: Extra = {}): Promise<Holdfast> {
    const daemon = await this.launch(position, priority, extra)
    await daemon.ready()
    return daemon
  }

  /** Starts a daemon. Resolves when the daemon answers, in any state. */
  async launch(position: number, priority: number, extra: Extra = {}): Promise<Holdfast> {
    const host = this.lab.router(position)
    const plan = { host, priority, intervalMs: INTERVAL, address: this.address }
    const daemon = new Holdfast(this.lab, plan, extra, this.#options)
    this.#daemons.set(host, daemon)
    await eventually(
      `holdfast on ${host.name} to answer`,
      async () => (await daemon.snapshot()) !== undefined || daemon.process.exit !== undefined,
      {
        // A process start on a busy machine.
        sight: () => daemon.lines.slice(-5),
        within: 3 * WITHIN,
        every: 20,
      },
    )
    return daemon
  }

  daemon(position: number): Holdfast {
    const daemon = this.#daemons.get(this.lab.router(position))
    if (daemon === undefined) throw new Error(`Cannot use the daemon on r${position}: it was not started`)
    return daemon
  }

  async sight() {
    const states = [...this.#daemons].map(async ([host, daemon]) => [host.name, await daemon.state()])
    return {
      ...Object.fromEntries(await Promise.all(states)),
      holders: this.lab.holders(this.address),
      client: this.prober.holder,
    }
  }

  /** Waits until this router answers the client and reports Active. Other routers may have the address as well. */
  answeredBy(position: number, occasion: string): Promise<true> {
    const { name } = this.lab.router(position)
    const settled = async () => this.prober.holder === name && (await this.daemon(position).state()) === 'Active'
    return eventually(`${name} to answer and be Active after ${occasion}`, settled, { sight: () => this.sight() })
  }

  /** Waits for the same as answeredBy, and until no other kernel has the address. */
  async settlesOn(position: number, occasion: string): Promise<void> {
    await this.answeredBy(position, occasion)
    const { name } = this.lab.router(position)
    const alone = () => this.lab.holders(this.address).join() === name
    await eventually(`${name} alone to hold the address after ${occasion}`, alone, { sight: () => this.sight() })
  }

  async holdersBecome(names: readonly string[], occasion: string): Promise<void> {
    const expected = names.join()
    const there = () => this.lab.holders(this.address).join() === expected
    await eventually(`"${expected}" to hold the address after ${occasion}`, there, { sight: () => this.sight() })
  }

  /**
   * Waits until these routers have been Backup for one of their own Active_Down_Intervals, counted from their report. A router that
   * has been Backup for less does not use fastPreempt.
   */
  async longBackup(...positions: readonly number[]): Promise<void> {
    for (const position of positions) {
      const { name } = this.lab.router(position)
      const backup = async () => (await this.daemon(position).state()) === 'Backup'
      await eventually(`${name} to be Backup`, backup, { sight: () => this.sight() })
    }
    const longest = Math.max(...positions.map((position) => this.daemon(position).plan.priority).map(downMs))
    await new Promise((resolve) => setTimeout(resolve, longest + MARGIN))
  }

  /**
   * Twice the Active_Down_Interval of the router with the lowest priority, in ms. By then both sides of a cut are
   * Active.
   */
  get splitMs(): number {
    return 2 * downMs(PRIORITIES[2])
  }

  /** Returns the milliseconds since `at` in which two routers answered ARP. */
  overlapSince(at: number): number {
    return this.observer.overlap(at, monotonicMs())
  }
}
