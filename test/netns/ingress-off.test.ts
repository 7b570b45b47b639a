/**
 * `ingressHa: Disabled` across restarts of agent and engine, with the real processes and the kernel's own notifications. The ingress
 * address is on no node, not even for a moment, until the API enables ingress.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { GROUP, KIND, PLURAL, VERSION } from '../../src/cluster/decisions/status/published-status.ts'
import { INTENT_FILE } from '../../src/cluster/runtime/status/intent-memory.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { HolderHistory } from '../../src/lab/watch/holder-history.ts'
import { ClusterLab, INGRESS_VIP } from '../support/cluster-lab.ts'
import { describeNetns } from '../support/require.ts'

const API_ALONE = ['ostest_API_0: unicast to 1 peers']
const BOTH = [...API_ALONE, 'ostest_INGRESS_0: unicast to 1 peers']
/** Time in ms in which a node would take the address: an Active_Down_Interval (3.7 s) and the time that a change must be stable. */
const TAKEN_BY_THEN = 5_000
let cluster: ClusterLab | undefined
afterEach(async () => {
  await cluster?.destroy()
  cluster = undefined
})

describeNetns('an ingress address that the API has switched off', () => {
  test('is on no node after agent and engine restart, with and without the API', { timeout: 180_000 }, async () => {
    const made = new ClusterLab({ nodes: 2, flags: ['--stable-for=500ms'] })
    cluster = made
    made.registerAll()
    const { lab } = made
    const node = made.node(1)
    node.serveIngress()
    const wished = (spec: object) =>
      made.api.store.put(`${GROUP}/${VERSION}/${PLURAL}`, {
        ...{ apiVersion: `${GROUP}/${VERSION}`, kind: KIND, metadata: { name: 'cluster' }, spec },
      })
    const heldBy = (vip: string, by: string, occasion: string) =>
      eventually(`${vip} to be held by "${by}" ${occasion}`, () => lab.holders(vip).join() === by, {
        sight: () => ({ holders: lab.holders(vip), told: node.told.slice(-5).map(({ msg }) => msg) }),
        within: 40_000,
        every: 50,
      })
    async function again(...killed: ('agent' | 'engine')[]) {
      for (const one of killed) {
        node[one]?.killFamily()
        await node[one]?.exited
      }
      if (killed.includes('engine')) {
        rmSync(node.memory, { force: true })
        node.startEngine()
      }
      if (killed.includes('agent')) node.startAgent()
    }

    wished({})
    await made.apiUp()
    node.startEngine()
    node.startAgent()
    await heldBy(INGRESS_VIP, 'r1', 'which is alone')
    wished({ ingressHa: 'Disabled' })
    await heldBy(INGRESS_VIP, '', 'when it is switched off')
    await node.routersAre(API_ALONE)

    const history = new HolderHistory(lab, INGRESS_VIP)
    const from = monotonicMs()
    const neverHeld = (occasion: string) => {
      const to = monotonicMs()
      const { nobody, holders } = history.between(from, to)
      expect({ held: Math.round(to - from - nobody), holders }, occasion).toEqual({ held: 0, holders: [] })
    }
    const restarts = [
      { killed: ['agent', 'engine'], isApiUp: true },
      { killed: ['agent'], isApiUp: false },
      { killed: ['engine'], isApiUp: false },
      { killed: ['agent', 'engine'], isApiUp: false },
    ] as const
    for (const { killed, isApiUp } of restarts) {
      const occasion = `after a restart of ${killed.join(' and ')} ${isApiUp ? 'with' : 'without'} the API`
      if (!isApiUp) await made.apiDown()
      await again(...killed)
      await node.routersAre(API_ALONE)
      await heldBy(LAB_VIP, 'r1', occasion)
      await sleep(TAKEN_BY_THEN)
      expect(await node.routers(), occasion).toEqual(API_ALONE)
      neverHeld(occasion)
    }

    // The state after an upgrade from a version that wrote no such file.
    rmSync(join(node.stateDirectory, INTENT_FILE))
    await again('agent', 'engine')
    await heldBy(LAB_VIP, 'r1', 'without the API and without the file')
    await sleep(TAKEN_BY_THEN)
    expect(await node.routers()).toEqual(API_ALONE)
    neverHeld('without the API and without the file')
    expect(node.told.filter(({ msg }) => `${msg}`.startsWith('ingress waits until the API has answered'))).toHaveLength(
      1,
    )
    wished({})
    await made.apiUp()
    await node.routersAre(BOTH)
    await heldBy(INGRESS_VIP, 'r1', 'when the API has answered')

    // An engine with an ingress router keeps that router while the API is away.
    await made.apiDown()
    rmSync(join(node.stateDirectory, INTENT_FILE))
    const kept = new HolderHistory(lab, INGRESS_VIP)
    const restarted = monotonicMs()
    await again('agent')
    await node.agent?.line(/handed over/, 20_000)
    expect(await node.routers()).toEqual(BOTH)
    expect(kept.between(restarted, monotonicMs())).toEqual({ nobody: 0, several: 0, holders: ['r1'] })
  })
})
