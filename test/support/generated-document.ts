/**
 * Checks the parts of documents that are generated from the code. A test fails if a generated part is outdated; with
 * UPDATE_DOCS=1 (make docs) the part is written instead. This file does not know the contents.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'

const DOCS = join(import.meta.dirname, '..', '..', 'docs')
const UPDATE = process.env.UPDATE_DOCS === '1'

/** Compares the whole document with the wanted text, or writes the wanted text into it. */
export function expectDocument(name: string, wanted: string): void {
  const path = join(DOCS, name)
  if (UPDATE) writeFileSync(path, wanted)
  expect(readFileSync(path, 'utf8'), `docs/${name} is not what the code says: make docs`).toBe(wanted)
}

/**
 * Compares the part of a document between `<!-- PART -->` and `<!-- end of PART -->` with the wanted text, or writes
 * it.
 */
export function expectPart(name: string, part: string, wanted: string): void {
  const text = readFileSync(join(DOCS, name), 'utf8')
  const [begin, end] = [`<!-- ${part} -->\n`, `<!-- end of ${part} -->\n`]
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/${name} has no place for ${part}`)
  expectDocument(name, `${text.slice(0, from + begin.length)}\n${wanted}\n${text.slice(to)}`)
}

/** Returns a Markdown table as GitHub reads it: a vertical bar inside a cell is escaped. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('')
}
