/**
 * A platform whose load balancers have the addresses, with real agent and engine. The VIPs are released, also after a restart without the
 * API. The status is Disabled while no node has the VIPs.
 */
import { rmSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { GROUP, KIND, PLURAL, readPublished, VERSION } from '../../src/cluster/decisions/status/published-status.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { HolderHistory } from '../../src/lab/watch/holder-history.ts'
import { ClusterLab, INGRESS_VIP } from '../support/cluster-lab.ts'
import { describeNetns } from '../support/require.ts'

const WITHIN = { within: 40_000, every: 50 }
const HOSTED = `${GROUP}/${VERSION}/${PLURAL}`
/** Time in ms that is longer than an Active_Down_Interval (3.7 s). */
const TAKEN_BY_THEN = 5_000
let cluster: ClusterLab | undefined
afterEach(async () => {
  await cluster?.destroy()
  cluster = undefined
})

describeNetns('a platform whose load balancers have the addresses', () => {
  test('keeps every VIP off the nodes, with and without the API, until the platform changes', {
    timeout: 150_000,
  }, async () => {
    const made = new ClusterLab({ nodes: 2, flags: ['--stable-for=500ms'] })
    cluster = made
    made.registerAll()
    const { api, lab } = made
    const node = made.node(1)
    node.serveIngress()
    const platformIs = (type: string) =>
      api.store.put('config.openshift.io/v1/infrastructures', {
        ...{ metadata: { name: 'cluster' }, status: { platformStatus: { type } } },
      })
    api.store.put(HOSTED, { apiVersion: `${GROUP}/${VERSION}`, kind: KIND, metadata: { name: 'cluster' }, spec: {} })
    const heldBy = (by: string, occasion: string) =>
      eventually(
        `both VIPs to be held by "${by}" ${occasion}`,
        () => [LAB_VIP, INGRESS_VIP].every((vip) => lab.holders(vip).join() === by),
        { sight: () => ({ api: lab.holders(LAB_VIP), told: node.told.slice(-5).map(({ msg }) => msg) }), ...WITHIN },
      )
    const restarted = async () => {
      node.agent?.killFamily()
      await node.agent?.exited
      node.startAgent()
    }
    await made.apiUp()
    node.startEngine()
    node.startAgent()
    await heldBy('r1', 'where nothing is said of a platform')

    platformIs('AWS')
    await restarted()
    await heldBy('', 'on AWS')
    const conditions = () => readPublished(api.store.get(HOSTED, 'cluster'))?.conditions
    await eventually(
      'the status to say Disabled',
      () => conditions()?.some(({ type, status }) => type === 'Disabled' && status === 'True'),
      { sight: conditions, ...WITHIN },
    )

    await made.apiDown()
    node.engine?.killFamily()
    await node.engine?.exited
    rmSync(node.memory, { force: true })
    const histories = [LAB_VIP, INGRESS_VIP].map((vip) => new HolderHistory(lab, vip))
    const from = monotonicMs()
    node.startEngine()
    await restarted()
    await node.agent?.line(/handed over/, 20_000)
    await sleep(TAKEN_BY_THEN)
    const to = monotonicMs()
    for (const history of histories) {
      const { holders, nobody } = history.between(from, to)
      expect({ holders, held: Math.round(to - from - nobody) }).toEqual({ holders: [], held: 0 })
    }
    expect(await node.routers()).toEqual([])

    platformIs('BareMetal')
    await made.apiUp()
    await restarted()
    await heldBy('r1', 'on BareMetal')
  })
})
