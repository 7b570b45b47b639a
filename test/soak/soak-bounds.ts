/**
 * What each step of the soak may cost a client, and why: the documented bounds, none from a measurement. PURE. Refuses to know
 * runs and results. Those that the chaos suite has as well are its own (test/chaos/bounds.ts).
 */

import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'
import { type Bound, boundOf, HANDOVER, PRIORITIES } from '../chaos/bounds.ts'
import type { SoakFault } from './soak-plan.ts'

/** Of a node that is to be the owner although r1 is well; with all weights that flap it is above r1 still. */
export const LIFTED = 240
export const soakPriorityOf = (node: string): number => PRIORITIES[node] ?? 1

const NONE = { length: 0, after: 0 }
const ONE = { length: HANDOVER, after: HANDOVER }

/** Long enough for what a reload does, and short enough that the next step is not among it. */
const RELOADED = 1_000

export function soakBoundOf(fault: SoakFault, interval: number): Bound {
  const settled = activeDownIntervalMs(soakPriorityOf('r3'), interval) + HANDOVER
  const { kind } = fault
  switch (kind) {
    case 'kill engine':
    case 'link flap':
      return boundOf({ ...fault, kind }, interval)
    case 'partition':
      return boundOf({ ...fault, kind, variant: 'alone' }, interval)
    case 'stop':
      return { two: ONE, none: ONE, aftermath: settled, why: 'leaves cleanly (budget: SIGTERM): one exchange' }
    case 'yield':
      return { two: ONE, none: ONE, aftermath: settled, why: 'hands over, and takes over again: one exchange each' }
    case 'check failure':
      return { two: ONE, none: ONE, aftermath: 1_000 + settled, why: 'a demoted Active answers until another one does' }
    case 'reload, same file':
    case 'reload, other value':
      return { two: NONE, none: NONE, aftermath: RELOADED, why: 'budget: reload 0 lost: no router is touched' }
    case 'reload, other priority':
      return {
        two: ONE,
        none: ONE,
        aftermath: RELOADED,
        why: 'budget: reload 0 lost: one exchange moves the addresses',
      }
  }
}
