/**
 * One virtual router at work: holds its State, steps it once per event and runs the effects in order. An effect that
 * fails becomes a new event. What a transition means for addresses, announcements and the last will is here; how
 * addresses are kept is address-keeper.ts, when to step is the daemon's decision, and what to decide is vrrp/'s.
 */
import type { Effect } from '../vrrp/effect.ts'
import type { Event, Fault } from '../vrrp/event.ts'
import { step } from '../vrrp/fsm.ts'
import { isOwner, type Parameters } from '../vrrp/parameters.ts'
import { INITIAL_STATE, nextDeadline, type State } from '../vrrp/state.ts'
import { advertisementDatagrams } from '../vrrp/transmit.ts'
import type { Address } from '../wire/address.ts'
import { type Millis, plus } from '../wire/units.ts'
import { type AddressIo, AddressKeeper, type AddressTarget, hostPrefix } from './address-keeper.ts'
import { Advertiser } from './advertiser.ts'
import type { HeardClaim } from './claim-tap.ts'
import { lastWillOf } from './last-will.ts'
import type { Datagram, LastWillPort, SendOutcome, WantedAddress } from './ports.ts'
import { Counters, type Recorder } from './recorder.ts'

export type RouterSpec = {
  readonly name: string
  /** Of the last will: the sync group, or this router alone. */
  readonly unit: number
  readonly basePriority: number
  readonly announceAt: readonly Millis[]
  readonly refresh: Millis | undefined
}

/** The interface a router runs on, as the router needs it. */
export type RouterIo = AddressIo & {
  readonly interfaceName: string
  /** Packets were dropped, or may have been: silence proves nothing (ground rule 2). */
  readonly receptionLost: boolean
  readonly interfaceIndex: number
  send(datagrams: readonly Datagram[]): readonly SendOutcome[]
  announce(router: Router, reason: 'takeover' | 'rival', now: Millis): void
  cancelAnnouncements(router: Router): void
  /** Asks who else has an address of the router; the answer comes by hearClaim(). */
  askForRivals(router: Router, now: Millis): void
}

/** Ground rule 6: after the retry, FAULT with a backoff. */
const BACKOFF_FIRST = 10_000
const BACKOFF_LAST = 300_000

export class Router {
  readonly spec: RouterSpec
  readonly name: string
  parameters: Parameters
  io: RouterIo | undefined
  state: State = INITIAL_STATE
  /** Last transition, for status: when (monotonic and wall clock) and why. */
  since: { at: Millis; epoch: number; reason: string }
  readonly faults = new Set<Fault>()
  readonly transitions = new Counters()
  readonly refused = new Counters()
  readonly discarded = new Counters()
  readonly warnings = new Counters()
  received = 0
  /** Times that another host answered for an address of ours while we were Active. */
  rivalAnswers = 0
  /** Set by the daemon, which ends a turn differently when a state changed. */
  onTransition: () => void = () => {}
  readonly keeper: AddressKeeper
  readonly advertiser: Advertiser
  readonly #recorder: Recorder
  readonly #will: LastWillPort
  readonly #queue: Event[] = []
  #stepping = false
  #faultClearAt: Millis | undefined
  #backoff = BACKOFF_FIRST

  constructor(spec: RouterSpec, parameters: Parameters, recorder: Recorder, will: LastWillPort, now: Millis) {
    this.spec = spec
    this.name = spec.name
    this.parameters = parameters
    this.since = { at: now, epoch: Date.now(), reason: 'startup' }
    this.keeper = new AddressKeeper(spec.name, recorder)
    this.advertiser = new Advertiser(spec.name, recorder)
    this.#recorder = recorder
    this.#will = will
  }

  /** The addresses that this router answers for in its present state. */
  wanted(): readonly WantedAddress[] {
    const { io, state } = this
    if (io === undefined) return []
    const addresses =
      state.name === 'Active'
        ? this.parameters.addresses
        : state.name === 'Leaving'
          ? state.kept.map(({ address }) => address)
          : []
    return addresses.map((address) => ({
      interfaceIndex: io.interfaceIndex,
      address,
      prefixLength: hostPrefix(address),
    }))
  }

