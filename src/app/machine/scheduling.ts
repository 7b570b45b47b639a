/**
 * With which priority the engine and its guardian run, and whether real-time priority was asked for: for the log at start and
 * for the status. Decided here: what was got is what the kernel says of the processes, whoever gave it (the guardian, systemd,
 * chrt). Refuses to know how it is set.
 */
import { readFileSync } from 'node:fs'
import type { SchedulingSnapshot } from '../../daemon/telemetry/snapshot.ts'
import { isRealtime, schedulingOf } from '../../linux/process/scheduling.ts'

const ASKED = /^--realtime(=|$)/

/** `guardian`: its pid; undefined: there is none. */
export function schedulingHere(guardian: number | undefined): SchedulingSnapshot {
  const { policy = 'unknown', priority = 0 } = schedulingOf('self') ?? {}
  const above = guardian === undefined ? undefined : schedulingOf(guardian)
  const words = guardian === undefined ? process.argv : ownOptions(guardian)
  return { policy, priority, realtimeAsked: words.some((word) => ASKED.test(word)), guardian: above ?? null }
}

/** Those of the guardian stand before the program that it was told to start. */
function ownOptions(pid: number): readonly string[] {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return words.slice(0, words.indexOf('--'))
  } catch {
    return []
  }
}

/** Of the log; undefined: nothing was asked for, and nothing got. */
export function schedulingWords(got: SchedulingSnapshot): { level: 'info' | 'warn'; message: string } | undefined {
  const { guardian, policy, priority, realtimeAsked } = got
  if (isRealtime(got)) {
    const above =
      guardian !== null && isRealtime(guardian) ? `, the guardian ${guardian.priority}` : ', the guardian none'
    const message = `Real-time priority ${priority} (${policy}) for the engine's own thread${guardian === null ? '' : above}`
    const isWhole = guardian === null || isRealtime(guardian)
    return { level: isWhole ? 'info' : 'warn', message }
  }
  if (!realtimeAsked) return undefined
  const why =
    guardian === null ? 'there is no guardian that gives it' : 'CAP_SYS_NICE is missing, or RLIMIT_RTPRIO allows less'
  return { level: 'warn', message: `Asked for real-time priority, and runs with ${policy}: ${why}` }
}
