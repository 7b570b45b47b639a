/** Reads YAML as a configuration, or returns all of its problems. The meaning of the keys is in `configuration.ts`. */
import { configFrom, type ParsedConfig } from '../configuration.ts'
import { readDocument } from './document.ts'

/** Reads a YAML text as a configuration. `file` is the file name that its problems show. */
export function parseConfig(text: string, file?: string): ParsedConfig {
  return configFrom(readDocument(text, file))
}
