import { describe, expect, test } from 'vitest'
import type { AgentEvent, Intent } from '../../../src/cluster/decisions/agent-state.ts'
import { vipPairs } from '../../../src/cluster/decisions/engine/vip-pairs.ts'
import { clusterCases } from '../../support/cluster-cases.ts'
import { cluster, machine, nodeObject, PlayedAgent, playUntil, start } from '../../support/cluster-plays.ts'

const HERE: AgentEvent = { kind: 'machineChanged', machine: machine(['192.168.111.20/24']) }
const CONNECTED: AgentEvent = { kind: 'engineConnected', configured: false, mode: undefined }
const cp = (n: number, last = 20 + n) => nodeObject(`cp-${n}`, [`192.168.111.${last}`])
const listed = (...nodes: readonly unknown[]): AgentEvent => ({ kind: 'nodesListed', nodes })
const THREE = listed(cp(0), cp(1), cp(2))
const PEERS = ['192.168.111.21', '192.168.111.22']
const T = 10_000_000

/** An agent with three nodes in force. */
function running(): PlayedAgent {
  const agent = new PlayedAgent(T, start())
  for (const event of [HERE, CONNECTED, THREE]) agent.hear(T, event)
  expect(agent.peers.ostest_API_0).toEqual(PEERS)
  return agent
}

describe('the first configuration', () => {
  test('the first configuration is handed over immediately to an engine without one', () => {
    const agent = new PlayedAgent(T, start())
    agent.hear(T, CONNECTED)
    agent.hear(T + 1, HERE)
    expect(agent.handed).toEqual([])
    agent.hear(T + 2, THREE)
    expect(agent.handed.map(({ at }) => at)).toEqual([T + 2])
  })

  test('the first configuration must stay the same for a time if the engine has one already', () => {
    const agent = new PlayedAgent(T, start())
    agent.hear(T, { ...CONNECTED, configured: true, mode: 'unicast' })
    agent.hear(T, HERE)
    agent.hear(T, listed(cp(0), cp(1)))
    agent.hear(T + 3000, { kind: 'nodeChanged', node: cp(2) })
    playUntil(T + 60_000, [agent])
    expect(agent.handed.map(({ at }) => at)).toEqual([T + 8000])
    expect(agent.peers.ostest_API_0).toEqual(PEERS)
  })

  test('the first configuration waits for the engine', () => {
    const agent = new PlayedAgent(T, start())
    agent.hear(T, HERE)
    agent.hear(T, THREE)
    expect(agent.wakeAt).toBeUndefined()
    agent.hear(T + 60_000, CONNECTED)
    expect(agent.handed.map(({ at }) => at)).toEqual([T + 60_000])
  })

  test('without the API, the stored peers are used until the first list', () => {
    const before = running()
    const [persisted] = before.orders.flatMap((order) => (order.kind === 'persist' ? [order.peers] : []))
    expect(persisted?.map(({ name }) => name)).toEqual(['cp-0', 'cp-1', 'cp-2'])
    const agent = new PlayedAgent(T, start({ remembered: persisted }))
    agent.hear(T, { kind: 'listFailed', reason: 'ECONNREFUSED' })
    for (const event of [HERE, CONNECTED]) agent.hear(T, event)
    expect(agent.peers.ostest_API_0).toEqual(PEERS)
    expect(agent.state.source).toBe('remembered')
    agent.hear(T + 1000, listed(cp(0), cp(2)))
    expect(agent.state.source).toBe('api')
    playUntil(T + 60_000, [agent])
    expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 6000])
    expect(agent.peers.ostest_API_0).toEqual(['192.168.111.22'])
  })

  test('without the API and stored peers, only a bootstrap node gets a configuration', () => {
    const agent = new PlayedAgent(T, start())
    for (const event of [HERE, CONNECTED]) agent.hear(T, event)
    agent.hear(T, { kind: 'listFailed', reason: 'ECONNREFUSED' })
    playUntil(T + 3_600_000, [agent])
    expect(agent.handed).toEqual([])
    const bootstrap = new PlayedAgent(T, start({ cluster: cluster({ role: 'bootstrap' }) }))
    for (const event of [HERE, CONNECTED]) bootstrap.hear(T, event)
    expect(bootstrap.peers).toEqual({ ostest_API_0: [] })
  })
})

