/**
 * How a router came to where it is: its last transition, how often each one happened, and the telling of each, with the
 * neighbours that speak for our VRID and were not listened to. Decided here: which transitions are worth a warning.
 * Refuses to know why a state changes and what it changes on the network.
 */
import type { Effect } from '../vrrp/effect.ts'
import type { Parameters } from '../vrrp/parameters.ts'
import { activeDownInterval } from '../vrrp/timers.ts'
import { type Millis, plus } from '../wire/units.ts'
import { ForeignPeers } from './foreign-peers.ts'
import { Counters, type Recorder } from './recorder.ts'

export type Transition = Extract<Effect, { kind: 'transition' }>

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
  readonly strangers = new ForeignPeers()
  readonly #recorder: Recorder

  constructor(recorder: Recorder, now: Millis) {
    this.#recorder = recorder
    this.since = { at: now, epoch: Date.now(), reason: 'startup' }
  }

  tell({ from, to, reason, peer }: Transition, teller: Teller, interfaceName: string | undefined, now: Millis): void {
    const { group, name, parameters, title } = teller
    this.since = { at: now, epoch: Date.now(), reason }
    this.transitions.add(`${from} ${to} ${reason}`)
    this.#recorder.liftLimits(name)
    if (interfaceName !== undefined) this.#recorder.liftLimits(`discard ${interfaceName}`)
    const beside = to === 'Active' ? this.#unheeded(parameters, now) : []
    const told = beside.length === 0 ? '' : `, not listening to ${beside.join(', ')}`
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
    })
  }

  /** Neighbours that speak for our VRID although we act as if nobody did. */
  #unheeded({ advertisementInterval, priority, version }: Parameters, now: Millis): readonly string[] {
    const since = plus(now, -activeDownInterval(priority, advertisementInterval, version))
    return this.strangers.unheeded(since).map(({ address, reason }) => `${address} (${reason})`)
  }
}
