import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const SAMPLES = join(ROOT, 'test', 'samples', 'cluster')
const { cases } = JSON.parse(readFileSync(join(SAMPLES, 'nodeip-cases.json'), 'utf8')) as { cases: { fn: string }[] }
const ROWS = readFileSync(join(SAMPLES, 'NOT-REPLAYED.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| fn '))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, fn = '', where = '', why = '']) => ({ fn, where, why }))

describe('the list of what is replayed', () => {
  test('every function of the cases is replayed once', () =>
    expect(ROWS.map(({ fn }) => fn).sort()).toEqual([...new Set(cases.map(({ fn }) => fn))].sort()))

  test.each(ROWS.map((row) => [row.fn, row] as const))(
    '%s is where it is said to be, or it is said why not',
    (fn, row) => {
      if (row.where === '-') expect(row.why).not.toBe('')
      else
        expect(readFileSync(join(ROOT, row.where), 'utf8')).toMatch(
          new RegExp(`(clusterCases|casesOf)[^\\n]*[\\s\\S]{0,120}'${fn}'`),
        )
    },
  )
})
