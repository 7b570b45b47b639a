/**
 * The event loop around the agent's pure core, with a simulated engine and machine: the role of the node at the start,
 * and the loss of an engine.
 */
import { afterEach, expect, test } from 'vitest'
import { refusalIn } from '../../../src/cli/agent/holdfast-engine.ts'
import type { Desired } from '../../../src/cluster/decisions/engine/desired.ts'
import type { PeerNode } from '../../../src/cluster/decisions/engine/peers.ts'
import { vipPairs } from '../../../src/cluster/decisions/engine/vip-pairs.ts'
import { Account } from '../../../src/cluster/runtime/account.ts'
import { Agent, type AgentPlan } from '../../../src/cluster/runtime/agent.ts'
import type { EngineStatus } from '../../../src/cluster/runtime/engine-client.ts'
import { eventually, monotonicMs } from '../../../src/lab/wait.ts'
import { address } from '../../../src/wire/address.ts'
import { nodeObject } from '../../support/kube-api/node-object.ts'

const WITHIN = { within: 20_000 }
const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()))
})

const machine = {
  node: {
    links: [
      {
        name: 'eth0',
        index: 2,
        addresses: [{ address: address('10.0.0.11'), prefixLength: 24, deprecated: false, label: 'eth0' }],
      },
    ],
    routes: [],
  },
  files: { ipv4: undefined, ipv6: undefined },
  remoteWorker: false,
}
const node = (name: string, last: number, roles = ['master']) =>
  nodeObject({ name, addresses: [`10.0.0.${last}`], roles })
const listed = (...nodes: ReturnType<typeof nodeObject>[]) => ({ kind: 'nodesListed' as const, nodes })

function started({
  nodeName = 'n1',
  remembered,
  isThere = true,
}: {
  nodeName?: string
  remembered?: readonly PeerNode[]
  isThere?: boolean
} = {}) {
  const world = {
    handed: [] as Desired[],
    told: [] as string[],
    persisted: [] as (readonly PeerNode[])[],
    sight: { configured: false, mode: undefined } as EngineStatus,
    looks: 0,
    isThere,
    dies: (_reason: Error) => {},
  }
  const plan: AgentPlan = {
    cluster: {
      ...{ name: 'ostest', vrids: undefined, role: undefined, nodeName, topology: 'HighlyAvailable', grouped: false },
      pairs: vipPairs({ api: ['10.0.0.5'], ingress: ['10.0.0.6'] }).pairs,
    },
    intent: { api: true, ingress: true },
    ...{ mode: 'unicast', remembered, lookEvery: 20, stableFor: 100 },
  }
  const account = new Account()
  const agent = new Agent(plan, {
    account,
    engine: {
      look: async () => {
        world.looks++
        if (!world.isThere) throw new Error('nobody is there')
        return world.sight
      },
      handOver: async (desired) => {
        world.handed.push(desired)
        return { accepted: true }
      },
      gone: (signal) =>
        new Promise((resolve, reject) => {
          world.dies = reject
          signal.addEventListener('abort', () => resolve('the end'))
        }),
      close: () => {},
    },
    machine: () => machine,
    wantedMode: () => ({ mode: undefined, problem: undefined }),
    persist: (peers) => {
      world.persisted.push(peers)
      throw new Error('no space left')
    },
    log: ({ level }, message) => world.told.push(`${level} ${message}`),
    now: () => ({ monotonic: performance.now(), wall: Date.now() }),
  })
  const end = new AbortController()
  const over = agent.run(end.signal)
  ends.push(async () => {
    end.abort()
    await over
  })
  const names = () => world.handed.at(-1)?.instances.map((one) => one.name)
  const hands = (expected: readonly string[]) =>
    eventually(expected.join(), () => JSON.stringify(names()) === JSON.stringify(expected), {
      sight: () => world,
      ...WITHIN,
    })
  return { world, agent, account, hands }
}

test('the agent waits for the nodes, and takes the role of the node with its name, otherwise of the one with its address', async () => {
  const { agent, hands, world } = started()
  expect(world.told).toContain('info waiting for the nodes of the cluster: no stored peers')
  expect(world.handed).toEqual([])
  agent.take(listed(node('n1', 11), node('n2', 12)))
  await hands(['ostest_API_0', 'ostest_INGRESS_0'])
  const other = started({ nodeName: 'another name' })
  other.agent.take(listed(node('n1', 11), node('n2', 12)))
  await other.hands(['ostest_API_0', 'ostest_INGRESS_0'])
})

test('stored peers are enough to start; a failure to store them is logged and ends nothing', async () => {
  const peer = (name: string, last: number) => ({
    name,
    controlPlane: true,
    addresses: { ipv4: address(`10.0.0.${last}`) },
  })
  const { agent, hands, world } = started({ remembered: [peer('n1', 11), peer('n2', 12)] })
  await hands(['ostest_API_0', 'ostest_INGRESS_0'])
  agent.take(listed(node('n1', 11), node('n2', 12), node('n3', 13)))
  await eventually('an attempt to write', () => world.persisted.length > 0, { sight: () => world, ...WITHIN })
  expect(world.told).toContain('error Cannot store the peers: no space left')
  expect(world.handed.at(-1)?.instances[0]?.peers).toEqual(['10.0.0.12', '10.0.0.13'])
})

test('a node that becomes a worker releases the API', async () => {
  const { agent, hands } = started()
  const workers = [node('n2', 12), node('n3', 13)]
  agent.take(listed(node('n1', 11), ...workers))
  await hands(['ostest_API_0', 'ostest_INGRESS_0'])
  agent.take({ kind: 'nodeChanged', node: node('n1', 11, ['worker']) })
  await hands(['ostest_INGRESS_0'])
})

test('an engine that dies during an answer is lost, and gets the whole configuration when it is back', async () => {
  const { agent, account, hands, world } = started()
  agent.take(listed(node('n1', 11), node('n2', 12)))
  await hands(['ostest_API_0', 'ostest_INGRESS_0'])
  const before = world.handed.length
  world.dies(new Error('socket hang up'))
  await eventually('its loss', () => world.told.includes('warn connection to the engine lost'), {
    sight: () => world,
    ...WITHIN,
  })
  expect(account.isConnected).toBe(false)
  await eventually('another hand-over', () => world.handed.length > before, { sight: () => world, ...WITHIN })
  expect(world.handed).toHaveLength(before + 1)
})

test('an engine that starts after the agent gets its configuration within a second', async () => {
  const { agent, hands, world } = started({ isThere: false })
  agent.take(listed(node('n1', 11), node('n2', 12)))
  await eventually('looks', () => world.looks > 1, { sight: () => world, ...WITHIN })
  expect(world.handed).toEqual([])
  const at = monotonicMs()
  world.isThere = true
  await hands(['ostest_API_0', 'ostest_INGRESS_0'])
  expect(monotonicMs() - at, 'ms until it was told').toBeLessThan(900)
})

test('a refusal of the engine is reported with its problems, and with a failure to check', () => {
  const judged = { ok: false, fault: 'invalid', reason: 'one problem', problems: [{ message: 'VRID 0' }] }
  expect(refusalIn(422, JSON.stringify(judged))).toEqual({ accepted: false, problems: ['VRID 0'], failed: false })
  const failed = { ok: false, fault: 'failed', reason: 'the worker thread ended', problems: [] }
  expect(refusalIn(409, JSON.stringify(failed))).toEqual({
    accepted: false,
    problems: ['the worker thread ended'],
    failed: true,
  })
  expect(refusalIn(403, 'Cannot take it\n')).toEqual({ accepted: false, problems: ['Cannot take it (403)'] })
})
