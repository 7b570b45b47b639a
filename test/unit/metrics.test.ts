/** docs/metrics.md says of every metric what src/metrics/names.ts says, and nothing else. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { METRICS } from '../../src/metrics/names.ts'
import { DISCARD_REASONS, REFUSAL_REASONS } from '../../src/vrrp/advertisement.ts'

const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'metrics.md'), 'utf8')
const cells = (line: string) =>
  line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())
const rows = text
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map(cells)
const words = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word)

test('the table is the one of the code', () => {
  const documented = rows.flatMap(([name = '', kind, labels, help]) =>
    name.startsWith('`holdfast_') ? [{ name: words(name)[0], kind, labels: words(labels), help }] : [],
  )
  const built = Object.entries(METRICS).map(([name, { kind, help, labels }]) => ({ name, kind, labels, help }))
  expect(documented).toEqual(built)
})

test('names and labels keep the conventions', () => {
  for (const [name, { kind, labels }] of Object.entries(METRICS)) {
    expect(name).toMatch(/^holdfast_[a-z_]+$/)
    expect(name.endsWith('_total'), `${name} is a ${kind}`).toBe(kind === 'counter')
    expect(labels).not.toContain('instance')
    expect(new Set(labels).size).toBe(labels.length)
  }
})

test('every reason is listed', () => {
  const listed = (metric: string) => words(rows.find(([label = '']) => label === `\`reason\` of \`${metric}\``)?.[1])
  expect(listed('holdfast_vrrp_advertisements_discarded_total')).toEqual([...DISCARD_REASONS])
  expect(listed('holdfast_vrrp_advertisements_refused_total')).toEqual([...REFUSAL_REASONS])
})

test('the expressions name metrics that exist', () => {
  const used = [...text.matchAll(/\b(holdfast_[a-z_]+)\b/g)].map(([, name]) => name)
  expect(used.filter((name) => name === undefined || !(name in METRICS))).toEqual([])
})
