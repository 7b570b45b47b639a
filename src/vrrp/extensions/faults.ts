/**
 * Faults: a router that cannot take part is in Initialize, with the reasons (keepalived's users know it as FAULT). A fault
 * acts as the RFC's Shutdown event, the end of the last one as its Startup event. Decided here: what a fault makes of a
 * state, and that no start happens before the last fault has ended. Refuses to know what causes a fault. In every profile.
 */
import type { Effect, StateName } from '../effect.ts'
import type { Fault } from '../event.ts'
import type { Step } from '../fsm.ts'
import { start } from './enter.ts'
import { always, type Extension } from './extension.ts'

/** `stopped` when a shutdown was under way. */
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
        // VR-TRK-06: when the last one ends, as at start: own interval, full Active_Down_Interval.
        if (left.length === 0 && !state.stopped) return start(parameters, now, 'faultCleared')
        return [{ ...state, faults: left }, []]
      },
    },
    Backup: { faultRaised: (_inner, _state, event) => fail('Backup', event.fault, false) },
    Active: {
      faultRaised: (_inner, _state, event, parameters) => {
        // Addresses first: whatever is wrong here, two hosts must not answer.
        const release: Effect[] = event.canSend ? [{ kind: 'sendAdvertisement', priority: 0, reason: 'fault' }] : []
        const removal: Effect = { kind: 'removeAddresses', addresses: parameters.addresses }
        return fail('Active', event.fault, false, [removal, ...release])
      },
    },
  },
}
