/**
 * Writes the result of the judge as sentences and tables. This file does not know how it was observed and judged. Pure.
 */
import type { Bound, Limit } from './bounds.ts'
import { type Assessment, type Happened, type Incident, longest, type Violation } from './judge.ts'
import type { Question } from './outages.ts'

export const inMs = (value: number): string => (value === 0 ? '–' : value.toFixed(0))

export type Named = {
  readonly id: number
  readonly kind: string
  readonly variant: string
  readonly node: string
  readonly ms: number
}
export const nameOf = ({ kind, variant }: Pick<Named, 'kind' | 'variant'>): string =>
  `${kind}${variant === '' ? '' : ` (${variant})`}`

/** Returns a sentence with the expectation, the event, its time and the faults near it. `zero`: the time that is shown as 0. */
export function describe<F>(violation: Violation<F>, zero: number, words: (fault: F) => string): string {
  const { address, expected, faults, from, holders, question, seen } = violation
  const at = (ms: number) => (ms - zero).toFixed(0)
  const near = faults.map((one) => `${words(one.fault)} ${at(one.at)}–${at(one.end)}`)
  const who = question === 'two' ? ` by ${holders.join(' and ')}` : ''
  return `${address} at ${at(from)} ms: expected ${expected}${who}, saw ${seen}; ${near.join(', ') || 'no fault near'}`
}
export const inWords = (fault: Named): string => `#${fault.id} ${fault.node} ${nameOf(fault)}`

/** Returns whether a time is so near to one of the violations that a log line of that time may explain it. */
export const isNear = (at: number, of: readonly { readonly from: number; readonly to: number }[]): boolean =>
  of.some(({ from, to }) => at > from - 700 && at < to + 300)

export type Note = { readonly at: number; readonly node: string; readonly text: string }

/** Returns the lines that the nodes logged around the first violation. */
export function storyOf<F>({ violations }: Assessment<F>, notes: readonly Note[], zero: number): string {
  return notes
    .filter(({ at }) => isNear(at, violations.slice(0, 1)))
    .map(({ at, node, text }) => `${(at - zero).toFixed(1)} ${node} ${text.slice(0, 300)}`)
    .join('\n')
}

/** Returns a Markdown table. A column with a figure in it is aligned to the right. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  const isFigures = (i: number) => rows.some((cells) => /^[\d–]/.test(String(cells[i])))
  return [line(head), `|${head.map((_, i) => (isFigures(i) ? '---:|' : '---|')).join('')}`, ...rows.map(line)].join(
    '\n',
  )
}

export type KindAccount = {
  readonly injected: number
  /** Number of those faults that found no process or address to act on, and had no effect. */
  readonly missed: number
  readonly violations: number
  /** Longest incident near faults of this kind alone, ms. */
  readonly longest: Readonly<Record<Question, number>>
}

type Done<F> = Happened<F> & { readonly hit: boolean }

/** Returns the totals for one kind of fault. For `undefined`, returns the totals of incidents without a fault near them. */
export function accountOf<F extends Named>(
  assessment: Assessment<F>,
  done: readonly Done<F>[],
  kind?: string,
): KindAccount {
  const isOfKind = ({ fault }: Happened<F>) => fault.kind === kind
  const free = ({ faults }: Incident<F>) => faults.length === 0
  const isOwn = (one: Incident<F>) => free(one) === (kind === undefined) && one.faults.every(isOfKind)
  const isPart = (one: Incident<F>) => (kind === undefined ? free(one) : one.faults.some(isOfKind))
  return {
    injected: done.filter(isOfKind).length,
    missed: done.filter((one) => isOfKind(one) && !one.hit).length,
    violations: assessment.violations.filter(isPart).length,
    longest: longest(assessment.incidents.filter(isOwn)),
  }
}

const allowed = ({ after, forced, length }: Limit, brief: boolean): string => {
  if (forced === true) return `as long as it lasts + ${after.toFixed(0)}`
  return `${length.toFixed(0)}${brief || after === length ? '' : `, ${after.toFixed(0)} of it after the end`}`
}

/** Returns a row for each kind that happened, and their sum. */
export function kindTable<F extends Named>(
  assessment: Assessment<F>,
  done: readonly Done<F>[],
  kinds: readonly string[],
  boundOf: (one: Happened<F>) => Bound,
): string {
  const bound = (kind: string, question: Question): string => {
    const limits = done.filter(({ fault }) => fault.kind === kind).map((one) => boundOf(one)[question])
    const widest = limits.find(({ forced }) => forced) ?? limits.sort((one, other) => other.length - one.length)[0]
    return widest === undefined ? '' : allowed(widest, true)
  }
  const row = (name: string, { injected, longest: most, missed, violations }: KindAccount) => [
    ...[name, `${injected}${missed > 0 ? ` (${missed} met nothing)` : ''}`, violations],
    ...[inMs(most.two), bound(name, 'two'), inMs(most.none), inMs(most.client), bound(name, 'none')],
  ]
  const all = { injected: done.length, missed: 0, violations: assessment.violations.length }
  const head = ['fault', 'injected', 'violations', 'longest two, ms', 'bound']
  return table(
    [...head, 'longest without an answer, ms', 'client unanswered, ms', 'bound'],
    [
      ...kinds.map((kind) => row(kind, accountOf(assessment, done, kind))).filter(([, injected]) => injected !== '0'),
      row('no fault near', accountOf(assessment, done)),
      row('**all**', { ...all, longest: longest(assessment.incidents) }),
    ],
  )
}

/** Returns the table of docs/chaos.md: the bound of each fault and the promise behind it. */
export function boundsTable(rows: readonly { readonly name: string; readonly bound: Bound }[]): string {
  return table(
    ['fault', 'two, ms', 'no node, ms', 'a client with an entry, if different', 'promise'],
    rows.map(({ name, bound: { client, none, source, two } }) => {
      const [without, entry] = [allowed(none, false), allowed(client, false)]
      return [name, allowed(two, false), without, entry === without ? '' : entry, source]
    }),
  )
}

/** Returns "median / p95 / max". */
export function quantiles(values: readonly number[]): string {
  const sorted = [...values].sort((one, other) => one - other)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0
  return [0.5, 0.95, 1].map((share) => at(share).toFixed(0)).join(' / ')
}