  nextDeadline(): Millis | undefined {
    let nearest = nextDeadline(this.state)
    for (const at of [this.keeper.repairAt, this.#faultClearAt]) {
      if (at !== undefined && (nearest === undefined || at < nearest)) nearest = at
    }
    return nearest
  }

  /** Steps for one fact; effects that fail step again before this returns. */
  post(event: Event, now: Millis): void {
    this.#queue.push(event)
    if (this.#stepping) return
    this.#stepping = true
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) this.#step(next, now)
    this.#stepping = false
  }

  /** Faults are kept beside the state, because only Initialize lists them. */
  setFault(fault: Fault, present: boolean, canSend: boolean, now: Millis): void {
    if (this.faults.has(fault) === present) return
    if (present) this.faults.add(fault)
    else this.faults.delete(fault)
    const before = this.state.name
    this.post(present ? { kind: 'faultRaised', fault, canSend } : { kind: 'faultCleared', fault }, now)
    // Otherwise the transition has told it.
    if (this.state.name !== before) return
    const rest = this.faults.size === 0 ? '' : `, in fault: ${[...this.faults].join(', ')}`
    this.#recorder.log(
      present ? 'warn' : 'info',
      `${this.name}: ${present ? 'fault' : 'fault cleared'}: ${fault}${rest}`,
      {
        router: this.name,
        fault,
      },
    )
  }

  /** The interface, its index or the source changed: what was promised to the guardian must follow. */
  moveTo(io: RouterIo, parameters: Parameters): void {
    this.io = io
    this.parameters = parameters
    if (this.state.name === 'Active' || this.state.name === 'Leaving') this.#armWill()
  }

  /** After moveTo() to another interface or source address: its announcements began anew. */
  takeAddressesAlong(now: Millis): void {
    if (this.state.name !== 'Active') return
    this.#install(now, true)
    this.io?.announce(this, 'takeover', now)
  }

