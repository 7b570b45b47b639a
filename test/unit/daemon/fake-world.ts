/**
 * A fake node behind src/daemon/ports.ts on one virtual clock. FakeWorld has a kernel (links, addresses, delayed
 * notifications), a LAN (packets of the test, and a list of sent ones), a guardian and timers. Every call of the daemon
 * is a line in `calls`, in order. FakeWorld decides nothing about VRRP.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { arpRequest, readArp } from '../../../src/arp/arp-packet.ts'
import { gratuitousArp } from '../../../src/arp/gratuitous-arp.ts'
import { announcementIn } from '../../../src/arp/probe.ts'
import type { Config } from '../../../src/config/config.ts'
import type { ResolvedRouter } from '../../../src/config/resolve.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import type { AddressMemory, LedgerEntry } from '../../../src/daemon/addresses/ledger.ts'
import { readLedger } from '../../../src/daemon/addresses/ledger-file.ts'
import { Daemon, type DaemonOptions, type DaemonPorts } from '../../../src/daemon/daemon.ts'
import type {
  AddressFilePort,
  AddressOutcome,
  AddressStep,
  AdvertisementSocketOptions,
  CleanupPlan,
  ClockOrder,
  Datagram,
  Failure,
  FrameSocketOptions,
  GuardianPort,
  Hears,
  Link,
  NeighborResolution,
  NeighborWatchOptions,
  NetworkEvent,
  NetworkPort,
  PresentAddress,
  ReceivedPacket,
  SendOutcome,
  SocketPort,
} from '../../../src/daemon/ports.ts'
import type { ReloadReport } from '../../../src/daemon/reload.ts'
import { type LogRecord, Recorder } from '../../../src/daemon/telemetry/recorder.ts'
import type { RouterSnapshot } from '../../../src/daemon/telemetry/snapshot.ts'
import type { CheckReport } from '../../../src/healthcheck/check-report.ts'
import type { CheckResult } from '../../../src/healthcheck/health.ts'
import { ipv4Packet } from '../../../src/simulator/ipv4-packet.ts'
import { encodeAdvertisement } from '../../../src/vrrp/packet.ts'
import { type Address, address, addressFromBytes } from '../../../src/wire/address.ts'
import { macBytes, macFromBytes } from '../../../src/wire/mac.ts'
import { centis, type Millis, millis } from '../../../src/wire/units.ts'
import { FakeChecks, report } from '../healthcheck/fake-checks.ts'
import { FakeClock } from './fake-clock.ts'
import { FakeNotify } from './fake-notify.ts'
import { FakeRepetitions } from './fake-repetitions.ts'
import { FakeRestart } from './fake-restart.ts'

export const SELF = '192.0.2.10'
export const PEER = '192.0.2.20'
export const VIP = '192.0.2.100'
export const VIP2 = '192.0.2.101'
export const GROUP = '224.0.0.18'
export const GROUP6 = 'ff02::12'
/** ICMPv6 type (RFC 4861 §4.3). */
const NEIGHBOR_SOLICITATION = 135
/** Batch size of recvmmsg, which a fake queue also uses. */
const BATCH = 128
/** Milliseconds without a proof of the engine after which the clock stops. */
const LEASE = 1_200
/** Milliseconds that the event loop takes before more of a flood arrives. */
const TURNS = 8

export const failure = (code: string, message = `Cannot: ${code}`): Failure => ({
  code,
  syscall: 'fake',
  message,
  retryable: true,
})

export const link = (index: number, name: string, rest: Partial<Link> = {}): Link => ({
  index,
  name,
  mac: macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, index)),
  mtu: 1500,
  up: true,
  running: true,
  ...rest,
})

/** "192.0.2.10/24" */
export function present(interfaceIndex: number, text: string): PresentAddress {
  const [host = '', prefix = '32'] = text.split('/')
  return { interfaceIndex, address: address(host), prefixLength: Number(prefix), tentative: false }
}

type FakeSocket = {
  readonly options: AdvertisementSocketOptions
  readonly watches: FakeRepetitions
  readonly queue: ReceivedPacket[]
  lost: number
  closed: boolean
}
type Timer = { readonly at: number; readonly callback: () => void }
export type Sent = {
  readonly at: number
  readonly source: string
  readonly destination: string
  readonly vrid: number
  readonly priority: number
}

