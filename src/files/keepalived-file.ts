/**
 * A keepalived file from the disk, with the digest that names its text and the text of everything it includes: a
 * reload that changes an included file is a change. This file does not know what the text means.
 */
import { createHash } from 'node:crypto'
import { type KeepalivedDocument, parseKeepalivedConfig, readKeepalived } from '../config/keepalived/configuration.ts'
import type { KeepalivedSource, Surroundings } from '../config/keepalived/source.ts'
import type { Problem } from '../config/problem.ts'
import { HASH_DIGITS, type LoadedConfig, problemOfReading, readText } from './configuration-file.ts'
import { keepalivedSource, surroundingsHere } from './keepalived-source.ts'

export function loadKeepalivedConfig(
  file: string,
  surroundings: Surroundings = surroundingsHere(),
  read: (file: string) => string = readText,
): LoadedConfig {
  let text: string
  try {
    text = read(file)
  } catch (error) {
    return { hash: '', problems: [problemOfReading(file, error)] }
  }
  const digest = createHash('sha256').update(text)
  const source: KeepalivedSource = (pattern, directory) => {
    const found = keepalivedSource(pattern, directory)
    for (const included of found.files) digest.update(included.file).update(included.text)
    return found
  }
  const parsed = parseKeepalivedConfig({ file, text }, source, surroundings)
  return { hash: digest.digest('hex').slice(0, HASH_DIGITS), ...parsed }
}

/** With the document that it comes to, for `holdfast convert`. */
export function readKeepalivedFile(
  file: string,
  surroundings: Surroundings = surroundingsHere(),
): KeepalivedDocument | { readonly problems: readonly Problem[] } {
  let text: string
  try {
    text = readText(file)
  } catch (error) {
    return { problems: [problemOfReading(file, error)] }
  }
  return readKeepalived({ file, text }, keepalivedSource, surroundings)
}
