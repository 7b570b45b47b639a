/**
 * Histories of faults on simulated LANs, with the daemon itself on every node. Two nodes, or none, answer no longer
 * than the active faults allow, and the final state is the right one. A failure is shrunk and printed as the scenario
 * that repeats it (test/simulator/scenarios). `make prove` runs ten thousand.
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
  // A generator without faults would pass the test as well.
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
