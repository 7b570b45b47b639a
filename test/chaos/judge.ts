/**
 * From what the witness saw and what was done to the nodes to violations. Decides which faults an interval is held
 * against (every one whose effect may still last) and how their bounds add up; PURE. Refuses to know how either list
 * came about.
 */
import { type Sight, spans, type WitnessRecord } from '../../src/lab/watch/witness.ts'
import { type Bound, boundOf, type Limit, QUIET } from './bounds.ts'
import { type Fault, type FaultKind, KINDS } from './plan.ts'

/** When it really began and when its undoing was complete, on the witness's clock. */
export type Injected<Kind extends string = FaultKind> = {
  readonly fault: Fault<Kind>
  readonly at: number
  readonly end: number
  readonly hit: boolean
}
/** With who answered alone for each address when it began; undefined: nobody, or several. */
type Blamed<Kind extends string> = Injected<Kind> & { readonly owner: ReadonlyMap<string, string | undefined> }
export type Question = 'two' | 'none' | 'client'
export type Incident<Kind extends string = FaultKind> = {
  readonly address: string
  readonly question: Question
  readonly from: number
  readonly to: number
  readonly owners: readonly string[]
  /** Who answered alone right before; undefined: nobody, or several. */
  readonly before: string | undefined
  readonly faults: readonly Injected<Kind>[]
}
export type Violation<Kind extends string = FaultKind> = Incident<Kind> & {
  readonly expected: string
  readonly seen: string
}

export type KindAccount<Kind extends string = FaultKind> = {
  readonly kind: Kind
  readonly injected: number
  /** Of those the ones that met nothing, and cannot have done anything. */
  readonly missed: number
  readonly violations: number
  /** Longest in ms, of incidents held against faults of this kind alone. */
  readonly two: number
  readonly none: number
  readonly client: number
}
export type Verdict<Kind extends string = FaultKind> = {
  readonly violations: readonly Violation<Kind>[]
  readonly incidents: readonly Incident<Kind>[]
  readonly kinds: readonly KindAccount<Kind>[]
  readonly longest: Readonly<Record<Question, number>>
}
export type Evidence<Kind extends string = FaultKind> = {
  readonly records: readonly WitnessRecord[]
  readonly injected: readonly Injected<Kind>[]
  readonly interval: number
  /** Judged from here to there. */
  readonly from: number
  readonly to: number
}

/** Which faults there are, and what each may cost. */
export type Rules<Kind extends string> = {
  readonly kinds: readonly Kind[]
  readonly boundOf: (fault: Fault<Kind>, interval: number) => Bound
}

/** One question that two answered is enough: nothing has to be dated for it. */
const NEVER: Limit = { length: 0, after: 0 }

/** Two clocks are not read in the same instant: an effect may be seen so much before its cause is dated. */
const DATING = 2

const limitOf = (bound: Bound, question: Question): Limit =>
  question === 'client' ? (bound.client ?? bound.none) : bound[question]

/**
 * A Backup that did not run must not take over from an Active that it could have heard (ground rule 2): not for a
 * moment, and the client must not be told so. What others do meanwhile is not its doing.
 */
function limitFor<Kind extends string>(
  { boundOf: of }: Rules<Kind>,
  { fault, owner }: Blamed<Kind>,
  { question, owners, address, before }: Incident<Kind>,
  interval: number,
): Limit {
  const wasBackup = owner.get(address) !== fault.node && before !== fault.node
  const stalled = fault.kind === 'freeze engine' || fault.kind === 'freeze both'
  if (!wasBackup || !stalled) return limitOf(of(fault, interval), question)
  const own = question === 'two' && owners.includes(fault.node)
  return own ? NEVER : limitOf(QUIET, question)
}

const lengthOf = ({ from, to }: { readonly from: number; readonly to: number }): number => to - from

/** How much of the interval lies in none of the windows. */
function outside({ from, to }: Sight, windows: readonly { readonly at: number; readonly end: number }[]): number {
  let rest = 0
  let now = from
  for (const { at, end } of [...windows].sort((one, other) => one.at - other.at)) {
    if (end <= now || at >= to) continue
    rest += Math.max(0, at - now)
    now = Math.max(now, end)
  }
  return rest + Math.max(0, to - now)
}