  setPriority(priority: number, now: Millis): void {
    const previous = this.parameters.priority
    if (priority === previous) return
    this.parameters = { ...this.parameters, priority }
    this.#recorder.log('info', `${this.name}: effective priority ${previous} → ${priority}`, {
      router: this.name,
      previous,
      priority,
    })
    this.post({ kind: 'priorityChanged', previous }, now)
  }

  /** Deadlines of the adapter side that have passed: the repair of addresses and the end of a backoff. */
  runDueWork(now: Millis): void {
    if (this.keeper.takeRepair(now)) {
      if (this.state.name === 'Active') this.#install(now, false)
      else this.#finishRemoval(now)
    }
    if (this.#faultClearAt !== undefined && now >= this.#faultClearAt) {
      this.#faultClearAt = undefined
      this.setFault('addressInstallFailed', false, false, now)
    }
  }

  /** Somebody else says that he has this address. */
  hearClaim({ address, mac, isAnswer }: HeardClaim, heardAt: Millis, now: Millis): void {
    if (!this.parameters.addresses.includes(address)) return
    if (this.state.name === 'Leaving') this.post({ kind: 'claimHeard', address, heardAt }, now)
    if (this.state.name !== 'Active' || !isAnswer) return
    this.post({ kind: 'rivalAnswered', address, heardAt }, now)
    this.rivalAnswers++
    this.#recorder.logLimited(
      `${this.name} rival ${mac}`,
      'warn',
      `${this.name}: ${mac} answers for ${address} as well`,
      {
        router: this.name,
        address,
        mac,
      },
    )
  }

  /** Somebody else changed an address of ours: back to the target state (design.md §2). */
  restoreAddresses(now: Millis): void {
    const target = this.#target()
    if (target === undefined) return
    const restored = this.keeper.restore(target, this.state.name, now)
    if (this.state.name === 'Active' && restored) this.io?.announce(this, 'rival', now)
  }

  #step(event: Event, now: Millis): void {
    const before = this.state
    const [next, effects] = step(before, event, this.parameters, now)
    // The will comes before the first address, so that there is no moment in which a crash leaves one behind.
    if (next.name === 'Active' && before.name !== 'Active') this.#armWill()
    this.state = next
    for (const effect of effects) this.#run(effect, now)
    const answers = next.name === 'Active' || next.name === 'Leaving'
    const answered = before.name === 'Active' || before.name === 'Leaving'
    if (!answers && answered && !this.keeper.stuck) this.#will.withdraw(this.spec.unit)
  }

  #run(effect: Effect, now: Millis): void {
    switch (effect.kind) {
      case 'sendAdvertisement':
        // Before the advertisement: a rival that yields to it answers no more (docs/adr/0007).
        if (effect.reason === 'periodic' && this.parameters.knobs.probeRivals) this.io?.askForRivals(this, now)
        return this.advertiser.send(this.parameters, effect.priority, (datagrams) => this.io?.send(datagrams) ?? [])
      case 'installAddresses':
        return this.#install(now, true)
      case 'removeAddresses':
        return this.#remove(effect.addresses, now)
      case 'announce':
        return this.io?.announce(this, effect.reason, now)
      case 'transition':
        return this.#transition(effect, now)
      case 'refused':
        return this.refused.add(effect.reason)
    }
  }

  #armWill(): void {
    const { io } = this
    if (io === undefined) return
    const remove = isOwner(this.parameters)
      ? []
      : this.parameters.addresses.map((address) => ({
          interfaceIndex: io.interfaceIndex,
          address,
          prefixLength: hostPrefix(address),
        }))
    this.#will.arm(
      lastWillOf(this.spec, this.parameters, io.interfaceIndex, remove, advertisementDatagrams(this.parameters, 0)),
    )
  }

  /** Undefined: there is nothing to keep, because the addresses are the node's own (255) or there is no interface. */
  #target(): AddressTarget | undefined {
    const { io, parameters } = this
    if (io === undefined || isOwner(parameters)) return undefined
    return { io, managed: parameters.addresses, wanted: this.wanted() }
  }

  #install(now: Millis, mayRetry: boolean): void {
    const target = this.#target()
    if (target === undefined) return
    const outcome = this.keeper.install(target, now, mayRetry)
    if (outcome === 'installed') this.#backoff = BACKOFF_FIRST
    if (outcome !== 'failed') return
    this.#faultClearAt = plus(now, this.#backoff)
    this.#backoff = Math.min(this.#backoff * 2, BACKOFF_LAST)
    this.setFault('addressInstallFailed', true, true, now)
  }

  #remove(addresses: readonly Address[], now: Millis): void {
    const target = this.#target()
    if (target !== undefined) this.keeper.remove(target, addresses, now)
  }

  #finishRemoval(now: Millis): void {
    const target = this.#target()
    if (target === undefined) return
    const wasStuck = this.keeper.stuck
    if (this.keeper.finishRemoval(target, now) && wasStuck && this.state.name !== 'Leaving') {
      this.#will.withdraw(this.spec.unit)
    }
  }

  #transition(effect: Extract<Effect, { kind: 'transition' }>, now: Millis): void {
    const { from, to, reason, peer } = effect
    if (from === 'Active') this.io?.cancelAnnouncements(this)
    this.since = { at: now, epoch: Date.now(), reason }
    this.transitions.add(`${from} ${to} ${reason}`)
    this.#recorder.liftLimits(this.name)
    if (this.io !== undefined) this.#recorder.liftLimits(`discard ${this.io.interfaceName}`)
    this.onTransition()
    this.#recorder.log(to === 'Initialize' ? 'warn' : 'info', `${this.name}: ${from} → ${to}: ${reason}`, {
      router: this.name,
      vrid: this.parameters.vrid,
      interface: this.io?.interfaceName,
      from,
      to,
      reason,
      priority: this.parameters.priority,
      ...(peer === undefined ? {} : { peer }),
    })
  }
}
