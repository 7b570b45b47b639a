/**
 * Parses what the kernel writes about a process: /proc/PID/stat, /proc/PID/smaps_rollup, and cpu.stat of a cgroup. This
 * file decides which fields of these files are used. Pure. This file does not know which processes are measured and
 * when.
 */

/** USER_HZ of Linux on every architecture for which holdfast is built. */
const TICKS_PER_SECOND = 100

export type Stat = {
  readonly name: string
  readonly threads: number
  /** CPU time of the process and of those ended children for which the process has waited, in seconds. */
  readonly cpuSeconds: number
}

/**
 * Parses /proc/PID/stat. The process name stands in parentheses and may itself contain a parenthesis or a space, so the
 * last parenthesis of the text ends the name.
 */
export function statOf(text: string): Stat {
  const [open, close] = [text.indexOf('('), text.lastIndexOf(')')]
  if (open < 0 || close < open) throw new Error(`Cannot read /proc/PID/stat: "${text.slice(0, 60)}"`)
  // In /proc/PID/stat, state is field 3; utime, stime, cutime and cstime are fields 14 to 17; num_threads is field 20.
  const fields = text
    .slice(close + 2)
    .split(' ')
    .map(Number)
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + field, 0)
  return { name: text.slice(open + 1, close), threads: fields[17] ?? 0, cpuSeconds: ticks / TICKS_PER_SECOND }
}

export type Memory = { readonly rssKiB: number; readonly pssKiB: number }

/**
 * Parses /proc/PID/smaps_rollup; returns `undefined` for a process without memory of its own, because that process has
 * ended.
 */
export function memoryOf(rollup: string): Memory | undefined {
  const field = (name: string) => new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(rollup)?.[1]
  const [rss, pss] = [field('Rss'), field('Pss')]
  return rss === undefined || pss === undefined ? undefined : { rssKiB: Number(rss), pssKiB: Number(pss) }
}

/**
 * Returns the CPU seconds of all running and ended processes of a cgroup, from the text of its cpu.stat; `undefined` if
 * the text has no such figure.
 */
export function groupCpuSeconds(cpuStat: string): number | undefined {
  const usage = /^usage_usec (\d+)$/m.exec(cpuStat)?.[1]
  return usage === undefined ? undefined : Number(usage) / 1e6
}

/**
 * Returns the path at which cgroup version 2 is mounted, even if version 1 is mounted too; `undefined` if version 2 is
 * not mounted.
 */
export function groupMount(mountinfo: string): string | undefined {
  // A line of mountinfo is "36 25 0:31 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw". The type of the file system
  // follows the dash, and field 5 is the path of the mount.
  const line = mountinfo.split('\n').find((one) => / - cgroup2 /.test(one))
  return line?.split(' ')[4]
}

/** Returns the path of the process's cgroup of version 2, from the text of /proc/self/cgroup. */
export function groupPath(cgroup: string): string {
  return /^0::(.*)$/m.exec(cgroup)?.[1] ?? '/'
}

/**
 * Returns true if /proc/net/igmp lists VRRP's multicast group 224.0.0.18. /proc/net/igmp has addresses as hexadecimal
 * numbers in the byte order of the host.
 */
export const hasJoined = (igmp: string): boolean => /\b(?:120000E0|E0000012)\b/.test(igmp)
