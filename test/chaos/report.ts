/** A chaos run as Markdown and as JSON. Decides what a reader is shown; does not know how it was measured. */
import { boundOf } from '../judge/bounds.ts'
import { boundsTable, describe, inWords, isNear, kindTable } from '../judge/report.ts'
import { accidentOf, chaosRules, circumstancesOf } from './bounds.ts'
import type { ChaosResult } from './chaos-run.ts'
import { type Fault, KINDS, VARIANTS } from './plan.ts'

export const name = ({ node, kind, variant, ms, overlapping }: Fault): string =>
  `${node} ${kind}${variant === '' ? '' : ` (${variant})`}${ms > 0 ? ` ${ms} ms` : ''}${overlapping ? ', overlapping' : ''}`

export const violationsIn = ({ assessment, zero }: ChaosResult): string[] =>
  assessment.violations.map((one) => describe(one, zero, inWords))

export function markdown(results: readonly ChaosResult[]): string {
  return results
    .map((result) => {
      const { assessment, injected, seed, daemon, interval, seconds, cpuPressure, load, without, realtime } = result
      return [
        `### ${daemon}${without === undefined ? '' : ` without ${without}`}, advertisements every ${interval} ms${realtime ? ', real-time priority' : ''}, seed ${seed}: ${injected.length} faults in ${seconds.toFixed(0)} s`,
        '',
        kindTable(assessment, injected, KINDS, (one) => chaosRules(interval).boundOf(one, [])),
        '',
        `CPU pressure ${cpuPressure.toFixed(0)} %, load ${load.toFixed(1)}. "Longest" per kind: of incidents with faults of this kind alone.`,
        '',
        ...violationsIn(result).map((text) => `- ${text}`),
        '',
      ].join('\n')
    })
    .join('\n')
}

export function json(results: readonly ChaosResult[]): string {
  // Leaves out the witness's own record, which is long. Adds the log lines of the nodes around each violation.
  const told = results.map(({ records, notes, ...rest }) => ({
    ...rest,
    duplicates: records.map(({ address, duplicates, blind }) => ({ address, duplicates, blind: blind.length })),
    notes: notes.filter(({ at }) => isNear(at, rest.assessment.violations)),
  }))
  return `${JSON.stringify(told, null, 1)}\n`
}

/** docs/chaos.md has it as it is. */
export function chaosBounds(interval: number): string {
  const on = circumstancesOf(interval)
  return boundsTable(
    KINDS.flatMap((kind) =>
      (VARIANTS[kind] ?? ['']).map((variant) => ({
        name: `${kind}${variant === '' ? '' : ` (${variant})`}`,
        bound: boundOf(accidentOf({ kind, variant }), on, 0),
      })),
    ),
  )
}
