/**
 * Tests the tables of docs/rfc9568.md and docs/rfc9568-operation.md. Every requirement of a vector stands in them
 * once. A row claims only vectors that name its requirement, and the files that it names exist. Knows no file of
 * vectors by name.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'

const ROOT = join(import.meta.dirname, '../..')
const VECTORS = join(import.meta.dirname, 'vectors')

const vectorFile = z.looseObject({
  vectors: z.array(z.looseObject({ id: z.string(), requirements: z.array(z.string()) })),
})
const vectors = readdirSync(VECTORS)
  .filter((name) => name.endsWith('.json'))
  .flatMap((name) => vectorFile.parse(JSON.parse(readFileSync(join(VECTORS, name), 'utf8'))).vectors)
const requirementsOf = new Map(vectors.map(({ id, requirements }) => [id, requirements]))

const text = ['rfc9568.md', 'rfc9568-operation.md']
  .map((page) => readFileSync(join(ROOT, 'docs', page), 'utf8'))
  .join('\n')
const rows = [...text.matchAll(/^\| VR-.*$/gm)].map(([line]) => {
  // Cells with or without padding: a formatter decides the layout of a table.
  const cells = line.split('|').map((cell) => cell.trim())
  const [, requirement = '', , claimed = ''] = cells
  return { requirement, columns: cells.length - 2, vectors: vectorIds(claimed) }
})
const listed = rows.map(({ requirement }) => requirement)

/** Expands `SM-A15–18, TX-003` to SM-A15, SM-A16, SM-A17, SM-A18, TX-003. */
function vectorIds(cell: string): string[] {
  if (cell === '–') return []
  return cell.split(', ').flatMap((part) => {
    const [, stem = '', first = '', last = first] = /^(.*?)(\d+)(?:–(\d+))?$/.exec(part) ?? []
    const count = Number(last) - Number(first) + 1
    return Array.from({ length: count }, (_, i) => `${stem}${String(Number(first) + i).padStart(first.length, '0')}`)
  })
}

test('the tables of the documentation list every requirement of the vectors', () => {
  const missing = vectors.flatMap(({ id, requirements }) =>
    requirements.filter((one) => !listed.includes(one)).map((one) => `${one} of ${id}`),
  )
  expect(missing).toEqual([])
  expect(vectors.length, 'vectors read').toBeGreaterThan(200)
})

test('a row of the tables claims only existing vectors that name its requirement', () => {
  const claims = rows.flatMap(({ requirement, vectors: ids }) => ids.map((id) => ({ id, requirement })))
  const wrong = claims.filter(({ id, requirement }) => requirementsOf.get(id)?.includes(requirement) !== true)
  expect(wrong).toEqual([])
  expect(claims.length, 'vectors claimed').toBeGreaterThan(200)
})

test('every row of the tables has its four columns, and no row occurs twice', () => {
  expect(rows.filter(({ columns, requirement }) => columns !== 4 || !/^VR-[A-Z0-9]+-\d+$/.test(requirement))).toEqual(
    [],
  )
  expect(listed.filter((id, i) => listed.indexOf(id) !== i)).toEqual([])
})

test('every file that a row of the tables names exists', () => {
  const paths = [...text.matchAll(/\b(?:test|src|docs)\/[\w./-]+\.(?:ts|md|json|txt)\b/g)].map(([path]) => path)
  expect(paths.length).toBeGreaterThan(20)
  expect([...new Set(paths)].filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

test('src/vrrp/fsm.ts cites every line of RFC 9568 §6.4 that docs/rfc9568.md names', () => {
  const table = text.slice(
    text.indexOf('| row | lines'),
    text.indexOf('| requirement | what', text.indexOf('| row | lines')),
  )
  const lines = new Set([...table.matchAll(/\(\d{3}\)/g)].map(([line]) => line))
  const code = readFileSync(join(ROOT, 'src/vrrp/fsm.ts'), 'utf8')
  expect(lines.size, 'lines in the table').toBeGreaterThan(40)
  expect([...lines].filter((line) => !code.includes(line))).toEqual([])
})
