/**
 * Tests the change from the bootstrap node to the control plane nodes, with VRRP elections. At the start, the bootstrap
 * node has the API's address. The bootstrap node advertises priority 70, and no other node lists this node as a peer.
 * After the start three control plane nodes register, and their checks come up one by one. The bootstrap node gives the
 * address up when its guard orders `stop`, and joins the election again when its API is back. Agents, guard and engines
 * are the product's, on a simulated LAN with virtual time.
 */
import { describe, expect, test } from 'vitest'
import { looked, startBootstrapGuard } from '../../src/cluster/decisions/bootstrap-guard.ts'
import type { Role } from '../../src/cluster/decisions/engine/desired.ts'
import { API_VIP, cluster, INGRESS_VIP, machine, nodeObject, start } from '../support/cluster-plays.ts'
import { PlayedCluster, type PlayedNode } from './played-cluster.ts'

const SECOND = 1_000
const HOSTS = [77, 20, 21, 22].map((last) => `192.168.111.${last}`)
const roleOf = (position: number): Role => (position === 0 ? 'bootstrap' : 'controlPlane')
const object = (n: number) => nodeObject(`cp-${n}`, [HOSTS[n + 1] ?? ''])
/**
 * Time in ms at which the bootstrap node is ready. The Ironic service of the bootstrap node stops together with its
 * API.
 */
const READY_AT = 20 * SECOND
const GONE_AT = 300 * SECOND
const BACK_AT = 400 * SECOND
const GONE_AGAIN_AT = 450 * SECOND
const END = 520 * SECOND

function played() {
  const nodes = HOSTS.map((host, i) => ({
    ...{ name: i === 0 ? 'bootstrap' : `cp-${i - 1}`, own: `${host}/24` },
    start: start({ cluster: cluster({ role: roleOf(i) }) }),
  }))
  const play = new PlayedCluster({
    seed: 5,
    wall: Date.parse('2026-11-22T09:00:00Z'),
    vips: [API_VIP, INGRESS_VIP],
    nodes,
  })
  const [bootstrap, ...controlPlane] = play.nodes
  if (bootstrap === undefined) throw new Error('no bootstrap node')
  const listed: unknown[] = []
  const begins = (node: PlayedNode, position: number) => {
    node.engine.start()
    node.hear({ kind: 'machineChanged', machine: machine([`${HOSTS[position]}/24`], { link: 'eth0' }) })
    node.hear({ kind: 'engineConnected', configured: false, mode: undefined })
    node.hear({ kind: 'nodesListed', nodes: [...listed] })
  }
  begins(bootstrap, 0)
  for (const [n, node] of controlPlane.entries()) {
    node.engine.setService(false)
    play.time.at((40 + 40 * n) * SECOND, () => begins(node, n + 1))
    // The API of the bootstrap node registers each control plane node some time later.
    play.time.at((60 + 40 * n) * SECOND, () => {
      listed.push(object(n))
      play.all({ kind: 'nodesListed', nodes: [...listed] })
    })
    // From this time on, the API on the control plane node itself answers.
    play.time.at((180 + 20 * n) * SECOND, () => node.engine.setService(true))
  }
  return { play, bootstrap, controlPlane, orders: guarded(play, bootstrap) }
}

/**
 * Runs the guard of the bootstrap node at the times at which the guard asks to run, and carries out its orders. Returns
 * the orders.
 */
function guarded(play: PlayedCluster, bootstrap: PlayedNode): string[] {
  const orders: string[] = []
  const look = (guard = startBootstrapGuard(0)): void => {
    const { now } = play.time
    const ready = (now >= READY_AT && now < GONE_AT) || (now >= BACK_AT && now < GONE_AGAIN_AT)
    const next = looked(guard, { apiReady: ready, ironicAnswers: ready }, now)
    if (next.order !== undefined) {
      orders.push(`${Math.round(now / SECOND)} s ${next.order}`)
      bootstrap.say(next.order)
    }
    play.time.at(next.guard.nextLookAt, () => look(next.guard))
  }
  play.time.at(0, () => look())
  return orders
}

describe('a simulated bootstrap of a cluster', () => {
  const { play, bootstrap, controlPlane, orders } = played()
  const priorities = () =>
    [bootstrap, ...controlPlane].map(
      ({ engine }) =>
        engine.daemon?.snapshot().routers.find(({ name }) => name === 'ostest_API_0')?.priority.effective ?? 0,
    )
  /**
   * Returns the nodes that held the address since then, in order. Two nodes are holders together only during a
   * hand-over.
   */
  const holders = (since: number) => [...new Set(play.history(API_VIP, since).map((text) => text.split(' ')[1]))]
  const spans = (since: number) => ({
    two: play.spans(API_VIP, (count) => count > 1, since).longest,
    none: play.spans(API_VIP, (count) => count === 0, since).total,
  })
  const handsOver = (since: number) => {
    const { none, two } = spans(since)
    const story = play.history(API_VIP, since).join(', ')
    expect(none, `ms in which no node answered: ${story}`).toBe(0)
    expect(two, `ms in which two nodes answered: ${story}`).toBeLessThan(20)
  }

  test('the lone bootstrap node has the address after one Active_Down_Interval', () => {
    play.run(10 * SECOND)
    expect(holders(1)).toEqual(['bootstrap'])
    const took = play.spans(API_VIP, (count) => count === 0, 0).total
    expect(took).toBeGreaterThan(3_600)
    expect(took).toBeLessThan(4_000)
  })

  test('the bootstrap node alone has the address while the others register and their checks come up', () => {
    play.run(175 * SECOND)
    expect(priorities(), 'priorities while no check of a control plane node is up').toEqual([70, 40, 40, 40])
    play.run(GONE_AT)
    expect(priorities()).toEqual([70, 68, 68, 68])
    expect(play.history(API_VIP, 10 * SECOND)).toEqual([])
    expect(orders).toEqual([])
  })

  test('a stopped bootstrap node leaves the address to a control plane node within a second, without a gap', () => {
    play.run(BACK_AT)
    expect(orders[0]).toBe('304 s stop')
    expect(new Set(orders.map((order) => order.split(' s ')[1])), 'orders of the guard, which repeats stop').toEqual(
      new Set(['stop']),
    )
    expect(bootstrap.engine.daemon?.snapshot().routers).toEqual([])
    expect(play.holders(API_VIP)[0]).toMatch(/^cp-/)
    const left = Number(play.history(API_VIP, GONE_AT).at(-1)?.split(' ')[0])
    expect(left - 304 * SECOND, 'ms after the order').toBeLessThan(1_000)
    handsOver(GONE_AT)
  })

  test('a bootstrap node whose API is back reloads, and has the address by its priority', () => {
    play.run(GONE_AGAIN_AT)
    expect(orders.at(-1)).toMatch(/ reload$/)
    expect(play.holders(API_VIP)).toEqual(['bootstrap'])
    expect(priorities()).toEqual([70, 68, 68, 68])
    handsOver(BACK_AT)
  })

  test('after the end of the bootstrap node a control plane node has the address, and keeps it', () => {
    play.run(END)
    expect(orders.at(-1)).toMatch(/ stop$/)
    expect(play.holders(API_VIP)[0]).toMatch(/^cp-/)
    expect(holders(455 * SECOND)).toEqual([])
    handsOver(GONE_AGAIN_AT)
  })
})
