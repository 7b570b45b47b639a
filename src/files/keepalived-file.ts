/**
 * A keepalived file from the disk, with the digest that names its text and the text of everything it includes: a
 * reload that changes an included file is a change. This file does not know what the text means.
 */
import { type KeepalivedDocument, parseKeepalivedConfig, readKeepalived } from '../config/keepalived/configuration.ts'
import type { KeepalivedSource, Surroundings } from '../config/keepalived/source.ts'
import type { Problem } from '../config/problem.ts'
import { contentsOf, digestOf, hashOf, type LoadedConfig, readText } from './configuration-file.ts'
import { keepalivedSource, surroundingsHere } from './keepalived-source.ts'

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

/** With the document that it comes to, for `holdfast convert`. */
export function readKeepalivedFile(
  file: string,
  surroundings: Surroundings = surroundingsHere(),
): KeepalivedDocument | { readonly problems: readonly Problem[] } {
  const text = contentsOf(file)
  if (typeof text !== 'string') return { problems: [text] }
  return readKeepalived({ file, text }, keepalivedSource, surroundings)
}
