/**
 * Reads what the kernel writes about a process: /proc/PID/stat, smaps_rollup, and a cgroup's cpu.stat. This file
 * decides which fields count. Pure. This file does not know which processes are read, and when.
 */

/** USER_HZ of Linux on every architecture that we build for. */
const TICKS_PER_SECOND = 100

export type Stat = {
  readonly name: string
  readonly threads: number
  /** CPU time of the process and of the children that it has reaped. */
  readonly cpuSeconds: number
}

/** The name stands in parentheses and may contain a parenthesis or a space. The last parenthesis ends it. */
export function statOf(text: string): Stat {
  const [open, close] = [text.indexOf('('), text.lastIndexOf(')')]
  if (open < 0 || close < open) throw new Error(`Cannot read /proc/PID/stat: "${text.slice(0, 60)}"`)
  // state is field 3. utime, stime, cutime and cstime are fields 14 to 17, num_threads is 20.
  const fields = text
    .slice(close + 2)
    .split(' ')
    .map(Number)
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + field, 0)
  return { name: text.slice(open + 1, close), threads: fields[17] ?? 0, cpuSeconds: ticks / TICKS_PER_SECOND }
}

export type Memory = { readonly rssKiB: number; readonly pssKiB: number }

/** Returns `undefined` for a process without memory of its own (it has ended). */
export function memoryOf(rollup: string): Memory | undefined {
  const field = (name: string) => new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(rollup)?.[1]
  const [rss, pss] = [field('Rss'), field('Pss')]
  return rss === undefined || pss === undefined ? undefined : { rssKiB: Number(rss), pssKiB: Number(pss) }
}

/** Returns the CPU seconds of all present and past processes of the group. */
export function groupCpuSeconds(cpuStat: string): number | undefined {
  const usage = /^usage_usec (\d+)$/m.exec(cpuStat)?.[1]
  return usage === undefined ? undefined : Number(usage) / 1e6
}

/** Returns where cgroup v2 is mounted, also beside version 1; `undefined` if nowhere. */
export function groupMount(mountinfo: string): string | undefined {
  // "36 25 0:31 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw": the type follows the dash, and field 5 is the
  // place.
  const line = mountinfo.split('\n').find((one) => / - cgroup2 /.test(one))
  return line?.split(' ')[4]
}

/** Returns the path of version 2 in /proc/self/cgroup. */
export function groupPath(cgroup: string): string {
  return /^0::(.*)$/m.exec(cgroup)?.[1] ?? '/'
}

/** Returns whether /proc/net/igmp, which has addresses in host byte order, lists VRRP's group. */
export const hasJoined = (igmp: string): boolean => /\b(?:120000E0|E0000012)\b/.test(igmp)
