/**
 * Writes an imported document as YAML with the same configuration. Comments above the YAML list the keepalived keywords
 * that have no counterpart. This file decides the text of that list. This file knows nothing about the meaning of
 * keywords.
 */
import { stringify } from 'yaml'
import type { ImportedDocument } from './import/import.ts'
import type { Handling, HandlingKind } from './keywords/handling.ts'
import { plain } from './written.ts'

const HEADINGS: readonly (readonly [HandlingKind, string])[] = [
  ['refused', 'refused: these would change packets or the election, so their instances stay in fault'],
  ['notSupported', 'not carried over'],
  ['unknown', 'not known'],
  ['noEffect', 'without effect here'],
]

/** Returns the YAML text of an imported document. */
export function conversionText(file: string, { document, handlings, notes }: ImportedDocument): string {
  const carried = handlings.filter(({ kind }) => kind === 'carried').length
  const lists = HEADINGS.flatMap(([kind, heading]) => {
    const of = handlings.filter((handling) => handling.kind === kind)
    return of.length === 0 ? [] : ['', `${capital(heading)} (${of.length}):`, ...of.map(handlingLine)]
  })
  const comments = [
    `The same configuration as ${file}, written by holdfast convert.`,
    `Carried over: ${carried} ${carried === 1 ? 'keyword' : 'keywords'}.`,
    ...lists,
    ...(notes.length === 0 ? [] : ['', `Also (${notes.length}):`]),
    ...notes.map(({ file: at = file, line, message }) => `  ${at}:${line}: ${message}`),
  ]
  const head = comments.map((comment) => (comment === '' ? '#' : `# ${oneLine(comment)}`)).join('\n')
  return `${head}\n\n${stringify({ version: 1, ...record(plain(document)) }, { lineWidth: 0, aliasDuplicateObjects: false })}`
}

function handlingLine({ keyword, at, message }: Handling): string {
  return `  ${at.file ?? ''}:${at.line}: ${keyword}${message === '' ? '' : `: ${message}`}`
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/**
 * Returns a text without line breaks, for a comment in the converted file. In such a text, a name with a line break
 * cannot end the comment.
 */
const oneLine = (text: string) => text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ')

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
