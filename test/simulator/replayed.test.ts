/**
 * Tests recordings of engines: in histories of faults, every run of every engine is recorded. A new engine that
 * receives the recorded inputs does the same as the recorded engine. The recording changes no history.
 */
import { expect, test } from 'vitest'
import { simulate } from '../../src/simulator/simulation.ts'
import { type KeptTape, keptTape, replayOf, wrongIn } from '../support/recordings.ts'
import { historyOf } from './history.ts'

type Kept = KeptTape & { readonly node: string }

function recorded(seed: number, small: boolean) {
  const kept: Kept[] = []
  const account = simulate(historyOf(seed, { small }), {
    tapeOf: (node) => {
      const one = { node, ...keptTape() }
      kept.push(one)
      return one.tape
    },
  })
  return { kept, account }
}

test('a replay of every life of every node gives the same result, in 18 histories', async () => {
  const sums = { lives: 0, turns: 0, outputs: 0, events: 0 }
  const wrong: string[] = []
  for (let seed = 2_000_001; seed <= 2_000_018; seed++) {
    const { kept } = recorded(seed, true)
    for (const [life, { lines, node }] of kept.entries()) {
      const replayed = await replayOf(lines)
      wrong.push(...wrongIn(replayed).map((words) => `seed ${seed}, life ${life} (${node}): ${words}`))
      sums.lives++
      sums.turns += replayed.turns
      sums.outputs += replayed.outputs
      sums.events += replayed.events.length
    }
  }
  expect(wrong).toEqual([])
  // If a replay compared nothing, the test would pass as well.
  expect(sums.lives).toBeGreaterThan(60)
  expect(sums.turns).toBeGreaterThan(20_000)
  expect(sums.outputs).toBeGreaterThan(20_000)
  expect(sums.events).toBeGreaterThan(500)
}, 240_000)

test('the recording of an engine does not change its history', () => {
  for (const seed of [2_000_001, 2_000_007, 5]) {
    const plain = simulate(historyOf(seed, { small: true }))
    expect(recorded(seed, true).account.digest, `digest of seed ${seed}`).toBe(plain.digest)
  }
}, 60_000)
