/**
 * Makes one cell of the crash matrix for the judge (test/judge). The input is the record of witness, capture and
 * kernels for one row and one address. The cell has figures and violations. This file does not know how the record was
 * made. Pure.
 */

import { activeDownIntervalMs, skewTimeMs } from '../../src/lab/daemons/daemon.ts'
import type { LoggedLine } from '../../src/lab/logged-process.ts'
import { type History, lengthOf, NOISE, type Sight, within } from '../../src/lab/watch/history.ts'
import { limit, NEVER } from '../judge/bounds.ts'
import { judge as judgeBy, longest, type Rules } from '../judge/judge.ts'
import { type NodeFault, type Outcome, outcomeOf } from '../judge/lone.ts'
import { describe } from '../judge/report.ts'
import { type Findings, findingsOf, type Loss } from '../judge/time.ts'
import type { Inflicted } from './crash-faults.ts'
import type { AddressNews, Spoken } from './crash-lan.ts'
import type { Column } from './crash-node.ts'

export const PRIORITIES = [200, 150, 100] as const
const [OWN, NEXT] = PRIORITIES
/** Longest time in ms of a handover between two nodes, on a busy machine. */
const HANDOVER = 25

export type Observed = Inflicted & {
  readonly fault: NodeFault
  readonly column: Column
  /** Whether r1 is the only node. */
  readonly alone: boolean
  /** Whether the guardian's clock advertises for r1. */
  readonly leased: boolean
  /** CPU time that the machine lost during the row. */
  readonly loss: Loss
  readonly record: History
  readonly spoken: readonly Spoken[]
  readonly news: readonly AddressNews[]
  /** End of the observation in ms; the LAN is at rest by then. */
  readonly until: number
  /** Nodes whose kernel has the address after the row. */
  readonly kernels: readonly string[]
  /** Log lines of r1. */
  readonly lines: readonly LoggedLine[]
}

/** Figures of one row and one address, with the lists `late`, `unseen` and `wrong` for the judge of time. */
export type Cell = Required<Pick<Findings, 'late' | 'unseen' | 'wrong' | 'loss'>> & {
  readonly row: string
  readonly column: string
  /** Overlap in ms because of the fault. The overlap at the return of r1 is counted separately. */
  readonly overlap: number
  readonly absence: number
  readonly returning: { readonly overlap: number; readonly absence: number }
  /** Time in ms from the fault until r1 stopped answering; `undefined` if r1 never stopped. */
  readonly gone: number | undefined
  readonly bounds: Outcome
  /** Answering nodes and log lines of r1, with times in ms since the fault. */
  readonly story: string
}

/** Longest time in ms from a decision to its packet. A deadline counts from the turn that decided the last advertisement. */
const SENDING = 10
/** Longest time in ms in which an advertisement may be under way while the guardian acts. */
const CROSSING = 3

const ms = (value: number): string => `${value.toFixed(1)} ms`
export const holderOf = ({ holder }: Outcome): string => ({ itself: 'r1', successor: 'r2', nobody: '' })[holder]

export function boundsOf(
  fault: NodeFault,
  { at, end }: Inflicted,
  { interval }: Column,
  { alone, leased }: Pick<Observed, 'alone' | 'leased'>,
): Outcome {
  const next = { skew: skewTimeMs(NEXT, interval), down: activeDownIntervalMs(NEXT, interval) }
  const own = { down: activeDownIntervalMs(OWN, interval) }
  return outcomeOf({ ...fault, ms: end - at }, { interval, own, next, alone, leased, handover: HANDOVER })
}

const rulesOf = ({ absence, overlap, holder }: Outcome): Rules<NodeFault> => ({
  tolerances: { dating: 0, joins: NOISE, least: NOISE },
  boundOf: () => ({
    ...{ two: limit(overlap), none: limit(absence), client: NEVER, source: '' },
    // A node that comes back hands the address over later.
    aftermath: holder === 'itself' ? HANDOVER : Number.POSITIVE_INFINITY,
  }),
  quiet: { two: limit(HANDOVER), none: limit(HANDOVER), client: NEVER },
  questions: ['two', 'none'],
})

