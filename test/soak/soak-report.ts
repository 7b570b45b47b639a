/** A soak as Markdown and as JSON. Decides what a reader is shown; refuses to know how it was measured. PURE. */
import { describe, isNear } from '../chaos/judge.ts'
import { type Counts, LEAST_SECONDS } from './flatness.ts'
import { socketsOf } from './samples.ts'
import { soakBoundOf } from './soak-bounds.ts'
import { isFailover, judgeMemory, outagesOf } from './soak-judge.ts'
import { SOAK_KINDS, type SoakKind } from './soak-plan.ts'
import type { SoakResult } from './soak-run.ts'

const ms = (value: number): string => (value === 0 ? '–' : value.toFixed(0))
const mib = (kib: number): string => (kib / 1_024).toFixed(1)

/** All that is wrong, in words; none: the soak is passed. */
export function complaintsOf(result: SoakResult): string[] {
  const violations = result.verdict.violations.map(
    (one, i) => `${describe(one, result.zero)}${result.circumstances[i] ?? ''}`,
  )
  return [...violations, ...judgeMemory(result).wrong, ...result.wrong]
}

function boundOf(result: SoakResult, kind: SoakKind, of: 'two' | 'none'): string {
  const one = result.injected.find(({ fault }) => fault.kind === kind)
  return one === undefined ? '' : soakBoundOf(one.fault, result.interval)[of].length.toFixed(0)
}

function steps({ injected, verdict, zero, ...rest }: SoakResult): string[] {
  const outages = outagesOf(injected, verdict, zero)
  const head = [
    '| step | count | longest two, ms | bound | longest nobody, ms | longest client unanswered, ms | bound | violations |',
    '|---|---:|---:|---:|---:|---:|---:|---:|',
  ]
  const rows = SOAK_KINDS.flatMap((kind) => {
    const own = outages.filter(({ fault }) => fault.kind === kind)
    if (own.length === 0) return []
    const longest = (of: 'two' | 'none' | 'client') => ms(Math.max(...own.map((one) => one[of])))
    const count = verdict.kinds.find((one) => one.kind === kind)?.violations ?? 0
    const result = { injected, verdict, zero, ...rest }
    return [
      `| ${kind} | ${own.length} | ${longest('two')} | ${boundOf(result, kind, 'two')} | ${longest('none')} | ${longest('client')} | ${boundOf(result, kind, 'none')} | ${count} |`,
    ]
  })
  const free = verdict.incidents.filter(({ faults }) => faults.length === 0)
  const longestFree = (question: string) =>
    ms(Math.max(0, ...free.filter((one) => one.question === question).map(({ from, to }) => to - from)))
  const others = verdict.violations.filter(({ faults }) => faults.length === 0).length
  return [
    ...head,
    ...rows,
    `| no step near: a node that was started again takes over | | ${longestFree('two')} | 25 | ${longestFree('none')} | ${longestFree('client')} | 25 | ${others} |`,
    `| **all** | ${outages.length}, failovers ${outages.filter(({ fault }) => isFailover(fault)).length} | ${ms(verdict.longest.two)} | | ${ms(verdict.longest.none)} | ${ms(verdict.longest.client)} | | ${verdict.violations.length} |`,
  ]
}

function memory(result: SoakResult): string[] {
  const { judged, growths, heaps } = judgeMemory(result)
  const window = (result.seconds / 360).toFixed(0)
  return [
    `| process | RSS MiB, minutes ${window} to ${2 * Number(window)} | last ${window} minutes | allowed more | MiB an hour | flat |`,
    '|---|---:|---:|---:|---:|---|',
    ...growths.map(
      ({ name, first, last, allowed, perHour, flat }) =>
        `| ${name} | ${mib(first)} | ${mib(last)} | ${mib(allowed)} | ${mib(perHour)} | ${judged ? (flat ? 'yes' : '**no**') : 'not judged'} |`,
    ),
    '',
    '| heap without garbage, MiB | looks (minute: MiB) | allowed more | flat |',
    '|---|---|---:|---|',
    ...heaps.map(
      ({ name, looks, allowed, flat }) =>
        `| ${name} | ${looks.map(([at, kib]) => `${at}: ${mib(kib)}`).join(', ')} | ${mib(allowed)} | ${judged ? (flat ? 'yes' : '**no**') : 'not judged'} |`,
    ),
    ...(judged ? [] : ['', `Memory is judged from ${LEAST_SECONDS} s on.`]),
  ]
}