export type Heard = {
  readonly source?: string
  readonly vrid?: number
  readonly addresses?: readonly string[]
  /** Time at which the kernel received it; now by default. */
  readonly at?: number
  /** Interface; the only open one by default. */
  readonly on?: string
  /** Advertised interval in milliseconds; 1 000 by default. */
  readonly interval?: number
}

/** Keys of a virtual router that a test sets. */
export type RouterConfig = Readonly<Record<string, unknown>>
export const ROUTER: RouterConfig = { name: 'api', vrid: 51, interface: 'eth0', addresses: [VIP], priority: 128 }

export type WorldOptions = {
  readonly present?: readonly PresentAddress[]
  readonly syncGroups?: readonly {
    readonly name: string
    readonly members: readonly string[]
    readonly track?: readonly RouterConfig[]
    readonly notify?: RouterConfig
  }[]
  /** Health checks; with them the daemon has a check thread, which the test plays. */
  readonly healthchecks?: readonly RouterConfig[]
  /** Reads the file of `interface: { holding: FILE }`. */
  readonly addressFiles?: AddressFilePort
  /** True if the process is new; the test calls warm(). */
  readonly cold?: boolean
  /** True if the guardian has a clock, and `lease` is on. */
  readonly clock?: boolean
  /** False if the daemon acts on a deadline before it has read its queues. */
  readonly drainBeforeExpire?: boolean
  /** True if the sockets can watch repeated packets, and `lease` is on. */
  readonly watches?: boolean
  /** True if the guardian has a clock and starts a crashed engine again, and `onCrash` is `restart`. */
  readonly restart?: boolean
  /** Routers as the caller of the daemon has resolved them. */
  readonly resolved?: (config: Config) => readonly ResolvedRouter[]
}

export class FakeWorld {
  /** Starts at a time that is not round, so that a deadline counted from 0 would be noticed. */
  now = 50_000
  /** Milliseconds that pass while one packet is delivered; 0.1 before the code of an engine is compiled. */
  packetCost = 0
  readonly calls: string[] = []
  /** System calls for a batch: "send eth0 255", "apply 255", "frames eth0 255". */
  readonly batches: string[] = []
  readonly sent: Sent[] = []
  /** ARP probes and Neighbor Solicitations: questions for other holders of an address. */
  readonly asked: { at: number; address: string; to: string; from: string }[] = []
  /** Peers that were asked for their own addresses, in IPv4. */
  readonly called: { at: number; address: string; to: string }[] = []
  readonly announced: { at: number; address: string; mac: string }[] = []
  readonly #records: LogRecord[] = []
  /** Called with each log record. */
  onRecord: ((record: LogRecord) => void) | undefined
  /** Called when the counters are read. */
  onSnapshot: (() => void) | undefined
  #tellRecords: (() => void) | undefined
  readonly plans = new Map<number, CleanupPlan>()
  /** True with shared memory; set it before start(). */
  guarded = false
  /** Plans that the guardian executed, with their times. */
  readonly executed: { readonly at: number; readonly name: string; readonly deadline: number }[] = []
  readonly deadlines = new Map<number, number>()
  /** Time of the last beat of the guardian, which beats all the time unless it is stopped. */
  guardianStoppedAt: number | undefined
  /** Times at which the daemon sent a beat and looked at that of its guardian. */
  readonly beats: number[] = []
  guardianIsGone = false
  /** Clock of the guardian; `undefined` without one. Set it before start(). */
  clock: FakeClock | undefined
  /** Part of the guardian in a restart; `undefined` without one. */
  readonly restart: FakeRestart | undefined
  /** File and hash of the configuration in force, with `restart`. */
  identity: string | undefined = 'hash file'
  /** True if the daemon receives calls of the guardian, and its end. */
  guardianIsHeard = false
  guardianCalls: () => void = () => {}
  /** True if the guardian is dead, which is noticed only by a call to it. */
  #guardianIsMissed = false
  /** True while the kernel blocks a change of addresses by the guardian. */
  guardianIsChanging = false
  /** Milliseconds for which a renewal is under way. */
  busy = false
  /** Called before a plan is accepted. */
  onArm: ((plan: CleanupPlan) => void) | undefined
  /** CLOCK_BOOTTIME minus CLOCK_MONOTONIC. */
  asleep = 1_000
  guardianLosses = 0
  /** Lifetime in seconds with which an address was added last. */
  readonly lifetimes = new Map<string, number | undefined>()
  /** Called before a question is sent. */
  onAsk: (() => void) | undefined
  /** Called before an announcement is sent. */
  onAnnounce: (() => void) | undefined
  /** Called before the kernel executes a batch. */
  onApply: (() => void) | undefined
  /** Called before the kernel removes addresses of a batch. */
  onRemove: (() => void) | undefined
  /** Called before the kernel accepts an advertisement. */
  onSend: (() => void) | undefined
  readonly links = new Map<number, Link>()
  addresses: PresentAddress[] = []
  /** Failures by "add 192.0.2.100" and the like. */
  readonly addressFailures = new Map<string, Failure>()
  sendFailure: Failure | undefined
  openFailure: Failure | undefined
  neighborFailure: Failure | undefined
  /** True if notifications wait until deliver() or a drain. */
  holdNotifications = false
  /** True if packets wait until a drain. */
  holdPackets = false
  readonly sockets: FakeSocket[] = []
  readonly claimListeners: { readonly options: FrameSocketOptions; hears: Hears; closed: boolean }[] = []
  readonly neighborWatches: { readonly options: NeighborWatchOptions; closed: boolean }[] = []
  readonly runDirectory = mkdtempSync(join(tmpdir(), 'hf-world-'))
  readonly recorder = new Recorder(
    () => this.now,
    (deliver) => {
      this.#tellRecords = deliver
    },
  )
  readonly checks = new FakeChecks()
  readonly notices = new FakeNotify()
  daemon: Daemon
  readonly #addressFiles: AddressFilePort | undefined
  readonly #cold: boolean
  readonly #watches: boolean
  readonly #options: DaemonOptions
  readonly #resolved: WorldOptions['resolved']
  readonly #notifications: NetworkEvent[] = []
  readonly #timers = new Set<Timer>()
  readonly #words = new Map<number, 'armed' | 'executed'>()
  #executions = 0
  #renewing: CleanupPlan | undefined
  #deliver: ((event: NetworkEvent) => void) | undefined

