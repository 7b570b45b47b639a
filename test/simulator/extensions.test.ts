/**
 * What an extension is worth can be seen: one that is taken away is missed in a history that is made for it, and the account
 * is the same each time. The table of docs/extensions-measured.md is `make prove ARGS='--extensions --small'`.
 */
import { expect, test } from 'vitest'
import { compare, EXTENSIONS, newComparison, tableOf } from './extensions.ts'

/** Each differs for some of these seeds; of ten extensions more seeds would say no more, and take longer. */
const SEEDS = [3, 8, 20, 30]

test('the same histories with each extension and without it', () => {
  const comparisons = EXTENSIONS.map(newComparison)
  for (const seed of SEEDS) compare(seed, comparisons)
  expect(comparisons.filter(({ differed }) => differed === 0).map(({ extension }) => extension)).toEqual([])
  expect(comparisons.filter(({ defects }) => defects > 0)).toEqual([])
  expect(comparisons.map(({ violations }) => violations.on)).toEqual(EXTENSIONS.map(() => 0))
  const [rival] = comparisons.filter(({ extension }) => extension === 'announcing over a rival')
  expect(rival?.off.client, 'ms that clients were unanswered without it').toBeGreaterThan(rival?.on.client ?? 0)
  expect(tableOf(comparisons).split('\n')).toHaveLength(2 + EXTENSIONS.length)
})
