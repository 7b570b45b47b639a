/**
 * A small file that others read, replaced as a whole: a reader sees the old text or the new one, and what lies in its
 * place is never written through. Decided here: a folder like /tmp is no safe place, so that the new text goes into a
 * file of its own that nobody else can have made, and a link is replaced instead of followed. Waits on no disk: the
 * calls are asynchronous. Refuses to know what is in it.
 */
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'

/** What a dump shows is for whoever may command the daemon. */
const MODE = 0o600
const FRESH = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** Rejects with Error; its message names the file. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const fresh = `${path}.${randomUUID()}`
  try {
    const file = await open(fresh, FRESH, MODE)
    try {
      await file.writeFile(text)
    } finally {
      await file.close()
    }
    await rename(fresh, path)
  } catch (cause) {
    await rm(fresh, { force: true }).catch(() => {})
    throw new Error(`Cannot write ${path}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}
