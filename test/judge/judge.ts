/**
 * Compares each observed overlap and outage with the faults that were inflicted. All faults whose effect may still last
 * count, and their bounds add up. This file does not know how either was observed, nor the cost of a fault (bounds.ts).
 * Pure.
 */

import { type History, lengthOf, longestOf, type Span, sumOf, within } from '../../src/lab/watch/history.ts'
import { type Bound, type Limit, type Limits, NEVER } from './bounds.ts'
import { holderAt, type Outage, outagesIn, outside, QUESTIONS, type Question } from './outages.ts'

/** A fault, with when it began and when its undoing was complete, on the clock of the histories. */
export type Happened<F> = { readonly fault: F; readonly at: number; readonly end: number }

/** How exactly a suite observes. Milliseconds. */
export type Tolerances = {
  /** Most that an effect may appear before its cause, because two clocks are not read in the same instant. */
  readonly dating: number
  /** Observations less than this apart are one observation. */
  readonly joins: number
  /** Shortest time that can be a violation. */
  readonly least: number
}

export type Rules<F> = {
  readonly tolerances: Tolerances
  /** The bound of one fault beside all that may have an effect at the same time. */
  readonly boundOf: (one: Happened<F>, together: readonly Happened<F>[]) => Bound
  /** The limits where no fault is near. */
  readonly quiet: Limits
  /** Node whose engine did not run. `undefined` if every engine ran. */
  readonly stopped?: (fault: F) => string | undefined
  readonly questions?: readonly Question[]
}

export type Incident<F> = Outage & {
  readonly address: string
  /** Node that alone answered immediately before. `undefined` if no node or several nodes answered. */
  readonly before: string | undefined
  readonly faults: readonly Happened<F>[]
}
export type Violation<F> = Incident<F> & {
  readonly expected: string
  readonly seen: string
  /** Milliseconds above the bound, and milliseconds of it in which the observer did not run. */
  readonly over: number
  readonly unseen: number
}
export type Assessment<F> = { readonly violations: readonly Violation<F>[]; readonly incidents: readonly Incident<F>[] }

export type Evidence<F> = {
  readonly histories: readonly History[]
  readonly happened: readonly Happened<F>[]
  /** Time window that is judged. */
  readonly window: Span
}

export function judge<F>(rules: Rules<F>, { happened, histories, window }: Evidence<F>): Assessment<F> {
  const { dating, joins } = rules.tolerances
  const aftermaths = new Map(happened.map((one) => [one, rules.boundOf(one, happened).aftermath]))
  const near = ({ from, to }: Span) =>
    happened.filter((one) => one.at - dating <= to && from <= one.end + (aftermaths.get(one) ?? 0) + dating)
  const judged = histories.flatMap((history) => {
    const incidentOf = (outage: Outage): Incident<F> => ({
      ...{ ...outage, address: history.address, faults: near(outage) },
      before: holderAt(history.holders, outage.from - dating),
    })
    return (rules.questions ?? QUESTIONS)
      .flatMap((question) => outagesIn(history, question, window, joins))
      .map((outage) => {
        const incident = incidentOf(outage)
        // More faults may be near the whole than near a part of it.
        const parts = outage.parts.length < 2 ? [] : outage.parts.map((part) => incidentOf({ ...outage, ...part }))
        const [violation] = [incident, ...parts].flatMap((one) => exceeds(rules, one, history) ?? [])
        return { incident, violation }
      })
  })
  return {
    incidents: judged.map(({ incident }) => incident),
    violations: judged.flatMap(({ violation }) => violation ?? []),
  }
}

const WHAT: Readonly<Record<Question, string>> = {
  two: 'two nodes answering',
  none: 'no node answering',
  client: 'the client unanswered',
}

function exceeds<F>(rules: Rules<F>, incident: Incident<F>, history: History): Violation<F> | undefined {
  const { faults, question } = incident
  const bounds = faults.map((one) => ({ ...one, limit: limitOf(rules, one, incident, history) }))
  const limits = bounds.length === 0 ? [rules.quiet[question]] : bounds.map(({ limit }) => limit)
  const length = sum(limits.map((limit) => limit.length))
  const after = sum(limits.map((limit) => limit.after))
  const windows = bounds.flatMap(({ at, end, limit }) => (limit.forced === true ? [{ from: at, to: end }] : []))
  const unforced = outside(incident, windows)
  const behind = incident.to - Math.max(incident.from, ...faults.map(({ end }) => end))
  const { least } = rules.tolerances
  const tooLong = (most: number, ms: number, where: string): Violation<F> | undefined => {
    const bound = Math.max(least, most)
    if (ms <= bound) return undefined
    const whole = ms === lengthOf(incident) && windows.length === 0 ? '' : ` of ${lengthOf(incident).toFixed(1)}`
    return {
      ...incident,
      expected: `${WHAT[question]} for at most ${bound.toFixed(0)} ms${where}`,
      seen: `${ms.toFixed(1)} ms${whole}`,
      over: ms - bound,
      unseen: sumOf(within(history.blind, incident)),
    }
  }
  return (
    tooLong(length, unforced, windows.length > 0 ? ' outside the fault' : '') ??
    (faults.length === 0 ? undefined : tooLong(after, behind, ' after the end'))
  )
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/**
 * Returns the limit of one fault for an incident. An engine that did not run must not take over from an Active that it
 * could have received (docs/adr/0003). Such an engine may not answer a single question, nor mislead a client. Actions
 * of other nodes do not count.
 */
function limitOf<F>(rules: Rules<F>, one: Happened<F>, incident: Incident<F>, { holders }: History): Limit {
  const { before, faults, holders: answering, question } = incident
  const node = rules.stopped?.(one.fault)
  const whole = () => rules.boundOf(one, faults)[question]
  const wasBackup = holderAt(holders, one.at - rules.tolerances.dating) !== node && before !== node
  if (node === undefined || !wasBackup) return whole()
  return question === 'two' && answering.includes(node) ? NEVER : rules.quiet[question]
}

/** Returns the longest of each kind, in milliseconds. */
export function longest(incidents: readonly Outage[]): Readonly<Record<Question, number>> {
  const of = (question: Question) => longestOf(incidents.filter((one) => one.question === question))
  return { two: of('two'), none: of('none'), client: of('client') }
}
