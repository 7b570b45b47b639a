/**
 * Converts a simulated history to the form that the judge reads (test/judge): every change with its exact time. Pure.
 * This file does not know the causes of the changes.
 */

import { type History, type Span, sightsOf } from '../../src/lab/watch/history.ts'
import { faultText } from '../../src/simulator/report.ts'
import type { Fault, Scenario } from '../../src/simulator/scenario.ts'
import type { Account } from '../../src/simulator/simulation.ts'
import type { Moment } from '../../src/simulator/witness.ts'
import { judge as judgeBy, longest, type Rules } from '../judge/judge.ts'
import type { Question } from '../judge/outages.ts'
import { describe } from '../judge/report.ts'
import { boundOf, circumstancesOf, factsOf, intervalOf, lowestPriority, quietOf } from './bounds.ts'

export type Violation = { readonly at: number; readonly text: string; readonly question: Question | 'defect' | 'end' }
export type Judged = { readonly violations: readonly Violation[]; readonly longest: Readonly<Record<Question, number>> }

/** Returns the time in ms from which the history is judged, so that the service or the LAN settles first. */
export const settledAt = (scenario: Scenario): number => (scenario.faults[0]?.at ?? scenario.ms) - 1

const FROZEN: ReadonlySet<Fault['kind']> = new Set(['freeze engine', 'freeze both'])

function rulesOf(scenario: Scenario, addresses: number): Rules<Fault> {
  const facts = factsOf(scenario.nodes, intervalOf(scenario), lowestPriority(scenario), addresses)
  return {
    tolerances: { dating: 1, joins: 0, least: 0 },
    boundOf: ({ fault }, together) =>
      boundOf(
        fault,
        circumstancesOf(
          facts,
          together.map((one) => one.fault),
        ),
      ),
    quiet: quietOf(facts),
    stopped: ({ kind, node }) => (FROZEN.has(kind) ? node : undefined),
  }
}

/**
 * Returns the history of an address. A client without a neighbour entry asks once a second (witness.ts), from the start
 * of the service on. If the client never gets an entry, that is a fault.
 */
export function historyOf(address: string, moments: readonly Moment[], to: number): History {
  const first = moments.findIndex(({ served }) => served !== undefined)
  const unserved = (moment: Moment, i: number): Span[] =>
    i < first || moment.served !== undefined ? [] : [{ from: moment.at, to: moments[i + 1]?.at ?? to }]
  return { address, holders: sightsOf(moments, to), unanswered: [], stranded: moments.flatMap(unserved), blind: [] }
}

export function judge({ defects, ends, injected, moments, ms, scenario }: Account): Judged {
  const histories = [...moments].map(([address, seen]) => historyOf(address, seen, ms))
  const window = { from: settledAt(scenario), to: ms }
  const { incidents, violations } = judgeBy(rulesOf(scenario, moments.size), { histories, happened: injected, window })
  return {
    violations: [
      ...defects.map((text) => ({ at: 0, text, question: 'defect' as const })),
      ...ends.map((text) => ({ at: ms, text: `at the end ${text}`, question: 'end' as const })),
      ...violations.map((one) => ({ at: one.from, text: describe(one, 0, faultText), question: one.question })),
    ],
    longest: longest(incidents),
  }
}
