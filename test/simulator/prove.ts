/**
 * Runs thousands of histories and collects the failed ones, for main.ts and for the short run in CI. This file decides
 * that a failed history is reduced, printed and stored. This file does not access processes and files.
 */

import { FAULT_KINDS, type FaultKind, type Scenario } from '../../src/simulator/scenario.ts'
import { simulate } from '../../src/simulator/simulation.ts'
import { type HistoryOptions, historyOf } from './history.ts'
import { judge, type Violation } from './judge.ts'
import { shrink } from './shrink.ts'

export type Failure = {
  readonly seed: number
  readonly scenario: Scenario
  readonly small: Scenario
  readonly violations: readonly Violation[]
}
export type Tally = {
  histories: number
  faults: number
  routers: number
  nodes: number
  /** Number of histories in which some nodes run keepalived. */
  peers: number
  /** Sum of the simulated milliseconds (`ms`), and number of simulated events. */
  ms: number
  steps: number
  readonly kinds: Map<FaultKind, number>
  readonly longest: { two: number; none: number; client: number }
  readonly failures: Failure[]
}

export const newTally = (): Tally => ({
  ...{ histories: 0, faults: 0, routers: 0, nodes: 0, peers: 0, ms: 0, steps: 0, failures: [] },
  kinds: new Map(FAULT_KINDS.map((kind) => [kind, 0])),
  longest: { two: 0, none: 0, client: 0 },
})

export function violationsOf(scenario: Scenario): readonly Violation[] {
  return judge(simulate(scenario)).violations
}

export function prove(seed: number, tally: Tally, options: HistoryOptions = {}): Failure | undefined {
  const scenario = historyOf(seed, options)
  const account = simulate(scenario)
  const { longest, violations } = judge(account)
  tally.histories++
  tally.faults += account.injected.length
  tally.nodes += scenario.nodes.length
  if (scenario.nodes.some(({ daemon }) => daemon === 'keepalived')) tally.peers++
  tally.routers += account.moments.size
  tally.ms += account.ms
  tally.steps += account.steps
  for (const { fault } of account.injected) tally.kinds.set(fault.kind, (tally.kinds.get(fault.kind) ?? 0) + 1)
  for (const question of ['two', 'none', 'client'] as const)
    tally.longest[question] = Math.max(tally.longest[question], longest[question])
  const [first] = violations
  if (first === undefined) return undefined
  const same = (smaller: Scenario): boolean => violationsOf(smaller).some(({ question }) => question === first.question)
  const small = shrink(scenario, same)
  const failure = { seed, scenario, small, violations: violationsOf(small) }
  tally.failures.push(failure)
  return failure
}
