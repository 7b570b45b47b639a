/** docs/security.md promises that each of its rows is an attack that a test makes: names are compared, both ways. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DISCARD_REASONS } from '../../../src/vrrp/advertisement.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const page = readFileSync(join(ROOT, 'docs', 'security.md'), 'utf8')
const tests = readdirSync(join(ROOT, 'test', 'netns')).filter((name) => /^security.*\.test\.ts$/.test(name))
const rows = [...page.matchAll(/^\| (S-\d\d) \|/gm)].map((match) => match[1] ?? '').sort()
const made = tests.flatMap((name) => {
  const lines = readFileSync(join(ROOT, 'test', 'netns', name), 'utf8').split('\n')
  // The name of a test, or of a case of one.
  return lines
    .filter((line) => /(test\(|^\s*\[|^\s*)['"`]S-\d\d/.test(line))
    .flatMap((line) => line.match(/S-\d\d/g) ?? [])
})

test('every row has a test, and every attack that is made has a row', () => {
  expect(rows.length).toBeGreaterThan(25)
  expect([...new Set(made)].sort()).toEqual(rows)
})

test('no row stands there twice', () => {
  expect(new Set(rows).size).toBe(rows.length)
})

test('what it says is discarded has a name that exists', () => {
  const named = [...page.matchAll(/discarded\{([a-z-]+)\}/g)].map((match) => match[1] ?? '')
  expect(named.length).toBeGreaterThan(8)
  const known: readonly string[] = DISCARD_REASONS
  expect(named.filter((reason) => !known.includes(reason))).toEqual([])
})
