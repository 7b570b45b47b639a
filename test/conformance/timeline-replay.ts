/**
 * Plays a timeline of statemachine-ext.json on src/vrrp. The replay returns what is visible from outside: packets, and
 * lines of keepalived's notification FIFO. Instances of a group are stepped as one
 * (vrrp/extensions/sync-group/sync-group.ts). Trackers use the daemon's own sum and faults (daemon/health/tracking.ts).
 * Announcements use its announcer with the schedule of profile keepalived, scripts use healthcheck/health.ts, unicast
 * packets use the checks of receive.ts. No expectation is known here.
 */
import { announcementIn } from '../../src/arp/probe.ts'
import type { ResolvedRouter } from '../../src/config/resolve.ts'
import { announceSchedule } from '../../src/config/schema/announce.ts'
import type { Track } from '../../src/config/schema/track.ts'
import type { CheckState } from '../../src/daemon/health/check-board.ts'
import { trackingOf } from '../../src/daemon/health/tracking.ts'
import { Announcer } from '../../src/daemon/lan/announcer.ts'
import { countedAs, type Health } from '../../src/healthcheck/health.ts'
import { ipv4Packet } from '../../src/simulator/ipv4-packet.ts'
import type { Advertisement } from '../../src/vrrp/advertisement.ts'
import type { Effect } from '../../src/vrrp/effect.ts'
import type { Event, Fault } from '../../src/vrrp/event.ts'
import { stepGroup } from '../../src/vrrp/extensions/sync-group/sync-group.ts'
import { encodeAdvertisement } from '../../src/vrrp/packet.ts'
import type { Parameters } from '../../src/vrrp/parameters.ts'
import { optionsOf, profileKnobs } from '../../src/vrrp/profile.ts'
import { receive } from '../../src/vrrp/receive.ts'
import { INITIAL_STATE, nextDeadline, type State } from '../../src/vrrp/state.ts'
import { address } from '../../src/wire/address.ts'
import { parseMac } from '../../src/wire/mac.ts'
import { centis, type Millis, millis } from '../../src/wire/units.ts'
import { healthOf } from './script-health.ts'
import { truncated } from './statemachine-replay.ts'
import { type TimelineInstance, type TimelineVector, timelineEvent } from './statemachine-vectors.ts'

/** `at` in whole microseconds. */
export type Line = { readonly at: number; readonly instance: string; readonly text: string }

const MAC = parseMac('02:00:00:00:00:01')

function parametersOf(instance: TimelineInstance): Parameters {
  const peers = (instance.unicast_peers ?? []).map((peer) => ({ address: address(peer) }))
  const group = address(instance.family === 'ipv6' ? 'ff02::12' : '224.0.0.18')
  return {
    vrid: instance.vrid,
    family: instance.family,
    version: instance.version === 2 ? 2 : 3,
    priority: instance.priority,
    advertisementInterval: centis(instance.advertisement_interval_cs),
    addresses: instance.addresses.map(address),
    // VR-PRE-01: the reader of a keepalived file drops nopreempt beside state MASTER.
    preempt: instance.preempt || instance.initial_state === 'MASTER',
    preemptDelay: millis((instance.preempt_delay_us ?? 0) / 1000),
    minHold: millis(0),
    primaryAddress: address(instance.primary_address),
    transport: instance.unicast_peers === undefined ? { mode: 'multicast', group } : { mode: 'unicast', peers },
    peers,
    ...optionsOf(
      {
        ...profileKnobs('rfc9568', 3),
        assertOnLower: instance.lower_prio_no_advert !== true,
        announceOnRival: true,
        lastAdvertisement: instance.higher_prio_send_advert === true,
        onlyListedPeers: instance.check_unicast_src === true,
      },
      instance.version === 2 ? 2 : 3,
    ),
  }
}

/** Returns the tracked files and checks. Without a weight, files have 1 and all others have none. */
const trackOf = ({ track }: TimelineInstance): Track[] =>
  track.map(({ kind, name, weight, reverse = false }) => {
    if (kind === 'interface') return { interface: name, weight: weight ?? 0 }
    return { healthcheck: name, weight: weight ?? (kind === 'file' ? 1 : 0), reverse }
  })

