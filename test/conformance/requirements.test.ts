/** docs/rfc9568.md is a promise: every requirement that a vector names is in it once, and what it points at exists. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { l2Vectors, packetVectors, timerVectors, txVectors } from './vector-file.ts'

const ROOT = join(import.meta.dirname, '../..')
const text = readFileSync(join(ROOT, 'docs/rfc9568.md'), 'utf8')
const listed = [...text.matchAll(/^\| (VR-[A-Z0-9]+-\d+) \|/gm)].map(([, id]) => id ?? '')

test('every requirement of the byte vectors is listed', () => {
  const packets = ['v3-ipv4', 'v3-ipv6', 'captured', 'unicast'].flatMap((name) => packetVectors(`packets-${name}`))
  const named = [...packets, ...l2Vectors(), ...txVectors(), ...timerVectors()].flatMap((one) => one.requirements)
  // Version 2 has a section, not a table, until it is carried.
  const missing = new Set(named.filter((id) => !id.startsWith('VR-V2-') && !listed.includes(id)))
  expect([...missing].sort()).toEqual([])
})

test('no requirement is listed twice', () => {
  expect(listed.filter((id, i) => listed.indexOf(id) !== i)).toEqual([])
})

test('every file that it names exists', () => {
  const paths = [...text.matchAll(/\b(?:test|src|docs)\/[\w./-]+\.(?:ts|md|json)\b/g)].map(([path]) => path)
  expect(paths.length).toBeGreaterThan(20)
  expect([...new Set(paths)].filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})
