/**
 * The engine: owns routers, segments, the one alarm and the view of the network, and is the only place that turns
 * the passing of time and the kernel's news into events. A turn has one `now`; on expiry it drains before it decides
 * (ground rule 2). What to decide is vrrp/'s, how the kernel is spoken to is linux/'s.
 */
import { hostname } from 'node:os'
import type { Config } from '../config/config.ts'
import { type ResolvedRouter, resolveRouters } from '../config/resolve.ts'
import { effectivePriority } from '../config/weights.ts'
import { isOwner } from '../vrrp/parameters.ts'
import { nextDeadline } from '../vrrp/state.ts'
import { activeDownInterval } from '../vrrp/timers.ts'
import type { Address } from '../wire/address.ts'
import { type Millis, plus } from '../wire/units.ts'
import { Alarm } from './alarm.ts'
import { type JournalEntry, readJournal, writeJournal } from './journal.ts'
import { NetworkView } from './network-view.ts'
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
import { Counters, type Recorder } from './recorder.ts'
import { hostPrefix, Router } from './router.ts'
import { Segment, type SegmentContext } from './segment.ts'
import { interfaceSnapshot, routerSnapshot, type Snapshot } from './snapshot.ts'

export type DaemonPorts = {
  readonly clock: Clock
  readonly network: NetworkPort
  readonly sockets: SocketPort
  readonly will: LastWillPort
  readonly recorder: Recorder
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
  /** Our own changes, whose notifications are no news. */
  #expected = new Counters()
  #stopped: (() => void) | undefined
  #stateChanged = false
  /** A socket could not be opened; the next try. */
  #openAgainAt: Millis | undefined

  constructor(config: Config, ports: DaemonPorts, options: DaemonOptions = { drainBeforeExpire: true }) {
    this.#config = config
    this.#ports = ports
    this.#options = options
    this.#alarm = new Alarm(ports.clock, (now) => this.#onAlarm(now))
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
    network.watch((event) => this.#onNetworkEvents([event]))
    this.#endTurn()
  }

  /** Through Leaving (design.md §3); resolves when no router answers for anything any more. */
  stop(): Promise<void> {
    const now = this.#ports.clock.now()
    return new Promise((resolve) => {
      this.#stopped = resolve
      for (const router of this.#routers.values()) router.post({ kind: 'shutdown' }, now)
      this.#stateChanged = true
      this.#endTurn()
    })
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
    const vips = new Set(this.#virtualAddresses())
    const journal = readJournal(this.#config.runDirectory)
    if (journal.problem !== undefined) recorder.log('warn', journal.problem)
    const dropped = journal.entries.filter(({ address }) => !vips.has(address))
    const stale = [
      ...[...vips].flatMap((address) => this.#view.where(address)),
      ...dropped.flatMap((entry) =>
        this.#view
          .where(entry.address)
          .filter(
            (present) =>
              present.prefixLength === entry.prefixLength &&
              this.#view.link(present.interfaceIndex)?.name === entry.interfaceName,
          ),
      ),
    ]
    const steps = stale.map(
      ({ interfaceIndex, address, prefixLength }): AddressStep => ({
        action: 'remove',
        interfaceIndex,
        address,
        prefixLength,
      }),
    )
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
    const mine = this.#resolve().flatMap(({ interfaceName, parameters }) =>
      interfaceName === undefined || isOwner(parameters)
        ? []
        : parameters.addresses.map((address) => ({ address, prefixLength: hostPrefix(address), interfaceName })),
    )
    const problem = writeJournal(this.#config.runDirectory, [...mine, ...failed])
    if (problem !== undefined) recorder.log('warn', problem)
  }

  #virtualAddresses(): Address[] {
    return this.#config.virtualRouters.flatMap(({ priority, addresses }) =>
      priority === 255 ? [] : addresses.map(({ address }) => address),
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
    for (const resolved of this.#resolve()) {
      const router = this.#routers.get(resolved.name)
      if (router === undefined) continue
      const link = resolved.interfaceName === undefined ? undefined : this.#view.linkNamed(resolved.interfaceName)
      const source = this.#sourceFor(router, resolved, link)
      const missing = link === undefined
      const down = link !== undefined && !(link.up && link.running)
      if (link !== undefined && source !== undefined) this.#attach(router, resolved, link, source)
      // Nothing can be sent once the link is gone or down; without a source address neither.
      router.setFault('interfaceMissing', missing, false, now)
      router.setFault('linkDown', down, false, now)
      router.setFault('sourceAddressMissing', !missing && source === undefined, false, now)
      if (missing) this.#detach(router)
      this.#applyTrackers(router, resolved, now)
    }
    this.#openSegments(now)
  }

  /** The source chosen at start stays until it disappears (VR-TX-03): a new address must not change a tie-break. */
  #sourceFor(router: Router, resolved: ResolvedRouter, link: Link | undefined): Address | undefined {
    const { primaryAddress, family } = router.parameters
    if (link === undefined || resolved.fault === 'sourceAddressMissing') return undefined
    if (router.io === undefined) return resolved.source
    const still = this.#view.on(link.index, family).some((present) => present.address === primaryAddress)
    return still ? primaryAddress : resolved.source
  }

  #attach(router: Router, resolved: ResolvedRouter, link: Link, source: Address): void {
    const { family, vrid } = resolved.parameters
    const key = `${link.index} ${family} ${source}`
    const segment = this.#segments.get(key) ?? new Segment(link, family, source, this.#segmentContext)
    segment.link = link
    this.#segments.set(key, segment)
    if (router.io === segment) return
    this.#detach(router)
    const { priority } = router.parameters
    segment.routers.set(vrid, router)
    router.moveTo(segment, { ...resolved.parameters, primaryAddress: source, priority })
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

  #applyTrackers(router: Router, { track }: ResolvedRouter, now: Millis): void {
    const contributions = track.map((tracked) => {
      const link = this.#view.linkNamed(tracked.interface)
      return { weight: tracked.weight, up: link?.up === true && link.running, name: tracked.interface }
    })
    for (const { weight, up, name } of contributions) {
      if (weight === 0) router.setFault(`trackedInterfaceDown:${name}`, !up, true, now)
    }
    router.setPriority(effectivePriority(router.spec.basePriority, contributions).priority, now)
  }

  // What the kernel says -------------------------------------------------------------------------------------------

  #onNetworkEvents(events: readonly NetworkEvent[]): void {
    const { clock, network, recorder } = this.#ports
    const now = clock.now()
    const vips = new Set(this.#virtualAddresses())
    const touched = new Set<Address>()
    let refresh = false
    for (const event of events) {
      if (event.kind === 'resync') {
        recorder.log('warn', 'Network notifications were lost: looking again at links and addresses')
        this.#view.load(network)
        this.#expected = new Counters()
        for (const address of vips) touched.add(address)
        refresh = true
        continue
      }
      this.#view.apply(event)
      if (event.kind === 'addressAdded' || event.kind === 'addressRemoved') {
        const { address } = event.present
        if (!vips.has(address)) refresh = true
        else if (!this.#wasOurs(event.kind, address)) touched.add(address)
      } else refresh = true
    }
    if (refresh) this.#refresh(now)
    for (const router of this.#routers.values()) {
      if (router.parameters.addresses.some((address) => touched.has(address))) router.restoreAddresses(now)
    }
    this.#endTurn()
  }

  /** Sends the steps, and remembers which notifications they will cause. */
  #apply(steps: readonly AddressStep[]): readonly AddressOutcome[] {
    if (steps.length === 0) return []
    const outcomes = this.#ports.network.apply(steps)
    for (const outcome of outcomes) {
      if (!outcome.ok) continue
      const { action, interfaceIndex, address, prefixLength } = outcome.step
      const present = { interfaceIndex, address, prefixLength, tentative: false }
      const kind = action === 'add' ? 'addressAdded' : 'addressRemoved'
      const known = this.#view
        .where(address)
        .some((p) => p.interfaceIndex === interfaceIndex && p.prefixLength === prefixLength)
      // Adding what is there, or removing what is not, notifies nobody.
      if (known === (action === 'remove')) this.#expected.add(`${kind} ${address}`)
      this.#view.apply({ kind, present })
    }
    return outcomes
  }

  #wasOurs(kind: 'addressAdded' | 'addressRemoved', address: Address): boolean {
    const key = `${kind} ${address}`
    if (this.#expected.get(key) <= 0) return false
    this.#expected.add(key, -1)
    return true
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
        segment.drain(this.#ports.clock.now())
        this.#endTurn()
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
        this.#endTurn()
      },
    }
  }

  #onAlarm(firedAt: Millis): void {
    const { clock, network } = this.#ports
    // Drain before expire: what waits in the queues may be the reason not to act. The link watch comes first, because
    // silence on a dead link proves nothing.
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
    // Advertisements go before all announcements (design.md §3).
    for (const segment of this.#segments.values()) segment.announcer.run(now)
    this.#endTurn()
  }

  #receptionLost(router: Router, late: number): boolean {
    const { state, parameters } = router
    if (state.name !== 'Backup' || !this.#options.drainBeforeExpire) return false
    const lost = [...this.#segments.values()].some((s) => s.receptionLost && s.routers.get(parameters.vrid) === router)
    return lost || late > activeDownInterval(parameters.priority, state.activeAdverInterval, parameters.version)
  }

  #endTurn(): void {
    if (this.#stateChanged) {
      this.#stateChanged = false
      for (const segment of this.#segments.values()) segment.watchClaims()
      const running = [...this.#routers.values()].some((router) => router.state.name !== 'Initialize')
      if (!running && this.#stopped !== undefined) this.#stopped()
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
