/**
 * The agent as a process beside a real engine, with an API that starts, changes, stops and starts again. After each change the engine has
 * the peers of the cluster, and the engine holds its address the whole time.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { GROUP, KIND, PLURAL, readPublished, VERSION } from '../../src/cluster/decisions/status/published-status.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { ClusterLab } from '../support/cluster-lab.ts'
import { describeNetns } from '../support/require.ts'

const WITHIN = 40_000
/** A change lasts a second, not five, before it is handed over. */
const STABLE = ['--stable-for=1s']
const HOSTED = `${GROUP}/${VERSION}/${PLURAL}`
let cluster: ClusterLab | undefined
afterEach(async () => {
  await cluster?.destroy()
  cluster = undefined
})

const to = (peers: number) => [`ostest_API_0: unicast to ${peers} peers`, `ostest_INGRESS_0: unicast to ${peers} peers`]

describeNetns('the agent beside an engine', () => {
  test('the peers of the engine come from the cluster, stay while the API is away, and are remembered over a restart', async () => {
    cluster = new ClusterLab({ nodes: 1, flags: STABLE })
    const { api, lab } = cluster
    const node = cluster.node(1)
    node.startEngine()
    const agent = node.startAgent()
    // The agent knows no node yet, so it hands no configuration to the engine.
    await agent.line(/waiting for the nodes/, WITHIN)
    await eventually('attempts to list', () => node.told.some(({ kind }) => kind === 'unreachable'), {
      sight: () => node.told,
      within: WITHIN,
    })
    expect(await node.routers()).toEqual([])

    cluster.registerAll()
    cluster.register({ name: 'n2', addresses: ['10.77.0.12'] })
    cluster.register({ name: 'n3', addresses: ['10.77.0.13'] })
    await cluster.apiUp()
    await node.routersAre(to(2))
    await agent.line(/"configuration handed over to the engine"/, WITHIN)
    expect(node.lastHandOver[0]).toBe('ostest_API_0: vrid 14 on eth0 from 10.77.0.11 to 10.77.0.12 10.77.0.13')
    await eventually('it to hold the VIP', () => lab.holders(LAB_VIP).length === 1, {
      sight: () => node.snapshot(),
      within: WITHIN,
    })
    let missing = 0
    const looks = setInterval(() => {
      if (lab.holders(LAB_VIP).length === 0) missing++
    }, 200)
    api.store.put(HOSTED, { apiVersion: `${GROUP}/${VERSION}`, kind: KIND, metadata: { name: 'cluster' }, spec: {} })
    await eventually(
      'the holder in the API',
      () => readPublished(api.store.get(HOSTED, 'cluster'))?.apiServerInternalIpOwner === 'n1',
      { sight: () => [api.store.get(HOSTED, 'cluster'), node.told.slice(-5)], within: WITHIN },
    )

    const before = monotonicMs()
    cluster.register({ name: 'n4', addresses: ['10.77.0.14'] })
    await node.routersAre(to(3))
    // Nodes are often registered in groups, so the agent waits for more. Until a node is listed, the node receives no advertisement; so the
    // wait is short.
    expect(monotonicMs() - before, 'ms until the new node was listed').toBeGreaterThan(400)
    const nodes = api.requests.filter(({ path }) => path === '/api/v1/nodes')
    expect(nodes.map(({ verb }) => verb)).toEqual(['list', 'watch'])

    await cluster.apiDown()
    await agent.line(/cannot read the nodes of the cluster/, WITHIN)
    const gone = agent.signal('SIGTERM')
    expect((await agent.exited).code).toBe(0)
    expect(monotonicMs() - gone).toBeLessThan(5_000)
    expect(await node.routers()).toEqual(to(3))

    // A start without the API uses the remembered cluster.
    const memory = join(node.stateDirectory, 'peers.json')
    expect(JSON.parse(readFileSync(memory, 'utf8'))).toMatchObject({
      version: 1,
      peers: [{ name: 'n1', controlPlane: true }, { name: 'n2' }, { name: 'n3' }, { name: 'n4' }],
    })
    clearInterval(looks)
    expect(missing, 'samples in which no kernel had the VIP').toBe(0)
    node.engine?.killFamily()
    await node.engine?.exited
    writeFileSync(node.memory, '')
    const second = node.startAgent()
    await second.line(/cannot connect to the engine/, WITHIN)
    node.startEngine()
    await node.routersAre(to(3))

    cluster.leave('n4')
    cluster.leave('n3')
    await cluster.apiUp()
    await node.routersAre(to(1))
    const metrics = await node.metrics()
    expect(metrics).toContain('holdfast_agent_watch_state{state="watching"} 1')
    expect(metrics).toContain('holdfast_agent_nodes 2')
    expect(metrics).toMatch(/holdfast_agent_api_failures_total\{kind="unreachable"\} [1-9]/)
    expect(metrics).toMatch(/holdfast_agent_hand_overs_total\{result="accepted"\} [1-9]/)
  })

  test('a damaged remembered file is logged and ignored, and an API that refuses, fails or sends nonsense changes no peers', async () => {
    cluster = new ClusterLab({ nodes: 1, flags: STABLE })
    const { api, lab } = cluster
    const node = cluster.node(1)
    cluster.registerAll()
    cluster.register({ name: 'n2', addresses: ['10.77.0.12'] })
    await cluster.apiUp()
    node.startEngine()
    node.startAgent()
    await node.routersAre(to(1))
    await eventually('the VIP', () => lab.holders(LAB_VIP).length === 1, {
      sight: () => node.snapshot(),
      within: WITHIN,
    })
    let missing = 0
    const looks = setInterval(() => {
      if (lab.holders(LAB_VIP).length === 0) missing++
    }, 100)
    const nodeWatches = () => [...api.watches].filter(({ path }) => path === '/api/v1/nodes')
    for (const [fault, kind] of [
      [{ kind: 'status', code: 403 }, 'forbidden'],
      [{ kind: 'status', code: 500 }, 'serverError'],
      [{ kind: 'garbage' }, 'garbage'],
    ] as const) {
      const heal = api.fail('any', fault)
      for (const watch of nodeWatches()) watch.error(410, 'Expired')
      await eventually(
        `${kind} to be counted`,
        async () => (await node.metrics()).match(new RegExp(`kind="${kind}"} [1-9]`)) !== null,
        { sight: () => node.told.slice(-5), within: WITHIN, every: 200 },
      )
      expect(await node.routers()).toEqual(to(1))
      heal()
      await eventually('a watch', () => nodeWatches().length === 1, {
        sight: () => node.told.slice(-5),
        within: WITHIN,
      })
    }
    // A node object with invalid or foreign fields must not cost the engine a peer.
    api.store.put('v1/nodes', { metadata: { name: 'n2', labels: 7 as never }, status: 'away' })
    api.store.put('v1/nodes', {
      metadata: { name: 'n9' },
      status: { addresses: [{ type: 'InternalIP', address: LAB_VIP }] },
    })
    await sleep(3_000)
    expect(await node.routers()).toEqual(to(1))
    clearInterval(looks)
    expect(missing).toBe(0)

    node.agent?.signal('SIGKILL')
    await node.agent?.exited
    expect(lab.holders(LAB_VIP)).toEqual(['r1'])
    await cluster.apiDown()
    writeFileSync(join(node.stateDirectory, 'peers.json'), '{"version":1,"peers":[{"na')
    const second = node.startAgent()
    await second.line(/Cannot use .*peers\.json/, WITHIN)
    await second.line(/waiting for the nodes/, WITHIN)
    await sleep(2_000)
    expect(await node.routers()).toEqual(to(1))
  })
})
