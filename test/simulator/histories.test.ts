/**
 * Tests histories of faults on simulated LANs, with the daemon itself on every node. Two nodes, or none, answer for no
 * longer than the faults allow, and the right node is the holder at the end. A failed history is reduced, and printed
 * as a scenario that repeats the failure (test/simulator/scenarios). `make prove` runs ten thousand histories.
 */
import { expect, test } from 'vitest'
import { newTally, prove } from './prove.ts'

const told = (failures: readonly { readonly seed: number }[]) => JSON.stringify(failures, undefined, 1)

test('288 histories of small clusters keep the bounds', () => {
  const tally = newTally()
  for (let seed = 1_000_001; seed <= 1_000_288; seed++) prove(seed, tally, { small: true })
  expect(
    tally.failures.map(({ seed }) => seed),
    told(tally.failures),
  ).toEqual([])
  // If the generator of histories made no faults, the test would pass as well.
  expect(Math.min(...[...tally.kinds.values()]), 'faults of the rarest kind').toBeGreaterThan(2)
  expect(tally.longest.none, 'longest time in ms without an answer, in the worst history').toBeGreaterThan(300)
}, 240_000)

test('12 histories of any size keep the bounds', () => {
  const tally = newTally()
  for (let seed = 1; seed <= 12; seed++) prove(seed, tally)
  expect(
    tally.failures.map(({ seed }) => seed),
    told(tally.failures),
  ).toEqual([])
}, 120_000)
