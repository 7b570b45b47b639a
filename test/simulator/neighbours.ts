/**
 * Tests whether a holdfast node harms a group of keepalived nodes. A history is played three times, with the same
 * faults at the same times on the same nodes: all nodes run keepalived, some of them, or none. This file decides what
 * counts as worse. This file does not print the result.
 */
import { simulate } from '../../src/simulator/simulation.ts'
import type { Question } from '../../src/simulator/spans.ts'
import { HANDOVER } from './bounds.ts'
import { type Times, timesOf } from './extensions.ts'
import { asKeepalived, type HistoryOptions, historyOf } from './history.ts'

export const GROUPS = ['keepalived alone', 'mixed', 'holdfast alone'] as const
type Group = (typeof GROUPS)[number]

export type Neighbours = {
  histories: number
  readonly times: Readonly<Record<Group, Record<Question, { sum: number; longest: number }>>>
  /**
   * Seeds of the histories in which a time is longer in the mixed group than with keepalived alone, by more than a
   * hand-over.
   */
  readonly worse: {
    readonly seed: number
    readonly question: Question
    readonly mixed: number
    readonly alone: number
  }[]
  /** Number of histories whose time is longer with keepalived on all nodes, by more than the length of a hand-over. */
  readonly better: Record<Question, number>
}

const QUESTIONS = ['two', 'none', 'client'] as const
const nothing = () => ({ two: { sum: 0, longest: 0 }, none: { sum: 0, longest: 0 }, client: { sum: 0, longest: 0 } })

export const newNeighbours = (): Neighbours => ({
  ...{ histories: 0, worse: [], better: { two: 0, none: 0, client: 0 } },
  times: { 'keepalived alone': nothing(), mixed: nothing(), 'holdfast alone': nothing() },
})

/** Plays the history of one seed three times, and adds the differences to the comparison. */
export function compareNeighbours(seed: number, found: Neighbours, options: HistoryOptions = { small: true }): void {
  const mixed = historyOf(seed, { ...options, peers: 'all' })
  const none = historyOf(seed, { ...options, peers: 'none' })
  // The pauses between faults depend on the limits of the faults. For this reason all three histories have the faults
  // of the mixed group.
  const histories = {
    'keepalived alone': { ...mixed, nodes: none.nodes.map(asKeepalived) },
    mixed,
    'holdfast alone': { ...mixed, nodes: none.nodes },
  }
  found.histories++
  const times = {
    'keepalived alone': timesOf(simulate(histories['keepalived alone'])),
    mixed: timesOf(simulate(histories.mixed)),
    'holdfast alone': timesOf(simulate(histories['holdfast alone'])),
  } satisfies Record<Group, Times>
  for (const question of QUESTIONS) {
    for (const group of GROUPS) {
      const total = found.times[group][question]
      total.sum += times[group][question].sum
      total.longest = Math.max(total.longest, times[group][question].longest)
    }
    const [having, alone] = [times.mixed[question].longest, times['keepalived alone'][question].longest]
    if (having > alone + HANDOVER) found.worse.push({ seed, question, mixed: having, alone })
    if (alone > having + HANDOVER) found.better[question]++
  }
}

/** Returns the sum of the times over all histories in seconds, and the longest time in ms. */
export function neighboursTable({ times, worse, better, histories }: Neighbours): string {
  const cell = (group: Group, question: Question) => {
    const { longest, sum } = times[group][question]
    return `${(sum / 1_000).toFixed(1)} (${longest.toFixed(0)})`
  }
  return [
    `| ${histories} histories | two answered, s (longest, ms) | nobody | a client without an answer |`,
    '|---|---|---|---|',
    ...GROUPS.map((group) => `| ${group} | ${QUESTIONS.map((question) => cell(group, question)).join(' | ')} |`),
    `| longest longer when mixed : when keepalived is alone | ${QUESTIONS.map((question) => `${worse.filter((one) => one.question === question).length} : ${better[question]}`).join(' | ')} |`,
  ].join('\n')
}
