/** docs/metrics.md says of every metric what src/metrics/names.ts says, and nothing else. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { EXPORTER_METRICS } from '../../../src/metrics/exporter-names.ts'
import { FORMER_NAMES, METRICS, type MetricRow } from '../../../src/metrics/names.ts'
import { exposition } from '../../../src/metrics/registry.ts'
import { DISCARD_REASONS, REFUSAL_REASONS } from '../../../src/vrrp/advertisement.ts'
import { expectPart, markdownTable } from '../../support/generated-document.ts'

const ROWS: readonly (readonly [string, MetricRow])[] = Object.entries(METRICS)
const code = (word: string | number) => `\`${word}\``

test('the tables of the document are those of the code', () => {
  const lines = (metrics: Readonly<Record<string, MetricRow>>) =>
    Object.entries(metrics).map(([name, { help, kind, labels }]) => [
      code(name),
      kind,
      labels.map(code).join(', '),
      help,
    ])
  const head = ['name', 'kind', 'labels', 'meaning']
  expectPart('metrics.md', 'metrics', markdownTable(head, lines(METRICS)))
  const former = Object.entries(FORMER_NAMES).map(([old, name]) => [code(old), code(name)])
  expectPart('metrics.md', 'former', markdownTable(['former name', 'name'], former))
  expectPart('metrics.md', 'exporter', markdownTable(head, lines(EXPORTER_METRICS)))
  const buckets = ROWS.flatMap(([name, row]) =>
    row.kind === 'histogram' ? [[code(name), row.buckets.join(', ')]] : [],
  )
  expectPart('metrics.md', 'buckets', markdownTable(['histogram', 'buckets (`le`), besides `+Inf`'], buckets))
})

test('names and labels keep the conventions', () => {
  for (const [name, { kind, labels }] of ROWS) {
    expect(name).toMatch(/^holdfast_[a-z_]+$/)
    expect(name.endsWith('_total'), `${name} is a ${kind}`).toBe(kind === 'counter')
    if (kind === 'histogram') expect(name, 'a histogram says its unit').toMatch(/_(seconds|ratio)$/)
    expect(labels).not.toContain('instance')
    expect(labels).not.toContain('le')
    expect(new Set(labels).size).toBe(labels.length)
  }
  for (const [name, row] of ROWS) {
    if (row.kind !== 'histogram') continue
    expect(row.buckets, name).toEqual([...new Set(row.buckets)].sort((a, b) => a - b))
  }
})

test('a metric is exposed under its former name, too, with the same value', async () => {
  const measured = [
    { name: 'holdfast_vrrp_duplicate_holder', labels: { router: 'api', address: '10.0.0.200' }, value: 1 },
  ]
  const { body } = await exposition(METRICS, measured, FORMER_NAMES)
  for (const name of ['holdfast_vrrp_duplicate_holder', 'holdfast_vrrp_duplicate_owner'])
    expect(body).toContain(`${name}{router="api",address="10.0.0.200"} 1`)
  expect(body).toContain('# HELP holdfast_vrrp_strangers Former name of holdfast_vrrp_mismatched_routers, until 0.3.0')
})

const document = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'metrics.md'), 'utf8')

test('every reason is listed', () => {
  const rows = document.split('\n').map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
  const words = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word)
  const listed = (metric: string) => words(rows.find(([, label]) => label === `\`reason\` of \`${metric}\``)?.[2])
  expect(listed('holdfast_vrrp_advertisements_discarded_total')).toEqual([...DISCARD_REASONS])
  expect(listed('holdfast_vrrp_advertisements_refused_total')).toEqual([...REFUSAL_REASONS])
})

test('the expressions name metrics that exist', () => {
  const series = ROWS.flatMap(([name, { kind }]) =>
    kind === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  )
  const used = [...document.matchAll(/\b(holdfast_[a-z_]+)\b/g)].map(([, name]) => name)
  const known = [...series, ...Object.keys(FORMER_NAMES)]
  expect(used.filter((name) => name === undefined || !known.includes(name))).toEqual([])
})

test('a label value with quotes, backslashes and lines, counters that meet, and a row without anything', async () => {
  const rows = {
    a_total: { kind: 'counter', help: 'one\nline', labels: ['x'] },
    b: { kind: 'gauge', help: 'nothing measured', labels: [] },
  } as const satisfies Record<string, MetricRow>
  const odd = { x: 'say "hi"\\\n' }
  const { body } = await exposition(rows, [
    { name: 'a_total', labels: odd, value: 2 },
    { name: 'a_total', labels: odd, value: 3 },
    { name: 'unknown', labels: {}, value: 1 },
  ])
  expect(body).toBe(
    '# HELP a_total one\\nline\n# TYPE a_total counter\na_total{x="say \\"hi\\"\\\\\\n"} 5\n\n# HELP b nothing measured\n# TYPE b gauge\n',
  )
})
