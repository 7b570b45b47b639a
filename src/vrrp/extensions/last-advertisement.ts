/**
 * Last advertisement: an Active that loses advertises once more before it is Backup (VR-FSM-28), so that the winner learns that
 * clients may have been misled and announces again. Its addresses are off by then, or the winner's answer could be undone
 * by ours; with a grace period they go later (grace-period.ts). Option: `lastAdvertisement`.
 */
import { advertise } from '../fsm.ts'
import type { Extension } from './extension.ts'

export const lastAdvertisement: Extension = {
  name: 'last-advertisement',
  isOn: ({ extensions }) => extensions.lastAdvertisement === true,
  wraps: {
    Active: {
      advertisementReceived: (inner, state, event, parameters, now) => {
        const [next, effects] = inner(state, event, parameters, now)
        if (next.name !== 'Backup') return [next, effects]
        const last = advertise(parameters, 'lost')
        return [next, effects.flatMap((effect) => (effect.kind === 'transition' ? [last, effect] : [effect]))]
      },
    },
  },
}
