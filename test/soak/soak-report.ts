/**
 * A soak as Markdown and as JSON. Decides which values a reader sees; does not know how they were measured. Pure.
 */
import { describe, inWords, isNear, kindTable, table } from '../judge/report.ts'
import { type Counts, LEAST_SECONDS } from './flatness.ts'
import { socketsOf } from './samples.ts'
import { soakBoundOf } from './soak-bounds.ts'
import { isFailover, judgeMemory, outagesOf } from './soak-judge.ts'
import { SOAK_KINDS } from './soak-plan.ts'
import type { SoakResult } from './soak-run.ts'

const mib = (kib: number): string => (kib / 1_024).toFixed(1)

export const violationsIn = ({ circumstances, assessment, zero }: SoakResult): string[] =>
  assessment.violations.map((one, i) => `${describe(one, zero, inWords)}${circumstances[i] ?? ''}`)

/** Returns all other complaints as texts. */
export const complaintsOf = (result: SoakResult): string[] => [...judgeMemory(result).wrong, ...result.wrong]

function memory(result: SoakResult): string[] {
  const { judged, growths, heaps } = judgeMemory(result)
  const window = (result.seconds / 360).toFixed(0)
  const told = (flat: boolean) => (judged ? (flat ? 'yes' : '**no**') : 'not judged')
  return [
    table(
      [
        ...['process', `RSS MiB, minutes ${window} to ${2 * Number(window)}`, `last ${window} minutes`],
        ...['allowed more', 'MiB an hour', 'flat'],
      ],
      growths.map(({ name, first, last, allowed, perHour, flat }) => [
        ...[name, mib(first), mib(last), mib(allowed), mib(perHour), told(flat)],
      ]),
    ),
    '',
    table(
      ['heap without garbage, MiB', 'looks (minute: MiB)', 'allowed more', 'flat'],
      heaps.map(({ name, looks, allowed, flat }) => {
        return [name, looks.map(([at, kib]) => `${at}: ${mib(kib)}`).join(', '), mib(allowed), told(flat)]
      }),
    ),
    ...(judged ? [] : ['', `Memory is judged from ${LEAST_SECONDS} s on.`]),
  ]
}

const ORDER = ['guardian', 'engine', 'launcher', 'namespace']

function atRest({ rest }: SoakResult): string {
  const names = [...rest.before.keys()].filter((name) => ORDER.some((role) => name.endsWith(role)))
  const told = (counts: Counts | undefined, of: (some: Counts) => number) => (counts === undefined ? '?' : of(counts))
  const both = (name: string, of: (some: Counts) => number) => [
    told(rest.before.get(name), of),
    told(rest.after.get(name), of),
  ]
  const kinds = ['processes', 'threads', 'descriptors']
  return table(
    ['at rest', ...[...kinds, 'sockets'].flatMap((kind) => [`${kind}: before`, 'after'])],
    names.map((name) => {
      const all = kinds.flatMap((kind) =>
        name.endsWith('namespace') ? ['–', '–'] : both(name, (counts) => counts[kind] ?? 0),
      )
      return [name, ...all, ...both(name, socketsOf)]
    }),
  )
}

export function markdown(result: SoakResult): string {
  const { cpuPressure, interval, others, seconds, scrapes, starts, startedAt, stolenMs } = result
  const { injected, assessment } = result
  const failovers = injected.filter(({ fault }) => isFailover(fault)).length
  return [
    `### ${(seconds / 60).toFixed(0)} minutes, advertisements every ${interval} ms, from ${startedAt}`,
    '',
    kindTable(assessment, injected, SOAK_KINDS, (one) => soakBoundOf(one, interval)),
    '',
    `${failovers} of them failovers. "Longest" per kind: of incidents with steps of this kind alone.`,
    '',
    ...memory(result),
    '',
    atRest(result),
    '',
    `${scrapes.count} scrapes, ${scrapes.failed} without an answer while the node or its cable was away, ${scrapes.wrong.length} otherwise; median ${scrapes.median.toFixed(1)} ms, longest ${scrapes.longest.toFixed(0)} ms.`,
    `Starts: ${Object.entries(starts)
      .map(([name, count]) => `${name} ${count}`)
      .join(
        ', ',
      )}. CPU pressure ${cpuPressure.toFixed(0)} %, ${stolenMs} ms stolen, ${others} namespaces of others came or went.`,
    '',
    ...[...violationsIn(result), ...complaintsOf(result)].map((text) => `- ${text}`),
    '',
  ].join('\n')
}

export function json(result: SoakResult): string {
  const { injected, assessment, zero, records, notes, samples, rest, heaps, scrapes, wrong, ...more } = result
  const { incidents, violations } = assessment
  const told = {
    ...more,
    wrong,
    scrapes,
    memory: judgeMemory(result),
    rest: { before: Object.fromEntries(rest.before), after: Object.fromEntries(rest.after) },
    violations: violationsIn(result),
    outages: outagesOf(injected, assessment, zero),
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