const ORDER = ['guardian', 'engine', 'launcher', 'namespace']

function atRest({ rest }: SoakResult): string[] {
  const names = [...rest.before.keys()].filter((name) => ORDER.some((role) => name.endsWith(role)))
  const told = (counts: Counts | undefined, of: (some: Counts) => number) => (counts === undefined ? '?' : of(counts))
  const both = (name: string, of: (some: Counts) => number) =>
    `${told(rest.before.get(name), of)} | ${told(rest.after.get(name), of)}`
  return [
    '| at rest | processes: before | after | threads: before | after | descriptors: before | after | sockets: before | after |',
    '|---|---:|---:|---:|---:|---:|---:|---:|---:|',
    ...names.map((name) => {
      const of = (kind: string) => both(name, (counts) => counts[kind] ?? 0)
      const all = name.endsWith('namespace')
        ? `– | – | – | – | – | –`
        : `${of('processes')} | ${of('threads')} | ${of('descriptors')}`
      return `| ${name} | ${all} | ${both(name, socketsOf)} |`
    }),
  ]
}

export function markdown(result: SoakResult): string {
  const { cpuPressure, interval, others, seconds, scrapes, starts, startedAt, stolenMs } = result
  const complaints = complaintsOf(result)
  return [
    `### ${(seconds / 60).toFixed(0)} minutes, advertisements every ${interval} ms, from ${startedAt}`,
    '',
    ...steps(result),
    '',
    ...memory(result),
    '',
    ...atRest(result),
    '',
    `${scrapes.count} scrapes, ${scrapes.failed} without an answer while the node or its cable was away, ${scrapes.wrong.length} otherwise; median ${scrapes.median.toFixed(1)} ms, longest ${scrapes.longest.toFixed(0)} ms.`,
    `Starts: ${Object.entries(starts)
      .map(([name, count]) => `${name} ${count}`)
      .join(
        ', ',
      )}. CPU pressure ${cpuPressure.toFixed(0)} %, ${stolenMs} ms stolen, ${others} namespaces of others came or went.`,
    '',
    ...complaints.map((text) => `- ${text}`),
    '',
  ].join('\n')
}

export function json(result: SoakResult): string {
  const { injected, verdict, zero, records, notes, samples, rest, heaps, scrapes, wrong, ...more } = result
  const { incidents, violations, ...accounts } = verdict
  const told = {
    ...more,
    wrong,
    scrapes,
    memory: judgeMemory(result),
    rest: { before: Object.fromEntries(rest.before), after: Object.fromEntries(rest.after) },
    accounts,
    violations: violations.map((one, i) => `${describe(one, zero)}${result.circumstances[i] ?? ''}`),
    outages: outagesOf(injected, verdict, zero),
    incidents: incidents.map(({ faults, from, to, ...one }) => ({
      ...{ ...one, from: from - zero, to: to - zero },
      faults: faults.map(({ fault }) => fault.id),
    })),
    witness: records.map(({ address, duplicates, blind }) => ({ address, duplicates, blind: blind.length })),
    notes: notes
      .filter(({ at }) => isNear(at, violations))
      .map(({ at, ...one }) => ({ at: Math.round(at - zero), ...one })),
    heaps,
    samples: samples.map(({ at, node, sample }) => ({ at: Math.round(at), node, ...sample })),
  }
  return `${JSON.stringify(told)}\n`
}
