/**
 * Last advertisement: an Active that loses advertises once more before it becomes Backup (VR-FSM-28). The winner learns
 * from this advertisement that clients may have been misled, and announces again. The loser removes its addresses
 * before the advertisement. In the other order, the loser's ARP replies could undo the winner's announcement. With a
 * grace period the addresses are removed later (grace-period.ts). Option: `lastAdvertisement`.
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