const stateOf = (health: Health): CheckState => ({
  result: health.result,
  countsAs: countedAs(health),
  since: health.since,
  weight: undefined,
})

/** Returns the state of a file, which can always be read. */
const holding = (weight: number): CheckState => ({ result: 'up', countsAs: 'up', since: millis(0), weight })

class Instance {
  readonly told: TimelineInstance
  readonly name: string
  parameters: Parameters
  state: State = INITIAL_STATE
  announcer: Announcer | undefined
  announcingAt = millis(0)
  readonly track: readonly Track[]
  readonly faults = new Set<Fault>()
  /**
   * The instance has started and waits in Initialize only for a first result: this state causes no notification
   * (VR-TRK-05).
   */
  waits = false

  /** Router of a file that was read. `undefined`: the settings are those of the RFC and the vector. */
  readonly read: ResolvedRouter | undefined

  constructor(told: TimelineInstance, weighs: boolean, read: ResolvedRouter | undefined) {
    this.told = told
    this.read = read
    this.track = read?.track ?? trackOf(told).filter(({ weight }) => weighs || weight === 0)
    this.name = told.name
    this.parameters = read?.parameters ?? parametersOf(told)
  }
}

export class TimelineReplay {
  readonly #vector: TimelineVector
  readonly #instances: readonly Instance[]
  readonly #groups: readonly (readonly Instance[])[]
  readonly #lines: Line[] = []
  readonly #down = new Set<string>()
  readonly #checks = new Map<string, CheckState>()
  readonly #runs: (TimelineVector['events'][number] & { readonly name: string; readonly state: CheckState })[] = []

