/**
 * The report of `holdfast doctor`, as text and as the value of `--json`. This file decides that each finding gets one
 * line, the worst finding first, with the advice indented below it. Findings that are ok are printed on request only.
 * Programs rely on the keys of the JSON value (version 1: keys are added, never changed; docs/doctor.md). PURE.
 */
import { countOf, type Finding, type Level, worst } from './finding.ts'
import { spreadOf } from './interval.ts'
import { type Recommendations, recommend } from './judge-timers.ts'
import { isUnmeasured, type Measured, type TimerRun, type Unmeasured } from './measurement.ts'

export type About = { readonly version: string; readonly host: string; readonly takenAt: string }

export type DoctorReport = {
  readonly version: 1
  readonly holdfast: string
  readonly host: string
  readonly takenAt: string
  readonly durationMs: number
  readonly worst: Level
  readonly count: Readonly<Record<Level, number>>
  /** Smallest safe advertisement interval, for VRRP version 3. */
  readonly interval: Recommendations
  readonly findings: readonly Finding[]
  readonly measured: unknown
}

export function doctorReport(measured: Measured, findings: readonly Finding[], about: About): DoctorReport {
  return {
    version: 1,
    holdfast: about.version,
    host: about.host,
    takenAt: about.takenAt,
    durationMs: measured.durationMs,
    worst: worst(findings),
    count: countOf(findings),
    interval: recommend(measured.timers),
    findings,
    measured: { ...measured, timers: summary(measured.timers) },
  }
}

/** Returns percentiles of the timer measurements in place of thousands of samples. */
function summary({ ordinary, realtime }: Measured['timers']): Readonly<Record<string, unknown>> {
  const of = (run: TimerRun | Unmeasured) => {
    if (isUnmeasured(run)) return run
    const { everyMs, lateness, policy, priority } = run
    return { policy, priority, everyMs, latenessMs: spreadOf(lateness) }
  }
  return { ordinary: of(ordinary), realtime: of(realtime) }
}

const WIDTH = Math.max(...(['ok', 'note', 'warning', 'error'] satisfies Level[]).map((level) => level.length))

const WORST_FIRST: readonly Level[] = ['error', 'warning', 'note', 'ok']

/** Returns the text of the report. `verbose`: findings that are ok are included. */
export function formatReport(report: DoctorReport, verbose = false): string {
  const { count, durationMs, findings, holdfast, host, interval } = report
  const head = `holdfast ${holdfast} doctor on ${host}, measured for ${(durationMs / 1000).toFixed(1)} s`
  const levels = WORST_FIRST.filter((level) => verbose || level !== 'ok')
  const shown = levels.flatMap((level) => findings.filter((finding) => finding.level === level))
  const lines = shown.flatMap(({ about, advice, check, found, level }) => [
    `${level.padEnd(WIDTH)}  ${check}${about === undefined ? '' : ` (${about})`}: ${found}`,
    ...(advice === undefined ? [] : [`${' '.repeat(WIDTH)}    -> ${advice}`]),
  ])
  const { ordinary, realtime } = interval
  const recommendation = (given: Recommendations['ordinary'], how: string): string[] =>
    given === null ? [] : [`${given.intervalMs === null ? 'none' : `${given.intervalMs} ms`} ${how}`]
  const smallest = [...recommendation(ordinary, 'without --realtime'), ...recommendation(realtime, 'with it')]
  return [
    head,
    '',
    ...(lines.length === 0 ? [] : [...lines, '']),
    ...(smallest.length === 0 ? [] : [`smallest safe advertisement interval on this machine: ${smallest.join(', ')}`]),
    `${plural(count.error, 'error')}, ${plural(count.warning, 'warning')}, ${plural(count.note, 'note')}, ${count.ok} ok${verbose || count.ok === 0 ? '' : ' (-v shows them)'}`,
    '',
  ].join('\n')
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`
