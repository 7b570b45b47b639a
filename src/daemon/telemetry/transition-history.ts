/**
 * How a router came to where it is: its last transition, how often each one happened, and the telling of each, with the
 * neighbours that speak for our VRID and were not listened to. Decided here: which transitions are worth a warning, and
 * how many are told when there is no end of them.
 * Refuses to know why a state changes and what it changes on the network.
 */
import type { Effect } from '../../vrrp/effect.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import type { HeardActive } from '../../vrrp/state.ts'
import { activeDownInterval } from '../../vrrp/timers.ts'
import { type Millis, millis, plus } from '../../wire/units.ts'
import { MismatchedRouters } from '../lan/mismatched-routers.ts'
import { Counters, type Recorder } from './recorder.ts'
import { RATES, TokenBucket } from './token-bucket.ts'

export type Transition = Extract<Effect, { kind: 'transition' }>
/** A state that a router has entered, and the priority in force at that moment. */
export type Entered = Pick<Transition, 'to'> & { readonly priority: number }

/** A transition that has been made, where and behind whom. */
export type Made = {
  readonly transition: Transition
  readonly interfaceName: string | undefined
  /** Whom the router followed until then. */
  readonly followed: HeardActive | undefined
  readonly at: Millis
}

/** What the router is called and how it was set when it happened. */
export type Teller = {
  readonly name: string
  readonly title: string
  readonly group: { readonly name: string | undefined }
  readonly parameters: Parameters
}

export class TransitionHistory {
  /** Last transition, for status: when (monotonic and wall clock) and why. */
  since: { readonly at: Millis; readonly epoch: number; readonly reason: string }
  readonly transitions = new Counters()
  /** Who speaks for our VRID and is not, or not quite, of our group. */
  readonly mismatched = new MismatchedRouters()
  readonly #recorder: Recorder
  readonly #bucket = new TokenBucket(RATES.transition)
  /** The last transition, when it was one too many to be told. */
  #untold: Made | undefined
  /** Transitions that nobody was told of. */
  #silent = 0

  constructor(recorder: Recorder, now: Millis) {
    this.#recorder = recorder
    this.since = { at: now, epoch: Date.now(), reason: 'startup' }
  }

  /** When the state is told that nobody was told of. */
  get untoldUntil(): Millis | undefined {
    return this.#untold === undefined ? undefined : millis(this.#bucket.nextAt)
  }

  /** What the log says last must be so. */
  catchUp(teller: Teller, now: Millis): void {
    const { untoldUntil } = this
    if (this.#untold === undefined || untoldUntil === undefined || now < untoldUntil) return
    this.#silent--
    this.#tell(this.#untold, teller, now)
  }

  tell(made: Made, teller: Teller, now: Millis): void {
    const { from, to, reason } = made.transition
    this.since = { at: now, epoch: Date.now(), reason }
    this.transitions.add(`${from} ${to} ${reason}`)
    if (this.#bucket.has(now)) return this.#tell(made, teller, now)
    this.#untold = made
    this.#silent++
  }

  #tell(made: Made, teller: Teller, now: Millis): void {
    const { interfaceName } = made
    const { from, to, reason, peer } = made.transition
    const { group, name, parameters, title } = teller
    const silent = this.#silent
    this.#record(made, teller)
    this.#silent = 0
    this.#untold = undefined
    this.#bucket.spend(now)
    this.#recorder.liftLimits(name)
    if (interfaceName !== undefined) this.#recorder.liftLimits(`discard ${interfaceName}`)
    const beside = to === 'Active' ? this.#unheeded(parameters, now) : []
    const ignored = beside.length === 0 ? '' : `, not listening to ${beside.join(', ')}`
    const told = silent === 0 ? ignored : `${ignored}, after ${silent} transitions that were not told`
    const asPlanned = to !== 'Initialize' || reason === 'shutdown' || reason === 'successorHeard'
    const level = asPlanned && beside.length === 0 ? 'info' : 'warn'
    this.#recorder.log(level, `${title}: ${from} → ${to}: ${reason}${told}`, {
      router: name,
      ...(group.name === undefined ? {} : { group: group.name }),
      vrid: parameters.vrid,
      interface: interfaceName,
      from,
      to,
      reason,
      priority: parameters.priority,
      ...(peer === undefined ? {} : { peer }),
      ...(beside.length === 0 ? {} : { unheeded: beside }),
      ...(silent === 0 ? {} : { suppressed: silent }),
    })
  }

  #record({ at, followed, interfaceName, transition }: Made, { group, name, parameters }: Teller): void {
    const { from, to, reason, peer } = transition
    const { addresses, advertisementInterval, primaryAddress, priority, vrid } = parameters
    this.#recorder.chronicle.record({
      kind: 'transition',
      router: name,
      ...(group.name === undefined ? {} : { group: group.name }),
      vrid,
      ...(interfaceName === undefined ? {} : { interface: interfaceName, self: primaryAddress }),
      ...{ from, to, reason, priority, interval: advertisementInterval * 10, addresses: [...addresses] },
      ...(peer === undefined ? {} : { peer }),
      ...(followed === undefined
        ? {}
        : { heard: { peer: followed.source, priority: followed.priority, agoMs: rounded(at - followed.heardAt) } }),
      decidedMs: rounded(at),
      ...(this.#silent === 0 ? {} : { suppressed: this.#silent }),
    })
  }

  /** Neighbours that speak for our VRID although we act as if nobody did. */
  #unheeded({ advertisementInterval, priority, version }: Parameters, now: Millis): readonly string[] {
    const since = plus(now, -activeDownInterval(priority, advertisementInterval, version))
    return this.mismatched.unheeded(since).map(({ address, reason }) => `${address} (${reason})`)
  }
}

const rounded = (ms: number) => Math.round(ms * 1_000) / 1_000