function judge<Kind extends string>(
  rules: Rules<Kind>,
  incident: Incident<Kind>,
  blamed: readonly Blamed<Kind>[],
  interval: number,
): Violation<Kind> | undefined {
  const { question, from, to, faults } = incident
  const bounds = blamed
    .filter(({ fault }) => faults.some((one) => one.fault === fault))
    .map((one) => ({ ...one, limit: limitFor(rules, one, incident, interval) }))
  const limits = bounds.length === 0 ? [limitOf(QUIET, question)] : bounds.map(({ limit }) => limit)
  const length = limits.reduce((sum, limit) => sum + limit.length, 0)
  const after = limits.reduce((sum, limit) => sum + limit.after, 0)
  const forced = bounds.filter(({ limit }) => limit.forced === true)
  const unforced = outside({ from, to, owners: [] }, forced)
  const lastEnd = Math.max(...faults.map(({ end }) => end))
  const behind = faults.length === 0 ? lengthOf(incident) : Math.max(0, to - Math.max(from, lastEnd))
  const what = question === 'two' ? 'two answering' : question === 'none' ? 'nobody answering' : 'the client unanswered'
  if (unforced > length)
    return {
      ...incident,
      expected: `${what} for at most ${length.toFixed(0)} ms${forced.length > 0 ? ' outside the fault' : ''}`,
      seen: `${unforced.toFixed(1)} ms${forced.length > 0 ? ` of ${lengthOf(incident).toFixed(1)}` : ''}`,
    }
  if (behind > after)
    return {
      ...incident,
      expected: `${what} for at most ${after.toFixed(0)} ms after the end`,
      seen: `${behind.toFixed(1)} ms of ${lengthOf(incident).toFixed(1)}`,
    }
  return undefined
}

export const weigh = (evidence: Evidence): Verdict => weighBy({ kinds: KINDS, boundOf }, evidence)

export function weighBy<Kind extends string>(
  rules: Rules<Kind>,
  { records, injected, interval, from, to }: Evidence<Kind>,
): Verdict<Kind> {
  const involved = (sight: Sight) =>
    injected.filter(
      ({ fault, at, end }) =>
        at - DATING <= sight.to && sight.from <= end + rules.boundOf(fault, interval).aftermath + DATING,
    )
  const within = (sights: readonly Sight[]) =>
    sights
      .filter((sight) => sight.to > from && sight.from < to)
      .map((sight) => ({ ...sight, from: Math.max(sight.from, from), to: Math.min(sight.to, to) }))
  const ownerAt = (sights: readonly Sight[], at: number): string | undefined => {
    const owners = sights.find((sight) => sight.to > at)?.owners ?? []
    return owners.length === 1 ? owners[0] : undefined
  }
  const blamed = injected.map((one): Blamed<Kind> => {
    return { ...one, owner: new Map(records.map(({ address, owners }) => [address, ownerAt(owners, one.at - DATING)])) }
  })
  const incidents = records.flatMap(({ address, owners, unanswered, stranded }) => {
    const seen: [Question, readonly Sight[]][] = [
      ['two', spans(within(owners), (count) => count > 1)],
      ['none', [...spans(within(owners), (count) => count === 0), ...spans(within(unanswered), () => true)]],
      ['client', spans(within(stranded), () => true)],
    ]
    return seen.flatMap(([question, sights]) =>
      sights.map((sight): Incident<Kind> => {
        return { address, question, ...sight, before: ownerAt(owners, sight.from - DATING), faults: involved(sight) }
      }),
    )
  })
  const violations = incidents.flatMap((incident) => judge(rules, incident, blamed, interval) ?? [])
  const longestOf = (question: Question, of: readonly Incident<Kind>[]) =>
    Math.max(0, ...of.filter((one) => one.question === question).map(lengthOf))
  const kinds = rules.kinds.map((kind): KindAccount<Kind> => {
    const alone = incidents.filter(({ faults }) => faults.length > 0 && faults.every((one) => one.fault.kind === kind))
    return {
      kind,
      injected: injected.filter(({ fault }) => fault.kind === kind).length,
      missed: injected.filter(({ fault, hit }) => fault.kind === kind && !hit).length,
      violations: violations.filter(({ faults }) => faults.some((one) => one.fault.kind === kind)).length,
      two: longestOf('two', alone),
      none: longestOf('none', alone),
      client: longestOf('client', alone),
    }
  })
  const longest = {
    two: longestOf('two', incidents),
    none: longestOf('none', incidents),
    client: longestOf('client', incidents),
  }
  return { violations, incidents, kinds, longest }
}

/** Whether something that was said may have to do with one of them. */
export const isNear = (at: number, of: readonly { readonly from: number; readonly to: number }[]): boolean =>
  of.some(({ from, to }) => at > from - 700 && at < to + 300)

export function describe<Kind extends string>(
  { address, question, from, owners, faults, expected, seen }: Violation<Kind>,
  zero: number,
): string {
  const because = faults.map(({ fault, at, end }) => {
    const { id, kind, variant, node } = fault
    return `#${id} ${node} ${kind}${variant === '' ? '' : ` (${variant})`} ${(at - zero).toFixed(0)}–${(end - zero).toFixed(0)}`
  })
  const who = question === 'two' ? ` by ${owners.join(' and ')}` : ''
  return `${address} at ${(from - zero).toFixed(0)} ms: expected ${expected}${who}, saw ${seen}; ${because.join(', ') || 'no fault near'}`
}