describe('nodes', () => {
  test('a new node is handed over soon, and a deleted one after it has been missing for 5 s', () => {
    const agent = running()
    agent.hear(T + 1000, { kind: 'nodeChanged', node: cp(3) })
    agent.hear(T + 2000, { kind: 'nodeGone', node: cp(1) })
    agent.hear(T + 3000, { kind: 'nodeChanged', node: cp(2, 122) })
    playUntil(T + 100_000, [agent])
    expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 3500, T + 8000])
    const all = [...PEERS.slice(0, 1), '192.168.111.122', ...PEERS.slice(1), '192.168.111.23'].toSorted()
    expect(agent.handed[1]?.desired.instances.map(({ peers }) => peers)).toEqual([all, all])
    expect(agent.peers.ostest_API_0).toEqual(['192.168.111.122', '192.168.111.23'])
  })

  test('peers must stay the same for the configured time instead of 5 s', () => {
    const agent = new PlayedAgent(T, start({ stableFor: 30_000 }))
    for (const event of [HERE, CONNECTED, THREE]) agent.hear(T, event)
    agent.hear(T + 1000, { kind: 'nodeGone', node: cp(1) })
    playUntil(T + 100_000, [agent])
    expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 31_000])
  })

  test('nodes that come and go within the time change nothing', () => {
    const agent = running()
    for (let t = 1000; t < 30_000; t += 4000) {
      agent.hear(T + t, { kind: 'nodeChanged', node: cp(3) })
      agent.hear(T + t + 2000, { kind: 'nodeGone', node: cp(3) })
    }
    playUntil(T + 100_000, [agent])
    expect(agent.handed).toHaveLength(1)
  })

  test('the last list replaces all that was known about nodes', () => {
    const agent = running()
    agent.hear(T + 1000, listed(cp(0), cp(5)))
    playUntil(T + 100_000, [agent])
    expect(agent.peers.ostest_API_0).toEqual(['192.168.111.25'])
  })

  test('a node that changes before the first list is not the whole cluster', () => {
    const agent = new PlayedAgent(T, start({ cluster: cluster({ topology: 'SingleReplica' }) }))
    for (const event of [HERE, CONNECTED]) agent.hear(T, event)
    agent.hear(T, { kind: 'nodeChanged', node: cp(0) })
    expect(agent.handed).toEqual([])
  })
})

describe('one peer more', () => {
  test('a new peer is listed after half a second, because it hears nothing until then', () => {
    const agent = running()
    agent.hear(T + 1000, { kind: 'nodeChanged', node: cp(3) })
    playUntil(T + 100_000, [agent])
    expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 1500])
    expect(agent.peers.ostest_API_0).toEqual([...PEERS, '192.168.111.23'])
  })

  test('a peer that leaves stays listed for the usual time', () => {
    const agent = running()
    agent.hear(T + 1000, listed(cp(0), cp(1)))
    playUntil(T + 100_000, [agent])
    expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 6000])
  })

  test('a new peer that replaces another one is listed after half a second, beside the old one, which leaves after 5 s', () => {
    const agent = running()
    agent.hear(T + 1000, { kind: 'nodeChanged', node: cp(2, 122) })
    playUntil(T + 100_000, [agent])
    expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 1500, T + 6000])
    expect(agent.handed[1]?.desired.instances[0]?.peers).toEqual([
      '192.168.111.122',
      '192.168.111.21',
      '192.168.111.22',
    ])
    expect(agent.peers.ostest_API_0).toEqual(['192.168.111.122', '192.168.111.21'])
    expect(agent.state.wakeAt, 'nothing waits').toBeUndefined()
  })

  test('if the new peer is gone before the old one leaves, the first list comes back after 5 s', () => {
    const agent = running()
    agent.hear(T + 1000, { kind: 'nodeChanged', node: cp(2, 122) })
    playUntil(T + 2000, [agent])
    agent.hear(T + 2000, { kind: 'nodeChanged', node: cp(2) })
    playUntil(T + 100_000, [agent])
    expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 1500, T + 7000])
    expect(agent.peers.ostest_API_0).toEqual(PEERS)
  })
})

