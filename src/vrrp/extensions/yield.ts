/**
 * Yield: an operator moves the addresses to another router although nothing is wrong. The router releases them as a
 * Shutdown does (665), but becomes Backup, with the priority that the caller has lowered. If leaving.ts is on, it
 * handles the event instead. This file does not know the duration. On in every profile.
 */
import type { Effect } from '../effect.ts'
import { isOwner } from '../parameters.ts'
import { enterBackup } from './enter.ts'
import { always, type Extension } from './extension.ts'

export const yieldAside: Extension = {
  name: 'yield',
  isOn: always,
  wraps: {
    Active: {
      yield: (_inner, state, _event, parameters, now) => {
        // An owner cannot step aside (RFC 9568 §6.1).
        if (isOwner(parameters)) return [state, []]
        const [next, entered] = enterBackup(parameters, now, {
          from: 'Active',
          reason: 'yield',
          active: undefined,
          activeAdverInterval: parameters.advertisementInterval,
          holderChanged: true,
        })
        const release: Effect = { kind: 'sendAdvertisement', priority: 0, reason: 'yield' }
        return [next, [release, { kind: 'removeAddresses', addresses: parameters.addresses }, ...entered]]
      },
    },
  },
}
