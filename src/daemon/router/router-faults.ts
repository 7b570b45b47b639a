/**
 * The faults of one router, which are kept beside its state because only Initialize lists them. Decided here: what the
 * state machine hears of a fault, and which line and event tell people of it. Refuses to know what raises a fault.
 */

import type { StateName } from '../../vrrp/effect.ts'
import type { Event, Fault } from '../../vrrp/event.ts'
import type { Millis } from '../../wire/units.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import { RATES, TokenBucket } from '../telemetry/token-bucket.ts'

export type FaultyRouter = {
  readonly name: string
  readonly title: string
  readonly spec: { readonly configuredFault: string | undefined }
  readonly state: { readonly name: StateName }
}

export class RouterFaults {
  readonly #present = new Set<Fault>()
  readonly #router: FaultyRouter
  readonly #recorder: Recorder
  readonly #bucket = new TokenBucket(RATES.fault)

  constructor(router: FaultyRouter, recorder: Recorder) {
    this.#router = router
    this.#recorder = recorder
  }

  get all(): ReadonlySet<Fault> {
    return this.#present
  }

  /**
   * Raises or clears a fault. `canSend`: what the router sends may still arrive. Returns the event to post, and `undefined` if
   * nothing changed. Call log() when the event is posted.
   */
  set(fault: Fault, present: boolean, canSend: boolean, now: Millis): Event | undefined {
    if (this.#present.has(fault) === present) return undefined
    if (present) this.#present.add(fault)
    else this.#present.delete(fault)
    this.#record(fault, present, now)
    return present ? { kind: 'faultRaised', fault, canSend } : { kind: 'faultCleared', fault }
  }

  /** Logs a fault that was raised or cleared when the router was in the state `before`. */
  log(fault: Fault, present: boolean, before: StateName): void {
    // The line of the transition names the fault, but not the operator's text of `configured`.
    if (this.#router.state.name === before || fault === 'configured') this.#log(fault, present)
  }

  /** Before what the fault leads to. */
  #record(fault: Fault, present: boolean, now: Millis): void {
    // A check without a result is no fault to report.
    if (fault.startsWith('healthcheckUndecided:') || this.#bucket.take(now) === undefined) return
    const { name: router, spec } = this.#router
    const words = fault === 'configured' && present ? spec.configuredFault : undefined
    const more = words === undefined ? {} : { words }
    this.#recorder.chronicle.record({ kind: 'faultChanged', router, fault, present, ...more })
  }

  #log(fault: Fault, present: boolean): void {
    const { name, spec, title } = this.#router
    const rest = this.#present.size === 0 ? '' : `, in fault: ${[...this.#present].join(', ')}`
    const why = fault === 'configured' && present ? ` (${spec.configuredFault})` : ''
    const message = `${title}: ${present ? 'fault' : 'fault cleared'}: ${fault}${why}${rest}`
    // Nothing is wrong with a check that has no result yet.
    const level = present && !fault.startsWith('healthcheckUndecided:') ? 'warn' : 'info'
    // The lines of a check that flaps are its own.
    if (!fault.startsWith('healthcheck')) this.#recorder.log(level, message, { router: name, fault })
    else this.#recorder.logLimited(`${name} ${fault} ${present}`, level, message, { router: name, fault })
  }
}