describe('another address of this node', () => {
  const [old, other] = ['192.168.111.20/24', '192.168.111.120/24']
  const named = (address: string) => ({ files: { ipv4: address, ipv6: undefined } })
  const sources = ({ last }: PlayedAgent) => last?.instances.map(({ source }) => source)

  test('another address of this node that the cluster knows is used after half a second', () => {
    const agent = running()
    agent.hear(T + 500, { kind: 'nodeChanged', node: cp(0, 120) })
    agent.hear(T + 1000, { kind: 'machineChanged', machine: machine([other]) })
    playUntil(T + 100_000, [agent])
    expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 1500])
    expect([sources(agent), agent.peers.ostest_API_0]).toEqual([['192.168.111.120', '192.168.111.120'], PEERS])
  })

  test.each(['with the API', 'without it'])(
    'beside the one that the cluster knows: stays there until it is listed, %s',
    (occasion) => {
      const agent = running()
      if (occasion === 'without it') agent.hear(T + 500, { kind: 'listFailed', reason: 'ECONNREFUSED' })
      agent.hear(T + 1000, {
        kind: 'machineChanged',
        machine: machine([old, other], named('192.168.111.120')),
      })
      playUntil(T + 60_000, [agent])
      expect(agent.handed).toHaveLength(1)
      expect(agent.told).toContain(
        'ostest_API_0: stays at 192.168.111.20: the other nodes do not know its new address 192.168.111.120 yet',
      )
      agent.hear(T + 60_000, listed(cp(0, 120), cp(1), cp(2)))
      playUntil(T + 100_000, [agent])
      expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 60_500])
      expect(sources(agent)).toEqual(['192.168.111.120', '192.168.111.120'])
    },
  )

  test.each(['with the API', 'without it'])(
    'instead of the one that the cluster knows: nobody reaches it, so it has no part before its silence counts, %s',
    (occasion) => {
      const agent = running()
      if (occasion === 'without it') agent.hear(T + 500, { kind: 'listFailed', reason: 'ECONNREFUSED' })
      agent.hear(T + 1000, { kind: 'machineChanged', machine: machine([other]) })
      playUntil(T + 60_000, [agent])
      expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 3000])
      expect(agent.last?.instances).toEqual([])
      agent.hear(T + 60_000, listed(cp(0, 120), cp(1), cp(2)))
      playUntil(T + 100_000, [agent])
      expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 3000, T + 65_000])
    },
  )

  test('a node that left the cluster leaves its elections before the others stop sending to it', () => {
    const [agent, peer] = [running(), new PlayedAgent(T, start())]
    peer.hear(T, { kind: 'machineChanged', machine: machine(['192.168.111.21/24']) })
    for (const event of [CONNECTED, listed(cp(0), cp(1), cp(2))]) peer.hear(T, event)
    for (const each of [agent, peer]) each.hear(T + 1000, { kind: 'nodeGone', node: cp(0) })
    playUntil(T + 100_000, [agent, peer])
    expect([agent, peer].map(({ handed }) => handed.map(({ at }) => at))).toEqual([
      [T, T + 3000],
      [T, T + 6000],
    ])
    expect([agent.last?.instances, peer.peers.ostest_API_0]).toEqual([[], ['192.168.111.22']])
  })

  test('another address that disappears in time changes nothing', () => {
    const agent = running()
    agent.hear(T + 1000, { kind: 'machineChanged', machine: machine([other]) })
    agent.hear(T + 2500, HERE)
    playUntil(T + 100_000, [agent])
    expect(agent.handed).toHaveLength(1)
  })
})