  constructor(routers: readonly RouterConfig[] = [ROUTER], options: WorldOptions = {}) {
    if (options.clock === true || options.restart === true || options.watches === true) {
      this.guarded = true
      this.clock = new FakeClock(this)
      if (options.restart === true) this.restart = new FakeRestart(this.clock, (unit) => this.isExecuted(unit))
    }
    onTestFinished(() => rmSync(this.runDirectory, { recursive: true, force: true }))
    this.links.set(2, link(2, 'eth0'))
    this.links.set(3, link(3, 'eth1'))
    this.addresses = [present(2, `${SELF}/24`), present(3, '198.51.100.10/24'), ...(options.present ?? [])]
    this.recorder.attach((record) => {
      this.onRecord?.(record)
      this.#records.push(record)
    })
    this.#addressFiles = options.addressFiles
    this.#cold = options.cold ?? false
    this.#watches = options.watches ?? false
    this.#options = { drainBeforeExpire: options.drainBeforeExpire ?? true }
    this.#resolved = options.resolved
    this.daemon = this.life(routers, options.syncGroups, options.healthchecks)
  }

  config(keys: Readonly<Record<string, unknown>>): Config {
    const lease = this.clock === undefined ? 'off' : 'on'
    const onCrash = this.restart === undefined ? 'release' : 'restart'
    const common = { version: 1, runDirectory: this.runDirectory, lease, onCrash }
    const parsed = parseConfig(JSON.stringify({ ...common, ...keys }), 'fake-world')
    if ('problems' in parsed) throw new Error(parsed.problems.map(({ message }) => message).join('\n'))
    return parsed.config
  }

  /** Changes the file and informs the daemon. */
  reload(virtualRouters: readonly RouterConfig[], keys: Readonly<Record<string, unknown>> = {}): ReloadReport {
    const report = this.daemon.reload(this.config({ virtualRouters, ...keys }))
    this.settle()
    return report
  }

