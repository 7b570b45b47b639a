/**
 * Faults: a router that cannot take part in the election is in Initialize, with the reasons. keepalived calls this
 * state FAULT. A fault acts as the RFC's Shutdown event. The end of the last fault acts as the RFC's Startup event. The
 * extension for faults decides what a fault changes in a state, and prevents a start before the last fault has ended.
 * The extension for faults does not know the cause of a fault. The extension is on in every profile.
 */
import type { Effect, StateName } from '../effect.ts'
import type { Fault } from '../event.ts'
import type { Step } from '../fsm.ts'
import { start } from './enter.ts'
import { always, type Extension } from './extension.ts'

/** Returns the step to Initialize because of a fault. `stopped` is true if a shutdown was under way. */
export function fail(from: StateName, fault: Fault, stopped: boolean, effects: readonly Effect[] = []): Step {
  const transition: Effect = { kind: 'transition', from, to: 'Initialize', reason: fault }
  return [{ name: 'Initialize', faults: [fault], stopped }, [...effects, transition]]
}

export const faults: Extension = {
  name: 'faults',
  isOn: always,
  wraps: {
    Initialize: {
      startup: (inner, state, event, parameters, now) => {
        return state.faults.length === 0 ? inner(state, event, parameters, now) : [{ ...state, stopped: false }, []]
      },
      faultRaised: (_inner, state, event) => {
        if (state.faults.includes(event.fault)) return [state, []]
        return [{ ...state, faults: [...state.faults, event.fault] }, []]
      },
      faultCleared: (_inner, state, event, parameters, now) => {
        const left = state.faults.filter((fault) => fault !== event.fault)
        // VR-TRK-06: the end of the last fault is like a start, with our own interval and a full Active_Down_Interval.
        if (left.length === 0 && !state.stopped) return start(parameters, now, 'faultCleared')
        return [{ ...state, faults: left }, []]
      },
    },
    Backup: { faultRaised: (_inner, _state, event) => fail('Backup', event.fault, false) },
    Active: {
      faultRaised: (_inner, _state, event, parameters) => {
        // The addresses are removed before priority 0 is sent. Whatever is wrong on this node, two hosts must not
        // answer for an address.
        const release: Effect[] = event.canSend ? [{ kind: 'sendAdvertisement', priority: 0, reason: 'fault' }] : []
        const removal: Effect = { kind: 'removeAddresses', addresses: parameters.addresses }
        return fail('Active', event.fault, false, [removal, ...release])
      },
    },
  },
}