  constructor(vector: TimelineVector, read: ReadonlyMap<string, ResolvedRouter> = new Map()) {
    const { groups, instances } = vector.config
    this.#vector = vector
    // VR-SG-04: a member's own weights do not count, unless the group says so.
    const weighs = (told: TimelineInstance) =>
      groups.every(({ members, tracking_weight }) => !members.includes(told.name) || tracking_weight === true)
    this.#instances = instances.map((told) => new Instance(told, weighs(told), read.get(told.name)))
    for (const [name, { initial }] of Object.entries(vector.config.trackers.files ?? {})) {
      this.#checks.set(name, holding(initial))
    }
    for (const name of Object.keys(vector.config.trackers.scripts ?? {})) {
      const [start, ...runs] = healthOf(vector, name)
      if (start !== undefined) this.#checks.set(name, stateOf(start.health))
      this.#runs.push(...runs.map(({ at, health }) => ({ at_us: at, type: 'health', name, state: stateOf(health) })))
    }
    const grouped = groups.map(({ members }) => this.#instances.filter(({ name }) => members.includes(name)))
    const alone = this.#instances.filter((one) => !grouped.flat().includes(one)).map((one) => [one])
    this.#groups = [...grouped, ...alone]
  }

  /** Plays everything up to the end. The lines have no particular order. */
  play(): readonly Line[] {
    for (const one of this.#instances) this.#retrack(one, 0)
    const told = this.#vector.events.filter(({ type }) => type !== 'script_result')
    for (const { at_us: at, instance, ...read } of inOrder([...told, ...this.#runs])) {
      if (at > this.#vector.end_us) continue
      this.#expire(at, false)
      const run = this.#runs.find((each) => each.at_us === at && each.name === read.name)
      if (read.type === 'health' && run !== undefined) {
        this.#find(run.name, run.state, at)
        continue
      }
      const event = timelineEvent.parse(read)
      const whom = this.#instances.filter(({ name }) => instance === undefined || instance === name)
      for (const one of whom) this.#happen(one, event, at)
    }
    this.#expire(this.#vector.end_us, true)
    for (const one of this.#instances) this.#announce(one, this.#vector.end_us)
    return this.#lines
  }

  #happen(one: Instance, event: ReturnType<typeof timelineEvent.parse>, at: number): void {
    switch (event.type) {
      case 'startup':
        this.#post(one, { kind: 'startup' }, at)
        one.waits = isWaiting(one)
        if (one.state.name === 'Initialize' && this.#ready(one) && !one.waits) this.#notify(one, 'FAULT', at)
        return
      case 'shutdown':
        return this.#post(one, { kind: 'shutdown' }, at)
      case 'advert':
        return this.#hear(one, event.from, event.priority, event.interval_cs, at)
      case 'interface': {
        // Every vector runs on eth0; nothing can be sent when it is down itself.
        if (event.interface === 'eth0') return this.#fault(one, 'linkDown', event.up, false, at)
        if (event.up) this.#down.delete(event.interface)
        else this.#down.add(event.interface)
        return this.#retrack(one, at)
      }
      case 'file':
        return this.#find(event.file, holding(event.value), at)
    }
  }

  #find(name: string, state: CheckState, at: number): void {
    this.#checks.set(name, state)
    for (const one of this.#instances) this.#retrack(one, at)
  }

  /** Applies changes in the daemon's order (daemon/placement.ts): new faults, the priority, ended faults. */
  #retrack(one: Instance, at: number): void {
    const states = { isUp: (name: string) => !this.#down.has(name), check: (name: string) => this.#checks.get(name) }
    const { faults, priority } = trackingOf(one.told.priority, one.track, states, one.state.name === 'Initialize')
    const changed = faults.filter(({ fault, present }) => one.faults.has(fault) !== present)
    for (const { fault } of changed.filter(({ present }) => present)) {
      one.faults.add(fault)
      this.#fault(one, fault, false, true, at)
    }
    const previous = one.parameters.priority
    if (priority !== previous) {
      one.parameters = { ...one.parameters, priority }
      this.#post(one, { kind: 'priorityChanged', previous }, at)
    }
    for (const { fault } of changed.filter(({ present }) => !present)) {
      one.faults.delete(fault)
      this.#fault(one, fault, true, true, at)
    }
    if (!one.waits || isWaiting(one)) return
    one.waits = false
    if (one.state.name === 'Initialize') this.#notify(one, 'FAULT', at)
  }

  /** Reports whether every other instance of its group has started. */
  #ready(one: Instance): boolean {
    const group = this.#groups.find((members) => members.includes(one)) ?? []
    return group.every(({ state }) => state.name !== 'Initialize' || !state.stopped)
  }

  #fault(one: Instance, fault: Fault, up: boolean, canSend: boolean, at: number): void {
    this.#post(one, up ? { kind: 'faultCleared', fault } : { kind: 'faultRaised', fault, canSend }, at)
  }

  #hear(one: Instance, from: string, priority: number, interval: number, at: number): void {
    const { parameters } = one
    const { transport, vrid, version, addresses } = parameters
    const advertisement: Advertisement = { version, vrid, priority, interval: centis(interval), addresses }
    const source = address(from)
    if (transport.mode === 'unicast') {
      const destination = parameters.primaryAddress
      const message = encodeAdvertisement(advertisement, { source, destination, checksum: 'message-only' })
      const bytes = ipv4Packet(message, { source, destination })
      const packet = { family: 'ipv4', source, destination, ttl: 255, bytes } as const
      const received = receive(
        packet,
        () => parameters,
        (own) => own === destination,
      )
      if (received.kind === 'discarded') return
    }
    this.#post(one, { kind: 'advertisementReceived', source, advertisement, receivedAt: millis(at / 1000) }, at)
  }

  #expire(until: number, inclusive: boolean): void {
    for (let fired = 0; fired < 100_000; fired++) {
      const due = this.#instances
        .map((one) => ({ one, at: nextDeadline(one.state) ?? millis(Number.POSITIVE_INFINITY) }))
        .reduce((nearest, next) => (next.at < nearest.at ? next : nearest))
      const at = truncated(due.at)
      if (inclusive ? at > until : at >= until) return
      this.#post(due.one, { kind: 'deadlineReached', receptionLost: false }, at, millis(due.at))
    }
    throw new Error(`Cannot reach ${until} us: too many deadlines fired`)
  }

  #post(one: Instance, event: Event, at: number, now = millis(at / 1000)): void {
    const members = this.#groups.find((group) => group.includes(one)) ?? [one]
    const steps = stepGroup(members, members.indexOf(one), event, now)
    members.forEach((member, i) => {
      const moved = steps[i]
      if (moved === undefined) return
      if (member.state.name === 'Active' && moved.state.name !== 'Active') {
        this.#announce(member, at)
        member.announcer = undefined
      }
      member.state = moved.state
      for (const effect of moved.effects) this.#tell(member, effect, at)
    })
  }

  #tell(one: Instance, effect: Effect, at: number): void {
    const { told, state } = one
    switch (effect.kind) {
      case 'sendAdvertisement': {
        const text = `advert ${effect.priority} ${told.advertisement_interval_cs}`
        // VR-UC-01: one copy to each peer.
        const copies = told.unicast_peers?.length ?? 1
        for (let i = 0; i < copies; i++) this.#lines.push({ at, instance: one.name, text })
        return
      }
      case 'announce':
        this.#announce(one, at)
        one.announcer ??= this.#announcer(one)
        one.announcer.announce(announcedBy(one), effect.reason, millis(at / 1000))
        return
      case 'transition': {
        const words = { Backup: 'BACKUP', Active: 'MASTER', Leaving: 'LEAVING', Returning: 'RETURNING' }
        if (state.name === 'Initialize') return this.#notify(one, state.stopped ? 'STOP' : 'FAULT', at)
        return this.#notify(one, words[state.name], at)
      }
      case 'refused': {
        // The FIFO has a line for every received lower advertisement while Active, not for the instance's own packet
        // (VR-NTF-05).
        const isCompeting = effect.reason === 'lower-priority' || effect.reason === 'lower-address'
        if (isCompeting && state.name === 'Active') this.#notify(one, 'MASTER_RX_LOWER_PRI', at)
        return
      }
      case 'probeAddresses':
      case 'installAddresses':
      case 'removeAddresses':
    }
  }

