/**
 * The engine: owns routers, segments, the one alarm and the view of the network, and is the only place that turns
 * the passing of time and the kernel's news into events. A turn has one `now`; on expiry it drains before it decides
 * (ground rule 2). What to decide is vrrp/'s, how the kernel is spoken to is linux/'s.
 */
import { hostname } from 'node:os'
import type { Config } from '../config/config.ts'
import { type ResolvedRouter, resolveRouters } from '../config/resolve.ts'
import { isOwner } from '../vrrp/parameters.ts'
import { nextDeadline } from '../vrrp/state.ts'
import { activeDownInterval } from '../vrrp/timers.ts'
import type { Address } from '../wire/address.ts'
import { type Millis, plus } from '../wire/units.ts'
import { Alarm, type Schedule } from './alarm.ts'
import { circumstancesOf } from './circumstances.ts'
import { Journal, type JournalEntry, readJournal } from './journal.ts'
import { NetworkView } from './network-view.ts'
import { OwnChanges } from './own-changes.ts'
import type {
  AddressOutcome,
  AddressStep,
  Clock,
  LastWillPort,
  Link,
  NetworkEvent,
  NetworkPort,
  SocketPort,
} from './ports.ts'
import type { Recorder } from './recorder.ts'
import { hostPrefix, Router } from './router.ts'
import { Segment, type SegmentContext } from './segment.ts'
import { interfaceSnapshot, routerSnapshot, type Snapshot } from './snapshot.ts'
import { sweepSteps } from './sweep.ts'

export type DaemonPorts = {
  readonly clock: Clock
  readonly network: NetworkPort
  readonly sockets: SocketPort
  readonly will: LastWillPort
  readonly recorder: Recorder
  /** setTimeout by default. */
  readonly schedule?: Schedule
}

/**
 * Not configurable: `drainBeforeExpire: false` decides on the timer alone, as a daemon without ground rule 2 would, so
 * that the stall test can show that it would notice.
 */
export type DaemonOptions = { readonly drainBeforeExpire: boolean }

const OPEN_RETRY = 1_000

export class Daemon {
  readonly #config: Config
  readonly #ports: DaemonPorts
  readonly #options: DaemonOptions
  readonly #view = new NetworkView()
  readonly #alarm: Alarm
  readonly #routers = new Map<string, Router>()
  readonly #segments = new Map<string, Segment>()
  readonly #startedAt = new Date()
  readonly #journal: Journal
  readonly #ownChanges = new OwnChanges()
  /** Interfaces whose changes can mean something; undefined = `auto` looks at all of them. */
  readonly #interfaces: ReadonlySet<string> | undefined
  /** An alarm is being served: its announcements come after its decisions. */
  #serving = false
  /** Who waits for the end. */
  #stopped: (() => void)[] = []
  #stateChanged = false
  /** A socket could not be opened; the next try. */
  #openAgainAt: Millis | undefined

  constructor(config: Config, ports: DaemonPorts, options: DaemonOptions = { drainBeforeExpire: true }) {
    this.#config = config
    this.#ports = ports
    this.#options = options
    this.#alarm = new Alarm(ports.clock, (now) => this.#onAlarm(now), ports.schedule)
    this.#journal = new Journal(config.runDirectory)
    const names = config.virtualRouters.flatMap((router) => [router.interface, ...router.track.map((t) => t.interface)])
    this.#interfaces = names.includes('auto') ? undefined : new Set(names)
  }

