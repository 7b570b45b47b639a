/**
 * Records the transitions of a router: the last transition, the number of each kind, and a log line and an event.
 * Mismatched routers whose advertisements were discarded are recorded, too. This file decides which transitions are
 * warnings, and the limit of log lines of an unstable router. This file knows nothing about why a state changes, and
 * the effects on the network.
 */
import { defined } from '../../base/defined.ts'
import { LOG } from '../../log/log.ts'
import { atOtherLevel } from '../../log/log-event.ts'
import type { Effect } from '../../vrrp/effect.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import { reasonText } from '../../vrrp/reason-text.ts'
import type { HeardActive } from '../../vrrp/state.ts'
import { activeDownInterval } from '../../vrrp/timers.ts'
import { type Millis, millis, plus } from '../../wire/units.ts'
import { MismatchedRouters } from '../lan/mismatched-routers.ts'
import { Counters, type Recorder } from './recorder.ts'
import { RATES, TokenBucket } from './token-bucket.ts'

export type Transition = Extract<Effect, { kind: 'transition' }>
/** State that a router has entered, and its priority at that time. */
export type Entered = Pick<Transition, 'to'> & { readonly priority: number }

/** Completed transition of a router, with its interface and time. */
export type MadeTransition = {
  readonly transition: Transition
  readonly interfaceName: string | undefined
  /** Active that the router followed until the transition; `undefined` if the router knew no Active. */
  readonly followed: HeardActive | undefined
  readonly at: Millis
}

/** The router at the time of the transition. */
export type MovedRouter = {
  readonly name: string
  readonly title: string
  readonly group: { readonly name: string | undefined }
  readonly parameters: Parameters
}

export class TransitionHistory {
  /** Last transition of the router, for the status: time (monotonic and wall clock) and reason. */
  since: { readonly at: Millis; readonly epoch: number; readonly reason: string }
  readonly transitions = new Counters()
  /** Routers with our VRID whose settings differ (docs/glossary.md, mismatched router). */
  readonly mismatched = new MismatchedRouters()
  readonly #recorder: Recorder
  readonly #bucket = new TokenBucket(RATES.transition)
  /** Last transition of the router, if the rate limit suppressed its log line. */
  #suppressed: MadeTransition | undefined
  /** Number of transitions without a log line. */
  #suppressedCount = 0

  constructor(recorder: Recorder, now: Millis) {
    this.#recorder = recorder
    this.since = { at: now, epoch: Date.now(), reason: 'startup' }
  }

  /** Continues a state that the router had in the engine before. */
  adopt(since: Millis, now: Millis, reason: string): void {
    this.since = { at: since, epoch: Date.now() - (now - since), reason }
  }

  /** Time at which the suppressed transition will be logged. */
  get catchUpAt(): Millis | undefined {
    return this.#suppressed === undefined ? undefined : millis(this.#bucket.nextAt)
  }

  /** Logs the suppressed transition, so that the last log line shows the present state. */
  catchUp(router: MovedRouter, now: Millis): void {
    const { catchUpAt } = this
    if (this.#suppressed === undefined || catchUpAt === undefined || now < catchUpAt) return
    this.#suppressedCount--
    this.#tell(this.#suppressed, router, now)
  }

  tell(made: MadeTransition, router: MovedRouter, now: Millis): void {
    const { from, to, reason } = made.transition
    this.since = { at: now, epoch: Date.now(), reason }
    this.transitions.add(`${from} ${to} ${reason}`)
    if (this.#bucket.has(now)) return this.#tell(made, router, now)
    this.#suppressed = made
    this.#suppressedCount++
  }

  #tell(made: MadeTransition, router: MovedRouter, now: Millis): void {
    const { interfaceName } = made
    const { from, to, reason, peer } = made.transition
    const { group, name, parameters, title } = router
    const silent = this.#suppressedCount
    this.#record(made, router)
    this.#suppressedCount = 0
    this.#suppressed = undefined
    this.#bucket.spend(now)
    this.#recorder.liftLimits(name)
    if (interfaceName !== undefined) this.#recorder.liftLimits(`discard ${interfaceName}`)
    const beside = to === 'Active' ? this.#unheeded(parameters, now) : []
    const ignored = beside.length === 0 ? '' : `, discarding advertisements of ${beside.join(', ')}`
    const told = silent === 0 ? ignored : `${ignored}, after ${silent} transitions that were not logged`
    const asPlanned = to !== 'Initialize' || reason === 'shutdown' || reason === 'successorHeard'
    const event = atOtherLevel(LOG.transition, !asPlanned || beside.length > 0)
    this.#recorder.log(event, `${title}: ${from} → ${to}: ${reasonText(reason)}${told}`, {
      router: name,
      ...defined({ group: group.name }),
      vrid: parameters.vrid,
      interface: interfaceName,
      from,
      to,
      reason,
      priority: parameters.priority,
      ...defined({ peer }),
      ...(beside.length === 0 ? {} : { unheeded: beside }),
      ...(silent === 0 ? {} : { suppressed: silent }),
    })
  }

  #record({ at, followed, interfaceName, transition }: MadeTransition, { group, name, parameters }: MovedRouter): void {
    const { from, to, reason, peer } = transition
    const { addresses, advertisementInterval, primaryAddress, priority, vrid } = parameters
    this.#recorder.chronicle.record({
      kind: 'transition',
      router: name,
      ...defined({ group: group.name }),
      vrid,
      ...(interfaceName === undefined ? {} : { interface: interfaceName, self: primaryAddress }),
      ...{ from, to, reason, priority, interval: advertisementInterval * 10, addresses: [...addresses] },
      ...defined({ peer }),
      ...(followed === undefined
        ? {}
        : { heard: { peer: followed.source, priority: followed.priority, agoMs: rounded(at - followed.heardAt) } }),
      decidedMs: rounded(at),
      ...(this.#suppressedCount === 0 ? {} : { suppressed: this.#suppressedCount }),
    })
  }

  /**
   * Returns mismatched routers that advertise for the VRID of this router, and whose advertisements this router
   * ignores.
   */
  #unheeded({ advertisementInterval, priority, version }: Parameters, now: Millis): readonly string[] {
    const since = plus(now, -activeDownInterval(priority, advertisementInterval, version))
    return this.mismatched.unheeded(since).map(({ address, reason }) => `${address} (${reason})`)
  }
}

const rounded = (ms: number) => Math.round(ms * 1_000) / 1_000
