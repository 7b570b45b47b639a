/**
 * Replaces a small file that other programs read. A reader sees the old text or the new text. A symbolic link with the
 * name of the file is replaced, not followed. A folder like /tmp is not safe, so the new text goes into a new file that
 * no other user can create first. The caller decides whether the text must survive a power failure. This file knows
 * nothing about the content.
 */

import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { messageOf } from '../base/message-of.ts'

/** Mode of the new file: a dump is only for users who may command the daemon. */
const MODE = 0o600
const FRESH = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** Replaces a file. Rejects with Error; its message names the file. */
export async function replaceFile(path: string, text: string, durable = false): Promise<void> {
  const fresh = `${path}.${randomUUID()}`
  try {
    const file = await open(fresh, FRESH, MODE)
    try {
      await file.writeFile(text)
      // The text must be on the disk before its name; otherwise the name may lead to an empty file after a power
      // failure.
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
