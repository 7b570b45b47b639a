/** Gives the judge the accident of each step of the soak. Circumstances and observers are those of the chaos suite. Pure. */
import { circumstancesOf, PRIORITIES, WATCHED } from '../chaos/bounds.ts'
import { type Accident, type Bound, boundOf, quietOf } from '../judge/bounds.ts'
import type { Happened, Rules } from '../judge/judge.ts'
import type { SoakFault, SoakKind } from './soak-plan.ts'

/** Priority of a node that shall be the holder although r1 is well. With all flapping weights it is still above r1. */
export const LIFTED = 240
export const soakPriorityOf = (node: string): number => PRIORITIES[node] ?? 1

const ACCIDENTS: Readonly<Record<SoakKind, Accident>> = {
  stop: 'leaves',
  'kill engine': 'engine dies',
  yield: 'hands over',
  'check failure': 'exchange',
  'link flap': 'link gone',
  partition: 'cut off',
  'reload, same file': 'not touched',
  'reload, other value': 'not touched',
  'reload, other priority': 'exchange',
}
/** Time in ms that a reload takes, and in which a recovered check is noticed. The next step comes later. */
const NOTICED = 1_000

export function soakBoundOf({ at, end, fault }: Happened<SoakFault>, interval: number): Bound {
  const { kind } = fault
  const bound = boundOf(ACCIDENTS[kind], circumstancesOf(interval), end - at)
  if (kind.startsWith('reload')) return { ...bound, aftermath: NOTICED }
  return kind === 'check failure' ? { ...bound, aftermath: NOTICED + bound.aftermath } : bound
}

export const soakRules = (interval: number): Rules<SoakFault> => ({
  tolerances: WATCHED,
  boundOf: (one) => soakBoundOf(one, interval),
  quiet: quietOf(circumstancesOf(interval)),
})
