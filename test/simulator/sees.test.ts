/**
 * Tests that the simulator finds faults of the daemon. A history without one of the daemon's safety nets must exceed
 * limits, and the same history with all of them must not. A failed history is reduced without losing its failure.
 */
import { describe, expect, test } from 'vitest'
import type { Without } from '../../src/simulator/node/engine-life.ts'
import type { Fault, NodeSpec, Scenario } from '../../src/simulator/scenario.ts'
import { simulate } from '../../src/simulator/simulation.ts'
import { judge } from './judge.ts'
import { shrink } from './shrink.ts'

const node = (host: number, priority: number): NodeSpec => ({
  ...{ name: `n${host}`, addresses: [`192.0.2.${host}/24`], drift: 0, startsAt: host },
  config: {
    version: 1,
    virtualRouters: [
      {
        name: 'vip',
        vrid: 51,
        interface: 'eth0',
        addresses: ['198.51.100.1/32'],
        priority,
        advertisementInterval: '100ms',
      },
    ],
  },
})
const scenario = (...faults: readonly Fault[]): Scenario => ({
  ...{ seed: 7, lateness: 1, nodes: [node(1, 200), node(2, 150), node(3, 100)], faults, ms: 15_000 },
})
const on = (name: string, kind: Fault['kind'], at: number, ms: number): Fault => ({ at, ms, kind, node: name })

/** Freezes a Backup repeatedly, so that one of the freezes ends at the moment at which a deadline is due. */
const backupFreezes = Array.from({ length: 6 }, (_, i) => on('n2', 'freeze engine', 3_000 + 1_500 * i, 500 + i))

describe.each<[Without, Scenario]>([
  ['guardian', scenario(on('n1', 'crash engine', 3_000, 2_500))],
  ['lifetime', scenario(on('n1', 'crash both', 3_000, 6_000))],
  ['drain', scenario(...backupFreezes)],
])('%s', (without, history) => {
  test('a history with all safety nets has no violation', () => {
    expect(judge(simulate(history)).violations).toEqual([])
  })
  test('without a safety net two nodes answer for too long, which is a violation', () => {
    const found = judge(simulate(history, { without })).violations
    expect(found.map(({ question }) => question)).toContain('two')
  })
})

test('a part without effect on a failure is taken out of the scenario', () => {
  const history = scenario(
    on('n2', 'clock step', 3_000, 0),
    on('n1', 'crash engine', 5_000, 2_500),
    on('n3', 'yield', 9_500, 500),
  )
  const fails = (one: Scenario) =>
    judge(simulate(one, { without: 'guardian' })).violations.some(({ question }) => question === 'two')
  const small = shrink(history, fails)
  expect(small.faults.map(({ kind }) => kind)).toEqual(['crash engine'])
  expect(small.nodes).toHaveLength(2)
  expect(fails(small)).toBe(true)
})
