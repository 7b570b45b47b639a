/**
 * From what a simulation saw to violations, as test/chaos/judge.ts does: every interval in which two or nobody answered is
 * held against all faults whose effect may still last, whose bounds add up. PURE. Refuses to know how either came about.
 */

import type { Fault, Scenario } from '../../src/simulator/scenario.ts'
import type { Account, Injected } from '../../src/simulator/simulation.ts'
import { type Question, type Span, spansOf, WANTED } from '../../src/simulator/spans.ts'
import type { Moment } from '../../src/simulator/witness.ts'
import { boundOf, type Circumstances, circumstancesOf, factsOf, type Limit, lowestPriority, quietOf } from './bounds.ts'

export type Violation = { readonly at: number; readonly text: string; readonly question: Question | 'defect' | 'end' }

/** The service or the LAN settles first: from here on it is judged. */
export const settledAt = (scenario: Scenario): number => (scenario.faults[0]?.at ?? scenario.ms) - 1

const DATING = 1
/** A timer that did not wait for the queue decides in the moment of the resume; later it is a preemption. */
const AT_ONCE = 50
const FROZEN: ReadonlySet<Fault['kind']> = new Set(['freeze engine', 'freeze both'])

export type Judged = { readonly violations: readonly Violation[]; readonly longest: Readonly<Record<Question, number>> }

export function judge(account: Account): Judged {
  const { injected, moments, ms, scenario } = account
  const from = settledAt(scenario)
  const facts = factsOf(scenario.nodes, intervalOf(scenario), lowestPriority(scenario), moments.size)
  const violations: Violation[] = [
    ...account.defects.map((text) => ({ at: 0, text, question: 'defect' as const })),
    ...account.ends.map((text) => ({ at: ms, text: `at the end ${text}`, question: 'end' as const })),
  ]
  const longest = { two: 0, none: 0, client: 0 }
  for (const [vip, seen] of moments) {
    for (const question of ['two', 'none', 'client'] as const) {
      const begin = question === 'client' ? Math.max(from, firstServed(seen)) : from
      for (const span of spansOf(seen, begin, ms, WANTED[question])) {
        longest[question] = Math.max(longest[question], span.to - span.from)
        const all = circumstancesOf(facts, [])
        const near = injected.filter(({ at, end, fault }) =>
          isNear(span, at, end + boundOf(fault, widest(all, injected)).aftermath),
        )
        const text = exceeds(
          question,
          span,
          near,
          circumstancesOf(
            facts,
            near.map(({ fault }) => fault),
          ),
          seen,
        )
        if (text !== undefined) violations.push({ at: span.from, text: `${vip}: ${text}`, question })
      }
    }
  }
  return { violations, longest }
}

/** A client that has no entry yet asks once a second (witness.ts), whenever the service began. That it never is: an end. */
const firstServed = (seen: readonly Moment[]): number => seen.find(({ served }) => served !== undefined)?.at ?? 0

/** Aftermath counts with the widest circumstances of the history. */
const widest = (on: Circumstances, injected: readonly Injected[]): Circumstances =>
  circumstancesOf(
    on,
    injected.map(({ fault }) => fault),
  )

const isNear = (span: Span, at: number, end: number): boolean => at - DATING <= span.to && span.from <= end + DATING

function exceeds(
  question: Question,
  span: Span,
  near: readonly Injected[],
  on: Circumstances,
  seen: readonly Moment[],
): string | undefined {
  const bounds = near.map((one) => ({ ...one, limit: limitFor(question, span, one, near, on, seen) }))
  const limits = bounds.length === 0 ? [quietOf(on)[question]] : bounds.map(({ limit }) => limit)
  const length = limits.reduce((sum, limit) => sum + limit.length, 0)
  const after = limits.reduce((sum, limit) => sum + limit.after, 0)
  const windows = bounds.filter(({ limit }) => limit.forced === true)
  const unforced = outside(span, windows)
  const lastEnd = Math.max(Number.NEGATIVE_INFINITY, ...near.map(({ end }) => end))
  const behind = near.length === 0 ? 0 : Math.max(0, span.to - Math.max(span.from, lastEnd))
  if (unforced <= length && behind <= after) return undefined
  const what =
    question === 'two'
      ? `${span.owners.join(' and ')} answer`
      : question === 'none'
        ? 'nobody answers'
        : 'the client is unanswered'
  const why = near.map(
    ({ at, end, fault }) => `${fault.node ?? 'LAN'} ${fault.kind} ${at.toFixed(0)}–${end.toFixed(0)}`,
  )
  return `${what} from ${span.from.toFixed(3)} to ${span.to.toFixed(3)}: ${unforced.toFixed(1)} ms, ${behind.toFixed(1)} behind the end; at most ${length.toFixed(0)} and ${after.toFixed(0)} expected (${why.join(', ') || 'no fault near'})`
}

/** Ground rule 2: a Backup that did not run must not take over from an Active that it could have heard, not for a moment. */
function limitFor(
  question: Question,
  span: Span,
  { at, end, fault }: Injected,
  near: readonly Injected[],
  on: Circumstances,
  seen: readonly Moment[],
): Limit {
  const bound = boundOf(fault, on)[question]
  if (!FROZEN.has(fault.kind) || near.length > 1 || question !== 'two' || span.from > end + AT_ONCE) return bound
  const before = seen.filter((moment) => moment.at <= at - DATING).at(-1)?.owners ?? []
  const wasBackup = before.length === 1 && before[0] !== fault.node
  return wasBackup && span.owners.includes(fault.node ?? '') ? { length: 0, after: 0 } : bound
}

/** How much of the span lies in none of the windows. */
function outside({ from, to }: Span, windows: readonly { readonly at: number; readonly end: number }[]): number {
  let [rest, now] = [0, from]
  for (const { at, end } of [...windows].sort((one, other) => one.at - other.at)) {
    if (end <= now || at >= to) continue
    rest += Math.max(0, at - now)
    now = Math.max(now, end)
  }
  return rest + Math.max(0, to - now)
}

/** Of the slowest router. */
export function intervalOf({ nodes }: Scenario): number {
  const all = nodes.flatMap(({ config }) => {
    const { virtualRouters } = config
    return Array.isArray(virtualRouters) ? virtualRouters.map((router: unknown) => intervalIn(router)) : []
  })
  return Math.max(10, ...all)
}

function intervalIn(router: unknown): number {
  if (typeof router !== 'object' || router === null || !('advertisementInterval' in router)) return 1_000
  const text = String(router.advertisementInterval)
  return text.endsWith('ms') ? Number(text.slice(0, -2)) : Number(text.slice(0, -1)) * 1_000
}
