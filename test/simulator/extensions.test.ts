/**
 * Tests that the effect of each protocol extension can be observed. In a history that was made for an extension, the
 * result differs with and without the extension, in the same way each time. `make prove ARGS='--extensions --small'`
 * writes the table of docs/extensions-measured.md.
 */
import { expect, test } from 'vitest'
import { compare, EXTENSIONS, newComparison, tableOf } from './extensions.ts'

/**
 * Seeds of the histories. Every extension makes a difference for some of these seeds; more seeds would only take
 * longer.
 */
const SEEDS = [3, 8, 20, 30]

test('the histories with and without each extension have the recorded differences', () => {
  const comparisons = EXTENSIONS.map(newComparison)
  for (const seed of SEEDS) compare(seed, comparisons)
  expect(comparisons.filter(({ differed }) => differed === 0).map(({ extension }) => extension)).toEqual([])
  expect(comparisons.filter(({ defects }) => defects > 0)).toEqual([])
  expect(comparisons.map(({ violations }) => violations.on)).toEqual(EXTENSIONS.map(() => 0))
  const [competing] = comparisons.filter(({ extension }) => extension === 'announcing over a competing Active')
  expect(competing?.off.client, 'ms in which clients had no answer without the extension').toBeGreaterThan(
    competing?.on.client ?? 0,
  )
  expect(tableOf(comparisons).split('\n')).toHaveLength(2 + EXTENSIONS.length)
})
