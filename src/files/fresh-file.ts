/**
 * A small file that others read, replaced as a whole: a reader sees the old text or the new one, and what lies in its
 * place is never written through. Decided here: a folder like /tmp is no safe place, so that the new text goes into a
 * file of its own that nobody else can have made, and a link is replaced instead of followed. Waits on no disk: the
 * calls are asynchronous; whether the text is to be found after a power failure as well is the caller's to say. Refuses
 * to know what is in it.
 */

import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { messageOf } from '../base/message-of.ts'

/** What a dump shows is for whoever may command the daemon. */
const MODE = 0o600
const FRESH = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** Rejects with Error; its message names the file. */
export async function replaceFile(path: string, text: string, durable = false): Promise<void> {
  const fresh = `${path}.${randomUUID()}`
  try {
    const file = await open(fresh, FRESH, MODE)
    try {
      await file.writeFile(text)
      // Before the name: otherwise it may name an empty file.
      if (durable) await file.sync()
    } finally {
      await file.close()
    }
    await rename(fresh, path)
    if (durable) await syncFolder(dirname(path))
  } catch (cause) {
    await rm(fresh, { force: true }).catch(() => {})
    throw new Error(`Cannot write ${path}: ${messageOf(cause)}`, { cause })
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
