/**
 * Tests whether a program may be run with the privileges of this daemon. This file decides that no other user may be
 * able to change the path of the program: no folder, no symbolic link, and not the file. The path is resolved as the
 * kernel resolves it, so a safe path leads to the same file when the program is executed. `script-safety.ts` does not
 * know what the program does, or what its interpreter reads.
 */
import type { Stats } from 'node:fs'
import { lstat, readlink } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { codeOf } from '../failed-probe.ts'

export type Unsafe =
  | {
      readonly reason: 'scriptUnsafe'
      readonly detail: string /** Reason why the program is unsafe, as the end of a sentence. */
      readonly why: string
    }
  | { readonly reason: 'notRunnable'; readonly detail: string }

const GROUP_WRITES = 0o020
const OTHERS_WRITE = 0o002
const STICKY = 0o1000
/** Limit of symbolic links in one path, as in the kernel (path_resolution(7)). */
const MOST_LINKS = 40

/**
 * Returns why the program is unsafe; `undefined` if it may be run. `runsAs` is the user of the check, who may own the
 * program file.
 */
export async function unsafeBecause(program: string, runsAs?: number): Promise<Unsafe | undefined> {
  if (!isAbsolute(program))
    return {
      reason: 'scriptUnsafe',
      detail: `Cannot run "${program}": the path is not absolute`,
      why: 'its path is not absolute',
    }
  const trusted = new Set([0, process.geteuid?.() ?? 0, ...(runsAs === undefined ? [] : [runsAs])])
  try {
    const way = await walk(program)
    // The program file is tested before the folders above it.
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

/**
 * Returns all folders, links and the file that the kernel reads on the path of the program, from / on. Rejects with the
 * kernel's error, or ELOOP.
 */
async function walk(program: string): Promise<Step[]> {
  const way: Step[] = [{ path: '/', stats: await lstat('/') }]
  const rest = program.split('/')
  let links = 0
  // Resolved path so far. The resolved path has no symbolic links, so that ".." is the parent folder.
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
 * Returns how another user can change a file, folder or link; `undefined` if no other user can. Group permissions count
 * even for the group root, because an ACL shows the rights of its users as group permissions. A symbolic link has no
 * permissions of its own; the permissions of its folder decide.
 */
function changeable(path: string, stats: Stats, trusted: ReadonlySet<number>): string | undefined {
  const { mode, uid, gid } = stats
  if (!trusted.has(uid)) return `${path} belongs to user ${uid}`
  // In a sticky folder such as /tmp a user cannot replace files of other users.
  if (stats.isSymbolicLink() || (stats.isDirectory() && (mode & STICKY) !== 0)) return undefined
  if ((mode & OTHERS_WRITE) !== 0) return `${path} is writable for all users`
  return (mode & GROUP_WRITES) === 0 ? undefined : `${path} is writable for group ${gid}`
}
