/**
 * Finds the scheduling priority of the engine and its guardian, and whether real-time priority was requested, for the
 * log and the status. This file decides that the kernel's answer counts, whether the guardian, systemd or chrt set the
 * priority.
 */
import { readFileSync } from 'node:fs'
import { defined } from '../../base/defined.ts'
import type { SchedulingSnapshot } from '../../daemon/telemetry/snapshot.ts'
import { hasOwnFilter, isRealtime, schedulingOf } from '../../linux/process/scheduling.ts'

const ASKED = /^--realtime(=|$)/

/**
 * Returns the scheduling of this process and of the guardian. `guardian` is the guardian's process id, `undefined`
 * without a guardian.
 */
export function schedulingHere(guardian: number | undefined): SchedulingSnapshot {
  const { policy = 'unknown', priority = 0 } = schedulingOf('self') ?? {}
  const above = guardian === undefined ? undefined : guardianHere(guardian)
  const options = guardian === undefined ? process.argv : ownOptions(guardian)
  return { policy, priority, realtimeAsked: options.some((word) => ASKED.test(word)), guardian: above ?? null }
}

function guardianHere(pid: number): SchedulingSnapshot['guardian'] | undefined {
  const scheduling = schedulingOf(pid)
  return scheduling && { ...scheduling, ...defined({ confined: hasOwnFilter(pid) }) }
}

/** Returns the guardian's own options, which stand before the program that it starts. */
function ownOptions(pid: number): readonly string[] {
  try {
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return commandLine.slice(0, commandLine.indexOf('--'))
  } catch {
    return []
  }
}

/**
 * Returns the text of a log line about real-time priority, and whether engine and guardian have what was requested.
 * `undefined` if none was requested or set.
 */
export function schedulingText(
  got: SchedulingSnapshot,
): { readonly isWhole: boolean; readonly message: string } | undefined {
  const { guardian, policy, priority, realtimeAsked } = got
  if (isRealtime(got)) {
    const above = guardian !== null && isRealtime(guardian) ? `; guardian: ${guardian.priority}` : '; guardian: none'
    const message = `Real-time priority ${priority} (${policy}) for the engine's own thread${guardian === null ? '' : above}`
    const isWhole = guardian === null || isRealtime(guardian)
    return { isWhole, message }
  }
  if (!realtimeAsked) return undefined
  const why = guardian === null ? 'no guardian could set it' : 'CAP_SYS_NICE is missing, or RLIMIT_RTPRIO allows less'
  return { isWhole: false, message: `Real-time priority was requested, but the engine runs with ${policy}: ${why}` }
}
