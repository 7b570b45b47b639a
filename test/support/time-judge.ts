/**
 * Judges what a test missed, given what the machine itself lost meanwhile: `missed`, or `cannot be judged`. The one place
 * that excuses anything, and never in silence: scripts/tests.sh runs a file that could not be judged again alone, at most
 * twice, and a file that never could be judged has failed (docs/testing.md).
 */
import { readFileSync } from 'node:fs'

/** What the machine lost while something ran. Milliseconds. */
export type Loss = {
  readonly wall: number
  /** CPU time that the host gave to other virtual machines (/proc/stat, "steal"): no process of this one ran then. */
  readonly stolen: number
  /** Time in which a process waited for a CPU (/proc/pressure/cpu, "some"); 0 where the kernel does not say. */
  readonly waited: number
}

/** Two advertisements of 10 ms: with less than that stolen, no bound was missed because of it. */
export const STOLEN = 20
/** Percent of the time in which a process waited for a CPU: above it, a test did not have the CPUs that it needs. */
export const PRESSURE = 20

/** USER_HZ is 100 on every architecture that Linux has here. */
const JIFFY = 10

/** Of all CPUs, since the start of the machine; 0 where the kernel does not say. */
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

/** Begins to measure; the answer tells what was lost since. */
export function watchMachine(): () => Loss {
  const [began, stolen, waited] = [performance.now(), stolenMs(), waitedMs()]
  return () => ({
    wall: performance.now() - began,
    stolen: stolenMs() - stolen,
    waited: waitedMs() - waited,
  })
}

export function pressureOf({ waited, wall }: Loss): number {
  return wall > 0 ? (100 * waited) / wall : 0
}

/** Whether so much was lost that a bound may have been missed because of it. */
export function excuses(loss: Loss): boolean {
  return loss.stolen >= STOLEN || pressureOf(loss) > PRESSURE
}

export function inWords(loss: Loss): string {
  return `CPU pressure ${pressureOf(loss).toFixed(0)} %, ${loss.stolen.toFixed(0)} ms stolen`
}

/** A bound of time was missed on a machine that lost too much: neither held nor missed. */
export class CannotBeJudged extends Error {
  override readonly name = 'CannotBeJudged'
}

/** Missed, whatever the machine lost. */
export class Missed extends Error {
  override readonly name = 'Missed'
}

export type Findings = {
  /** Bounds of time that were not kept, in words. */
  readonly late: readonly string[]
  /** What no load of a machine explains, in words. */
  readonly wrong?: readonly string[]
  /** Of the time in which these were measured. */
  readonly loss: Loss
}

/** Throws `Missed` or `CannotBeJudged` if there is anything in the findings. */
export function judge(what: string, { late, loss, wrong = [] }: Findings): void {
  const all = [...wrong, ...late]
  if (all.length === 0) return
  const text = [`${what} (${inWords(loss)}):`, ...all].join('\n')
  throw wrong.length === 0 && excuses(loss) ? new CannotBeJudged(text) : new Missed(text)
}

export type Failure = { readonly name: string; readonly loss?: Loss | undefined }

/** Whether a file with these failures is run again: each of them could not be judged, or was not judged and is excused. */
export function isWorthAnotherAttempt(failures: readonly Failure[]): boolean {
  return failures.every(({ loss, name }) => {
    if (name === 'Missed') return false
    return name === 'CannotBeJudged' || (loss !== undefined && excuses(loss))
  })
}
