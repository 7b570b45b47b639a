/**
 * Tests whether the folder of the control socket is safe. A user who may rename files in that folder, or in a folder
 * above it, can replace the socket and answer its clients. A user who can rename files gets no power over the daemon.
 * This file decides which folder is unsafe, and the text. Other files decide the consequence.
 */
import { accessSync, constants, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const OTHERS_WRITE = 0o022
const STICKY = 0o1000

/** Creates the folder. Returns the reason if the daemon cannot write in the folder, otherwise `undefined`. */
export function unusableFolder(folder: string): string | undefined {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 })
    accessSync(folder, constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    return `Cannot write in ${folder} (${code}). Without the socket in it, "holdfast status" and liveness probes get no answer. Make it writable, or set runDirectory`
  }
}

/** Returns the problem of the nearest unsafe folder of the control socket; `undefined` if all folders are safe. */
export function unsafeFolder(socket: string, own = process.geteuid?.() ?? 0): string | undefined {
  for (let folder = dirname(socket); ; folder = dirname(folder)) {
    const { mode, uid } = statSync(folder)
    const octal = (mode & 0o7777).toString(8).padStart(4, '0')
    if (uid !== 0 && uid !== own) return `${folder} belongs to the user ${uid}`
    if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0)
      return `other users may rename files in ${folder} (mode ${octal}): use chmod go-w`
    if (folder === dirname(folder)) return undefined
  }
}
