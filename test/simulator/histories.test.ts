/**
 * Histories of faults on simulated LANs, with the daemon itself on every node: two, or nobody, answer no longer than the faults
 * that are in force allow, and when all is over everything is as it has to be. A failure is made small and printed as the
 * scenario that repeats it (test/simulator/scenarios). `make prove` runs ten thousand.
 */
import { expect, test } from 'vitest'
import { newTally, prove } from './prove.ts'

const told = (failures: readonly { readonly seed: number }[]) => JSON.stringify(failures, undefined, 1)

test('288 of small clusters', () => {
  const tally = newTally()
  for (let seed = 1_000_001; seed <= 1_000_288; seed++) prove(seed, tally, { small: true })
  expect(
    tally.failures.map(({ seed }) => seed),
    told(tally.failures),
  ).toEqual([])
  // A generator that deals nothing would be content, too.
  expect(Math.min(...[...tally.kinds.values()]), 'faults of the rarest kind').toBeGreaterThan(2)
  expect(tally.longest.none, 'ms without an answer, in the worst of them').toBeGreaterThan(300)
}, 240_000)

test('12 of any size', () => {
  const tally = newTally()
  for (let seed = 1; seed <= 12; seed++) prove(seed, tally)
  expect(
    tally.failures.map(({ seed }) => seed),
    told(tally.failures),
  ).toEqual([])
}, 120_000)
