/**
 * A configuration file from the disk, with the digest that names its text. A file that cannot be read is a problem of
 * the operator like any other, so it comes back as one: every command reports it in the same words. This file does not
 * know what a configuration means, nor whether it is read at start, for a check or for a reload (docs/adr/0010).
 */

import { createHash, type Hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { messageOf } from '../base/message-of.ts'
import type { ParsedConfig } from '../config/configuration.ts'
import type { Problem } from '../config/problem.ts'

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  // Root without CAP_DAC_OVERRIDE, which the worker has given up and many daemons never had, is a user like any other.
  EACCES: `permission denied: the user ${process.geteuid?.() ?? ''} must own it, or its mode must allow it`,
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is not a directory',
}

/** 48 bits: a metric's value is a double, and must say the same as the digits of the status. */
const HASH_DIGITS = 12

/** `hash` is '' when there is no text. */
export type LoadedConfig = ParsedConfig & { readonly hash: string }

/** Returns the contents of the file, or the problem that keeps it from being read. */
export function contentsOf(file: string, read: (file: string) => string = readText): string | Problem {
  try {
    return read(file)
  } catch (error) {
    return problemOfReading(file, error)
  }
}

/** Starts the digest of a configuration with its text. */
export const digestOf = (text: string): Hash => createHash('sha256').update(text)

/** Returns the digits that name a configuration. */
export const hashOf = (digest: Hash): string => digest.digest('hex').slice(0, HASH_DIGITS)

function problemOfReading(file: string, error: unknown): Problem {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const reason = WORDS[code] ?? messageOf(error)
  const message = `Cannot read the configuration: ${reason}${code === '' ? '' : ` (${code})`}`
  return { file, line: 0, column: 0, path: '', message, severity: 'error' }
}

export const readText = (file: string): string => readFileSync(file, 'utf8')