  /** Ledger as a file that tests can read and damage; it is written immediately. */
  #memory(): AddressMemory {
    return { read: () => readLedger(this.runDirectory), write: (entries) => this.leave(entries) }
  }

  /** The list of addresses of a run. */
  leave(entries: readonly LedgerEntry[]): void {
    writeFileSync(join(this.runDirectory, 'addresses.json'), JSON.stringify(entries))
  }

  /** Creates a daemon on this node; a second one is a second run. */
  life(
    routers: readonly RouterConfig[],
    syncGroups: WorldOptions['syncGroups'] = [],
    healthchecks?: WorldOptions['healthchecks'],
  ): Daemon {
    const keys = { virtualRouters: routers, syncGroups, ...(healthchecks === undefined ? {} : { healthchecks }) }
    const config = this.config(keys)
    const ports: DaemonPorts = {
      resolved: this.#resolved?.(config),
      ...(healthchecks === undefined ? {} : { checks: this.checks }),
      notify: this.notices,
      ...(this.restart === undefined ? {} : { identity: () => this.identity, version: '0.2.0' }),
      ...(this.#addressFiles === undefined ? {} : { addressFiles: this.#addressFiles }),
      addressMemory: this.#memory(),
      clock: { now: () => this.moment, asleep: () => millis(this.asleep) },
      network: this.#network(),
      sockets: this.#socketPort(),
      guardian: this.#guardian(),
      onGuardianLost: () => {
        this.guardianLosses++
      },
      cold: this.#cold,
      recorder: this.recorder,
      surroundings: () => {
        this.onSnapshot?.()
        return { controlRefused: 0, keepalivedBeside: [], scheduling: null, webhook: null, journal: null }
      },
      schedule: (callback, wait) => this.#schedule(callback, this.now + wait),
    }
    return new Daemon(config, ports, this.#options)
  }

  #schedule(callback: () => void, at: number): () => void {
    const timer = { at, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Ends the process as SIGKILL does: the kernel closes its sockets. The plans and the clock stay. */
  kill(): void {
    this.#timers.clear()
    this.#deliver = undefined
    for (const each of [...this.sockets, ...this.claimListeners, ...this.neighborWatches]) each.closed = true
  }

  start(): this {
    this.daemon.start()
    this.settle()
    return this
  }

  /** Reports a result that has just changed, as the thread does. */
  health(check: string, result: CheckResult, rest: Partial<CheckReport> = {}): void {
    this.checks.tell({ kind: 'healthChanged', report: report(check, result, this.now, rest) })
    this.settle()
  }

  // Time -----------------------------------------------------------------------------------------------------------

  /**
   * Runs everything that is due in `wait` milliseconds, one timer after the other, with the kernel's reports in
   * between.
   */
  advance(wait: number): void {
    const until = this.now + wait
    this.settle()
    for (let timer = this.#due(until); timer !== undefined; timer = this.#due(until)) {
      this.clock?.run(timer.at)
      // A clock that is late wakes the daemon, which may set an earlier timer.
      if (this.#due(until) !== timer) continue
      this.now = Math.max(this.now, timer.at)
      this.#runGuardian()
      this.#timers.delete(timer)
      timer.callback()
      this.settle()
    }
    this.clock?.run(until)
    this.now = Math.max(this.now, until)
    const before = this.executed.length
    this.#runGuardian()
    if (this.executed.length > before) this.settle()
  }

  /** Stops the process for a time; timers and packets wait. Timers run first afterwards, as in libuv. */
  stall(wait: number): void {
    const until = this.now + wait
    const leaseUntil = this.now + LEASE
    this.clock?.run(Math.min(until, leaseUntil), true)
    if (until > leaseUntil) this.clock?.endLease()
    this.now = until
    this.#runGuardian()
    for (let timer = this.#due(this.now); timer !== undefined; timer = this.#due(this.now)) {
      this.#timers.delete(timer)
      timer.callback()
    }
    this.settle()
  }

  /** Runs what the daemon has deferred to the event loop. */
  #endCallback(): void {
    const tell = this.#tellRecords
    this.#tellRecords = undefined
    tell?.()
  }

  get records(): readonly LogRecord[] {
    this.#endCallback()
    return this.#records
  }

  get timers(): number {
    return this.#timers.size
  }

  /** Delivers waiting packets and notifications. */
  settle(): void {
    this.#endCallback()
    if (!this.holdNotifications) this.deliver()
    if (this.holdPackets) return
    // Runs the event loop while something waits; due timers run first.
    for (let turn = 0; turn < TURNS && (turn === 0 || this.#due(this.now) === undefined); turn++)
      for (const socket of [...this.sockets]) if (!socket.closed && socket.queue.length > 0) socket.options.onReadable()
  }

  #due(until: number): Timer | undefined {
    return [...this.#timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
  }

  get moment(): Millis {
    return millis(this.now)
  }

  // The LAN --------------------------------------------------------------------------------------------------------

  get socket(): FakeSocket {
    return this.#socketOn(undefined)
  }

  /** Returns the socket of that interface, or the only one. */
  #socketOn(interfaceName: string | undefined): FakeSocket {
    const open = this.sockets.filter(
      ({ closed, options }) => !closed && (interfaceName === undefined || options.interfaceName === interfaceName),
    )
    const [only] = open
    if (only === undefined || open.length !== 1) throw new Error(`One open socket wanted, found ${open.length}`)
    return only
  }

  /** Puts a packet into the receive queue; the daemon reads it when it drains. */
  queue(bytes: Uint8Array, source = PEER, receivedAt = this.moment, on?: string): void {
    const v6 = source.includes(':')
    const { queue, watches } = this.#socketOn(on)
    const ends = { source: address(source), destination: address(v6 ? GROUP6 : GROUP) }
    const packet: ReceivedPacket = { family: v6 ? 'ipv6' : 'ipv4', ...ends, ttl: 255, bytes, receivedAt }
    if (!watches.take(packet)) queue.push(packet)
  }

  queueAdvertisement(priority: number, options: Heard = {}): void {
    const { source = PEER, vrid = 51, addresses = [VIP], at = this.now, on, interval = 1_000 } = options
    const v6 = source.includes(':')
    const ends = { source: address(source), destination: address(v6 ? GROUP6 : GROUP) }
    const value = {
      version: 3 as const,
      vrid,
      priority,
      interval: centis(interval / 10),
      addresses: addresses.map((text) => address(text)),
    }
    const message = encodeAdvertisement(value, { ...ends, checksum: 'pseudo-header' })
    // Returns the packet as a raw socket delivers it: IPv4 with its header, IPv6 without.
    this.queue(v6 ? message : ipv4Packet(message, ends), source, millis(at), on)
  }

  hear(priority: number, options: Heard = {}): void {
    this.queueAdvertisement(priority, options)
    this.settle()
  }

  /** Delivers a gratuitous ARP of the peer. */
  claim(text: string): void {
    this.hearAnnouncement(
      gratuitousArp({ address: address(text), mac: macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 99)) }),
    )
  }

  /** Delivers the answer of another host to a question of this node for that address. */
  answerFor(text: string, mac = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 77)), interfaceIndex = 2): void {
    const to = this.links.get(interfaceIndex)?.mac ?? macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 2))
    const ends = { senderAddress: address(text), targetAddress: address(SELF) }
    const frame = arpRequest({ senderMac: mac, targetMac: to, ...ends })
    frame.set(macBytes(to))
    // Operation 2: a reply.
    frame[21] = 2
    this.hearAnnouncement(frame)
  }

  hearAnnouncement(frame: Uint8Array): void {
    for (const { options, hears } of this.#listeners) if (hears !== 'nothing') options.onFrame?.(frame, this.moment)
  }

  /** Reports a change of the kernel's neighbor table. */
  neighbor(peer: string, resolution: NeighborResolution): void {
    for (const { options } of this.watchedNeighbors) options.onNeighbor(address(peer), resolution)
    this.settle()
  }

  get watchedNeighbors() {
    return this.neighborWatches.filter(({ closed }) => !closed)
  }

  /** Returns which frames may wake the engine. */
  get listening(): readonly string[] {
    return this.#listeners.map(({ hears }) => hears).filter((hears) => hears !== 'nothing')
  }

  #socketPort(): SocketPort {
    return {
      openAdvertisementSocket: (options) => {
        if (this.openFailure !== undefined) return this.openFailure
        this.calls.push(`open ${options.interfaceName}`)
        const watches = new FakeRepetitions((at) => this.#schedule(() => options.onOverdue?.(), at))
        const socket: FakeSocket = { options, watches, queue: [], lost: 0, closed: false }
        this.sockets.push(socket)
        return {
          repetitions: this.#watches ? watches : undefined,
          drain: (maxBatches, deliver, until = millis(Number.POSITIVE_INFINITY)) => {
            this.calls.push(`drain ${options.interfaceName}`)
            let packets = 0
            let empty = false
            for (let batch = 0; batch < maxBatches && !empty; batch++) {
              if (batch > 0 && this.now >= until) break
              const taken = socket.queue.splice(0, BATCH)
              for (const packet of taken) {
                deliver(packet)
                this.now += this.packetCost
              }
              packets += taken.length
              empty = taken.length < BATCH
            }
            const lost = socket.lost
            socket.lost = 0
            return { packets, empty, lost }
          },
          send: (datagrams) => {
            this.batches.push(`send ${options.interfaceName} ${datagrams.length}`)
            return datagrams.map((datagram) => this.#send(options, datagram))
          },
          join: (group) => {
            this.calls.push(`join ${options.interfaceName} ${group}`)
            return undefined
          },
          close: () => {
            if (!socket.closed) this.calls.push(`close ${options.interfaceName}`)
            socket.closed = true
          },
        }
      },
      openNeighborWatch: (options) => {
        if (this.neighborFailure !== undefined) return this.neighborFailure
        const watch = { options, closed: false }
        this.neighborWatches.push(watch)
        return {
          close: () => {
            watch.closed = true
          },
        }
      },
      openFrameSocket: (options) => {
        const listener = { options, hears: options.hears, closed: false }
        if (options.hears !== 'nothing') this.claimListeners.push(listener)
        return {
          send: (frames) => {
            this.batches.push(`frames ${options.interfaceName} ${frames.length}`)
            return frames.map((frame) => this.#announce(options, frame))
          },
          hear: (hears) => {
            listener.hears = hears
          },
          close: () => {
            listener.closed = true
          },
        }
      },
    }
  }

  get #listeners() {
    return this.claimListeners.filter(({ closed }) => !closed)
  }

  #send(
    { source, interfaceName }: Pick<AdvertisementSocketOptions, 'interfaceName' | 'source'>,
    { bytes, destination }: Datagram,
  ): SendOutcome {
    if (this.sendFailure !== undefined) return { ok: false, failure: this.sendFailure }
    this.onSend?.()
    const [, vrid = 0, priority = 0] = bytes
    this.calls.push(`advertise ${interfaceName} vrid ${vrid} priority ${priority}`)
    this.sent.push({ at: this.now, source, destination, vrid, priority })
    return { ok: true }
  }

  #announce({ interfaceName }: Pick<FrameSocketOptions, 'family' | 'interfaceName'>, frame: Uint8Array): SendOutcome {
    const question = readArp(frame)
    if (question !== undefined && question.senderAddress === '0.0.0.0') this.onAsk?.()
    if (question !== undefined && question.senderAddress === '0.0.0.0') {
      this.calls.push(`ask ${interfaceName} ${question.targetAddress}`)
      const { senderAddress: from, targetAddress } = question
      this.asked.push({ at: this.now, address: targetAddress, to: macFromBytes(frame.subarray(0, 6)), from })
      return { ok: true }
    }
    if (question !== undefined && question.senderAddress !== question.targetAddress) {
      this.calls.push(`call ${interfaceName} ${question.targetAddress}`)
      this.called.push({ at: this.now, address: question.targetAddress, to: macFromBytes(frame.subarray(0, 6)) })
      return { ok: true }
    }
    if (frame[20] === 58 && frame[54] === NEIGHBOR_SOLICITATION) {
      const target = addressFromBytes(frame.subarray(62, 78))
      this.calls.push(`ask ${interfaceName} ${target}`)
      const from = addressFromBytes(frame.subarray(22, 38))
      this.asked.push({ at: this.now, address: target, to: macFromBytes(frame.subarray(0, 6)), from })
      return { ok: true }
    }
    this.onAnnounce?.()
    const { address: claimed = 'nothing', mac = 'nobody' } = announcementIn(frame) ?? {}
    this.calls.push(`announce ${interfaceName} ${claimed}`)
    this.announced.push({ at: this.now, address: claimed, mac })
    return { ok: true }
  }

  // The kernel -----------------------------------------------------------------------------------------------------

  notify(event: NetworkEvent): void {
    this.#notifications.push(event)
  }

  /** Makes the kernel's queue overflow. */
  dropNotifications(): void {
    this.#notifications.length = 0
  }

  deliver(): void {
    if (this.#deliver === undefined) return
    for (let event = this.#notifications.shift(); event !== undefined; event = this.#notifications.shift()) {
      this.#deliver(event)
    }
  }

  setLink(value: Link): void {
    this.links.set(value.index, value)
    this.notify({ kind: 'link', link: value })
    this.settle()
  }

  removeLink(index: number): void {
    const name = this.links.get(index)?.name ?? ''
    for (const each of this.addresses.filter((a) => a.interfaceIndex === index)) this.#change('remove', each)
    this.links.delete(index)
    this.notify({ kind: 'linkGone', index, name })
    this.settle()
  }

  /** Changes an address as another program would: `ip address add` and `del`. */
  foreign(action: 'add' | 'remove', value: PresentAddress): void {
    this.#change(action, value)
    this.settle()
  }

  /** "192.0.2.100/32@2", sorted; the node's own two are left out. */
  get installed(): string[] {
    return this.addresses
      .map(({ address: a, prefixLength, interfaceIndex }) => `${a}/${prefixLength}@${interfaceIndex}`)
      .filter((text) => !text.startsWith(`${SELF}/`) && !text.startsWith('198.51.100.10/'))
      .sort()
  }

  #find(value: { interfaceIndex: number; address: Address; prefixLength: number }): PresentAddress | undefined {
    const { interfaceIndex, address: wanted, prefixLength } = value
    return this.addresses.find(
      (a) => a.interfaceIndex === interfaceIndex && a.address === wanted && a.prefixLength === prefixLength,
    )
  }

  /** Returns false if nothing changed, so that there is no notification. */
  #change(action: 'add' | 'remove', value: PresentAddress): boolean {
    const found = this.#find(value)
    if ((found !== undefined) === (action === 'add')) return false
    if (action === 'add') this.addresses = [...this.addresses, value]
    else this.addresses = this.addresses.filter((each) => each !== found)
    this.notify({ kind: action === 'add' ? 'addressAdded' : 'addressRemoved', present: value })
    return true
  }

  #apply(step: AddressStep): AddressOutcome {
    const { action, address: target, interfaceIndex, prefixLength } = step
    this.calls.push(`${action} ${target}/${prefixLength}@${interfaceIndex}`)
    if (step.action === 'add') this.lifetimes.set(target, step.lifetime)
    const failed = this.addressFailures.get(`${action} ${target}`)
    if (failed !== undefined) return { step, ok: false, failure: failed }
    // EEXIST and EADDRNOTAVAIL are success (ground rule 6: addresses within 10 ms, or priority 0), without a
    // notification.
    const changed = this.#change(action, { interfaceIndex, address: target, prefixLength, tentative: false })
    return { step, ok: true, changed }
  }

  #network(): NetworkPort {
    return {
      links: () => [...this.links.values()],
      addresses: () => [...this.addresses],
      settle: (interfaceIndex) => {
        this.calls.push(`settle ${interfaceIndex}`)
      },
      apply: (steps) => {
        this.batches.push(`apply ${steps.length}`)
        if (steps.some(({ action }) => action === 'add')) this.onApply?.()
        if (steps.some(({ action }) => action === 'remove')) this.onRemove?.()
        return steps.map((step) => this.#apply(step))
      },
      watch: (deliver) => {
        this.#deliver = deliver
        this.deliver()
      },
      drain: () => {
        this.calls.push('network.drain')
        this.deliver()
      },
      close: () => {
        this.#deliver = undefined
      },
    }
  }

  /** Reports an address again, because it was renewed in place. */
  tellFlags(text: string, flags: Pick<PresentAddress, 'permanent' | 'flags'>): void {
    this.addresses = this.addresses.map((each) => (each.address === text ? { ...each, ...flags } : each))
    const changed = this.addresses.filter(({ address }) => address === text)
    for (const value of changed) this.notify({ kind: 'addressAdded', present: value })
    this.settle()
  }

  // The guardian ---------------------------------------------------------------------------------------------------

  #guardian(): GuardianPort {
    const guarded = () => this.guarded && !this.#guardianIsMissed
    const executions = () => this.#executions
    return {
      clock: this.clock,
      restart: this.restart,
      armed: true,
      arm: (plan) => {
        this.onArm?.(plan)
        // A call of arm() waits first.
        this.#endRenewal(plan.unit)
        if (this.#words.get(plan.unit) === 'executed') return false
        this.calls.push(`arm ${plan.name}`)
        this.plans.set(plan.unit, plan)
        this.#words.set(plan.unit, 'armed')
        const { absentAt } = plan.guard ?? {}
        if (absentAt !== undefined) this.deadlines.set(plan.unit, absentAt)
        return true
      },
      withdraw: (unit) => {
        this.calls.push(`withdraw ${this.plans.get(unit)?.name ?? unit}`)
        this.plans.delete(unit)
        this.#stepDown(unit)
      },
      stepDown: (unit) => {
        if (this.guarded) this.calls.push(`step down ${this.plans.get(unit)?.name ?? unit}`)
        return this.#stepDown(unit)
      },
      sent: (unit, at) => void this.deadlines.set(unit, at),
      state: (unit) => this.#words.get(unit) ?? 'withdrawn',
      acknowledge: (unit) => {
        if (this.busy) return false
        if (this.#words.get(unit) === 'executed') this.#words.delete(unit)
        return true
      },
      listen: (onCall) => {
        this.guardianCalls = onCall
        return this.guardianIsHeard
      },
      beat: (now) => {
        this.beats.push(now)
        this.#guardianIsMissed = this.guardianIsGone
        if (!guarded()) return undefined
        const silent = millis(this.guardianStoppedAt === undefined ? 0 : now - this.guardianStoppedAt)
        return { silent, isChanging: this.guardianIsChanging }
      },
      get executions(): number {
        return executions()
      },
      get guarded(): boolean {
        return guarded()
      },
    }
  }

  #stepDown(unit: number) {
    const executed = this.#words.get(unit) === 'executed'
    if (!executed || !this.busy) this.#words.delete(unit)
    this.deadlines.delete(unit)
    // A call of stepDown() sets the state first, then waits.
    this.#endRenewal(unit)
    return { executed, late: this.busy }
  }

  /** The guardian renews a plan until the engine waits for it. */
  beginRenewal(unit = 0): void {
    this.#renewing = this.plans.get(unit)
  }

  /** The guardian removes addresses whose plan is no longer armed, because it may have installed them again. */
  #endRenewal(unit: number): void {
    const plan = this.#renewing
    if (plan === undefined || plan.unit !== unit) return
    this.#renewing = undefined
    if (this.#words.get(unit) !== 'armed') this.#takeOff(plan)
  }

  #takeOff({ remove }: CleanupPlan): void {
    for (const wanted of remove) {
      const found = this.#find(wanted)
      if (found !== undefined) this.#change('remove', found)
    }
  }

  /** Executes the plans of units that are late. */
  #runGuardian(): void {
    if (!this.guarded || this.guardianIsGone || this.guardianStoppedAt !== undefined) return
    for (const [unit, deadline] of this.deadlines)
      if (deadline <= this.now && this.clock?.guards(unit) !== true) this.execute(unit)
  }

  /** Sends what the clock was ordered to send. */
  sendRound(
    interfaceIndex: number,
    { family, source, records }: Pick<ClockOrder, 'family' | 'records' | 'source'>,
  ): void {
    const interfaceName = this.links.get(interfaceIndex)?.name ?? ''
    for (const record of records) {
      if ('datagram' in record) this.#send({ source, interfaceName }, record.datagram)
      else this.#announce({ interfaceName, family }, record.frame)
    }
  }

  get hasUnread(): boolean {
    return this.sockets.some(({ closed, queue }) => !closed && queue.length > 0)
  }

  get isExecuted(): (unit: number) => boolean {
    return (unit) => this.#words.get(unit) !== 'armed'
  }

  /** The guardian removes the addresses; the notifications wait until the daemon runs. */
  execute(unit = 0): void {
    const plan = this.plans.get(unit)
    if (plan === undefined || this.#words.get(unit) !== 'armed') return
    this.#words.set(unit, 'executed')
    this.#executions++
    this.executed.push({ at: this.now, name: plan.name, deadline: this.deadlines.get(unit) ?? Number.NaN })
    this.deadlines.delete(unit)
    this.#takeOff(plan)
  }

  /** From now on the calls also contain what may wait: reading the log, running programs, reading counters. */
  watchTellings(): void {
    this.onRecord = ({ message }) => this.calls.push(`log ${message}`)
    this.notices.onPost = ({ lane }) => this.calls.push(`notify ${lane}`)
    this.onSnapshot = () => this.calls.push('count')
  }

  // Status and log -------------------------------------------------------------------------------------------------

  router(name = 'api'): RouterSnapshot {
    const found = this.daemon.snapshot().routers.find((router) => router.name === name)
    if (found === undefined) throw new Error(`No router "${name}"`)
    return found
  }

  /** "api: Backup → Active: activeSilent": the beginning of each line about a transition, and the code of its reason. */
  get transitions(): string[] {
    return this.records.flatMap(({ fields: { reason, to }, message }) =>
      to === undefined ? [] : [`${message.slice(0, message.indexOf(`→ ${to}`))}→ ${to}: ${reason}`],
    )
  }

  /** Returns the calls since the last time. */
  takeCalls(): string[] {
    return this.calls.splice(0)
  }
}
