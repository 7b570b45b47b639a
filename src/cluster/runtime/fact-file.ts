/**
 * Files of the agent: files whose existence is a fact, and files that are replaced as a whole. Files of the agent
 * belong to root and are never half written.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'

const NEW_MODE = 0o644

export const factExists = (file: string): boolean => existsSync(file)

/** Creates or removes the file of a fact. Throws the error of the file system. */
export function putFact(file: string, present: boolean): void {
  if (!present) rmSync(file, { force: true })
  else if (!existsSync(file)) replaceFile(file, '')
}

/** Replaces a file and keeps its permissions. Throws the error of the file system; in that case the old file stays. */
export function replaceFile(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  const mode = existsSync(file) ? statSync(file).mode & 0o7777 : NEW_MODE
  const fresh = `${file}.new-${process.pid}`
  try {
    rmSync(fresh, { force: true })
    const descriptor = openSync(fresh, 'wx', mode)
    try {
      writeSync(descriptor, text)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    // chmod sets the permissions, because the umask of this process could reduce those of the new file.
    chmodSync(fresh, mode)
    renameSync(fresh, file)
  } catch (error) {
    rmSync(fresh, { force: true })
    throw error
  }
}