  #notify(one: Instance, word: string, at: number): void {
    const text = `notify INSTANCE "${one.name}" ${word} ${one.parameters.priority}`
    this.#lines.push({ at, instance: one.name, text })
  }

  /**
   * Sends the announcements that have become due since the last call, on time (VR-GARP-05: dropped on leaving
   * Active).
   */
  #announce(one: Instance, until: number): void {
    const { announcer } = one
    for (let at = announcer?.nextAt(); announcer !== undefined && at !== undefined; at = announcer.nextAt()) {
      if (truncated(at) > until) return
      one.announcingAt = at
      announcer.run(at)
    }
  }

  #announcer(one: Instance): Announcer {
    const spacing = this.#vector.config.global?.garp_interval_us
    return new Announcer(
      (frames) =>
        frames.map((frame) => {
          const text = `garp ${announcementIn(frame)?.address}`
          this.#lines.push({ at: truncated(one.announcingAt), instance: one.name, text })
          return { ok: true }
        }),
      () => {
        if (MAC === undefined) throw new Error('No MAC')
        return MAC
      },
      undefined,
      () => (typeof spacing === 'number' ? spacing / 1000 : undefined),
    )
  }
}

/** Returns the announcement settings, by the daemon's own reading of a keepalived file. */
function announcedBy({ name, parameters: { family, addresses }, read, told: { garp } }: Instance) {
  if (read !== undefined) return { name, family, addresses, ...read.announce }
  const ms = (us: number): Millis => millis(us / 1000)
  const { delay_us, lower_prio_delay_us = 5_000_000, lower_prio_repeat = 5, refresh_repeat, refresh_us, repeat } = garp
  const keys = {
    at: [millis(0), ...(delay_us > 0 ? [ms(delay_us)] : [])],
    copies: repeat,
    refresh: refresh_us === undefined ? undefined : ms(refresh_us),
    refreshCopies: refresh_repeat,
    onRival: { copies: lower_prio_repeat, delay: ms(lower_prio_delay_us) },
    spacing: undefined,
    spacingNa: undefined,
  }
  return { name, family, addresses, ...announceSchedule(keys, 'keepalived', family) }
}

const isWaiting = ({ state }: Instance): boolean =>
  state.name === 'Initialize' &&
  state.faults.length > 0 &&
  state.faults.every((fault) => fault.startsWith('healthcheckUndecided:'))

/** Returns the events in order. A fact with the time of the start was there before it. */
function inOrder(events: TimelineVector['events']): TimelineVector['events'] {
  const facts = (type: string) => type === 'interface' || type === 'file'
  return [...events].sort((a, b) => a.at_us - b.at_us || Number(facts(b.type)) - Number(facts(a.type)))
}