describe('the API gone', () => {
  const FAILED: AgentEvent = { kind: 'listFailed', reason: 'HTTP 503' }

  test('without the API for a minute, peers stay, nothing is handed over, and one warning is logged', () => {
    const agent = running()
    for (let t = 1000; t <= 61_000; t += 3000) agent.hear(T + t, FAILED)
    playUntil(T + 61_000, [agent])
    expect(agent.handed).toHaveLength(1)
    expect(agent.told).toEqual(['cannot read the nodes of the cluster: HTTP 503'])
    agent.hear(T + 62_000, { kind: 'watchResumed' })
    agent.hear(T + 63_000, listed(cp(0), cp(1), cp(2), cp(3)))
    playUntil(T + 100_000, [agent])
    expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 63_500])
  })

  test('a change that was waiting continues when the API is back; the time without it does not count', () => {
    const agent = running()
    agent.hear(T + 1000, { kind: 'nodeGone', node: cp(1) })
    agent.hear(T + 3000, FAILED)
    agent.hear(T + 4000, FAILED)
    playUntil(T + 60_000, [agent])
    expect(agent.handed).toHaveLength(1)
    agent.hear(T + 60_000, { kind: 'watchResumed' })
    playUntil(T + 100_000, [agent])
    expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 63_000])
  })

  test('without the API, a move on this machine is handed over after half a second', () => {
    const agent = running()
    agent.hear(T + 1000, FAILED)
    const moved = machine(['192.168.111.20/24'], { link: 'eth7' })
    agent.hear(T + 2000, { kind: 'machineChanged', machine: moved })
    playUntil(T + 100_000, [agent])
    expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 2500])
    expect(agent.last?.instances[0]).toMatchObject({ interface: 'eth7', peers: PEERS })
  })
})

describe('bad input', () => {
  const bad = (...nodes: readonly unknown[]) => {
    const agent = running()
    agent.hear(T + 1000, listed(...nodes))
    playUntil(T + 100_000, [agent])
    return agent
  }

  test.each([
    ['an empty list', []],
    ['a list of garbage', [null, 7, {}, 'x']],
  ])('%s does not count as a list of nodes; the last good one stays', (_, nodes) => {
    const agent = bad(...nodes)
    expect(agent.handed).toHaveLength(1)
    expect(agent.told.join()).toContain(`none of the ${nodes.length} listed objects is a node`)
    expect(agent.state.blind.api).toBe(true)
  })

  test('the deletion of the last node is ignored', () => {
    const agent = running()
    for (const n of [1, 2, 0]) agent.hear(T + 1000 + n, { kind: 'nodeGone', node: cp(n) })
    playUntil(T + 100_000, [agent])
    expect(agent.handed).toHaveLength(1)
    expect(agent.told).toContain('cannot read the nodes of the cluster: the last node, cp-0, was reported as deleted')
  })

  test('with too few control plane nodes, the last configuration stays, and one warning is logged', () => {
    const agent = bad(cp(0))
    expect(agent.handed).toHaveLength(1)
    expect(agent.told).toEqual([
      'known addresses of control plane nodes: 1; unicast needs at least 2 (control plane topology HighlyAvailable)',
    ])
  })

  test('nodes without a usable address keep the last one', () => {
    const agent = bad(
      nodeObject('cp-0', []),
      nodeObject('cp-1', ['192.168.111.5', 'fd00::1']),
      nodeObject('cp-2', [], { annotations: { 'k8s.ovn.org/host-cidrs': '{' } }),
      { metadata: { name: 'cp-3', labels: [] }, status: 1 },
    )
    expect(agent.handed).toHaveLength(1)
    expect(agent.told).toEqual([
      'Node object cp-3: field status is malformed',
      'Node object cp-3: field metadata.labels is malformed',
      'node cp-0: no usable IPv4 address',
      'node cp-1: InternalIP "192.168.111.5" is a VIP',
      'node cp-1: no usable IPv4 address',
      'node cp-2: annotation k8s.ovn.org/host-cidrs is not a JSON list of addresses',
      'node cp-2: no usable IPv4 address',
      'node cp-3: no usable IPv4 address',
    ])
  })

  test('a node with invalid labels keeps its role', () => {
    const agent = running()
    agent.hear(T + 1000, { kind: 'nodeChanged', node: { metadata: { name: 'cp-1', labels: 3 }, status: {} } })
    playUntil(T + 100_000, [agent])
    expect(agent.handed).toHaveLength(1)
  })

  test('unreadable interfaces and files change nothing, and one warning is logged', () => {
    const agent = running()
    for (const t of [1000, 2000]) agent.hear(T + t, { kind: 'lookupFailed', reason: 'EMFILE' })
    expect(agent.told).toEqual(['cannot read the interfaces or files of this machine: EMFILE'])
    agent.hear(T + 3000, { kind: 'machineChanged', machine: machine([]) })
    playUntil(T + 100_000, [agent])
    expect(agent.handed).toHaveLength(1)
  })
})