  /** Sweeps, opens, starts. Returns with every router in Backup, Active, or in fault with a reason. */
  start(): void {
    const { clock, network } = this.#ports
    this.#view.load(network)
    this.#sweep()
    const now = clock.now()
    for (const resolved of this.#resolve()) this.#addRouter(resolved, now)
    this.#refresh(now)
    for (const router of this.#routers.values()) router.post({ kind: 'startup' }, now)
    network.watch((event) => this.#onNetworkEvent(event))
    this.#endTurn(clock.now())
  }

  /** Through Leaving (design.md §3); resolves when no router answers for anything any more. */
  stop(): Promise<void> {
    const now = this.#ports.clock.now()
    const stopped = new Promise<void>((resolve) => this.#stopped.push(resolve))
    for (const router of this.#routers.values()) router.post({ kind: 'shutdown' }, now)
    this.#stateChanged = true
    this.#endTurn(now)
    return stopped
  }

  /** After stop(): nothing of this daemon keeps the process alive. */
  close(): void {
    this.#alarm.set(undefined)
    for (const segment of this.#segments.values()) segment.close()
    this.#ports.network.close()
  }

  snapshot(): Snapshot {
    const now = this.#ports.clock.now()
    return {
      version: 1,
      pid: process.pid,
      hostname: hostname(),
      startedAt: this.#startedAt.toISOString(),
      takenAt: new Date().toISOString(),
      guardian: this.#ports.will.armed,
      logRecordsLost: this.#ports.recorder.lost,
      routers: [...this.#routers.values()].map((router) => routerSnapshot(router, now)),
      interfaces: [...this.#segments.values()].map(interfaceSnapshot),
    }
  }

  // What an earlier life left (ground rule 4) ----------------------------------------------------------------------

  /** Configured VIPs by address, wherever they are; journalled ones only exactly as they were installed. */
  #sweep(): void {
    const { recorder } = this.#ports
    const { entries, problem } = readJournal(this.#config.runDirectory)
    if (problem !== undefined) recorder.log('warn', problem)
    const vips = new Set(this.#virtualAddresses(false))
    const owned = new Set(this.#virtualAddresses(true))
    const steps = sweepSteps({ view: this.#view, journal: entries, vips, owned })
    const failed: JournalEntry[] = []
    for (const { step, ...outcome } of this.#apply(steps)) {
      const name = this.#view.link(step.interfaceIndex)?.name ?? String(step.interfaceIndex)
      const where = `${step.address}/${step.prefixLength} on ${name}`
      if (outcome.ok) recorder.log('warn', `Removed ${where}: left by an earlier life`, { address: step.address })
      else {
        recorder.log('error', `Cannot remove ${where}: ${outcome.failure.message}`, { address: step.address })
        failed.push({ address: step.address, prefixLength: step.prefixLength, interfaceName: name })
      }
    }
    const unwritten = this.#journal.add(failed)
    if (unwritten !== undefined) recorder.log('warn', unwritten)
  }

  /** Before the first VIP can be installed on an interface, which for `auto` may be found late. */
  #keepJournal(resolved: readonly ResolvedRouter[]): void {
    const problem = this.#journal.add(
      resolved.flatMap(({ interfaceName, parameters }) =>
        interfaceName === undefined || isOwner(parameters)
          ? []
          : parameters.addresses.map((address) => ({ address, prefixLength: hostPrefix(address), interfaceName })),
      ),
    )
    if (problem !== undefined) this.#ports.recorder.log('warn', problem)
  }

  #virtualAddresses(owned: boolean): Address[] {
    return this.#config.virtualRouters.flatMap(({ priority, addresses }) =>
      (priority === 255) === owned ? addresses.map(({ address }) => address) : [],
    )
  }

  // The network as it is now ---------------------------------------------------------------------------------------

  #resolve(): readonly ResolvedRouter[] {
    const interfaces = this.#view
      .links()
      .map((link) => ({ name: link.name, addresses: this.#view.on(link.index, 'ipv4') }))
    return resolveRouters(this.#config, { interfaces }).routers
  }

  #addRouter(resolved: ResolvedRouter, now: Millis): void {
    const { recorder, will } = this.#ports
    const spec = {
      name: resolved.name,
      unit: this.#routers.size,
      basePriority: resolved.parameters.priority,
      announceAt: resolved.announce.at,
      refresh: resolved.announce.refresh,
    }
    const router = new Router(spec, resolved.parameters, recorder, will, now)
    router.onTransition = () => {
      this.#stateChanged = true
    }
    this.#routers.set(resolved.name, router)
  }

  /** Links, addresses and trackers to faults, priorities and sockets. Idempotent; run whenever one of them changed. */
  #refresh(now: Millis): void {
    const resolution = this.#resolve()
    this.#keepJournal(resolution)
    const found = resolution.flatMap((resolved) => {
      const router = this.#routers.get(resolved.name)
      if (router === undefined) return []
      // `auto` that no longer knows, because a second interface has come into the network, stays where it is.
      const name = resolved.interfaceName ?? router.io?.interfaceName
      const link = name === undefined ? undefined : this.#view.linkNamed(name)
      const source = this.#sourceFor(router, resolved, link)
      if (link !== undefined && source !== undefined) this.#attach(router, resolved, link, source, now)
      const { faults, priority } = circumstancesOf(resolved, link, source, this.#view)
      return [{ router, faults, priority, missing: link === undefined }]
    })
    for (const { router, faults, priority, missing } of found) {
      router.setPriority(priority, now)
      for (const { fault, present, canSend } of faults) if (present) router.setFault(fault, true, canSend, now)
      if (missing) this.#detach(router)
    }
    // Whoever starts because its last fault is cleared must find its socket open, and no other fault behind it.
    this.#openSegments(now)
    for (const { router, faults } of found) {
      for (const { fault, present } of faults) if (!present) router.setFault(fault, false, false, now)
    }
  }

  /** The source chosen at start stays until it disappears (VR-TX-03): a new address must not change a tie-break. */
  #sourceFor(router: Router, resolved: ResolvedRouter, link: Link | undefined): Address | undefined {
    const { primaryAddress, family } = router.parameters
    if (link === undefined || resolved.fault === 'sourceAddressMissing') return undefined
    if (router.io === undefined) return resolved.source
    const still = this.#view.on(link.index, family).some((present) => present.address === primaryAddress)
    return still ? primaryAddress : resolved.source
  }

  #attach(router: Router, resolved: ResolvedRouter, link: Link, source: Address, now: Millis): void {
    const { family, vrid } = resolved.parameters
    const key = `${link.index} ${family} ${source}`
    const segment = this.#segments.get(key) ?? new Segment(link, family, source, this.#segmentContext)
    segment.link = link
    this.#segments.set(key, segment)
    if (router.io === segment) return
    const moved = router.io !== undefined && router.io.interfaceIndex !== link.index
    this.#detach(router)
    const { priority } = router.parameters
    segment.routers.set(vrid, router)
    router.moveTo(segment, { ...resolved.parameters, primaryAddress: source, priority })
    if (moved) router.takeAddressesAlong(now)
  }

  #detach(router: Router): void {
    for (const segment of this.#segments.values()) {
      if (segment.routers.get(router.parameters.vrid) !== router) continue
      segment.routers.delete(router.parameters.vrid)
      segment.cancelAnnouncements(router)
    }
    router.io = undefined
  }

  /** After all routers are attached, so that one open serves them all; and closes what nobody uses any more. */
  #openSegments(now: Millis): void {
    this.#openAgainAt = undefined
    for (const [key, segment] of this.#segments) {
      if (segment.routers.size === 0) {
        segment.close()
        this.#segments.delete(key)
        continue
      }
      const failure = segment.open()
      if (failure !== undefined) {
        const { code, message } = failure
        const { interfaceName } = segment
        const { recorder } = this.#ports
        recorder.logLimited(`open ${interfaceName} ${code}`, 'error', message, { interface: interfaceName, code })
        this.#openAgainAt = plus(now, OPEN_RETRY)
      }
      for (const router of segment.routers.values()) router.setFault('socketFailed', failure !== undefined, false, now)
    }
  }

  // What the kernel says -------------------------------------------------------------------------------------------

  #onNetworkEvent(event: NetworkEvent): void {
    const { clock, network, recorder } = this.#ports
    const now = clock.now()
    const vips = new Set(this.#virtualAddresses(false))
    if (event.kind === 'resync') {
      recorder.log('warn', 'Network notifications were lost: looking again at links and addresses')
      this.#view.load(network)
      this.#ownChanges.clear()
      this.#refresh(now)
      for (const router of this.#routers.values()) router.restoreAddresses(now)
    } else if (event.kind === 'addressAdded' || event.kind === 'addressRemoved') {
      const { address } = event.present
      // The view has known it since we asked for it.
      if (this.#ownChanges.isEcho(event.kind, event.present)) return
      this.#view.apply(event)
      if (vips.has(address)) this.#restore(address, now)
      else if (this.#matters(this.#view.link(event.present.interfaceIndex)?.name)) this.#refresh(now)
    } else {
      const index = event.kind === 'link' ? event.link.index : event.index
      const before = this.#view.link(index)
      this.#view.apply(event)
      const after = this.#view.link(index)
      if (isSameLink(before, after)) return
      if (this.#matters(before?.name) || this.#matters(after?.name)) this.#refresh(now)
    }
    if (!this.#serving) this.#endTurn(now)
  }

  /** A Kubernetes node has hundreds of interfaces that come and go; each new look at ours costs time. */
  #matters(interfaceName: string | undefined): boolean {
    return this.#interfaces === undefined || interfaceName === undefined || this.#interfaces.has(interfaceName)
  }

  #restore(address: Address, now: Millis): void {
    for (const router of this.#routers.values()) {
      if (router.parameters.addresses.includes(address)) router.restoreAddresses(now)
    }
  }

  /** Sends the steps, and remembers which notifications they will cause. */
  #apply(steps: readonly AddressStep[]): readonly AddressOutcome[] {
    if (steps.length === 0) return []
    const outcomes = this.#ports.network.apply(steps)
    for (const outcome of outcomes) {
      if (!outcome.ok) continue
      const { action, interfaceIndex, address, prefixLength } = outcome.step
      const known = this.#view
        .where(address)
        .some((p) => p.interfaceIndex === interfaceIndex && p.prefixLength === prefixLength)
      this.#ownChanges.expect(outcome.step, known)
      const kind = action === 'add' ? 'addressAdded' : 'addressRemoved'
      this.#view.apply({ kind, present: { interfaceIndex, address, prefixLength, tentative: false } })
    }
    return outcomes
  }

  // Time and packets -----------------------------------------------------------------------------------------------

  readonly #segmentContext: SegmentContext = this.#makeSegmentContext()

  #makeSegmentContext(): SegmentContext {
    const daemon = this
    return {
      get sockets() {
        return daemon.#ports.sockets
      },
      get view() {
        return daemon.#view
      },
      get recorder() {
        return daemon.#ports.recorder
      },
      apply: (steps) => this.#apply(steps),
      onReadable: (segment) => {
        const now = this.#ports.clock.now()
        segment.drain(now)
        this.#endTurn(now)
      },
      onFailure: (segment, failure) => {
        this.#ports.recorder.logLimited(`socket ${segment.interfaceName} ${failure.code}`, 'warn', failure.message, {
          interface: segment.interfaceName,
          code: failure.code,
        })
      },
      onClaim: (segment, address, heardAt) => {
        const now = this.#ports.clock.now()
        for (const router of segment.routers.values()) {
          if (router.state.name === 'Leaving') router.post({ kind: 'claimHeard', address, heardAt }, now)
        }
        this.#endTurn(now)
      },
    }
  }

  #onAlarm(firedAt: Millis): void {
    const { clock, network } = this.#ports
    // Drain before expire: what waits in the queues may be the reason not to act. The link watch comes first, because
    // silence on a dead link proves nothing.
    this.#serving = true
    if (this.#options.drainBeforeExpire) {
      network.drain()
      for (const segment of this.#segments.values()) segment.drain(firedAt)
    }
    const now = clock.now()
    for (const router of this.#routers.values()) {
      const deadline = nextDeadline(router.state)
      if (deadline !== undefined && deadline <= now) {
        const late = now - deadline
        router.post({ kind: 'deadlineReached', receptionLost: this.#receptionLost(router, late) }, now)
      }
      router.runDueWork(now)
    }
    if (this.#openAgainAt !== undefined && now >= this.#openAgainAt) this.#openSegments(now)
    this.#serving = false
    this.#endTurn(now)
  }

  #receptionLost(router: Router, late: number): boolean {
    const { state, parameters } = router
    if (state.name !== 'Backup' || !this.#options.drainBeforeExpire) return false
    const lost = [...this.#segments.values()].some((s) => s.receptionLost && s.routers.get(parameters.vrid) === router)
    return lost || late > activeDownInterval(parameters.priority, state.activeAdverInterval, parameters.version)
  }

  #endTurn(now: Millis): void {
    // Advertisements go before all announcements (design.md §3).
    for (const segment of this.#segments.values()) segment.announcer.run(now)
    if (this.#stateChanged) {
      this.#stateChanged = false
      for (const segment of this.#segments.values()) segment.watchClaims()
      const running = [...this.#routers.values()].some((router) => router.state.name !== 'Initialize')
      if (!running) for (const resolve of this.#stopped.splice(0)) resolve()
    }
    let nearest: Millis | undefined
    const consider = (at: Millis | undefined) => {
      if (at !== undefined && (nearest === undefined || at < nearest)) nearest = at
    }
    consider(this.#openAgainAt)
    for (const router of this.#routers.values()) consider(router.nextDeadline())
    for (const segment of this.#segments.values()) consider(segment.announcer.nextAt())
    this.#alarm.set(nearest)
  }
}

const isSameLink = (a: Link | undefined, b: Link | undefined): boolean =>
  a?.name === b?.name && a?.up === b?.up && a?.running === b?.running && a?.mac === b?.mac
