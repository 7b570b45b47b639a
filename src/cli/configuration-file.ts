/**
 * A configuration file from the disk. A file that cannot be read is a problem of the operator like any other, so it
 * comes back as one: every command reports it in the same words. This file does not know what a configuration means.
 */
import { readFileSync } from 'node:fs'
import { type ParsedConfig, parseConfig } from '../config/yaml.ts'

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is not a directory',
}

export function loadConfig(file: string): ParsedConfig {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const reason = WORDS[code] ?? (error instanceof Error ? error.message : String(error))
    const message = `Cannot read the configuration: ${reason}${code === '' ? '' : ` (${code})`}`
    return { problems: [{ file, line: 0, column: 0, path: '', message, severity: 'error' }] }
  }
  return parseConfig(text, file)
}
