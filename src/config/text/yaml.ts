/**
 * YAML to configuration, or every problem at once. This file does not know what a configuration means (configuration.ts).
 */
import { configFrom, type ParsedConfig } from '../configuration.ts'
import { readDocument } from './document.ts'

/** `file` is only what the problems are labelled with. */
export function parseConfig(text: string, file?: string): ParsedConfig {
  return configFrom(readDocument(text, file))
}