export function judge(observed: Observed): Cell {
  const { at, column, end, fault, loss, record, until } = observed
  const bounds = boundsOf(fault, observed, column, observed)
  const evidence = { histories: [record], happened: [{ fault, at, end }], window: { from: at, to: until } }
  const assessment = judgeBy(rulesOf(bounds), evidence)
  const told = assessment.violations.map((one) => describe(one, at, ({ name }) => name))
  const { late, unseen } = findingsOf(assessment, told)
  const holders = within(record.holders, { from: at, to: until })
  const gone = goneAfter(holders, bounds, at)
  const deeds = wrongDeeds(observed, bounds)
  const wrong = deeds.filter((one) => !one.late).map(({ text }) => text)
  const slow = [
    ...late,
    ...endings(observed, bounds, holders, gone),
    ...deeds.filter((one) => one.late).map(({ text }) => text),
  ]
  const figures = (returning: boolean) => {
    const { none, two } = longest(assessment.incidents.filter(({ faults }) => (faults.length === 0) === returning))
    return { overlap: two, absence: none }
  }
  const story = [`who answered: ${storyOf(holders, at)}`, ...lateness(observed), ...said(observed)]
  return {
    ...{ row: fault.name, column: column.name, ...figures(false), returning: figures(true), gone, bounds, loss },
    ...{ late: slow, unseen, wrong },
    story: slow.length + unseen.length + wrong.length === 0 ? '' : story.join('\n'),
  }
}

/** Lists the differences between the end of the row and the required end state. */
function endings(
  { end, kernels }: Observed,
  bounds: Outcome,
  holders: readonly Sight[],
  gone: number | undefined,
): string[] {
  const holder = holderOf(bounds)
  const last = holders.at(-1)
  const settled = bounds.settled + HANDOVER
  const tooLong = bounds.gone !== undefined && (gone === undefined || gone > bounds.gone + NOISE)
  const found: (string | false)[] = [
    tooLong &&
      `expected r1 without the address ${ms(bounds.gone)} after the fault, saw ${gone === undefined ? 'it stay' : ms(gone)}`,
    last?.holders.join() !== holder &&
      `expected ${holder || 'no node'} in the end, saw ${last?.holders.join() || 'none'}`,
    last?.holders.join() === holder &&
      last.from > end + settled &&
      `expected ${holder || 'no node'} ${ms(settled)} after the fault's end, saw it after ${ms(last.from - end)}`,
    kernels.join() !== holder &&
      `expected the address in the kernel of ${holder || 'no node'}, saw ${kernels.join() || 'none'}`,
  ]
  return found.filter((text) => text !== false)
}

/** Returns the log lines of r1. */
function said({ at, lines, until }: Observed): string[] {
  return lines.flatMap(({ at: moment, text }) => {
    if (moment < at || moment > until) return []
    const [, words = text] = /"msg":"((?:[^"\\]|\\.)*)"/.exec(text) ?? []
    return [`r1 after ${(moment - at).toFixed(0)} ms: ${words}`]
  })
}

function storyOf(holders: readonly Sight[], at: number): string {
  const lasting = holders.filter((sight) => lengthOf(sight) >= 1)
  return lasting.map((one) => `${one.holders.join('+') || 'none'} from ${(one.from - at).toFixed(0)}`).join(', ')
}

function goneAfter(holders: readonly Sight[], bounds: Outcome, at: number): number | undefined {
  const has = ({ holders: names }: Sight) => names.includes('r1')
  if (bounds.holder !== 'itself') {
    const last = holders.findLast(has)
    return last === holders.at(-1) ? undefined : (last?.to ?? at) - at
  }
  const first = holders.find((sight) => !has(sight) && lengthOf(sight) >= NOISE)
  return first === undefined ? undefined : first.from - at
}
/** A forbidden action. `late`: the node had sent no advertisement for three intervals, so its guardian was right to act. */
type Deed = { readonly text: string; readonly late: boolean }

/**
 * Lists the forbidden actions of guardians and kernels. Forbidden actions are cleanup for an engine that was on time,
 * priority 0 for a node that was away, and removal of an address from a healthy node.
 */
