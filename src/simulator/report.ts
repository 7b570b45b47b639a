/**
 * Writes the report of a simulation for people: a time line of faults and holders, the longest outage of each address,
 * and advice. Pure: the same scenario gives the same text. The simulation itself is not known here.
 */
import { formatDuration } from '../config/schema/duration.ts'
import type { Fault } from './scenario.ts'
import { type ServiceOf, withoutService } from './services.ts'
import type { Injected, Play, Told } from './simulation.ts'
import { type Question, spansOf, WANTED } from './spans.ts'
import type { Unmoved, WeightStudy } from './weights.ts'
import type { Moment } from './witness.ts'

export type Worst = { readonly ms: number; readonly at: number; readonly after: string | undefined }
export type AddressReport = {
  readonly address: string
  /** Time in ms of the first answer for an address; `undefined`: no node ever answered. */
  readonly since: number | undefined
  /**
   * Longest outages of each kind. `service`: longest time in which a client did not reach the service, because of its
   * address or of the service itself.
   */
  readonly worst: Readonly<Record<Question | 'service', Worst>>
  /** Number of times that the address moved from one holder to another. */
  readonly moves: number
  /** Milliseconds for which each node was the holder of the address, the longest first. */
  readonly held: readonly { readonly node: string; readonly ms: number }[]
  readonly moments: readonly Moment[]
}
export type Report = {
  readonly ms: number
  readonly addresses: readonly AddressReport[]
  readonly warnings: readonly string[]
  readonly defects: readonly string[]
  /** Texts of the scenario's expectations that were not met. */
  readonly failures: readonly string[]
}

export type Expected = {
  /** Longest time in ms for which the service may be unreachable; `undefined`: no limit. */
  readonly outage?: number | undefined
  /** True if each failed check must move the address of its router to another node. */
  readonly moves?: boolean
}

export function reportOf(
  { ends, injected, moments, defects, ms }: Told,
  differences: readonly string[],
  weights: WeightStudy | undefined,
  { serviceOf, expected = {} }: { readonly serviceOf: ServiceOf; readonly expected?: Expected },
): Report {
  const addresses = [...moments].map(([address, seen]) => addressReport(address, seen, { injected, ms, serviceOf }))
  const never = addresses.filter(({ since }) => since === undefined)
  const warnings = [
    ...differences,
    ...never.map(({ address }) => `${address}: no node held it at any time`),
    ...ends.map((text) => `at the end ${text}`),
    ...(weights?.unmoved ?? []).map(unmovedText),
    ...(weights?.leftOut === true
      ? [`Weights: stopped after ${weights.tried} simulations, the other checks were not tried`]
      : []),
  ]
  return {
    ms,
    addresses,
    warnings,
    defects,
    failures: failuresOf(addresses, ends.length + defects.length, weights, expected),
  }
}

function failuresOf(
  addresses: readonly AddressReport[],
  wrong: number,
  weights: WeightStudy | undefined,
  { moves = false, outage }: Expected,
): readonly string[] {
  const unmoved = weights?.unmoved.length ?? 0
  return [
    ...(wrong > 0 ? ['not all conditions at the end are met'] : []),
    ...addresses.flatMap(({ address, since, worst: { service } }) =>
      outage === undefined || (since !== undefined && service.ms <= outage)
        ? []
        : [
            since === undefined
              ? `${address} was never reachable`
              : `service at ${address} not reachable for ${milliseconds(service.ms)} at ${seconds(service.at)} s, at most ${formatDuration(outage)} expected`,
          ],
    ),
    ...(moves && unmoved > 0 ? [`${plural(unmoved, 'failed check', 'failed checks')} would not move an address`] : []),
    ...(moves && weights?.leftOut === true ? ['not all weights were tried'] : []),
  ]
}

type Seen = { readonly injected: readonly Injected[]; readonly ms: number; readonly serviceOf: ServiceOf }

function addressReport(address: string, all: readonly Moment[], { injected, ms, serviceOf }: Seen): AddressReport {
  const since = all.find(({ holders }) => holders.length > 0)?.at
  const served = all.find((moment) => moment.served !== undefined)?.at
  const worst = (question: Question, moments = all): Worst => {
    const from = (question === 'client' ? served : since) ?? ms
    const spans = spansOf(moments, from, ms, WANTED[question])
    const longest = spans.reduce((most, span) => (span.to - span.from > most.to - most.from ? span : most), {
      ...{ from, to: from, holders: [] },
    })
    const before = injected.filter(({ at }) => at <= longest.from + 1).at(-1)
    return { ms: longest.to - longest.from, at: longest.from, after: before && faultText(before.fault) }
  }
  const held = new Map<string, number>()
  let [holder, moves]: [string | undefined, number] = [undefined, 0]
  all.forEach(({ at, holders }, i) => {
    const [one, second] = holders
    for (const each of holders) held.set(each, (held.get(each) ?? 0) + (all[i + 1]?.at ?? ms) - at)
    if (one === undefined || second !== undefined) return
    if (holder !== undefined && holder !== one) moves++
    holder = one
  })
  return {
    ...{ address, since, moves, moments: all },
    worst: {
      ...{ none: worst('none'), two: worst('two'), client: worst('client') },
      service: worst(
        'client',
        withoutService(all, injected, (fault) => serviceOf(fault, address)),
      ),
    },
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

/** Kinds of faults after which a service manager starts the ended process again. */
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
    '',
    ...(tried === 0 ? [] : [`Weights: each check of each possible holder failed once, ${tried} simulations`]),
    resultLine(report),
  ]
  return `${all.join('\n')}\n`
}

function resultLine({ failures, warnings }: Report): string {
  if (failures.length > 0) return `result: FAILED: ${failures.join('; ')}`
  return `result: ok${warnings.length === 0 ? '' : `, ${plural(warnings.length, 'warning', 'warnings')}`}`
}

function keepalivedText(nodes: Play['nodes']): string {
  const names = nodes.filter(({ daemon }) => daemon === 'keepalived').map(({ name }) => name)
  return names.length === 0 ? '' : ` (keepalived on ${names.join(', ')})`
}

function changes(moments: readonly Moment[], name: string): readonly Line[] {
  return moments.flatMap(({ at, holders }, i) => {
    const before = moments[i - 1]
    if (before === undefined || before.holders.join() === holders.join()) return []
    return [{ at, text: `${name}  ${holders.length === 0 ? 'no holder' : holders.join(' AND ')}` }]
  })
}

function summary({ address, held, moves, since, worst }: AddressReport): readonly string[] {
  if (since === undefined) return [`${address}: no node ever held it`]
  const line = (what: string, { after, at, ms }: Worst) =>
    `  ${what}: ${ms === 0 ? 'never' : `${milliseconds(ms)} at most, at ${seconds(at)} s${after === undefined ? '' : ` (after ${after})`}`}`
  return [
    `${address}: first held at ${seconds(since)} s, moved ${plural(moves, 'time', 'times')}; ${held.map(({ ms, node }) => `${node} ${seconds(ms)} s`).join(', ')}`,
    line('no node held the address', worst.none),
    line('two nodes held it', worst.two),
    line('service not reachable through the VIP', worst.service),
  ]
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(3)
const milliseconds = (ms: number): string => (ms >= 100 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(1)} ms`)
const plural = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`
