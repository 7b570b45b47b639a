/**
 * Builds a group of holdfast routers with an attacker on their segment, for every test of docs/security.md. A client
 * probes every millisecond, and an observer asks for the address. Kernels and metrics of each daemon can be read. This
 * file does not know the attacks.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { RouterSnapshot, Snapshot } from '../../src/daemon/telemetry/snapshot.ts'
import { samplesOf } from '../../src/http/metrics/samples.ts'
import { activeDownIntervalMs, type RouterPlan } from '../../src/lab/daemons/daemon.ts'
import { type Extra, Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { ArpObserver } from '../../src/lab/watch/arp-observer.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import type { MetricName } from '../../src/metrics/names.ts'
import { Attacker } from '../support/attacker.ts'

export const INTERVAL = 100
/** Address of an attacker that sends in its own name, or of an invented host. */
export const UNLISTED = '10.77.0.66'
export const INVENTED: readonly string[] = Array.from({ length: 500 }, (_, i) => `10.77.${1 + (i >> 8)}.${i & 255}`)
/** Priorities of r1, r2, and so on. Without an attack, r1 is Active. */
export const PRIORITIES = [200, 100] as const
const WITHIN = 10_000
/** Delay in ms of a deadline on a busy machine. */
export const MARGIN = 300

/**
 * Largest number of lost probes of an attack without effect. An attack that gets the address costs at least a Skew_Time (61 ms). A kernel
 * delays an answer by less.
 */
const UNNOTICED = 50
/** Expected record of the client for an attack without effect. */
export const UNTOUCHED = {
  answeredBy: ['r1'],
  longestGap: expect.toSatisfy((ms: number) => ms < UNNOTICED, `less than ${UNNOTICED} ms`),
}

export type AttackedGroupOptions = {
  readonly address?: string
  readonly priorities?: readonly number[]
  /** Hosts besides the routers, client and observer. */
  readonly hosts?: readonly string[]
  /** Whether every router has the other routers as unicast peers. */
  readonly unicast?: boolean
  readonly plan?: Partial<Omit<RouterPlan, 'host'>>
  readonly extra?: Extra
}

export const downMs = (position: number, intervalMs: number = INTERVAL): number =>
  activeDownIntervalMs(PRIORITIES[position - 1] ?? 100, intervalMs)

export class AttackedGroup {
  readonly lab: Lab
  readonly address: string
  readonly prober: Prober
  readonly observer: ArpObserver
  readonly attacker: Attacker
  readonly daemons: Holdfast[] = []
  readonly #options: AttackedGroupOptions

  private constructor(options: AttackedGroupOptions) {
    const { address = LAB_VIP, hosts = [], priorities = PRIORITIES } = options
    this.#options = options
    this.address = address
    const clients = ['client', 'observer', 'attacker', ...hosts]
    this.lab = createLab({ routers: priorities.length, clients, ipv6: address.includes(':') })
    for (const host of this.lab.routers) startResponder(this.lab, host)
    this.prober = new Prober(this.lab, this.lab.client, address)
    this.observer = new ArpObserver(this.lab, this.lab.host('observer'), address)
    this.attacker = new Attacker(this.lab, this.lab.host('attacker'))
  }

  /** Starts all routers, and waits until r1 is Active and answers the client. */
  static async settled(options: AttackedGroupOptions = {}): Promise<AttackedGroup> {
    const attacked = new AttackedGroup(options)
    try {
      const { priorities = PRIORITIES } = options
      for (const position of priorities.keys()) attacked.start(position + 1)
      await Promise.all([attacked.attacker.ready(), ...attacked.daemons.map((daemon) => daemon.ready())])
      await attacked.calm('all started')
      return attacked
    } catch (error) {
      attacked.destroy()
      throw error
    }
  }

  start(position: number): Holdfast {
    const { extra = {}, plan = {}, priorities = PRIORITIES, unicast = false } = this.#options
    const host = this.lab.router(position)
    const peers = this.lab.routers.filter((other) => other !== host).map((other) => other.address)
    const priority = priorities[position - 1] ?? 100
    const daemon = new Holdfast(
      this.lab,
      {
        ...{ host, priority, intervalMs: INTERVAL, address: this.address },
        ...(unicast ? { unicastPeers: peers } : {}),
        ...plan,
      },
      extra,
      // Real-time priority: the tests are about the attack, not about the CPU time of a busy machine.
      ['--realtime'],
    )
    this.daemons[position - 1] = daemon
    return daemon
  }

  destroy(): void {
    this.lab.destroy()
  }

  daemon(position: number): Holdfast {
    const daemon = this.daemons[position - 1]
    if (daemon === undefined) throw new Error(`Cannot use the daemon on r${position}: it was not started`)
    return daemon
  }

  async sight() {
    const states = this.daemons.map(async (daemon) => [daemon.plan.host.name, await daemon.state()])
    return {
      ...Object.fromEntries(await Promise.all(states)),
      holders: this.lab.holders(this.address),
      client: this.prober.holder,
      log: this.daemons.flatMap(({ records, plan }) => records.slice(-3).map(({ msg }) => `${plan.host.name} ${msg}`)),
    }
  }

