/**
 * The cold start of a cluster: all nodes lost their power and start together, without the API, an operator or DNS. The processes of the
 * nodes start in a random order. A client observes when the address is back. COLD_STARTS sets the number of cold starts (default: 4).
 */
import { afterEach, expect, test } from 'vitest'
import { ip } from '../../src/lab/ip.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { judgeTime } from '../judge/time.ts'
import { ClusterLab, type LabNode } from '../support/cluster-lab.ts'
import { describeNetns } from '../support/require.ts'

const ROUNDS = Number(process.env.COLD_STARTS ?? 4)
const WITHIN = 40_000
/** Longest time in ms from the start of the first process to the first answer (docs/node-services.md). */
const BACK_WITHIN = 5_000
const UNICAST = ['ostest_API_0: unicast to 2 peers', 'ostest_INGRESS_0: unicast to 2 peers']

let cluster: ClusterLab | undefined
afterEach(async () => {
  await cluster?.destroy()
  cluster = undefined
})

/** Ends all processes of the nodes as a power failure does. A machine that lost its power has no VIP after its start. */
async function powerFails({ nodes, lab }: ClusterLab): Promise<void> {
  for (const { engine, agent } of nodes) {
    engine?.killFamily()
    agent?.killFamily()
  }
  await Promise.all(nodes.flatMap(({ engine, agent }) => [engine?.exited, agent?.exited]))
  for (const { host } of nodes)
    for (const address of lab.addresses(host).filter((each) => each.endsWith('/32')))
      ip(host, `address delete ${address} dev eth0`)
}

/** Starts the engines and the agents in a random order. Returns the order. */
function powerReturns(nodes: readonly LabNode[]): string {
  const starts = nodes.flatMap((node) => [
    { name: `engine of ${node.name}`, start: () => node.startEngine(), place: Math.random() },
    { name: `agent of ${node.name}`, start: () => node.startAgent(), place: Math.random() },
  ])
  const order = starts.toSorted((one, other) => one.place - other.place)
  for (const { start } of order) start()
  return order.map(({ name }) => name).join(', ')
}

describeNetns('the cold start of a cluster', () => {
  test('three nodes that start together without the API have the address within 5 s in half of the cases, in any order of their processes', {
    timeout: 60_000 + ROUNDS * 30_000,
  }, async () => {
    const made = new ClusterLab({ nodes: 3 })
    cluster = made
    const { lab, nodes } = made
    made.registerAll()
    await made.apiUp()
    for (const { host } of nodes) startResponder(lab, host)
    powerReturns(nodes)
    for (const node of nodes) await node.routersAre(UNICAST, WITHIN)
    await made.apiDown()

    const times: number[] = []
    for (let round = 1; round <= ROUNDS; round++) {
      await powerFails(made)
      const prober = new Prober(lab, lab.client, LAB_VIP)
      const since = monotonicMs()
      const order = powerReturns(nodes)
      const first = await eventually('a node to answer the client', () => prober.holders[0], {
        sight: () => [order, lab.holders(LAB_VIP)],
        within: WITHIN,
        every: 20,
      })
      times.push(first.at - since)
      await eventually('one node alone to hold the address', () => lab.holders(LAB_VIP).length === 1, {
        sight: () => [order, lab.holders(LAB_VIP)],
        within: WITHIN,
      })
      await prober.stop()
    }
    process.stdout.write(`cold starts: ${times.map(Math.round).join(', ')} ms\n`)
    expect(times).toHaveLength(ROUNDS)
    // The slowest of a few starts is near the bound on a busy machine. docs/node-services.md has the slowest of twenty.
    const median = times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? Number.POSITIVE_INFINITY
    judgeTime('median of the cold starts', median, BACK_WITHIN, 'docs/node-services.md, Cold start')
  })
})
