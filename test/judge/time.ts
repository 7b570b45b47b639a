/**
 * Judges bounds of time as `held`, `missed` or `cannot be judged`. Takes the CPU time that the machine lost and the lateness of the
 * gauge into account. No other file excuses a failure, and every excuse is reported. scripts/tests.sh runs a file that could not be
 * judged again alone, at most twice. A file that never could be judged has failed (docs/testing.md).
 */
import { readFileSync } from 'node:fs'

/** CPU time that the machine lost during a measurement. Milliseconds. */
export type Loss = {
  readonly wall: number
  /** CPU time that the host gave to other virtual machines (/proc/stat, "steal"): no process of this one ran then. */
  readonly stolen: number
  /** Time in which a process waited for a CPU (/proc/pressure/cpu, "some"). 0 if the kernel has no such file. */
  readonly waited: number
}

/** Stolen time below which no bound can be missed because of it: two intervals of 10 ms. */
export const STOLEN = 20
/** CPU pressure in percent above which a test did not have the CPUs that it needs. */
export const PRESSURE = 20

/** USER_HZ is 100 on every architecture that Linux has here. */
const JIFFY = 10

/** Returns the stolen time of all CPUs since the start of the machine, in ms. 0 if the kernel does not report it. */
export function stolenMs(): number {
  const [, , , , , , , , steal = '0'] = read('/proc/stat').split(/\s+/, 9)
  return JIFFY * Number(steal)
}

export function waitedMs(): number {
  return Number(/^some .*total=(\d+)/m.exec(read('/proc/pressure/cpu'))?.[1] ?? 0) / 1_000
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Begins to measure. Returns a function that returns the CPU time lost since then. */
export function watchMachine(): () => Loss {
  const [began, stolen, waited] = [performance.now(), stolenMs(), waitedMs()]
  return () => ({
    wall: performance.now() - began,
    stolen: stolenMs() - stolen,
    waited: waitedMs() - waited,
  })
}

let lossSince = watchMachine()

/** Begins to measure what the machine loses in a test; test/support/cost-of-file.ts calls it before each one. */
export function beginTest(): void {
  lossSince = watchMachine()
}

export const lossOfTest = (): Loss => lossSince()

export function pressureOf({ waited, wall }: Loss): number {
  return wall > 0 ? (100 * waited) / wall : 0
}

/** Returns whether the loss is large enough to explain a missed bound. */
export function excuses(loss: Loss): boolean {
  return loss.stolen >= STOLEN || pressureOf(loss) > PRESSURE
}

export function inWords(loss: Loss): string {
  return `CPU pressure ${pressureOf(loss).toFixed(0)} %, ${loss.stolen.toFixed(0)} ms stolen`
}

/** Error for a bound that failed on a machine that lost too much CPU time: it is neither held nor missed. */
export class CannotBeJudged extends Error {
  override readonly name = 'CannotBeJudged'
}

/** Error for a bound that is missed, whatever the machine lost. */
export class Missed extends Error {
  override readonly name = 'Missed'
}

export type Judgement = 'held' | 'missed' | 'cannot be judged'

/** Failures of a test as sentences: the expectation, the event and its time. */
export type Findings = {
  /** Bounds of time that were exceeded. */
  readonly late: readonly string[]
  /** Bounds that were exceeded by less than the lateness of the gauge, so that the gauge cannot decide. */
  readonly unseen?: readonly string[]
  /** Failures that no load of the machine explains. */
  readonly wrong?: readonly string[]
  /** Further text that helps a reader to find the reason. */
  readonly story?: string
  /** Loss during these measurements. If absent, the loss since the test began. */
  readonly loss?: Loss
}

export function judgementOf({ late, loss = lossOfTest(), unseen = [], wrong = [] }: Findings): Judgement {
  if (wrong.length > 0 || (late.length > 0 && !excuses(loss))) return 'missed'
  return late.length + unseen.length > 0 ? 'cannot be judged' : 'held'
}

/** Throws `Missed` or `CannotBeJudged` unless all bounds are held. */
export function judge(what: string, findings: Findings): void {
  const { late, loss = lossOfTest(), story = '', unseen = [], wrong = [] } = findings
  const judgement = judgementOf({ ...findings, loss })
  if (judgement === 'held') return
  const blind = unseen.map((text) => `${text} (the gauge was late by as much)`)
  const text = [`${what} (${inWords(loss)}):`, ...wrong, ...late, ...blind, story].filter(Boolean).join('\n')
  throw judgement === 'missed' ? new Missed(text) : new CannotBeJudged(text)
}

/** Judges one measured time against a bound that a section of RFC 9568 or a page of docs/ promises. Milliseconds. */
export function judgeTime(what: string, ms: number, most: number, promise: string, loss = lossOfTest()): void {
  const late = `expected at most ${inMs(most)} (${promise}), saw ${inMs(ms)}`
  // A time that is not a number was never measured.
  judge(what, { late: ms <= most ? [] : [late], loss })
}

const inMs = (ms: number): string => `${ms.toFixed(1)} ms`

/** Splits violations and their texts (test/judge/report.ts) by whether the gauge ran. */
export function findingsOf(
  { violations }: { readonly violations: readonly { readonly over: number; readonly unseen: number }[] },
  texts: readonly string[],
): Required<Pick<Findings, 'late' | 'unseen'>> {
  const ran = (i: number) => (violations[i]?.over ?? 0) > (violations[i]?.unseen ?? 0)
  return { late: texts.filter((_, i) => ran(i)), unseen: texts.filter((_, i) => !ran(i)) }
}

export type Failure = { readonly name: string; readonly loss?: Loss | undefined }

/** Returns whether a file with these failures runs again: each of them could not be judged, or was not judged and is excused. */
export function isWorthAnotherAttempt(failures: readonly Failure[]): boolean {
  return failures.every(({ loss, name }) => {
    if (name === 'Missed') return false
    return name === 'CannotBeJudged' || (loss !== undefined && excuses(loss))
  })
}