  /**
   * Waits until r1 is Active, alone has the address and answers the client, and the other routers are Backup. This
   * function also waits until no router reports a second holder, because such a report would disturb the next attack.
   */
  calm(occasion: string): Promise<true> {
    const alone = async () => {
      const snapshots = await Promise.all(this.daemons.map((daemon) => daemon.snapshot()))
      const routers = snapshots.flatMap((snapshot) => snapshot?.routers ?? [])
      const [first, ...others] = routers.map(({ state }) => state)
      if (first !== 'Active' || others.some((state) => state !== 'Backup')) return false
      if (routers.some(({ duplicates }) => duplicates.length > 0)) return false
      return this.prober.holder === 'r1' && this.lab.holders(this.address).join() === 'r1'
    }
    return eventually(`r1 alone to be Active and answer after ${occasion}`, alone, { sight: () => this.sight() })
  }

  becomes(position: number, state: string, within = WITHIN): Promise<true> {
    const daemon = this.daemon(position)
    const is = async () => (await daemon.state()) === state
    return eventually(`r${position} to be ${state}`, is, { sight: () => this.sight(), within })
  }

  /**
   * Returns the routers that answered the client since `at`, in the order of the changes, and the longest silence.
   */
  client(at: number) {
    const before = this.prober.holders.filter((change) => change.at < at).at(-1)?.name
    const later = this.prober.holders.filter((change) => change.at >= at).map(({ name }) => name)
    return { answeredBy: [...new Set([before, ...later])], longestGap: this.prober.longestGap(at, monotonicMs()) }
  }

  /** Returns the time at which the client got an answer again. The prober reports a gap when the gap has ended. */
  async answeredAgain(since: number): Promise<number> {
    const ended = () => this.prober.gaps.find(({ to }) => to >= since)?.to
    return eventually('the client to be answered again', ended, { sight: () => this.prober.gaps })
  }

  /** Returns the current metrics of a router. The difference between two such records is the effect of an attack. */
  async account(position: number): Promise<Account> {
    const daemon = this.daemon(position)
    return new Account(await daemon.status(), daemon.records.length)
  }

  async accounts(): Promise<Accounts> {
    const [r1, r2] = await Promise.all([this.account(1), this.account(2)])
    return { r1, r2, transitions: () => [r1.transitions, r2.transitions] }
  }

  /** Captures VRRP packets at the attacker's interface, as frames. */
  async record(filter: string, ms: number): Promise<readonly Uint8Array[]> {
    const path = join(this.lab.directory, 'recorded.pcap')
    const argv = ['dumpcap', '-q', '-P', '-i', 'eth0', '-f', `ip proto 112 and ${filter}`, '-w', path]
    const dumpcap = new LoggedProcess(this.lab, this.attacker.host, argv)
    await dumpcap.line(/^File: /, 30_000)
    // The kernel delivers frames in blocks, which may be 250 ms late.
    await sleep(ms + 400)
    dumpcap.signal('SIGINT')
    await dumpcap.exited
    return framesOf(readFileSync(path))
  }

  /** Returns the log messages of one router after an account. */
  told(position: number, since: Account): readonly string[] {
    return this.daemon(position)
      .records.slice(since.lines)
      .map(({ msg }) => msg)
  }
}

/**
 * Returns the frames of a pcap file. The file has a header of 24 octets, and a header of 16 octets before each frame. The third group of
 * four octets is the frame's length.
 */
function framesOf(file: Buffer): readonly Uint8Array[] {
  const frames: Uint8Array[] = []
  for (let at = 24; at + 16 <= file.length; ) {
    const length = file.readUInt32LE(at + 8)
    frames.push(Uint8Array.from(file.subarray(at + 16, at + 16 + length)))
    at += 16 + length
  }
  return frames
}

type SuffixOf<Name> = Name extends `holdfast_vrrp_${infer Suffix}` ? Suffix : never
/** A current metric; samplesOf() does not return former names. */
type VrrpMetric = SuffixOf<MetricName>

export type Accounts = { readonly r1: Account; readonly r2: Account; readonly transitions: () => unknown }

export class Account {
  readonly snapshot: Snapshot
  readonly lines: number

  constructor(snapshot: Snapshot, lines: number) {
    this.snapshot = snapshot
    this.lines = lines
  }

  get router(): RouterSnapshot {
    const [router] = this.snapshot.routers
    if (router === undefined) throw new Error('Cannot find the router in the status')
    return router
  }

  get transitions() {
    return this.router.counters.transitions
  }

  /** Returns the growth of a metric since another account. */
  since(before: Account, name: VrrpMetric, labels: Readonly<Record<string, string>> = {}): number {
    return this.metric(name, labels) - before.metric(name, labels)
  }

  /** Returns the sum of all series of `holdfast_vrrp_NAME` that have these labels. */
  metric(name: VrrpMetric, labels: Readonly<Record<string, string>> = {}): number {
    const wanted = Object.entries(labels)
    return samplesOf(this.snapshot, 'test')
      .filter((sample) => sample.name === `holdfast_vrrp_${name}`)
      .filter((sample) => wanted.every(([key, value]) => sample.labels[key] === value))
      .reduce((sum, { value }) => sum + value, 0)
  }
}
