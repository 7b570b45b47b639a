/**
 * Reads a configuration file and computes the digest of its text. A file that cannot be read is returned as a problem,
 * so every command reports it with the same text. This file knows nothing about the meaning of a configuration, and
 * whether it is read at the start, for a check or for a reload (docs/adr/0010).
 */

import { createHash, type Hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { messageOf } from '../base/message-of.ts'
import type { ParsedConfig } from '../config/configuration.ts'
import type { Problem } from '../config/problem.ts'

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  // The user may lack permission even as root: the worker has given up CAP_DAC_OVERRIDE, and many daemons never have
  // it.
  EACCES: `permission denied: the user ${process.geteuid?.() ?? ''} must own it, or its mode must allow it`,
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is not a directory',
}

/** Number of hexadecimal digits of the hash: 48 bits. A metric is a double, which holds that many bits exactly. */
const HASH_DIGITS = 12

/** A configuration with its hash; the hash is '' if the file could not be read. */
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

/** Returns the hexadecimal digits that identify a configuration. */
export const hashOf = (digest: Hash): string => digest.digest('hex').slice(0, HASH_DIGITS)

function problemOfReading(file: string, error: unknown): Problem {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const reason = REASONS[code] ?? messageOf(error)
  const message = `Cannot read the configuration: ${reason}${code === '' ? '' : ` (${code})`}`
  return { file, line: 0, column: 0, path: '', message, severity: 'error' }
}

export const readText = (file: string): string => readFileSync(file, 'utf8')
