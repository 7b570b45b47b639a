/**
 * Measures how late this machine's timers are. The measurement uses the engine's own alarm on the grid of an interval.
 * A separate process, started by the guardian, has the scheduling of a daemon. This file decides how often is measured,
 * and what the process reports. The result is not judged here.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { Alarm } from '../../daemon/alarm.ts'
import type { TimerRun, Timers, Unmeasured } from '../../doctor/measurement.ts'
import { type KernelClock, openClock } from '../../linux/clock.ts'
import { loadNative, NATIVE } from '../../linux/native.ts'
import { schedulingOf } from '../../linux/process/scheduling.ts'
import type { ClockPair } from '../../linux/sockets/receive-time.ts'
import { plus } from '../../wire/units.ts'

/** Milliseconds between two measured deadlines: the shortest interval of VRRP version 3. */
export const EVERY = 10
/** Milliseconds at the start of a measurement that are left out, because code is still compiled. */
const WARM_UP = 300
/** Milliseconds after the expected end of the measurement before the child process is killed. */
const PATIENCE = 10_000
/** Options with which bin/holdfast starts an engine. */
const ENGINE_OPTIONS = ['--max-semi-space-size=1']
export const TIMER_COMMAND = 'doctor-timer'

/** Measures the lateness of timers in this child process for `durationMs` milliseconds. */
export function measureTimer(durationMs: number): Promise<TimerRun> {
  const clock = openClock(loadNative())
  const lateness: number[] = []
  const offsets: number[] = []
  const begin = plus(clock.now(), WARM_UP)
  const end = plus(begin, durationMs)
  return new Promise((resolve) => {
    let due = begin
    const alarm = new Alarm(clock, (now) => {
      lateness.push(round(now - due))
      offsets.push(round(offsetOf(clock)))
      // Deadlines stay on the grid, as those of advertisements do. Missed deadlines are skipped.
      due = plus(due, (Math.floor((now - due) / EVERY) + 1) * EVERY)
      if (due < end) return alarm.set(due)
      const { policy, priority } = schedulingOf('self') ?? { policy: 'unknown', priority: 0 }
      resolve({ policy, priority, everyMs: EVERY, lateness, offsets })
    })
    alarm.set(due)
  })
}

const round = (value: number): number => Math.round(value * 1_000) / 1_000

/**
 * Returns CLOCK_REALTIME minus CLOCK_MONOTONIC. The process may be interrupted between the two clocks, so the fastest
 * of three pairs counts.
 */
function offsetOf(clock: Pick<KernelClock, 'pair' | 'now'>): number {
  let best: { readonly took: number; readonly pair: ClockPair } | undefined
  for (let i = 0; i < 3; i++) {
    const pair = clock.pair()
    const took = clock.now() - pair.monotonic
    if (best === undefined || took < best.took) best = { took, pair }
  }
  return best === undefined ? 0 : best.pair.realtime - best.pair.monotonic
}

/**
 * Measures timers with and without real-time priority at the same time, so that both measurements meet the same load.
 * `realtime` is the reason why real-time priority cannot be tried; `undefined` if it can.
 */
export async function measureTimers(durationMs: number, realtime: string | undefined): Promise<Timers> {
  const [ordinary, preferred] = await Promise.all([
    run(durationMs, []),
    realtime === undefined ? run(durationMs, ['--realtime']) : { unmeasured: realtime },
  ])
  return { ordinary, realtime: preferred }
}

function run(durationMs: number, guardianOptions: readonly string[]): Promise<TimerRun | Unmeasured> {
  const guardian = join(NATIVE, 'prebuilds', `linux-${process.arch}`, 'holdfast-guardian')
  const engine = [process.execPath, ...ENGINE_OPTIONS, process.argv[1] ?? '', TIMER_COMMAND, String(durationMs)]
  return new Promise((resolve) => {
    const fail = (why: string) => resolve({ unmeasured: why })
    const child = spawn(guardian, [...guardianOptions, '--', ...engine], { stdio: ['ignore', 'pipe', 'ignore'] })
    const late = setTimeout(() => child.kill('SIGTERM'), durationMs + WARM_UP + PATIENCE)
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    child.on('error', (error) => fail(error.message))
    child.on('close', (code, signal) => {
      clearTimeout(late)
      if (code !== 0) return fail(`the measuring process ended with ${signal ?? `status ${code}`}`)
      const measured: TimerRun = JSON.parse(text)
      resolve(measured)
    })
  })
}