describe('the engine', () => {
  test('an engine whose connection was lost gets the same configuration again', () => {
    const agent = running()
    agent.hear(T + 1000, { kind: 'engineLost', reason: 'EPIPE' })
    agent.hear(T + 2000, { kind: 'nodeGone', node: cp(1) })
    playUntil(T + 3000, [agent])
    expect(agent.handed).toHaveLength(1)
    agent.hear(T + 3000, CONNECTED)
    expect(agent.handed[1]).toEqual({ at: T + 3000, desired: agent.handed[0]?.desired })
    playUntil(T + 100_000, [agent])
    expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 3000, T + 7000])
  })

  test('a refusal is logged once; the same configuration is tried slowly, a new one immediately, and the last good one stays', () => {
    const agent = running()
    agent.answer = { kind: 'engineRefused', problems: ['too many peers', 'no such interface'] }
    agent.hear(T, { kind: 'nodeGone', node: cp(1) })
    playUntil(T + 3_600_000, [agent])
    const minutes = agent.handed.map(({ at }) => (at - T - 5000) / 60_000)
    expect(minutes.slice(1)).toEqual([0, 1, 3, 7, 15, 25, 35, 45, 55])
    expect(new Set(agent.handed.slice(1).map(({ desired }) => JSON.stringify(desired))).size).toBe(1)
    const refusals = agent.orders.filter(
      (order) => order.kind === 'log' && order.message.startsWith('the engine refused the configuration'),
    )
    expect(refusals).toMatchObject([
      { event: { code: 'refusalChanged' }, fields: { problems: 'too many peers; no such interface' } },
    ])
    expect(agent.state.engine.accepted).toEqual(agent.handed[0]?.desired)
    expect(
      agent.orders.filter(({ kind }) => kind === 'persist'),
      'a refused one is not written down',
    ).toHaveLength(1)
    agent.hear(T + 3_600_000, { kind: 'nodeChanged', node: cp(4) })
    playUntil(T + 3_660_000, [agent])
    expect(
      agent.handed.slice(10).map(({ at }) => at - T),
      'another, at once',
    ).toEqual([3_600_500])
    agent.answer = { kind: 'engineAccepted' }
    playUntil(T + 7_200_000, [agent])
    expect(
      agent.handed.slice(11).map(({ at }) => at - T),
      'and begins with a minute',
    ).toEqual([3_660_500])
    expect(agent.state).toMatchObject({ refused: undefined, wakeAt: undefined })
  })

  test('an engine that could not check a configuration gets it again soon', () => {
    const agent = running()
    agent.answer = { kind: 'engineRefused', problems: ['the worker thread ended'], failed: true }
    agent.hear(T, { kind: 'nodeGone', node: cp(1) })
    playUntil(T + 20_000, [agent])
    expect(agent.handed.map(({ at }) => at - T)).toEqual([0, 5000, 7000, 11_000, 19_000])
    agent.answer = { kind: 'engineAccepted' }
    playUntil(T + 3_600_000, [agent])
    expect(agent.handed.slice(5).map(({ at }) => at - T)).toEqual([35_000])
    expect(agent.peers.ostest_API_0).toEqual(['192.168.111.22'])
  })

  test('an engine that has not answered a request receives no second request', () => {
    const agent = running()
    agent.answer = undefined
    agent.hear(T + 1000, { kind: 'nodeChanged', node: cp(3) })
    playUntil(T + 9000, [agent])
    agent.hear(T + 9000, { kind: 'nodeChanged', node: cp(4) })
    playUntil(T + 100_000, [agent])
    expect(agent.handed).toHaveLength(2)
    agent.hear(T + 100_000, { kind: 'engineAccepted' })
    expect(agent.handed).toHaveLength(3)
  })
})

