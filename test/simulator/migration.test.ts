/**
 * Tests the migration of a cluster from multicast to unicast and back, with VRRP elections, while the nodes' clocks
 * differ. Each node has its agent's decisions and its engine, on a simulated LAN with virtual time. An observer outside
 * of the nodes measures how long two nodes answer for one virtual address, and how long no node answers.
 */
import { describe, expect, test } from 'vitest'
import type { Mode } from '../../src/cluster/decisions/engine/desired-state.ts'
import { API_VIP, INGRESS_VIP, machine, nodeObject, start } from '../support/cluster-plays.ts'
import { PlayedCluster } from './played-cluster.ts'

const WALL = Date.parse('2026-11-22T14:49:00Z')
const CHANGE = Date.parse('2026-11-22T14:55:00Z') - WALL
const VIPS = [API_VIP, INGRESS_VIP]
const OTHER: Readonly<Record<Mode, Mode>> = { multicast: 'unicast', unicast: 'multicast' }

type Measured = { readonly two: number; readonly none: number; readonly story: string }

/**
 * Returns the worse result of the two virtual addresses. Before the migration, the last node of the list holds both
 * addresses, because for a while only the checks of that node were up.
 */
function changed(skews: readonly number[], from: Mode = 'multicast', seed = 1): Measured {
  const hosts = skews.map((_, i) => `192.168.111.${20 + i}`)
  const nodes = skews.map((skew, i) => ({
    ...{ name: `cp-${i}`, own: `${hosts[i]}/24`, skew },
    start: start({ mode: from }),
  }))
  const cluster = new PlayedCluster({ seed, wall: WALL, vips: VIPS, nodes })
  for (const [i, node] of cluster.nodes.entries()) {
    node.engine.setService(i === skews.length - 1)
    cluster.time.at(CHANGE / 2, () => node.engine.setService(true))
    node.engine.start()
    node.hear({ kind: 'machineChanged', machine: machine([`${hosts[i]}/24`], { link: 'eth0' }) })
    node.hear({ kind: 'nodesListed', nodes: hosts.map((host, n) => nodeObject(`cp-${n}`, [host])) })
    node.hear({ kind: 'engineConnected', configured: false, mode: undefined })
  }
  cluster.all({ kind: 'modeWanted', mode: OTHER[from] })
  const since = CHANGE - 10_000
  cluster.run(since)
  for (const vip of VIPS)
    expect(cluster.holders(vip), `holders of ${vip} before the change`).toEqual([`cp-${skews.length - 1}`])
  cluster.run(CHANGE + 60_000)
  for (const { agent } of cluster.nodes) expect(agent.state.mode).toBe(OTHER[from])
  for (const vip of VIPS) expect(cluster.holders(vip), `holders of ${vip} at the end`).toHaveLength(1)
  const worst = (wanted: (holders: number) => boolean) =>
    Math.max(...VIPS.map((vip) => cluster.spans(vip, wanted, since).total))
  const story = VIPS.map((vip) => `${vip}: ${cluster.history(vip, since).join(', ')}`).join('\n')
  return { two: worst((holders) => holders > 1), none: worst((holders) => holders === 0), story }
}

const three = (holder: number, ...others: readonly [number, number]): number[] => [...others, holder]

describe('a simulated change from multicast to unicast', () => {
  test.each([
    { name: 'clocks that are right', skews: three(0, 0, 0) },
    { name: 'the holder 350 ms ahead', skews: three(350, 0, 0) },
    { name: 'the holder 350 ms behind', skews: three(-350, 0, 0) },
    { name: 'the holder 900 ms ahead', skews: three(900, 0, 0) },
    { name: 'the holder 900 ms behind', skews: three(-900, 0, 0) },
    { name: '1.8 s between the others', skews: three(0, -900, 900) },
    { name: 'all of five differ', skews: [-900, 450, 900, -450, 0] },
    { name: 'a broken NTP: the holder 2.5 s ahead', skews: three(2500, 0, 0) },
    { name: 'a broken NTP: the holder 3 s behind', skews: three(-3000, 0, 0) },
    { name: 'a broken NTP: one Backup 3 s ahead', skews: three(0, 3000, 0) },
  ])('$name: no client notices the change', ({ skews }) => {
    for (const seed of [1, 2, 3]) {
      const { story, ...measured } = changed(skews, 'multicast', seed)
      expect(measured, `ms in which two nodes or no node answered, seed ${seed}:\n${story}`).toEqual({
        two: 0,
        none: 0,
      })
    }
  })

  test.each([
    { name: 'the holder ahead', sign: 1 },
    { name: 'the holder behind', sign: -1 },
  ])('$name by more than an Active_Down_Interval makes two nodes answer for a while, and never none', ({ sign }) => {
    const { none, story, two } = changed(three(4500 * sign, 0, 0))
    expect(none, story).toBe(0)
    expect(two, `ms in which two nodes answered:\n${story}`).toBeGreaterThan(0)
    expect(two, `ms in which two nodes answered:\n${story}`).toBeLessThan(4500)
  })
})

test.each(
  [
    [0, 0, 0],
    [900, -900, 0],
    [0, 0, 900],
    [0, 0, -900],
    [450, 900, -900, 0, -450],
  ].map((skews) => [skews]),
)('back to multicast, clocks %j ms ahead: no client notices the change', (skews) => {
  const { story, ...measured } = changed(skews, 'unicast')
  expect(measured, story).toEqual({ two: 0, none: 0 })
})
