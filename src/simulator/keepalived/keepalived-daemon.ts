/**
 * Models the VRRP process of a keepalived node: its instances, its sync groups, and what they track. This file decides
 * the effect of one member of a sync group on the other members, and what counts as a fault. Packets, time and results
 * of checks are arguments. This file does not know faults of processes.
 */
import { gratuitousArp } from '../../arp/gratuitous-arp.ts'
import { neighborAdvertisement } from '../../arp/neighbor-advertisement.ts'
import type { Config, VirtualRouter } from '../../config/config.ts'
import type { NodeView } from '../../config/node-view.ts'
import { type ResolvedRouter, resolveRouters } from '../../config/resolve.ts'
import type { CheckState } from '../../daemon/health/check-board.ts'
import { trackingOf } from '../../daemon/health/tracking.ts'
import { familyOf } from '../../wire/address.ts'
import { INDEX, type Kernel } from '../node/kernel.ts'
import type { RouterStatus } from '../node/machine.ts'
import type { Carried } from '../wire.ts'
import { type Block, type InstanceSettings, type InstanceState, KeepalivedInstance } from './keepalived-instance.ts'
import { advertisementsOf, judge, type Speaker, type Vrrp } from './keepalived-packets.ts'

export type KeepalivedContext = {
  readonly kernel: Pick<Kernel, 'carrier' | 'has' | 'mac' | 'put' | 'remove'>
  readonly send: (carried: Carried) => void
  /** Returns true if the tracked network interface is up. */
  readonly isUp: (interfaceName: string) => boolean
  readonly check: (name: string) => CheckState | undefined
  readonly onState: (instance: string, state: InstanceState, priority: number) => void
  /** Called when an instance announces: `copies` is the number of gratuitous ARP or NA frames for each address. */
  readonly onAnnounce: (instance: string, copies: number) => void
}

/** Default values of garp_master_repeat (frames), garp_master_delay (ms), and of the same garp_lower_prio keywords. */
const COPIES = 5
const AGAIN = 5_000
/**
 * Number of packets with priority 0 that an Active instance sends: if the instance itself gets a fault, and if another
 * member of its sync group gets one.
 */
const [RELEASES, RELEASES_ALONG] = [2, 1]

type Member = {
  readonly name: string
  resolved: ResolvedRouter
  speaker: Speaker
  readonly instance: KeepalivedInstance
}
type Readiness = 'yes' | 'no' | 'unknown'

export class KeepalivedDaemon {
  readonly #context: KeepalivedContext
  readonly #node: NodeView
  readonly #members: readonly Member[]
  readonly #groups: readonly (readonly Member[])[]

  constructor(config: Config, node: NodeView, context: KeepalivedContext) {
    this.#context = context
    this.#node = node
    const { routers } = resolveRouters(config, node)
    this.#members = config.virtualRouters.map((router, i) => this.#member(router, routers[i]))
    const grouped = config.syncGroups.map(({ members }) => this.#members.filter(({ name }) => members.includes(name)))
    this.#groups = [...grouped, ...this.#members.filter((one) => !grouped.flat().includes(one)).map((one) => [one])]
  }

  #member(router: VirtualRouter, resolved: ResolvedRouter | undefined): Member {
    if (resolved === undefined) throw new Error(`Cannot find "${router.name}" among the routers of its node`)
    const instance: KeepalivedInstance = new KeepalivedInstance(settingsOf(router, resolved), {
      say: (priority) => {
        if (!this.#context.kernel.carrier) return
        for (const packet of advertisementsOf(member.speaker, priority)) this.#context.send(packet)
      },
      setAddresses: (installed) => this.#setAddresses(member, installed),
      announce: (copies) => this.#announce(member, copies),
      enters: (state, priority) => this.#context.onState(router.name, state, priority),
    })
    const member: Member = { name: router.name, resolved, speaker: speakerOf(router, resolved), instance }
    return member
  }

  #setAddresses({ resolved: { forms } }: Member, installed: boolean): void {
    const { kernel } = this.#context
    for (const { address, prefixLength } of forms) {
      if (installed) kernel.put({ interfaceIndex: INDEX, address, prefixLength }, undefined)
      else kernel.remove({ address, prefixLength })
    }
  }

