/**
 * Scenarios that hold on any LAN, simulated or real: order and generous bounds, never speed. Times are in intervals,
 * so that a slow machine only needs a longer interval. Exact effects and exact times are in the text scenarios of
 * this folder.
 */
import { expect } from 'vitest'
import type { Lan, LanPlan } from '../support/lan.ts'

export type SharedScenario = {
  readonly name: string
  readonly plan: Omit<LanPlan, 'interval'>
  readonly play: (lan: Lan) => Promise<void>
}

const THREE = [
  { name: 'a', priority: 200 },
  { name: 'b', priority: 150 },
  { name: 'c', priority: 100 },
]

/** Longer than any Active_Down_Interval: four intervals, and the time that a loaded machine adds. */
const patience = (lan: Lan) => 5 * lan.interval + 2000

export const SHARED_SCENARIOS: readonly SharedScenario[] = [
  {
    name: 'election: the highest priority, whoever comes first',
    plan: { nodes: THREE, peers: false },
    play: async (lan) => {
      await lan.start('c')
      await lan.until(['c'], patience(lan))
      await lan.start('b', 'a')
      await lan.until(['a'], patience(lan))
      await lan.wait(5 * lan.interval)
      expect(await lan.active(), 'the Active stays').toEqual(['a'])
    },
  },
  {
    name: 'silent death: the next in priority, and back',
    plan: { nodes: THREE, peers: false },
    play: async (lan) => {
      await lan.start('a', 'b', 'c')
      await lan.until(['a'], patience(lan))
      await lan.kill('a')
      const took = await lan.until(['b'], patience(lan))
      expect(took, 'nobody moves before two intervals of silence').toBeGreaterThan(2 * lan.interval)
      await lan.start('a')
      await lan.until(['a'], patience(lan))
    },
  },
  {
    name: 'SIGTERM: the successor is there within Skew_Time, the last one leaves nothing behind',
    plan: { nodes: THREE, peers: true },
    play: async (lan) => {
      await lan.start('a', 'b', 'c')
      await lan.until(['a'], patience(lan))
      await lan.stop('a')
      await lan.until(['b'], 2 * lan.interval + 2000)
      await lan.stop('b')
      await lan.until(['c'], 2 * lan.interval + 2000)
      await lan.stop('c')
      await lan.until([], 3 * lan.interval + 2000)
    },
  },
  {
    name: 'cut and heal: both sides Active, then one, the better one',
    plan: { nodes: THREE.slice(0, 2), peers: false },
    play: async (lan) => {
      await lan.start('a', 'b')
      await lan.until(['a'], patience(lan))
      await lan.cut('a')
      await lan.until(['a', 'b'], patience(lan))
      await lan.wait(8 * lan.interval)
      await lan.heal('a')
      await lan.until(['a'], patience(lan))
      await lan.wait(5 * lan.interval)
      expect(await lan.answering(), 'who answers after the heal').toEqual(['a'])
    },
  },
  {
    name: 'equal priority: the highest address, then the next, one at a time',
    plan: { nodes: THREE.map(({ name }) => ({ name, priority: 100 })), peers: true },
    play: async (lan) => {
      await lan.start('a', 'b', 'c')
      // Addresses ascend in the order of the plan.
      await lan.until(['c'], patience(lan))
      await lan.kill('c')
      await lan.until(['b'], patience(lan))
      // RFC 9568 §6.4.2: an equal priority never preempts, whatever the address.
      await lan.start('c')
      await lan.wait(6 * lan.interval)
      expect(await lan.active(), 'an equal does not preempt').toEqual(['b'])
    },
  },
  {
    name: 'demotion: a better Backup takes over from an Active whose priority fell',
    plan: { nodes: THREE.slice(0, 2), peers: false },
    play: async (lan) => {
      await lan.start('a', 'b')
      await lan.until(['a'], patience(lan))
      await lan.wait(4 * lan.interval)
      await lan.priority('a', 50)
      await lan.until(['b'], patience(lan))
      await lan.priority('a', 200)
      await lan.until(['a'], patience(lan))
    },
  },
  {
    name: 'sync group of both families: one family cut moves nothing, everything cut and healed leaves one holder of both',
    plan: { nodes: THREE.slice(0, 2), peers: false, bothFamilies: true },
    play: async (lan) => {
      await lan.start('a', 'b')
      await lan.until(['a'], patience(lan))
      for (const family of ['ipv6', 'ipv4'] as const) {
        await lan.cut('a', family)
        await lan.wait(8 * lan.interval)
        expect(await lan.active(), `who is Active with ${family} cut`).toEqual(['a'])
        expect(await lan.answering(), `who answers for any address with ${family} cut`).toEqual(['a'])
        await lan.heal('a')
        await lan.wait(2 * lan.interval)
        await lan.until(['a'], patience(lan))
      }
      await lan.cut('a')
      await lan.until(['a', 'b'], patience(lan))
      await lan.heal('a')
      await lan.until(['a'], patience(lan))
      await lan.wait(5 * lan.interval)
      expect(await lan.answering(), 'who answers for any address after the heal').toEqual(['a'])
    },
  },
  {
    name: 'sync group of both families: death and SIGTERM move all of it',
    plan: { nodes: THREE, peers: false, bothFamilies: true },
    play: async (lan) => {
      await lan.start('a', 'b', 'c')
      await lan.until(['a'], patience(lan))
      await lan.kill('a')
      await lan.until(['b'], patience(lan))
      await lan.stop('b')
      await lan.until(['c'], 2 * lan.interval + 2000)
      await lan.stop('c')
      await lan.until([], 3 * lan.interval + 2000)
    },
  },
  {
    name: 'equal sync groups whose addresses are ordered differently: after a heal the IPv4 address decides',
    plan: {
      nodes: THREE.slice(0, 2).map(({ name }) => ({ name, priority: 100 })),
      ...{ peers: true, bothFamilies: true, reversed: true },
    },
    play: async (lan) => {
      await lan.start('a', 'b')
      await lan.wait(5 * lan.interval)
      await lan.cut('a')
      await lan.until(['a', 'b'], patience(lan))
      await lan.heal('a')
      await lan.until(['b'], 2 * lan.interval + 2000)
      await lan.wait(8 * lan.interval)
      expect(await lan.active(), 'who is Active eight intervals later').toEqual(['b'])
      expect(await lan.answering(), 'who answers for any address then').toEqual(['b'])
    },
  },
]
