/** The C sources: their licence, their length, and that a package has every source that native/build.sh needs. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const MOST_LINES = 300
const MOST_LINES_OF_A_FUNCTION = 60
const LICENCE = '/* SPDX-License-Identifier: Apache-2.0 */'

const sources = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.[ch]$/.test(name))
    .map((name) => join(folder, name))

const linesOf = (path: string): string[] => readFileSync(join(ROOT, path), 'utf8').trimEnd().split('\n')

/** Name and length of each function: from the line that ends with `{` in the first column's declaration to its `}`. */
function functionsOf(lines: readonly string[]): { readonly name: string; readonly length: number }[] {
  const found: { name: string; length: number }[] = []
  let began: number | undefined
  lines.forEach((line, i) => {
    if (/^[A-Za-z].*\(/.test(line) && !line.endsWith(';')) began = i
    if (line !== '}' || began === undefined) return
    found.push({ name: /(\w+)\(/.exec(lines[began] ?? '')?.[1] ?? '?', length: i - began + 1 })
    began = undefined
  })
  return found
}

const files = [...sources('native'), ...sources('bench/native')]

describe('the C sources', () => {
  test('the search finds the files', () => {
    expect(files).toContain('native/guardian/main.c')
    expect(files).toContain('native/addon/module.c')
    expect(functionsOf(linesOf('native/guardian/main.c')).map(({ name }) => name)).toContain('main')
  })

  test.each(files)('%s has a licence, at most 300 lines, and no function above 60 lines', (path) => {
    const lines = linesOf(path)
    expect(lines[0]).toBe(LICENCE)
    expect(lines.length).toBeLessThanOrEqual(MOST_LINES)
    expect(functionsOf(lines).filter(({ length }) => length > MOST_LINES_OF_A_FUNCTION)).toEqual([])
  })

  test('the npm package contains the files that native/build.sh needs', () => {
    const { files: shipped }: { files: readonly string[] } = JSON.parse(
      readFileSync(join(ROOT, 'package.json'), 'utf8'),
    )
    const needed = linesOf('native/prebuilds/SOURCES.sha256').map((line) => join('native', line.split('  ')[1] ?? ''))
    expect(needed).toContain('native/guardian/main.c')
    const isShipped = (path: string) => shipped.some((entry) => path === entry || path.startsWith(`${entry}/`))
    expect(needed.filter((path) => !isShipped(path))).toEqual([])
  })
})
