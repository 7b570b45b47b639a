/**
 * Samples of a node's processes as the kernel reports them: memory, threads, descriptors, sockets by kind, and the
 * sockets of its network namespace. Decides the role of a process by its place among its relatives: guardian, engine,
 * launcher, program. Does not judge.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { familyOf } from '../../src/lab/logged-process.ts'
import type { Counts } from './flatness.ts'

/** Programs of checks and notifications come and go; the other roles last. */
export type Role = 'guardian' | 'engine' | 'launcher' | 'program'

export type ProcessSample = {
  readonly role: Role
  readonly pid: number
  readonly rssKiB: number
  /** Memory without a file behind it: heaps and stacks. */
  readonly anonKiB: number
  readonly threads: number
  /** Descriptors by kind; `descriptors` is all of them. */
  readonly counts: Counts
}

export type NodeSample = {
  readonly processes: readonly ProcessSample[]
  /** Sockets of the namespace, by kind, of every process. */
  readonly sockets: Counts
}

/** The files of /proc/PID/net and which column is the inode. */
const TABLES: readonly (readonly [kind: string, file: string, column: number])[] = [
  ['tcp', 'tcp', 9],
  ['tcp', 'tcp6', 9],
  ['udp', 'udp', 9],
  ['udp', 'udp6', 9],
  ['raw', 'raw', 9],
  ['raw', 'raw6', 9],
  ['icmp', 'icmp', 9],
  ['icmp', 'icmp6', 9],
  ['packet', 'packet', 8],
  ['netlink', 'netlink', 9],
  ['unix', 'unix', 6],
]

/** Returns the inodes of a table of the kernel, without the 0 of connections that have no process. */
export function inodesOf(table: string, column: number): string[] {
  const lines = table.split('\n').slice(1)
  return lines.flatMap((line) => line.trim().split(/\s+/)[column] ?? []).filter((inode) => inode !== '0')
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // The kernel lacks that protocol, or the process has just ended.
    return ''
  }
}

const numberOf = (status: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? Number.NaN)

/** Returns the kind of a link in /proc/PID/fd: `socket:[123]`, `anon_inode:[eventfd]`, `pipe:[7]`, `/dev/null`. */
export function kindOf(link: string, sockets: ReadonlyMap<string, string>): string {
  const inode = /^socket:\[(\d+)\]$/.exec(link)?.[1]
  if (inode !== undefined) return sockets.get(inode) ?? 'other socket'
  const anonymous = /^anon_inode:\[?(\w+)/.exec(link)?.[1]
  if (anonymous !== undefined) return anonymous
  return link.startsWith('pipe:') ? 'pipe' : 'file'
}

function linksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${name}`)]
      } catch {
        return []
      }
    })
  } catch {
    return []
  }
}

function tally(kinds: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const kind of kinds) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

function roleOf(pid: number, position: number): Role {
  if (position === 0) return 'guardian'
  if (position === 1) return 'engine'
  const [program = ''] = textOf(`/proc/${pid}/cmdline`).split('\0')
  return basename(program) === 'holdfast-launcher' ? 'launcher' : 'program'
}

/** Returns a sample, `undefined` if no process runs there now. `pid` is the guardian's. */
export function sampleOf(pid: number | undefined): NodeSample | undefined {
  if (pid === undefined) return undefined
  const known = TABLES.flatMap(([kind, file, column]) =>
    inodesOf(textOf(`/proc/${pid}/net/${file}`), column).map((inode) => [inode, kind] as const),
  )
  const sockets = new Map(known)
  // Parents come first, and the engine is the guardian's first child.
  const processes = familyOf(pid).flatMap((each, position): ProcessSample[] => {
    const status = textOf(`/proc/${each}/status`)
    // A dead process whose parent has not waited for it has no memory.
    if (Number.isNaN(numberOf(status, 'VmRSS'))) return []
    const links = linksOf(each)
    return [
      {
        role: roleOf(each, position),
        pid: each,
        rssKiB: numberOf(status, 'VmRSS'),
        anonKiB: numberOf(status, 'RssAnon'),
        threads: numberOf(status, 'Threads'),
        counts: { descriptors: links.length, ...tally(links.map((link) => kindOf(link, sockets))) },
      },
    ]
  })
  if (processes.length === 0) return undefined
  return { processes, sockets: tally(known.map(([, kind]) => kind)) }
}

const SOCKETS = new Set([...TABLES.map(([kind]) => kind), 'other socket'])
export const socketsOf = (counts: Counts): number =>
  Object.entries(counts).reduce((sum, [kind, count]) => (SOCKETS.has(kind) ? sum + count : sum), 0)

/** Combines several samples of a node at rest: the least of each count, so that a poll under way does not count. */
export function atRest(name: string, looks: readonly NodeSample[]): ReadonlyMap<string, Counts> {
  const each = looks.map(({ processes, sockets }) => {
    const roles = new Map<string, Record<string, number>>([[`${name} namespace`, { ...sockets }]])
    for (const { role, counts, threads } of processes.filter((one) => one.role !== 'program')) {
      const sum = roles.get(`${name} ${role}`) ?? {}
      for (const [kind, count] of Object.entries({ ...counts, threads, processes: 1 }))
        sum[kind] = (sum[kind] ?? 0) + count
      roles.set(`${name} ${role}`, sum)
    }
    return roles
  })
  const names = [...new Set(each.flatMap((roles) => [...roles.keys()]))]
  return new Map(
    names.map((one) => {
      const kinds = new Set(each.flatMap((roles) => Object.keys(roles.get(one) ?? {})))
      const least = (kind: string) => Math.min(...each.map((roles) => roles.get(one)?.[kind] ?? 0))
      return [one, Object.fromEntries([...kinds].map((kind) => [kind, least(kind)]))]
    }),
  )
}