describe('what is wanted of the cluster', () => {
  const BOTH = ['ostest_API_0', 'ostest_INGRESS_0']
  const API = ['ostest_API_0']
  const wished = (ingress: Intent['ingress']): AgentEvent => ({
    kind: 'intentChanged',
    intent: { api: true, ingress },
  })

  test('ingress is switched off and on immediately, with its groups', () => {
    const both = { api: ['192.168.111.5', 'fd00::5'], ingress: ['192.168.111.4', 'fd00::4'] }
    const agent = new PlayedAgent(T, start({ cluster: cluster({ pairs: vipPairs(both).pairs, grouped: true }) }))
    const here = machine(['192.168.111.20/24', 'fd00::20/64'])
    const nodes = [0, 1].map((n) => nodeObject(`cp-${n}`, [`192.168.111.2${n}`, `fd00::2${n}`]))
    for (const event of [{ kind: 'machineChanged', machine: here } as const, CONNECTED, listed(...nodes)])
      agent.hear(T, event)
    const groups = () => agent.last?.groups.map(({ name }) => name)
    expect([Object.keys(agent.peers).length, groups()]).toEqual([4, ['VG_API', 'VG_INGRESS']])
    agent.hear(T + 1000, wished(false))
    expect([Object.keys(agent.peers), groups()]).toEqual([['ostest_API_0', 'ostest_API_1'], ['VG_API']])
    agent.hear(T + 10_000, wished(true))
    expect(Object.keys(agent.peers)).toHaveLength(4)
  })

  test('a wish without effect does not hurry the next change', () => {
    const agent = running()
    agent.hear(T + 1000, wished('unknown'))
    agent.hear(T + 1000, wished(true))
    agent.hear(T + 2000, { kind: 'nodeGone', node: cp(2) })
    playUntil(T + 20_000, [agent])
    expect(agent.handed.map(({ at }) => at - T)).toEqual([0, 7000])
  })

  describe('where the API was never heard about ingress', () => {
    const unknown = () => new PlayedAgent(T, start({ intent: { api: true, ingress: 'unknown' } }))

    test('an empty engine gets the API immediately, and ingress after the first answer', () => {
      const agent = unknown()
      for (const event of [HERE, CONNECTED, THREE]) agent.hear(T, event)
      expect(Object.keys(agent.peers)).toEqual(API)
      playUntil(T + 600_000, [agent])
      agent.hear(T + 600_000, { ...CONNECTED, configured: true, mode: 'unicast', ingress: false })
      expect(Object.keys(agent.peers)).toEqual(API)
      expect(agent.told.filter((line) => line.startsWith('ingress waits'))).toHaveLength(1)
      agent.hear(T + 700_000, wished(true))
      expect(Object.keys(agent.peers)).toEqual(BOTH)
    })

    test('an engine with ingress keeps it', () => {
      const agent = unknown()
      for (const event of [HERE, THREE]) agent.hear(T, event)
      agent.hear(T, { ...CONNECTED, configured: true, mode: 'unicast', ingress: true })
      playUntil(T + 60_000, [agent])
      expect(agent.handed.map(({ desired }) => desired.instances.map(({ name }) => name))).toEqual([BOTH])
      expect(agent.told.filter((line) => line.startsWith('ingress waits'))).toEqual([])
      agent.hear(T + 70_000, wished(false))
      expect(Object.keys(agent.peers)).toEqual(API)
    })
  })

  test('an engine that starts empty never gets ingress if it is disabled', () => {
    const agent = new PlayedAgent(T, start({ intent: { api: true, ingress: false } }))
    for (const event of [HERE, CONNECTED, THREE]) agent.hear(T, event)
    agent.hear(T + 10_000, { kind: 'engineLost', reason: 'EPIPE' })
    agent.hear(T + 11_000, CONNECTED)
    expect(agent.handed.map(({ desired }) => desired.instances.map(({ name }) => name))).toEqual([API, API])
  })
})

