/**
 * The keyword table of docs/migrating-from-keepalived.md is the one of the code. `UPDATE_DOCS=1 npx vitest run` with this
 * file writes it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Keyword, KeywordFate } from '../../../src/config/keepalived/keywords/keyword.ts'
import { KEYWORDS } from '../../../src/config/keepalived/keywords/keywords.ts'

const DOCUMENT = join(import.meta.dirname, '../../../docs/migrating-from-keepalived.md')
const [BEGIN, END] = ['<!-- keywords: begin -->\n', '<!-- keywords: end -->']
const FATES: Readonly<Record<KeywordFate, string>> = {
  carried: 'carried over',
  noEffect: 'no effect',
  notSupported: 'not supported',
  refused: 'refused',
}

function table(): string {
  const blocks = [...new Set(KEYWORDS.map(({ block }) => block))]
  return blocks
    .map((block) => {
      const title = block === 'file' ? 'At the top of the file' : `In \`${block}\``
      const rows = KEYWORDS.filter((keyword) => keyword.block === block).map(row)
      return `### ${title}\n\n| keyword | fate | what it becomes, or why |\n|---|---|---|\n${rows.join('')}`
    })
    .join('\n')
}

const row = ({ name, fate, says }: Keyword) => `| \`${name}\` | ${FATES[fate]} | ${says.replaceAll('|', '\\|')} |\n`

test('the table of keywords is the one that the reader uses', () => {
  const text = readFileSync(DOCUMENT, 'utf8')
  const [before, rest = ''] = text.split(BEGIN)
  const [shown, after = ''] = rest.split(END)
  if (process.env.UPDATE_DOCS === '1') writeFileSync(DOCUMENT, `${before}${BEGIN}\n${table()}\n${END}${after}`)
  else expect(shown).toBe(`\n${table()}\n`)
})

test('no keyword has two fates', () => {
  const names = KEYWORDS.map(({ block, name }) => `${block}.${name}`)
  expect(names.filter((name, index) => names.indexOf(name) < index)).toEqual([])
})
