/**
 * Files of the agent: one that says something by being there, and one that is replaced whole, as root's and never half written.
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

export const factStands = (file: string): boolean => existsSync(file)

/** Throws what the file system says. */
export function putFact(file: string, present: boolean): void {
  if (!present) rmSync(file, { force: true })
  else if (!existsSync(file)) replaceFile(file, '')
}

/** With the mode of what was there. Throws what the file system says; the old one stands then. */
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
    // Whatever the umask.
    chmodSync(fresh, mode)
    renameSync(fresh, file)
  } catch (error) {
    rmSync(fresh, { force: true })
    throw error
  }
}