  #announce({ name, resolved: { forms } }: Member, copies: number): void {
    const { carrier, mac } = this.#context.kernel
    if (!carrier) return
    this.#context.onAnnounce(name, copies)
    for (let i = 0; i < copies; i++)
      for (const { address } of forms) {
        const isIpv4 = familyOf(address) === 'ipv4'
        const bytes = isIpv4 ? gratuitousArp({ address, mac }) : neighborAdvertisement({ address, mac, router: false })
        this.#context.send({ kind: 'frame', bytes })
      }
  }

  /**
   * Starts the process. First removes the virtual addresses that an earlier run of keepalived has left in the kernel.
   */
  start(now: number): void {
    for (const member of this.#members) this.#setAddresses(member, false)
    for (const group of this.#groups) {
      this.#weigh(group, now)
      const ready = this.#readiness(group)
      for (const { instance } of group) instance.start(now, ready)
    }
  }

  stop(): void {
    for (const { instance } of this.#members) instance.stop()
  }

  /** Reads new settings for the same instances (SIGHUP). */
  reload(config: Config, now: number): void {
    const { routers } = resolveRouters(config, this.#node)
    for (const [i, router] of config.virtualRouters.entries()) {
      const [member, resolved] = [this.#members.find(({ name }) => name === router.name), routers[i]]
      if (member === undefined || resolved === undefined) continue
      member.resolved = resolved
      member.speaker = speakerOf(router, resolved)
      member.instance.reload(now, settingsOf(router, resolved), this.#tracking(member).priority)
    }
    this.retrack(now)
  }

  get deadline(): number {
    return Math.min(Number.POSITIVE_INFINITY, ...this.#members.map(({ instance }) => instance.deadline))
  }

  receive(packet: Vrrp, now: number): void {
    for (const member of this.#members) {
      const judged = judge(member.speaker, packet)
      if (judged === 'discarded') member.instance.disturb(now)
      if (typeof judged === 'string') continue
      const outcome = member.instance.receive(now, judged)
      const others = this.#othersOf(member)
      if (outcome === 'lost') for (const { instance } of others) instance.follow(now)
      if (outcome === 'asserted') for (const { instance } of others) instance.announceOverCompeting(now)
    }
  }

  /**
   * Handles timers that have expired by the time `now`. A member of a sync group becomes Active when all other members
   * want to become Active (VR-SG-03).
   */
  expire(now: number): void {
    for (const group of this.#groups) {
      const wants = group.filter(({ instance }) => instance.expire(now))
      if (wants.length === 0) continue
      if (!group.every(({ instance }) => instance.wants || instance.state === 'Active')) continue
      for (const { instance } of group) if (instance.state !== 'Active') instance.becomeActive(now)
    }
  }

  /** Reads the results of tracked checks and interfaces again, after one of them has changed. */
  retrack(now: number): void {
    for (const group of this.#groups) {
      this.#weigh(group, now)
      const ready = this.#readiness(group)
      if (ready === 'yes') for (const { instance } of group) instance.recover(now)
      if (ready !== 'no') continue
      for (const member of group) member.instance.fail(this.#readinessOf(member) === 'no' ? RELEASES : RELEASES_ALONG)
    }
  }

  /** Checks the virtual addresses in the kernel, after another program has removed some. */
  lookAtAddresses(now: number): void {
    for (const member of this.#members) {
      const { forms } = member.resolved
      if (member.instance.state !== 'Active' || forms.every(({ address }) => this.#context.kernel.has(address)))
        continue
      member.instance.loseAddress(now)
      for (const { instance } of this.#othersOf(member)) instance.follow(now)
    }
  }

  routerStatus(): readonly RouterStatus[] {
    return this.#members.map(({ instance: { priority, state }, name: router, resolved: { forms } }) => ({
      ...{
        router,
        state: state === 'Active' || state === 'Backup' ? state : 'Initialize',
        priority,
        addresses: forms.map(({ address }) => address),
      },
      faults: state === 'Fault' ? ['Fault'] : [],
    }))
  }

  #othersOf(member: Member): readonly Member[] {
    const group = this.#groups.find((each) => each.includes(member)) ?? []
    return group.filter((each) => each !== member)
  }

  #weigh(group: readonly Member[], now: number): void {
    for (const member of group) {
      const { priority } = this.#tracking(member)
      if (priority !== member.instance.priority) member.instance.setPriority(now, priority)
    }
  }

  #tracking({ instance: { state }, resolved: { parameters, track } }: Member) {
    const { check, isUp } = this.#context
    return trackingOf(parameters.priority, track, { check, isUp }, state === 'Stopped' || state === 'Waiting')
  }

  #readinessOf(member: Member): Readiness {
    const { resolved } = member
    if (!this.#context.kernel.carrier || resolved.fault !== undefined || resolved.configuredFault !== undefined)
      return 'no'
    const faults = this.#tracking(member).faults.filter(({ present }) => present)
    if (faults.some(({ fault }) => !fault.startsWith('healthcheckUndecided'))) return 'no'
    return faults.length > 0 ? 'unknown' : 'yes'
  }

  #readiness(group: readonly Member[]): Readiness {
    const all = group.map((member) => this.#readinessOf(member))
    return all.includes('no') ? 'no' : all.includes('unknown') ? 'unknown' : 'yes'
  }
}

/**
 * Returns the instance's settings, from the values that the reader of keepalived's files has found. A value that the
 * file does not have is keepalived's default, not the default of a holdfast profile.
 */
function settingsOf(router: VirtualRouter, { parameters }: ResolvedRouter): InstanceSettings {
  const { announce, assertOnLower = true, lastAdvertisement = false, startAs } = router
  const { advertisementInterval, preempt, preemptDelay, primaryAddress, priority, version } = parameters
  const { at = [0, AGAIN], copies = COPIES, refresh, refreshCopies = 1, onRival } = announce
  const { copies: competingCopies = COPIES, delay = onRival === undefined ? AGAIN : 0 } = onRival ?? {}
  const blocks = (moments: readonly number[], each: number): readonly Block[] =>
    moments.map((after) => ({ after, copies: each }))
  return {
    ...{ version, priority, preempt: preempt || priority === 255, preemptDelay, interval: advertisementInterval },
    source: primaryAddress,
    startsActive: startAs === 'active' && priority === 255,
    announcements: blocks(at, copies),
    refresh: refresh === undefined || refresh === false ? undefined : { every: refresh, copies: refreshCopies },
    onCompetingActive: blocks(delay > 0 ? [0, delay] : [0], competingCopies),
    answersLowerPriority: assertOnLower,
    lastAdvertisement,
  }
}

const speakerOf = ({ checksum, onlyListedPeers = false }: VirtualRouter, { parameters }: ResolvedRouter): Speaker => ({
  ...{ parameters, messageOnly: checksum === 'message-only', onlyListed: onlyListedPeers },
})
