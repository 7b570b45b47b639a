/**
 * Two routers of different make on one LAN with one virtual router, for every interop test. Has the assertions about
 * both routers and about the packets. Decides addresses, the holder of an address, and the sender of a packet. FRR
 * never removes an address; its macvlan interface goes down instead. This file does not know the order of a test.
 */
import { expect } from 'vitest'
import type { Daemon, DaemonKind, RouterPlan } from '../../src/lab/daemons/daemon.ts'
import { Frr, frrSource } from '../../src/lab/daemons/frr.ts'
import { startDaemon } from '../../src/lab/daemons/start-daemon.ts'
import { ip, linksOf } from '../../src/lab/ip.ts'
import { createLab, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { Capture, type Frame, faults } from '../../src/lab/watch/capture.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { expectContent } from './content.ts'
import { intervalOf, type Match, PRIORITY } from './match.ts'

export type Which = 'high' | 'low'
const other = (which: Which): Which => (which === 'high' ? 'low' : 'high')

/** IPv6 addresses. The link-local address comes first (VR-TX-04); the client asks for the other address. */
export const VIPS6 = ['fe80::100', 'fd77::100'] as const
export const PASSWORD = 'swordfis'
/** Capture filter. Of ICMPv6 only neighbour advertisements are captured: an ICMP error quotes an advertisement that found no receiver. */
const WATCHED = 'proto 112 or arp or (icmp6 and ip6[40] = 136)'
const numberOf = (host: Host) => host.address.split('.').at(-1)
const linkLocal = (host: Host) => `fe80::${numberOf(host)}`
export const globalAddress = (host: Host) => `fd77::${numberOf(host)}`

type Side = { readonly kind: DaemonKind; readonly host: Host }

export class Pair {
  readonly match: Match
  readonly lab: Lab
  readonly high: Side
  readonly low: Side
  readonly vip: string
  readonly intervalMs: number
  readonly #v6: boolean
  readonly #daemons = new Map<Host, Daemon>()
  #capture: Capture | undefined
  #prober: Prober | undefined

  constructor(match: Match) {
    this.match = match
    this.lab = createLab({ routers: 2 })
    this.high = { kind: match.high, host: this.lab.router(1) }
    this.low = { kind: match.low, host: this.lab.router(2) }
    this.#v6 = match.protocol === 'v3 IPv6'
    this.vip = this.#v6 ? VIPS6[1] : LAB_VIP
    this.intervalMs = intervalOf(match.protocol)
  }

  async listen(): Promise<void> {
    for (const host of this.#v6 ? this.lab.hosts.values() : []) addIpv6(host)
    for (const { host } of [this.high, this.low]) startResponder(this.lab, host)
    this.#capture = await Capture.start(this.lab, 'pair', WATCHED)
    this.#prober = new Prober(this.lab, this.lab.client, this.vip)
  }

  /**
   * Returns the plan of one router. holdfast has real-time priority, because an engine without CPU for three intervals loses its
   * address. keepalived runs without that option, because the kernel kills it (rlimit_rttime) on a busy machine.
   */
  plan(which: Which): RouterPlan {
    const { protocol, transport } = this.match
    const { host, kind } = this[which]
    const peer = this[other(which)].host
    const reach = this.#v6 ? globalAddress : ({ address }: Host) => address
    return {
      ...{
        host,
        priority: PRIORITY[which],
        intervalMs: this.intervalMs,
        address: this.vip,
        realtime: kind === 'holdfast',
      },
      ...(this.#v6 ? { addresses: VIPS6 } : {}),
      ...(protocol === 'v2 PASS IPv4' ? { version: 2, password: PASSWORD } : {}),
      ...(this.match.listed ? { peers: [this.#v6 ? linkLocal(peer) : peer.address] } : {}),
      ...(transport === 'unicast' ? { unicastPeers: [reach(peer)], unicastSource: reach(host) } : {}),
    }
  }

  async start(which: Which): Promise<Daemon> {
    const { kind, host } = this[which]
    const earlier = this.#daemons.get(host)
    if (earlier instanceof Frr) {
      earlier.killAll()
      await earlier.exited
    }
    const daemon = startDaemon(kind, this.lab, this.plan(which))
    this.#daemons.set(host, daemon)
    await daemon.ready()
    return daemon
  }

  daemon(which: Which): Daemon {
    const daemon = this.#daemons.get(this[which].host)
    if (daemon === undefined) throw new Error(`Cannot use the ${which} router: it was not started`)
    return daemon
  }

  /**
   * Returns the routers whose kernel answers for the address. The kernel of such a router has the address on an
   * interface that is up.
   */
  holders(): string[] {
    const answers = (host: Host): boolean =>
      linksOf(host).some(
        ({ addr_info = [], flags }) => flags.includes('LOWER_UP') && addr_info.some(({ local }) => local === this.vip),
      )
    return this.lab.routers.filter(answers).map(({ name }) => name)
  }

  /**
   * Returns the states that both daemons report, the holders in both kernels, and the router that answers the client.
   */
  async sight() {
    const states = [...this.#daemons.values()].map(async (d) => [`${d.kind} on ${d.plan.host.name}`, await d.state()])
    return {
      ...Object.fromEntries(await Promise.all(states)),
      holders: this.holders(),
      client: this.#prober?.holder,
    }
  }

  /** Limit in ms. The tests judge order and outcome; times only where a step says so. */
  get within(): number {
    return Math.max(10_000, 15 * this.intervalMs)
  }

  /** Waits until the router reports Active and answers the client. */
  async moves(which: Which, occasion: string): Promise<void> {
    await this.#comes(which, occasion, async () => true)
  }

  /** Waits for the same as moves(), and until no other router would answer. */
  async settlesOn(which: Which, occasion: string): Promise<void> {
    await this.#comes(which, `alone to be Active after ${occasion}`, async () =>
      this.#clientIsAnsweredBy(which) ? this.onlyHolder(which) : false,
    )
  }

  onlyHolder(which: Which): boolean {
    return this.holders().join() === this[which].host.name
  }

  /** Waits for the same as settlesOn(), with any neighbour entry of the client. */
  async isElected(which: Which, occasion: string): Promise<void> {
    const { kind, host } = this[which]
    const elected = async () => (await this.daemon(which).state()) === 'Active' && this.onlyHolder(which)
    await eventually(`${kind} on ${host.name} alone to be Active after ${occasion}`, elected, {
      sight: () => this.sight(),
      ...this.#wait,
    })
  }

  #clientIsAnsweredBy(which: Which): boolean {
    return this.#prober?.holder === this[which].host.name
  }

  get #wait() {
    return { within: this.within, every: 20 }
  }

  async #comes(which: Which, occasion: string, too: () => Promise<boolean>): Promise<void> {
    const { kind, host } = this[which]
    const come = async () =>
      this.#clientIsAnsweredBy(which) && (await this.daemon(which).state()) === 'Active' && (await too())
    await eventually(`${kind} on ${host.name} ${occasion}`, come, { sight: () => this.sight(), ...this.#wait })
  }

  /** Waits until each side of a cut is Active. */
  async splits(): Promise<void> {
    const both = async () =>
      (await this.daemon('high').state()) === 'Active' && (await this.daemon('low').state()) === 'Active'
    await eventually('both to be Active while cut', both, { sight: () => this.sight(), ...this.#wait })
  }

  /** Returns the milliseconds since `at` in which the client had no answer. */
  silenceSince(at: number): number {
    return this.#prober?.longestGap(at, monotonicMs()) ?? Number.NaN
  }

  /** Returns the milliseconds from `at` until another router first answered the client. */
  movedAfter(which: Which, at: number): number {
    return (this.#prober?.movedFrom(this[which].host.name, at)?.at ?? Number.NaN) - at
  }

  /** Makes the client resolve the address again. */
  clientForgets(): void {
    ip(this.lab.client, 'neigh flush dev eth0')
  }

  /** Checks counters and log lines of both routers. */
  async bothAreContent(): Promise<void> {
    for (const daemon of this.#daemons.values()) await expectContent(daemon)
  }

  /** Ends the capture and checks that every frame decodes without an error. Returns the frames in order. */
  async wireIsClean(): Promise<Frame[]> {
    const frames = (await this.#capture?.stop()) ?? []
    expect(faults(frames), `problems that tshark finds in ${frames.length} frames`).toEqual([])
    const said = frames.filter(({ versionAndType }) => versionAndType !== '')
    const seen = (of: (frame: Frame) => string) => [...new Set(said.map(of))].sort()
    expect(
      seen(({ versionAndType }) => versionAndType),
      'version and type of the advertisements, 16 × version + 1',
    ).toEqual([this.match.protocol === 'v2 PASS IPv4' ? '33' : '49'])
    if (this.match.protocol === 'v2 PASS IPv4')
      expect(
        seen(({ authentication }) => authentication),
        'types of authentication',
      ).toEqual(['1'])
    const group = this.#v6 ? 'ff02::12' : '224.0.0.18'
    const destinations = seen(({ destination }) => destination)
    if (this.match.transport === 'multicast')
      expect(destinations, 'destinations of the advertisements').toEqual([group])
    else expect(destinations, 'destinations of the advertisements').not.toContain(group)
    const others = said.filter(({ source }) => ![this.#source('high'), this.#source('low')].includes(source))
    expect(others, 'advertisements of a source that is neither router').toEqual([])
    return frames
  }

  #source(which: Which): string {
    const { host, kind } = this[which]
    if (!this.#v6) return host.address
    if (this.match.transport === 'unicast') return globalAddress(host)
    return kind === 'frr' ? frrSource(host) : linkLocal(host)
  }

  from(which: Which, frames: readonly Frame[]): Frame[] {
    return frames.filter(({ source, versionAndType }) => versionAndType !== '' && source === this.#source(which))
  }

  /** Returns gratuitous ARP and unsolicited neighbour advertisements for the address from FRR's virtual MAC. */
  announcedByFrr(frames: readonly Frame[]): Frame[] {
    return frames.filter(({ arpOperation, arpSender, arpTarget, mac, naSolicited, naTarget }) => {
      const announced = arpOperation !== '' ? arpSender === this.vip && arpTarget === this.vip : naTarget === this.vip
      return announced && naSolicited !== '1' && naSolicited !== 'True' && mac.startsWith('00:00:5e:00:0')
    })
  }
}

/** Adds fixed addresses without DAD in place of the kernel's addresses. The source of a packet then identifies its sender. */
export function addIpv6(host: Host): void {
  const addresses = [linkLocal(host), globalAddress(host)].map((one) => `address add ${one}/64 dev eth0 nodad`)
  const lines = ['address flush dev eth0 scope link', ...addresses]
  ip(host, ...lines)
}
