/**
 * What a simulation saw, for people: a time line of faults and owners, the worst of each address, and what to think about.
 * PURE, and the same text for the same scenario. Refuses to know how it came about.
 */
import { formatDuration } from '../config/duration.ts'
import type { Fault } from './scenario.ts'
import type { Injected, Play, Told } from './simulation.ts'
import { type Question, spansOf, WANTED } from './spans.ts'
import type { Unmoved, WeightStudy } from './weights.ts'
import type { Moment } from './witness.ts'

export type Worst = { readonly ms: number; readonly at: number; readonly after: string | undefined }
export type AddressReport = {
  readonly address: string
  /** First answered; undefined: never. */
  readonly since: number | undefined
  readonly worst: Readonly<Record<Question, Worst>>
  /** Changes from one owner to another. */
  readonly moves: number
  /** Node → ms, the longest first. */
  readonly held: readonly { readonly node: string; readonly ms: number }[]
  readonly moments: readonly Moment[]
}
export type Report = {
  readonly ms: number
  readonly addresses: readonly AddressReport[]
  readonly warnings: readonly string[]
  readonly defects: readonly string[]
}

export function reportOf(
  { ends, injected, moments, defects, ms }: Told,
  differences: readonly string[],
  weights: WeightStudy | undefined,
): Report {
  const addresses = [...moments].map(([address, seen]) => addressReport(address, seen, injected, ms))
  const never = addresses.filter(({ since }) => since === undefined)
  const warnings = [
    ...differences,
    ...never.map(({ address }) => `${address}: nobody has answered for it at any time`),
    ...ends.map((text) => `at the end ${text}`),
    ...(weights?.unmoved ?? []).map(unmovedText),
    ...(weights?.leftOut === true
      ? [`Weights: stopped after ${weights.tried} simulations, the rest was not tried`]
      : []),
  ]
  return { ms, addresses, warnings, defects }
}

function addressReport(
  address: string,
  all: readonly Moment[],
  injected: readonly Injected[],
  ms: number,
): AddressReport {
  const since = all.find(({ owners }) => owners.length > 0)?.at
  const served = all.find((moment) => moment.served !== undefined)?.at
  const worst = (question: Question): Worst => {
    const from = (question === 'client' ? served : since) ?? ms
    const spans = spansOf(all, from, ms, WANTED[question])
    const longest = spans.reduce((most, span) => (span.to - span.from > most.to - most.from ? span : most), {
      ...{ from, to: from, owners: [] },
    })
    const before = injected.filter(({ at }) => at <= longest.from + 1).at(-1)
    return { ms: longest.to - longest.from, at: longest.from, after: before && faultText(before.fault) }
  }
  const held = new Map<string, number>()
  let [owner, moves]: [string | undefined, number] = [undefined, 0]
  all.forEach(({ at, owners }, i) => {
    const [one, second] = owners
    for (const each of owners) held.set(each, (held.get(each) ?? 0) + (all[i + 1]?.at ?? ms) - at)
    if (one === undefined || second !== undefined) return
    if (owner !== undefined && owner !== one) moves++
    owner = one
  })
  return {
    ...{ address, since, moves, moments: all },
    worst: { none: worst('none'), two: worst('two'), client: worst('client') },
    held: [...held].map(([node, sum]) => ({ node, ms: sum })).sort((one, other) => other.ms - one.ms),
  }
}

export function faultText({ amount, checks, kind, ms, node }: Fault): string {
  const how =
    amount === undefined
      ? ''
      : kind === 'loss' || kind === 'duplicates'
        ? ` of ${100 * amount} %`
        : kind === 'demoted'
          ? ` to ${amount}`
          : ` by ${amount} ms`
  const of = checks === undefined ? '' : ` (${checks.join(', ')})`
  return `${kind}${of}${how}${node === undefined ? '' : ` on ${node}`}${ms === 0 ? '' : `, for ${formatDuration(ms)}`}`
}

/** Whoever supervises starts again what has ended. */
const STARTED: ReadonlySet<Fault['kind']> = new Set([
  'crash engine',
  'crash guardian',
  'crash both',
  'power off',
  'stop',
])
const endText = ({ kind, node = '' }: Fault): string => (STARTED.has(kind) ? `${node} is started` : `${kind} ends`)

const unmovedText = ({ address, check, next, node, priority }: Unmoved): string =>
  `${address} stays on ${node} ${check === undefined ? 'even when all its checks fail' : `when "${check}" fails`}: ` +
  `${node} goes on with priority ${priority}, ${next.node} has ${next.priority}`

type Line = { readonly at: number; readonly text: string }

export function reportText(
  report: Report,
  { nodes, seed }: Play,
  injected: readonly Injected[],
  tried: number,
): string {
  const width = Math.max(7, ...report.addresses.map(({ address }) => address.length))
  const lines: Line[] = [
    ...injected.flatMap(({ at, end, fault }) => [
      { at, text: `${'fault'.padEnd(width)}  ${faultText(fault)}` },
      ...(fault.ms === 0 || end > report.ms ? [] : [{ at: end, text: `${'fault'.padEnd(width)}  ${endText(fault)}` }]),
    ]),
    ...report.addresses.flatMap(({ address, moments }) => changes(moments, address.padEnd(width))),
  ].sort((one, other) => one.at - other.at)
  const all = [
    `${nodes.length} nodes${keepalivedText(nodes)}, ${plural(report.addresses.length, 'address', 'addresses')}, ${seconds(report.ms)} s, seed ${seed}`,
    '',
    ...lines.map(({ at, text }) => `${seconds(at).padStart(9)} s  ${text}`),
    '',
    ...report.addresses.flatMap(summary),
    ...(report.warnings.length === 0 && report.defects.length === 0 ? [] : ['']),
    ...report.warnings.map((text) => `warning: ${text}`),
    ...report.defects.map((text) => `an engine threw: ${text}`),
    ...(tried === 0 ? [] : ['', `Weights: each check of each possible holder failed once, ${tried} simulations`]),
  ]
  return `${all.join('\n')}\n`
}

function keepalivedText(nodes: Play['nodes']): string {
  const names = nodes.filter(({ daemon }) => daemon === 'keepalived').map(({ name }) => name)
  return names.length === 0 ? '' : ` (keepalived on ${names.join(', ')})`
}

function changes(moments: readonly Moment[], name: string): readonly Line[] {
  return moments.flatMap(({ at, owners }, i) => {
    const before = moments[i - 1]
    if (before === undefined || before.owners.join() === owners.join()) return []
    return [{ at, text: `${name}  ${owners.length === 0 ? 'nobody' : owners.join(' AND ')}` }]
  })
}

function summary({ address, held, moves, since, worst }: AddressReport): readonly string[] {
  if (since === undefined) return [`${address}: never answered`]
  const line = (what: string, { after, at, ms }: Worst) =>
    `  ${what}: ${ms === 0 ? 'never' : `${milliseconds(ms)} at most, at ${seconds(at)} s${after === undefined ? '' : ` (after ${after})`}`}`
  return [
    `${address}: first answered at ${seconds(since)} s, moved ${plural(moves, 'time', 'times')}; ${held.map(({ ms, node }) => `${node} ${seconds(ms)} s`).join(', ')}`,
    line('nobody answered', worst.none),
    line('two answered', worst.two),
    line('a client had no answer', worst.client),
  ]
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(3)
const milliseconds = (ms: number): string => (ms >= 100 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(1)} ms`)
const plural = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`