function wrongDeeds({ at, column, end, fault, news, record, spoken, until }: Observed, bounds: Outcome): Deed[] {
  const { vip } = column
  const deadline = 3 * column.interval
  const grace = skewTimeMs(PRIORITIES[0], column.interval)
  const words = spoken.filter((one) => one.vrid === column.vrid && one.v6 === vip.includes(':') && one.at < until)
  const saidBefore = (node: string, moment: number): number =>
    words.findLast((one) => one.node === node && one.priority > 0 && one.at < moment)?.at ?? Number.NaN
  const ageOf = (node: string, moment: number): number => moment - saidBefore(node, moment)
  const wasLate = (node: string, moment: number): boolean => {
    if (ageOf(node, moment) >= deadline - SENDING) return true
    // A packet that the resumed node sent at its deadline may have crossed the action of the guardian.
    return ageOf(node, moment) <= CROSSING && ageOf(node, saidBefore(node, moment)) >= deadline - SENDING
  }
  const since = (moment: number) => `${(moment - at).toFixed(1)} ms after the fault`
  const deeds: Deed[] = []

  for (const word of words) {
    if (word.at < at || word.priority !== 0) continue
    const age = ageOf(word.node, word.at)
    const late = wasLate(word.node, word.at)
    const said = `saw ${word.node} send priority 0 ${since(word.at)}, ${ms(age)} after its last advertisement`
    const add = (expected: string, excuse = false) =>
      deeds.push({ text: `expected ${expected}, ${said}`, late: excuse })
    if (word.node !== 'r1') add('no priority 0 of a node that nothing was done to', late)
    else if (bounds.stays) add('no priority 0', late)
    else if (fault.engine === 'dies' && fault.guardian === 'dies')
      add('no priority 0 where no process is left to send it')
    else if (fault.engine === 'stops' && !late) add(`nothing executed within ${deadline} ms after an advertisement`)
    else if (fault.engine === 'stops' && word.at > end && age > deadline + grace + SENDING)
      add('no priority 0 of a node that was away')
  }
  if (bounds.stays && news.some((one) => one.gone && one.at > at && one.at < until && one.text.includes(` ${vip}/`)))
    deeds.push({
      text: 'expected the address to stay, saw a kernel that took it off',
      late: deeds.some((one) => one.late),
    })
  // The times come from the witness: ip(8) reports a removal when ip(8) reads the removal, which may be much later.
  for (const { node, moment } of lossesOf(record, at, until)) {
    const age = ageOf(node, moment)
    const late = wasLate(node, moment)
    const said = `saw ${node} without it ${since(moment)}, ${ms(age)} after its last advertisement`
    if (node === 'r1' && fault.engine === 'stops' && !late)
      deeds.push({ text: `expected nothing executed within ${deadline} ms after an advertisement, ${said}`, late })
    // The alphabetical order of the names is the order of the priorities.
    const better = words.some((one) => one.node < node && one.priority > 0 && one.at < moment && moment - one.at < 50)
    if (node !== 'r1' && !better) deeds.push({ text: `expected a healthy node to keep the address, ${said}`, late })
  }
  return deeds
}

/** Returns each time at which a node stopped answering, with the node. */
function lossesOf({ holders }: History, at: number, until: number) {
  const lasting = holders.filter((sight) => lengthOf(sight) >= NOISE && sight.to > at && sight.from < until)
  return lasting.flatMap((sight, i) =>
    sight.holders
      .filter((node) => lasting[i + 1]?.holders.includes(node) === false)
      .map((node) => ({ node, moment: sight.to })),
  )
}

/** Lists each time at which an Active without a fault sent no advertisement for three intervals. */
function lateness({ at, column, end, spoken, until }: Observed): string[] {
  const words = spoken.filter(
    (one) =>
      one.vrid === column.vrid &&
      one.v6 === column.vip.includes(':') &&
      one.at > at - 3 * column.interval &&
      one.at < until,
  )
  return words.flatMap((word, i) => {
    const next = words[i + 1]
    if (next === undefined || next.node !== word.node || word.priority === 0 || next.at - word.at < 3 * column.interval)
      return []
    if (word.node === 'r1' && word.at <= end && next.at >= at) return []
    return [`${word.node} was silent by itself for ${ms(next.at - word.at)} from ${(word.at - at).toFixed(0)} ms on`]
  })
}
