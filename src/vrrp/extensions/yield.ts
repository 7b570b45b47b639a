/**
 * Yield: an operator moves the VIPs to another router although nothing is wrong. The router sends priority 0 and
 * removes its VIPs, as after a Shutdown event (RFC 9568 §6.4.3, step 665). After a yield the router becomes Backup,
 * with the priority that the caller has lowered. If the extension in leaving.ts is on, leaving.ts handles the event
 * `yield`. The caller decides for how long the priority stays low. The extension is on in every profile.
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
        // An owner cannot yield (RFC 9568 §6.1).
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
