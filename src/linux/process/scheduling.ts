/**
 * How the kernel schedules and confines a process, from /proc/PID/stat and /proc/PID/status: the actual state, not the
 * requested one. This file decides the names of the policies. Other files decide what a policy means for the daemon.
 */
import { readFileSync } from 'node:fs'

export type Scheduling = {
  readonly policy: string
  /** Real-time priority, 1 to 99; 0 without a real-time policy. */
  readonly priority: number
}

const POLICIES: Readonly<Record<number, string>> = {
  0: 'SCHED_OTHER',
  1: 'SCHED_FIFO',
  2: 'SCHED_RR',
  3: 'SCHED_BATCH',
  5: 'SCHED_IDLE',
  6: 'SCHED_DEADLINE',
  7: 'SCHED_EXT',
}
/**
 * Fields 40 and 41 (proc_pid_stat(5)), counted after the process name, which is field 2 and may contain any character.
 */
const PRIORITY = 37
const POLICY = 38

export const isRealtime = ({ policy }: Scheduling): boolean => policy === 'SCHED_RR' || policy === 'SCHED_FIFO'

/** Returns the scheduling of a process's main thread; `undefined` if the process or /proc does not exist. */
export function schedulingOf(pid: number | 'self', read: (path: string) => string = readText): Scheduling | undefined {
  const text = read(`/proc/${pid}/stat`)
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [policy, priority] = [Number(fields[POLICY]), Number(fields[PRIORITY])]
  if (!Number.isInteger(policy) || !Number.isInteger(priority)) return undefined
  return { policy: POLICIES[policy] ?? `policy ${policy}`, priority }
}

/**
 * Returns whether a process has more seccomp filters than this one. The filters of a container are on both. `undefined`
 * if the kernel does not count them (before 5.9) and both have some, or if /proc does not exist.
 */
export function hasOwnFilter(pid: number, read: (path: string) => string = readText): boolean | undefined {
  const [theirs, ours] = [read(`/proc/${pid}/status`), read('/proc/self/status')].map((text) => ({
    mode: /^Seccomp:\s*(\d)$/m.exec(text)?.[1],
    count: /^Seccomp_filters:\s*(\d+)$/m.exec(text)?.[1],
  }))
  if (theirs?.count !== undefined && ours?.count !== undefined) return Number(theirs.count) > Number(ours.count)
  if (theirs?.mode === undefined) return undefined
  return theirs.mode === '2' && ours?.mode === '2' ? undefined : theirs.mode === '2'
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
