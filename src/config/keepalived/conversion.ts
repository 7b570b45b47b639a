/**
 * An imported document as YAML that gives the same configuration, with what was not carried over in comments above it.
 * Decided here: the words of that list. This file does not know keywords, nor where the text goes.
 */
import { stringify } from 'yaml'
import type { ImportedDocument } from './import/import.ts'
import type { Fate, FateKind } from './keywords/fate.ts'
import { plain } from './written.ts'

const HEADINGS: readonly (readonly [FateKind, string])[] = [
  ['refused', 'refused: these would change packets or election, and their instances stay in fault'],
  ['notSupported', 'not carried over'],
  ['unknown', 'not known'],
  ['noEffect', 'without effect here'],
]

export function conversionText(file: string, { document, fates, notes }: ImportedDocument): string {
  const carried = fates.filter(({ kind }) => kind === 'carried').length
  const lists = HEADINGS.flatMap(([kind, heading]) => {
    const of = fates.filter((fate) => fate.kind === kind)
    return of.length === 0 ? [] : ['', `${capital(heading)} (${of.length}):`, ...of.map(fateLine)]
  })
  const comments = [
    `The same as ${file}, made by holdfast convert.`,
    `Carried over: ${carried} ${carried === 1 ? 'keyword' : 'keywords'}.`,
    ...lists,
    ...(notes.length === 0 ? [] : ['', `Also (${notes.length}):`]),
    ...notes.map(({ file: at = file, line, message }) => `  ${at}:${line}: ${message}`),
  ]
  const head = comments.map((comment) => (comment === '' ? '#' : `# ${oneLine(comment)}`)).join('\n')
  return `${head}\n\n${stringify({ version: 1, ...record(plain(document)) }, { lineWidth: 0, aliasDuplicateObjects: false })}`
}

function fateLine({ keyword, at, message }: Fate): string {
  return `  ${at.file ?? ''}:${at.line}: ${keyword}${message === '' ? '' : `: ${message}`}`
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** Whatever a name or a file may hold: a comment ends with its line. */
const oneLine = (text: string) => text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ')

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
