/**
 * Reads a keepalived file and computes a digest of its text and of all included files, so that a change of an included
 * file counts. This file knows nothing about the meaning of the text.
 */
import { type KeepalivedDocument, parseKeepalivedConfig, readKeepalived } from '../config/keepalived/configuration.ts'
import type { KeepalivedSource, Surroundings } from '../config/keepalived/source.ts'
import type { Problem } from '../config/problem.ts'
import { contentsOf, digestOf, hashOf, type LoadedConfig, readText } from './configuration-file.ts'
import { keepalivedSource, surroundingsHere } from './keepalived-source.ts'

/** Reads a keepalived file as a configuration. */
export function loadKeepalivedConfig(
  file: string,
  surroundings: Surroundings = surroundingsHere(),
  read: (file: string) => string = readText,
): LoadedConfig {
  const text = contentsOf(file, read)
  if (typeof text !== 'string') return { hash: '', problems: [text] }
  const digest = digestOf(text)
  const source: KeepalivedSource = (pattern, directory) => {
    const found = keepalivedSource(pattern, directory)
    for (const included of found.files) digest.update(included.file).update(included.text)
    return found
  }
  const parsed = parseKeepalivedConfig({ file, text }, source, surroundings)
  return { hash: hashOf(digest), ...parsed }
}

/** Reads a keepalived file and also returns its document, for `holdfast convert`. */
export function readKeepalivedFile(
  file: string,
  surroundings: Surroundings = surroundingsHere(),
): KeepalivedDocument | { readonly problems: readonly Problem[] } {
  const text = contentsOf(file)
  if (typeof text !== 'string') return { problems: [text] }
  return readKeepalived({ file, text }, keepalivedSource, surroundings)
}
