/** docs/events-and-logs.md has every field and level of a log record, and no other. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LEVELS } from '../../../src/app/log/log-format.ts'
import { LOG } from '../../../src/log/log.ts'
import { LOG_FIELDS } from '../../../src/log/log-fields.ts'
import { expectPart, markdownTable } from '../../support/generated-document.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const page = readFileSync(join(ROOT, 'docs', 'events-and-logs.md'), 'utf8')

const TYPES = { strings: 'list of strings', objects: 'list of objects' } as const

test('the fields of the page are those of the code', () => {
  const rows = Object.entries(LOG_FIELDS).map(([name, { means, type }]) => [
    `\`${name}\``,
    type === 'strings' || type === 'objects' ? TYPES[type] : type,
    means,
  ])
  expect(rows, 'sorted by name').toEqual(rows.toSorted(([a = ''], [b = '']) => a.localeCompare(b)))
  expectPart('events-and-logs.md', 'fields', markdownTable(['field', 'type', 'meaning'], rows))
})

test('every field belongs to an event', () => {
  const used = new Set<string>(Object.values(LOG).flatMap(({ fields }) => fields))
  expect(Object.keys(LOG_FIELDS).filter((name) => !used.has(name))).toEqual([])
})

test('no field has the name of a key that every JSON record has', () => {
  expect(
    Object.keys(LOG_FIELDS).filter((name) => ['level', 'time', 'name', 'event', 'msg', 'shortened'].includes(name)),
  ).toEqual([])
})

test.each(Object.entries(LEVELS))('the level %s is on the page with its numbers', (level, { pino, syslog }) => {
  expect(page).toMatch(new RegExp(`^\\| \`${level}\` \\| ${pino} \\| ${syslog} `, 'm'))
})

test('the page has every field that the guardian writes', () => {
  const folder = join(ROOT, 'native')
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.startsWith('guardian/') && name.endsWith('.c'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('')
  const names = [...sources.matchAll(/,\\"(\w+)\\":|append_string\(&?line, "(\w+)"/g)].map(([, a, b]) => a ?? b ?? '')
  const [, table = ''] = page.split('## Fields of the guardian')
  const ours = [...new Set(names)].filter((name) => !['msg', 'time', 'pid', 'name', 'event'].includes(name))
  expect(ours.length).toBeGreaterThan(12)
  expect(ours.filter((name) => !table.includes(`\`${name}\``))).toEqual([])
})
