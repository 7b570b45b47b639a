/**
 * Whether the folder of the control socket is a safe place: whoever may rename in it, or in one above it, can put a
 * socket of his own in the place of ours, and tell its clients what he likes. He gets no power over the daemon by it.
 * Decided here: what counts as unsafe and what is said then. Refuses to decide what follows from it.
 */
import { accessSync, constants, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const OTHERS_WRITE = 0o022
const STICKY = 0o1000

/** Makes the folder and returns why nothing can be put in it, in words; undefined when something can. */
export function unusableFolder(folder: string): string | undefined {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 })
    accessSync(folder, constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    return `Cannot write in ${folder} (${code}): without its socket "holdfast status" and a liveness probe get no answer. Make it writable, or set runDirectory`
  }
}

/** The folder nearest to the socket with which something is wrong, in words; undefined when all is well. */
export function unsafeFolder(socket: string, own = process.geteuid?.() ?? 0): string | undefined {
  for (let folder = dirname(socket); ; folder = dirname(folder)) {
    const { mode, uid } = statSync(folder)
    const octal = (mode & 0o7777).toString(8).padStart(4, '0')
    if (uid !== 0 && uid !== own) return `${folder} belongs to the user ${uid}`
    if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0)
      return `others may rename what is in ${folder} (mode ${octal}): chmod go-w`
    if (folder === dirname(folder)) return undefined
  }
}
