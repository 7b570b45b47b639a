/**
 * The tables of docs/keepalived-keywords.md have every keyword of the code. `UPDATE_DOCS=1 npx vitest run` with this file writes
 * them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Keyword, KeywordHandling } from '../../../src/config/keepalived/keywords/keyword.ts'
import { KEYWORDS } from '../../../src/config/keepalived/keywords/keywords.ts'

const DOCUMENT = join(import.meta.dirname, '../../../docs/keepalived-keywords.md')
const [BEGIN, END] = ['<!-- keywords: begin -->\n', '<!-- keywords: end -->']
const HANDLINGS: Readonly<Record<KeywordHandling, string>> = {
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
      return `## ${title}\n\n| keyword | handling | what it becomes, or why |\n|---|---|---|\n${rowsOf(block)}`
    })
    .join('\n')
}

/** Returns a row for each handling and reason, in the order of the first keyword of each in the code. */
function rowsOf(block: Keyword['block']): string {
  const rows = new Map<string, string[]>()
  for (const { name, handling, says } of KEYWORDS.filter((keyword) => keyword.block === block)) {
    const ending = `| ${HANDLINGS[handling]} | ${says.replaceAll('|', '\\|')} |\n`
    rows.set(ending, [...(rows.get(ending) ?? []), `\`${name}\``])
  }
  return [...rows].map(([ending, names]) => `| ${names.join(', ')} ${ending}`).join('')
}

test('docs/keepalived-keywords.md has the table that the import uses', () => {
  const text = readFileSync(DOCUMENT, 'utf8')
  const [before, rest = ''] = text.split(BEGIN)
  const [shown, after = ''] = rest.split(END)
  if (process.env.UPDATE_DOCS === '1') writeFileSync(DOCUMENT, `${before}${BEGIN}\n${table()}\n${END}${after}`)
  else expect(shown).toBe(`\n${table()}\n`)
})

test('no keyword has two handlings', () => {
  const names = KEYWORDS.map(({ block, name }) => `${block}.${name}`)
  expect(names.filter((name, index) => names.indexOf(name) < index)).toEqual([])
})
