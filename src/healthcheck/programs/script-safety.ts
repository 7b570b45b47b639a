/**
 * Whether a program may be run by a daemon that can do what this one can. Decided here: nothing on the way of its path
 * may be another's to change, neither a folder, nor a symbolic link, nor the file. The path is walked as the kernel
 * walks it, so that a path which is safe leads to the same file when it is executed. Refuses to know what the program
 * does, and what its interpreter reads.
 */
import type { Stats } from 'node:fs'
import { lstat, readlink } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { codeOf } from '../failed-probe.ts'

export type Unsafe =
  | {
      readonly reason: 'scriptUnsafe'
      readonly detail: string /** Without the rest of a sentence. */
      readonly why: string
    }
  | { readonly reason: 'notRunnable'; readonly detail: string }

const GROUP_WRITES = 0o020
const OTHERS_WRITE = 0o002
const STICKY = 0o1000
/** As the kernel (path_resolution(7)). */
const MOST_LINKS = 40

/** Returns `undefined` when the program may be run. `runsAs`: the user of the check, who may own it. */
export async function unsafeBecause(program: string, runsAs?: number): Promise<Unsafe | undefined> {
  if (!isAbsolute(program))
    return {
      reason: 'scriptUnsafe',
      detail: `Cannot run "${program}": an absolute path wanted`,
      why: 'its path is not absolute',
    }
  const trusted = new Set([0, process.geteuid?.() ?? 0, ...(runsAs === undefined ? [] : [runsAs])])
  try {
    const way = await walk(program)
    // The file before the folders above it.
    for (const { path, stats } of way.reverse()) {
      const why = changeable(path, stats, trusted)
      if (why !== undefined) return { reason: 'scriptUnsafe', detail: `Refused to run ${program}: ${why}`, why }
    }
    return undefined
  } catch (error) {
    return { reason: 'notRunnable', detail: `Cannot run ${program}: ${codeOf(error)}` }
  }
}

type Step = { readonly path: string; readonly stats: Stats }

/** Returns everything that the kernel looks at on the way, from / to the file. Rejects with the kernel's error, or ELOOP. */
async function walk(program: string): Promise<Step[]> {
  const way: Step[] = [{ path: '/', stats: await lstat('/') }]
  const rest = program.split('/')
  let links = 0
  // Without links in it, so that ".." is the folder above.
  let folder = '/'
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    if (name === '' || name === '.') continue
    if (name === '..') {
      folder = dirname(folder)
      continue
    }
    const path = join(folder, name)
    const stats = await lstat(path)
    way.push({ path, stats })
    if (!stats.isSymbolicLink()) {
      folder = path
      continue
    }
    links += 1
    if (links > MOST_LINKS) throw Object.assign(new Error(`ELOOP: ${program}`), { code: 'ELOOP' })
    const target = await readlink(path)
    if (isAbsolute(target)) folder = '/'
    rest.unshift(...target.split('/'))
  }
  return way
}

/**
 * Returns how another user can change it. The permissions of a group count also where the group is root's: an ACL shows
 * the rights of the users that it names there. A link has no permissions of its own, its folder decides.
 */
function changeable(path: string, stats: Stats, trusted: ReadonlySet<number>): string | undefined {
  const { mode, uid, gid } = stats
  if (!trusted.has(uid)) return `${path} belongs to user ${uid}`
  // In a folder like /tmp a user cannot replace another's file.
  if (stats.isSymbolicLink() || (stats.isDirectory() && (mode & STICKY) !== 0)) return undefined
  if ((mode & OTHERS_WRITE) !== 0) return `${path} can be written by everybody`
  return (mode & GROUP_WRITES) === 0 ? undefined : `${path} can be written by group ${gid}`
}
