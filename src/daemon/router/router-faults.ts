/**
 * The faults of one router. The faults are stored outside of the router's state, because only Initialize lists them.
 * This file decides which event the state machine receives for a fault, and which log line and journal event report the
 * fault. This file knows nothing about what raises a fault.
 */

import { LOG } from '../../log/log.ts'
import { atOtherLevel } from '../../log/log-event.ts'
import type { StateName } from '../../vrrp/effect.ts'
import type { Event, Fault } from '../../vrrp/event.ts'
import { reasonText } from '../../vrrp/reason-text.ts'
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

  /** Raises or clears a fault. `canSend` is true if packets of the router may still arrive. */
  set(fault: Fault, present: boolean, canSend: boolean, now: Millis): Event | undefined {
    if (this.#present.has(fault) === present) return undefined
    if (present) this.#present.add(fault)
    else this.#present.delete(fault)
    this.#record(fault, present, now)
    return present ? { kind: 'faultRaised', fault, canSend } : { kind: 'faultCleared', fault }
  }

  /** Logs a fault that was raised or cleared when the router was in the state `before`. */
  log(fault: Fault, present: boolean, before: StateName): void {
    // The line of the transition has the fault, but not the operator's text for `configured`.
    if (this.#router.state.name === before || fault === 'configured') this.#log(fault, present)
  }

  /** Records that a fault begins or ends, before the consequences of the fault are recorded. */
  #record(fault: Fault, present: boolean, now: Millis): void {
    // The fault of a check that has no result yet is not recorded.
    if (fault.startsWith('healthcheckUndecided:') || this.#bucket.take(now) === undefined) return
    const { name: router, spec } = this.#router
    const words = fault === 'configured' && present ? spec.configuredFault : undefined
    const more = words === undefined ? {} : { words }
    this.#recorder.chronicle.record({ kind: 'faultChanged', router, fault, present, ...more })
  }

  #log(fault: Fault, present: boolean): void {
    const { name, spec, title } = this.#router
    const others = [...this.#present].filter((one) => one !== fault)
    const rest = others.length === 0 ? '' : `; ${present ? 'other' : 'remaining'} faults: ${others.join(', ')}`
    const why = fault === 'configured' && present ? spec.configuredFault : reasonText(fault)
    const message = `${title}: ${present ? 'fault' : 'fault cleared'}: ${fault} (${why})${rest}`
    // The fault of a check that has no result yet is logged as info, not as a warning.
    const raised = atOtherLevel(LOG.faultRaised, fault.startsWith('healthcheckUndecided:'))
    const event = present ? raised : LOG.faultCleared
    // A check can fail again and again, so log lines about the fault of a check are written at a limited rate.
    if (!fault.startsWith('healthcheck')) this.#recorder.log(event, message, { router: name, fault })
    else this.#recorder.logLimited(`${name} ${fault} ${present}`, event, message, { router: name, fault })
  }
}