describe('a single node', () => {
  test('a single node with another address, interface and route is alone all the time', () => {
    const single = cluster({
      topology: 'SingleReplica',
      nodeName: 'cp-0',
      pairs: vipPairs({ api: ['10.9.0.5'], ingress: ['10.9.0.4'] }).pairs,
    })
    const agent = new PlayedAgent(T, start({ cluster: single }))
    for (const event of [HERE, CONNECTED, listed(cp(0))]) agent.hear(T, event)
    agent.hear(T + 1000, { kind: 'listFailed', reason: 'ECONNREFUSED' })
    agent.hear(T + 2000, { kind: 'machineChanged', machine: machine([]) })
    agent.hear(T + 2100, { kind: 'machineChanged', machine: machine(['10.9.0.20/24'], { link: 'br9' }) })
    playUntil(T + 100_000, [agent])
    expect(agent.handed.map(({ at }) => at)).toEqual([T, T + 2600])
    expect(agent.handed.flatMap(({ desired }) => desired.instances.map(({ peers }) => peers))).toEqual([[], [], [], []])
    expect(agent.last?.instances[0]).toMatchObject({ interface: 'br9', source: '10.9.0.20' })
  })
})

describe('nodes as the watcher of runtimecfg knows them', () => {
  type NodeWords = { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  type Watched = {
    readonly initial: readonly NodeWords[]
    readonly events?: readonly { readonly type: string; readonly node: NodeWords }[]
    readonly adds?: number
    readonly distinctNames?: number
  }
  type Cached = {
    readonly nodes?: readonly string[]
    readonly count?: number
    readonly countGreaterThan?: number
    readonly labelOf?: Readonly<Record<string, Readonly<Record<string, string>>>>
  }
  const KINDS = {
    ADDED: 'nodeChanged',
    MODIFIED: 'nodeChanged',
    DELETED: 'nodeGone',
    BOOKMARK: 'watchResumed',
  } as const
  const kindOf = (type: string) => Object.entries(KINDS).find(([name]) => name === type)?.[1]

  test.each(clusterCases<Watched, Cached>('nodeWatcher').map((one) => [one.id, one] as const))(
    '%s',
    (_, { input, expect: wanted }) => {
      // A bootstrap node, because no other role accepts a list without nodes.
      const agent = new PlayedAgent(T, start({ cluster: cluster({ role: 'bootstrap' }) }))
      agent.hear(T, listed(...input.initial.map((metadata) => ({ metadata }))))
      const added = Array.from({ length: input.adds ?? 0 }, (_none, i) => ({
        type: 'ADDED',
        node: { name: `n${i % (input.distinctNames ?? 1)}` },
      }))
      for (const { type, node } of [...(input.events ?? []), ...added]) {
        const kind = kindOf(type)
        if (kind === undefined) throw new Error(`The case has an event of type ${type}`)
        agent.hear(T, kind === 'watchResumed' ? { kind } : { kind, node: { metadata: node } })
      }
      const nodes = agent.state.nodes ?? []
      if (wanted?.nodes !== undefined) expect(nodes.map(({ name }) => name)).toEqual(wanted.nodes)
      if (wanted?.count !== undefined) expect(nodes).toHaveLength(wanted.count)
      if (wanted?.countGreaterThan !== undefined) expect(nodes).toHaveLength(input.distinctNames ?? 0)
      for (const [name, labels] of Object.entries(wanted?.labelOf ?? {}))
        expect(nodes.find((each) => each.name === name)?.labels).toEqual(labels)
    },
  )
})
