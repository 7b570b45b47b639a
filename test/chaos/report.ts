/**
 * Results as a Markdown table and as JSON. Decides what a reader is shown; refuses to know how it was measured.
 */
import { boundOf, type Limit } from './bounds.ts'
import type { ChaosResult } from './chaos-run.ts'
import { describe, isNear } from './judge.ts'
import { type Fault, KINDS, VARIANTS } from './plan.ts'

export const name = ({ node, kind, variant, ms, overlapping }: Fault): string =>
  `${node} ${kind}${variant === '' ? '' : ` (${variant})`}${ms > 0 ? ` ${ms} ms` : ''}${overlapping ? ', overlapping' : ''}`

const ms = (value: number): string => (value === 0 ? '–' : value.toFixed(0))
const words = ({ forced, after }: Limit): string => (forced ? `as long as it lasts + ${after.toFixed(0)}` : '')
/** Of the variants that occurred the widest. */
function bound(result: ChaosResult, kind: string, of: 'two' | 'none'): string {
  const limits = result.injected
    .filter(({ fault }) => fault.kind === kind)
    .map(({ fault }) => boundOf(fault, result.interval)[of])
  return limits.find(({ forced }) => forced) !== undefined
    ? (limits.map(words).find(Boolean) ?? '')
    : Math.max(0, ...limits.map(({ length }) => length)).toFixed(0)
}

export function markdown(results: readonly ChaosResult[]): string {
  return results
    .map((result) => {
      const { verdict, injected, seed, daemon, interval, seconds, cpuPressure, load, zero, without, realtime } = result
      const title = `${daemon}${without === undefined ? '' : ` without ${without}`}, advertisements every ${interval} ms${realtime ? ', real-time priority' : ''}, seed ${seed}: ${injected.length} faults in ${seconds.toFixed(0)} s`
      const rows = verdict.kinds
        .filter((kind) => kind.injected > 0)
        .map(
          ({ kind, injected: count, missed, violations, two, none, client }) =>
            `| ${kind} | ${count}${missed > 0 ? ` (${missed} met nobody)` : ''} | ${violations} | ${ms(two)} | ${bound(result, kind, 'two')} | ${ms(none)} | ${ms(client)} | ${bound(result, kind, 'none')} |`,
        )
      const { longest, violations } = verdict
      return [
        `### ${title}`,
        '',
        '| fault | injected | violations | longest two, ms | bound | longest nobody, ms | client unanswered, ms | bound |',
        '|---|---:|---:|---:|---:|---:|---:|---:|',
        ...rows,
        `| **all** | ${injected.length} | ${violations.length} | ${ms(longest.two)} | | ${ms(longest.none)} | ${ms(longest.client)} | |`,
        '',
        `CPU pressure ${cpuPressure.toFixed(0)} %, load ${load.toFixed(1)}. "Longest" per kind: of incidents with faults of this kind alone.`,
        '',
        ...violations.map((violation) => `- ${describe(violation, zero)}`),
        '',
      ].join('\n')
    })
    .join('\n')
}

export function json(results: readonly ChaosResult[]): string {
  // Without the witness's own record, which is long, and with what the nodes said where something was wrong.
  const told = results.map(({ records, notes, ...rest }) => ({
    ...rest,
    duplicates: records.map(({ address, duplicates, blind }) => ({ address, duplicates, blind: blind.length })),
    notes: notes.filter(({ at }) => isNear(at, rest.verdict.violations)),
  }))
  return `${JSON.stringify(told, null, 1)}\n`
}

const allowed = ({ length, after, forced }: Limit): string =>
  forced
    ? `as long as it lasts + ${after.toFixed(0)}`
    : `${length.toFixed(0)}${after === length ? '' : `, ${after.toFixed(0)} of it after the end`}`

/** docs/reliability.md has it as it is. */
export function boundsTable(interval: number): string {
  const rows = KINDS.flatMap((kind) =>
    (VARIANTS[kind] ?? ['']).map((variant) => {
      const { two, none, client, why } = boundOf(
        { id: 0, at: 0, kind, variant, node: 'r1', ms: 0, overlapping: false },
        interval,
      )
      const fault = `${kind}${variant === '' ? '' : ` (${variant})`}`
      return `| ${fault} | ${allowed(two)} | ${allowed(none)} | ${client === undefined ? '' : allowed(client)} | ${why} |`
    }),
  )
  const head = [
    '| fault | two, ms | nobody, ms | a client with an entry, if different | why |',
    '|---|---:|---:|---:|---|',
  ]
  return [...head, ...rows].join('\n')
}
