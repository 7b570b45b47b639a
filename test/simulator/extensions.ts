/**
 * Measures the effect of a protocol extension: runs the same histories with the extension and without it, and compares.
 * The compared figures are the times in which two nodes or none answered, or in which a client got no answer. This file
 * decides what counts as worse. This file does not print the result.
 */
import type { Without } from '../../src/simulator/node/engine-life.ts'
import type { Scenario } from '../../src/simulator/scenario.ts'
import { type Account, type SimulateOptions, simulate } from '../../src/simulator/simulation.ts'
import { type Question, spansOf, WANTED } from '../../src/simulator/spans.ts'
import { HANDOVER } from './bounds.ts'
import { type HistoryOptions, historyOf } from './history.ts'
import { judge, settledAt } from './judge.ts'

export type Extension = {
  readonly name: string
  /** Keys of a virtual router's configuration that turn the extension off. */
  readonly off?: Readonly<Record<string, unknown>>
  readonly without?: Without
}

/** Extensions to RFC 9568 that a configuration can turn off (docs/architecture.md, Protocol decisions). */
export const EXTENSIONS: readonly Extension[] = [
  { name: 'fastPreempt', off: { fastPreempt: false } },
  { name: 'Leaving', off: { leaving: false } },
  { name: 'last advertisement', off: { lastAdvertisement: false } },
  { name: 'kept until claimed', off: { keepUntilClaimed: false } },
  { name: 'announcing over a competing Active', off: { announceOnRival: false } },
  { name: 'stagger', off: { stagger: false } },
  { name: 'priority 0 of the Active only', off: { priorityZeroFromActiveOnly: false } },
  { name: 'return after absence', without: 'absence' },
]

export type Times = Readonly<Record<Question, { readonly sum: number; readonly longest: number }>>

export type Comparison = {
  readonly extension: string
  histories: number
  /** Number of histories in which the extension made any difference. */
  differed: number
  /** Sum over all histories with the extension, in ms, for each kind of time. */
  readonly on: Record<Question, number>
  readonly off: Record<Question, number>
  readonly longest: { readonly on: Record<Question, number>; readonly off: Record<Question, number> }
  /**
   * Histories whose longest time with two holders was longer with the extension than without it, by more than a
   * hand-over. Times in ms.
   */
  readonly worse: { readonly seed: number; readonly on: number; readonly off: number }[]
  /** Number of exceeded limits (judge.ts) in all histories, with the extension (`on`) and without it (`off`). */
  readonly violations: { on: number; off: number }
  /** Number of histories whose longest time with two holders was longer without the extension. */
  better: number
  /** Number of engines that threw an exception. */
  defects: number
}

const none = (): Record<Question, number> => ({ two: 0, none: 0, client: 0 })
export const newComparison = ({ name }: Extension): Comparison => ({
  ...{ extension: name, histories: 0, differed: 0, worse: [], better: 0, defects: 0 },
  violations: { on: 0, off: 0 },
  ...{ on: none(), off: none(), longest: { on: none(), off: none() } },
})

/**
 * Runs the history of one seed with all extensions of the profile `holdfast`, and once without each extension. Adds the
 * differences to the comparisons.
 */
export function compare(
  seed: number,
  comparisons: readonly Comparison[],
  options: HistoryOptions = { small: true },
  extensions: readonly Extension[] = EXTENSIONS,
): void {
  const history = withKeys(historyOf(seed, { ...options, peers: 'none' }), { profile: 'holdfast' })
  const full = simulate(history)
  const on = timesOf(full)
  const violations = judge(full).violations.length
  for (const [i, { off: keys = {}, without }] of extensions.entries()) {
    const comparison = comparisons[i]
    if (comparison === undefined) continue
    const account = simulate(withKeys(history, keys), optionsOf(without))
    const off = timesOf(account)
    comparison.histories++
    if (account.digest !== full.digest) comparison.differed++
    comparison.defects += account.defects.length
    comparison.violations.on += violations
    comparison.violations.off += judge(account).violations.length
    for (const question of ['two', 'none', 'client'] as const) {
      comparison.on[question] += on[question].sum
      comparison.off[question] += off[question].sum
      const { longest } = comparison
      longest.on[question] = Math.max(longest.on[question], on[question].longest)
      longest.off[question] = Math.max(longest.off[question], off[question].longest)
    }
    const [having, lacking] = [on.two.longest, off.two.longest]
    if (having > lacking + HANDOVER) comparison.worse.push({ seed, on: having, off: lacking })
    if (lacking > having + HANDOVER) comparison.better++
  }
}

const optionsOf = (without: Without | undefined): SimulateOptions => (without === undefined ? {} : { without })

function withKeys(scenario: Scenario, keys: Readonly<Record<string, unknown>>): Scenario {
  const nodes = scenario.nodes.map((node) => {
    const { virtualRouters } = node.config
    const routers = Array.isArray(virtualRouters) ? virtualRouters : []
    return { ...node, config: { ...node.config, virtualRouters: routers.map((router) => ({ ...router, ...keys })) } }
  })
  return { ...scenario, nodes }
}

export function timesOf({ moments, ms, scenario }: Account): Times {
  const times = { two: { sum: 0, longest: 0 }, none: { sum: 0, longest: 0 }, client: { sum: 0, longest: 0 } }
  const from = settledAt(scenario)
  for (const seen of moments.values())
    for (const question of ['two', 'none', 'client'] as const)
      for (const span of spansOf(seen, from, ms, WANTED[question])) {
        times[question].sum += span.to - span.from
        times[question].longest = Math.max(times[question].longest, span.to - span.from)
      }
  return times
}

/**
 * Returns a table with a row for each extension: the change in seconds over all histories, then the longest times in
 * ms. A cell has the form "with → without".
 */
export function tableOf(comparisons: readonly Comparison[]): string {
  const change = ({ off, on }: Comparison, question: Question) =>
    `${(on[question] / 1_000).toFixed(1)} → ${(off[question] / 1_000).toFixed(1)}`
  const longest = ({ longest: most }: Comparison, question: Question) =>
    `${most.on[question].toFixed(0)} → ${most.off[question].toFixed(0)}`
  const rows = comparisons.map((one) => {
    const questions = (['two', 'none', 'client'] as const).map(
      (question) => `${change(one, question)} (${longest(one, question)})`,
    )
    return `| ${one.extension} | ${one.differed} of ${one.histories} | ${questions.join(' | ')} | ${one.worse.length} : ${one.better} | ${one.violations.on} : ${one.violations.off} |`
  })
  return [
    '| with it → without it | differ | two answered, s (longest, ms) | nobody | a client without an answer | longer overlap with it : without it | bounds missed with it : without it |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}
