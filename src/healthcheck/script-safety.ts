/**
 * Whether a program may be run by a daemon that can do what this one can. Decided here: neither the file nor a folder
 * on its way may be another's to change. Refuses to know what the program does, and what its interpreter reads.
 */
import { realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import { codeOf } from './failed-probe.ts'

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

/** undefined = it may be run. `runsAs`: the user of the check, who may own it. */
export async function unsafeBecause(program: string, runsAs?: number): Promise<Unsafe | undefined> {
  if (!isAbsolute(program))
    return {
      reason: 'scriptUnsafe',
      detail: `Cannot run "${program}": an absolute path wanted`,
      why: 'its path is not absolute',
    }
  const trusted = new Set([0, process.geteuid?.() ?? 0, ...(runsAs === undefined ? [] : [runsAs])])
  try {
    const real = await realpath(program)
    for (let path = real; ; path = dirname(path)) {
      const { mode, uid, gid } = await stat(path)
      const isFolder = path !== real
      // In a folder like /tmp nobody replaces another's file.
      const kept = isFolder && (mode & STICKY) !== 0
      const why = !trusted.has(uid)
        ? `${path} belongs to user ${uid}`
        : !kept && (mode & OTHERS_WRITE) !== 0
          ? `${path} can be written by everybody`
          : !kept && (mode & GROUP_WRITES) !== 0 && gid !== 0
            ? `${path} can be written by group ${gid}`
            : undefined
      if (why !== undefined) return { reason: 'scriptUnsafe', detail: `Refused to run ${program}: ${why}`, why }
      if (path === dirname(path)) return undefined
    }
  } catch (error) {
    return { reason: 'notRunnable', detail: `Cannot run ${program}: ${codeOf(error)}` }
  }
}
