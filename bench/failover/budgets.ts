/**
 * Judges the budgets of docs/performance.md by the runs of holdfast: a budget is met, missed, or missed on a machine
 * that was too noisy. This file decides the limit of each budget. A pure function of the result. This file does not
 * know why a budget is missed.
 */
import type { Run } from './accident.ts'
import { type CellResult, noiseOf, type Result } from './result.ts'
import { spreadOf } from './statistics.ts'

type Limit = {
  readonly what: string
  readonly unit: 'ms' | ''
  readonly value: (run: Run) => number | undefined
  readonly most: number
  /**
   * Statistic of the runs that must stay within the limit: of all runs (`max`), of 95 in 100 (`p95`), or of half
   * (`median`).
   */
  readonly of: 'max' | 'p95' | 'median'
}
type Budget = {
  readonly scenarios: RegExp
  readonly event: string
  readonly limits: (cell: CellResult) => readonly Limit[]
}
export type BudgetJudgement = {
  readonly cell: CellResult
  readonly event: string
  readonly limit: Limit
  readonly measured: number
  readonly judgement: 'met' | 'missed' | 'missed in noisy runs only' | 'missed, no quiet run'
}

/**
 * Priority of the router that takes over from r1, and priority of an equal router that is up (accident.ts,
 * checked-node.ts).
 */
const SUCCESSOR = 150
const EQUAL = 100
const WELL = 90
/** Milliseconds by which the last of several equal routers that list each other as peers delays its takeover. */
const STAGGER = 6

const skew = ({ intervalMs }: CellResult, priority: number) => ((256 - priority) * intervalMs) / 256
const down = (cell: CellResult, priority: number) => 3 * cell.intervalMs + skew(cell, priority)
const lifetime = (cell: CellResult) => Math.max(2_000, 1_000 * Math.ceil(down(cell, 200) / 1_000))

const moved = (most: number, of: Limit['of']): Limit => ({
  ...{ what: 'moved', unit: 'ms', value: ({ movedMs }) => movedMs, most, of },
})
const overlap = (most: number, of: Limit['of'] = 'max'): Limit => ({
  ...{ what: 'two holders', unit: 'ms', value: ({ overlapMs }) => overlapMs, most, of },
})
const lost = (most: number, of: Limit['of'] = 'max'): Limit => ({
  ...{ what: 'probes lost', unit: '', value: ({ lost: count }) => count, most, of },
})

const BUDGETS: readonly Budget[] = [
  {
    scenarios: /^engine$/,
    event: 'engine dies alone',
    limits: (cell) => [
      { what: 'off the node', unit: 'ms', value: ({ phases }) => phases.lastReplyMs, most: 50, of: 'p95' },
      moved(skew(cell, SUCCESSOR) + 25, 'p95'),
    ],
  },
  {
    scenarios: /^group$/,
    event: 'all its processes die',
    limits: (cell) => [moved(down(cell, SUCCESSOR) + 5, 'p95'), overlap(lifetime(cell) + 50)],
  },
  { scenarios: /^(sigterm|yield)$/, event: 'leaves', limits: () => [lost(0, 'p95'), lost(2), overlap(10)] },
  {
    scenarios: /^(cut|carrier|interface-down)$/,
    event: 'node or link gone',
    limits: (cell) => [moved(down(cell, SUCCESSOR) + 5, 'p95')],
  },
  {
    scenarios: /^check-killed$/,
    event: 'service dies',
    limits: (cell) => [moved(20 + skew(cell, WELL) + STAGGER + 25, 'p95')],
  },
  { scenarios: /^frozen$/, event: 'engine frozen 5 s', limits: () => [overlap(50)] },
  { scenarios: /^(heal|partition)/, event: 'cut or partition healed', limits: () => [lost(3)] },
  {
    scenarios: /^equal$/,
    event: 'takeover among equals',
    // A probe of the observer may arrive between the moments at which two nodes hand the address over.
    limits: (cell) => [overlap(2, 'p95'), moved(down(cell, EQUAL) + STAGGER + 5, 'p95'), lost(down(cell, EQUAL) + 50)],
  },
  { scenarios: /^failback$/, event: 'comes back', limits: () => [lost(2)] },
  { scenarios: /^reload/, event: 'reload', limits: () => [lost(0)] },
  {
    scenarios: /^load\d+-realtime$/,
    event: 'busy CPUs, real-time priority',
    limits: () => [
      { what: 'false takeovers', unit: '', value: ({ figures }) => figures?.takeovers, most: 0, of: 'max' },
    ],
  },
]

function judge(cell: CellResult, limit: Limit): Pick<BudgetJudgement, 'measured' | 'judgement'> | undefined {
  const of = (quietOnly: boolean) => {
    const values = cell.runs.flatMap((record) => {
      if (record.run === undefined || (quietOnly && noiseOf(cell, record) !== undefined)) return []
      return limit.value(record.run) ?? []
    })
    return values.length === 0 ? undefined : spreadOf(values)[limit.of]
  }
  const [measured, quiet] = [of(false), of(true)]
  if (measured === undefined) return undefined
  if (measured <= limit.most) return { measured, judgement: 'met' }
  if (quiet === undefined) return { measured, judgement: 'missed, no quiet run' }
  if (quiet <= limit.most) return { measured, judgement: 'missed in noisy runs only' }
  return { measured, judgement: 'missed' }
}

export function budgetJudgements({ cells }: Result): readonly BudgetJudgement[] {
  return cells
    .filter(({ lineUp }) => lineUp === 'holdfast')
    .flatMap((cell) =>
      BUDGETS.filter(({ scenarios }) => scenarios.test(cell.scenario)).flatMap(({ event, limits }) =>
        limits(cell).flatMap((limit) => {
          const judged = judge(cell, limit)
          return judged === undefined ? [] : [{ cell, event, limit, ...judged }]
        }),
      ),
    )
}
