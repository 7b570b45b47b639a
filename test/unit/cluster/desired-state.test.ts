import { describe, expect, test } from 'vitest'
import { desiredState, type Known, peerWishes } from '../../../src/cluster/decisions/engine/desired-state.ts'
import { type PeerNode, peerNodes, readPeers } from '../../../src/cluster/decisions/engine/peers.ts'
import { vipPairs } from '../../../src/cluster/decisions/engine/vip-pairs.ts'
import { readNode } from '../../../src/cluster/decisions/node-object.ts'
import { address } from '../../../src/wire/address.ts'
import { cluster, machine, type NodeOptions, nodeObject } from '../../support/cluster-plays.ts'

type Row = readonly [name: string, addresses: readonly string[], options?: NodeOptions]

const WORKER = { controlPlane: false }
/** Three and two nodes, whose addresses have another order as text than as numbers. */
const FIVE: readonly Row[] = [
  ['cp-0', ['192.168.111.20']],
  ['cp-1', ['192.168.111.9']],
  ['cp-2', ['192.168.111.100']],
  ['w-0', ['192.168.111.23'], WORKER],
  ['w-1', ['192.168.111.24'], WORKER],
]
const MACHINE = machine(['192.168.111.20/24'])

type Others = Partial<Omit<Known, 'cluster' | 'peers'>> & {
  cluster?: Partial<Known['cluster']>
  earlierPeers?: PeerNode[]
}

function decide(rows: readonly Row[], { cluster: words = {}, earlierPeers = [], ...others }: Others = {}) {
  const known = { cluster: cluster(words), machine: MACHINE, ...others }
  const nodes = rows.flatMap(([name, addresses, options]) => readNode(nodeObject(name, addresses, options)).node ?? [])
  const { peers, odd } = peerNodes(nodes, peerWishes(known), earlierPeers)
  const intent = { api: true, ingress: true }
  const { desired, notes } = desiredState({ intent, mode: 'unicast', earlier: undefined, peers, ...known })
  const byName = Object.fromEntries((desired?.instances ?? []).map((each) => [each.name, each]))
  const lists = Object.fromEntries(Object.entries(byName).map(([name, each]) => [name, each.peers]))
  return { desired, notes, odd, peers, byName, lists }
}

describe('what a node is to do', () => {
  test('a control plane node has all virtual routers', () => {
    const { desired } = decide(FIVE)
    const common = {
      index: 0,
      prefixLength: 32,
      interface: 'br-ex',
      source: '192.168.111.20',
      sourceFile: undefined,
      tracked: true,
    }
    expect(desired).toEqual({
      clusterName: 'ostest',
      role: 'controlPlane',
      groups: [],
      instances: [
        {
          ...common,
          name: 'ostest_API_0',
          service: 'api',
          vip: '192.168.111.5',
          vrid: 14,
          priority: 40,
          password: 'ostest_api_vip',
          peers: ['192.168.111.100', '192.168.111.9'],
        },
        {
          ...common,
          name: 'ostest_INGRESS_0',
          service: 'ingress',
          vip: '192.168.111.4',
          vrid: 93,
          priority: 20,
          password: 'ostest_ingress_vip',
          peers: ['192.168.111.100', '192.168.111.23', '192.168.111.24', '192.168.111.9'],
        },
      ],
    })
  })

  test('a worker has no part in the API', () => {
    const { lists } = decide(FIVE, { cluster: { role: 'worker' }, machine: machine(['192.168.111.23/24']) })
    expect(Object.keys(lists)).toEqual(['ostest_INGRESS_0'])
    expect(lists.ostest_INGRESS_0).toContain('192.168.111.20')
  })

  test('a bootstrap node has the API only, with the highest priority and any peers', () => {
    const words = { cluster: { role: 'bootstrap' }, machine: machine(['192.168.111.77/24']) } as const
    const { byName } = decide(FIVE, words)
    expect(Object.keys(byName)).toEqual(['ostest_API_0'])
    expect(byName.ostest_API_0).toMatchObject({
      priority: 70,
      tracked: false,
      peers: ['192.168.111.100', '192.168.111.20', '192.168.111.9'],
    })
    expect(decide([], words).lists).toEqual({ ostest_API_0: [] })
  })

  test('a node that is not registered has no part, with a reason (M5)', () => {
    const { desired, notes } = decide(FIVE, { machine: machine(['192.168.111.30/24']) })
    expect(desired?.instances).toEqual([])
    expect(notes).toEqual([
      'ostest_API_0: the address 192.168.111.30 of this node is not an address of any control plane node in the API (not registered yet?)',
      'ostest_INGRESS_0: the address 192.168.111.30 of this node is not an address of any node in the API (not registered yet?)',
    ])
  })

  test('multicast mode needs no peers, no minimum and no registration', () => {
    const { lists } = decide([['cp-1', ['192.168.111.9']]], { mode: 'multicast' })
    expect(lists).toEqual({ ostest_API_0: 'multicast', ostest_INGRESS_0: 'multicast' })
  })

  test('a remote worker has no part (M13)', () => {
    const { desired } = decide(FIVE, { machine: machine(['192.168.111.20/24'], { remoteWorker: true }) })
    expect(desired?.instances).toEqual([])
  })

  test('a service that is not wanted has no virtual router', () => {
    expect(Object.keys(decide(FIVE, { intent: { api: true, ingress: false } }).lists)).toEqual(['ostest_API_0'])
    expect(Object.keys(decide(FIVE, { intent: { api: false, ingress: true } }).lists)).toEqual(['ostest_INGRESS_0'])
    expect(decide(FIVE, { intent: { api: false, ingress: false } }).desired?.instances).toEqual([])
  })
})

describe('the guard for control plane nodes (M7)', () => {
  const ONE: readonly Row[] = [['cp-0', ['192.168.111.20']]]
  test('one control plane node is too few, and two are enough', () => {
    const { desired, notes } = decide([...ONE, ['w-0', ['192.168.111.23'], WORKER]])
    expect(desired).toBeUndefined()
    expect(notes).toEqual([
      'known addresses of control plane nodes: 1; unicast needs at least 2 (control plane topology HighlyAvailable)',
    ])
    expect(decide([...ONE, ['cp-1', []]]).desired, 'one without an address does not count').toBeUndefined()
    expect(decide([...ONE, ['cp-1', ['192.168.111.9']]]).lists.ostest_API_0).toEqual(['192.168.111.9'])
  })

  test.each(['DualReplica', 'HighlyAvailableArbiter'] as const)(
    'for %s the bootstrap node is the second one: alone, and 0.0.0.0 is nobody’s peer (M16)',
    (topology) => {
      const { lists, byName } = decide(ONE, { cluster: { topology } })
      expect(lists).toEqual({ ostest_API_0: [], ostest_INGRESS_0: [] })
      // Only in keepalived's file, where an empty list means multicast.
      expect(Object.values(byName).map(({ placeholder }) => placeholder)).toEqual(['0.0.0.0', undefined])
      expect(decide([], { cluster: { topology } }).desired).toBeUndefined()
    },
  )

  test('a single node is alone, registered or not, and never uses multicast', () => {
    const single = { cluster: { topology: 'SingleReplica', nodeName: 'cp-0' } } as const
    const { lists, byName } = decide(ONE, single)
    expect(lists).toEqual({ ostest_API_0: [], ostest_INGRESS_0: [] })
    expect(Object.values(byName).map(({ placeholder }) => placeholder)).toEqual(['0.0.0.0', '0.0.0.0'])
    // Relocated: the API still has the former address, which is no peer.
    expect(decide([['cp-0', ['10.0.0.5']]], single).lists).toEqual({ ostest_API_0: [], ostest_INGRESS_0: [] })
    expect(decide([...ONE, ['w-0', ['192.168.111.23'], WORKER]], single).lists).toEqual({
      ostest_API_0: [],
      ostest_INGRESS_0: ['192.168.111.23'],
    })
  })

  test('a single node in multicast mode uses multicast only for ingress, and only with workers', () => {
    const single = { cluster: { topology: 'SingleReplica', nodeName: 'cp-0' }, mode: 'multicast' } as const
    expect(decide(ONE, single).lists).toEqual({ ostest_API_0: [], ostest_INGRESS_0: [] })
    expect(decide([], single).lists).toEqual({ ostest_API_0: [], ostest_INGRESS_0: [] })
    expect(decide([...ONE, ['w-0', ['192.168.111.23'], WORKER]], single).lists).toEqual({
      ostest_API_0: [],
      ostest_INGRESS_0: 'multicast',
    })
  })
})

describe('a role that nobody gave', () => {
  const roleOn = (cidr: string, words: Partial<Known['cluster']> = {}) =>
    decide(FIVE, { cluster: { role: undefined, ...words }, machine: machine([cidr]) }).desired?.role
  test("the role comes from the node's name, otherwise from its address, otherwise it is worker", () => {
    expect(roleOn('192.168.111.20/24')).toBe('controlPlane')
    expect(roleOn('192.168.111.23/24')).toBe('worker')
    expect(roleOn('192.168.111.99/24')).toBe('worker')
    expect(roleOn('192.168.111.99/24', { nodeName: 'cp-2' })).toBe('controlPlane')
    expect(roleOn('192.168.111.20/24', { nodeName: 'w-1' })).toBe('worker')
    expect(roleOn('10.0.0.9/24', { topology: 'SingleReplica' })).toBe('controlPlane')
  })
})

describe('two families', () => {
  const { pairs } = vipPairs({ api: ['192.168.111.5', 'fd2e::5'], ingress: ['192.168.111.4', 'fd2e::4'] })
  const both = machine(['192.168.111.20/24', 'fd2e::14/64'])
  const rows: readonly Row[] = [
    ['cp-0', ['192.168.111.20', 'fd2e::14']],
    ['cp-1', ['192.168.111.21', 'fd2e::15']],
    ['cp-2', ['192.168.111.22']],
  ]

  test('each family has its own peers, VRID and prefix length', () => {
    const { byName, lists, odd, desired } = decide(rows, { cluster: { pairs }, machine: both })
    expect(Object.keys(lists)).toEqual(['ostest_API_0', 'ostest_API_1', 'ostest_INGRESS_0', 'ostest_INGRESS_1'])
    expect(byName.ostest_API_1).toMatchObject({
      vip: 'fd2e::5',
      prefixLength: 128,
      vrid: 14,
      source: 'fd2e::14',
      peers: ['fd2e::15'],
    })
    expect(lists.ostest_API_0).toEqual(['192.168.111.21', '192.168.111.22'])
    expect(odd).toEqual([{ node: 'cp-2', what: 'no usable IPv6 address' }])
    expect(desired?.groups).toEqual([])
  })

  test('with groups, as on OpenStack, both families move together', () => {
    const groupsOf = (role: 'controlPlane' | 'worker') =>
      decide(rows, { cluster: { pairs, grouped: true, role }, machine: both }).desired?.groups
    const ingress = { name: 'VG_INGRESS', members: ['ostest_INGRESS_0', 'ostest_INGRESS_1'], service: 'ingress' }
    expect(groupsOf('controlPlane')).toEqual([
      { name: 'VG_API', members: ['ostest_API_0', 'ostest_API_1'], service: 'api' },
      ingress,
    ])
    expect(groupsOf('worker')).toEqual([ingress])
    // Upstream's error is not copied: a group without members.
    const unlisted = machine(['192.168.111.99/24', 'fd2e::99/64'])
    expect(decide(rows, { cluster: { pairs, grouped: true }, machine: unlisted }).desired?.groups).toEqual([])
    expect(decide(FIVE, { cluster: { grouped: true } }).desired?.groups).toEqual([])
  })

  test('a family that this machine lacks keeps its last interface or is left out, and does not disturb the other', () => {
    const { desired: earlier } = decide(rows, { cluster: { pairs }, machine: both })
    const { byName, notes } = decide(rows, { cluster: { pairs }, earlier })
    expect(byName.ostest_API_1).toMatchObject({ interface: 'br-ex', source: 'fd2e::14' })
    expect(notes.join()).toContain('Cannot choose an interface for fd2e::5')
    expect(Object.keys(decide(rows, { cluster: { pairs } }).lists)).toEqual(['ostest_API_0', 'ostest_INGRESS_0'])
  })

  test('without an interface for any pair there is no configuration', () => {
    const { desired, notes } = decide(rows, { machine: machine([]) })
    expect(desired).toBeUndefined()
    expect(notes.join()).toContain('Cannot choose an interface for 192.168.111.5')
  })
})

describe('the peers of a cluster', () => {
  test('the last good address of a node stays as long as the node exists', () => {
    const { peers: before } = decide(FIVE)
    const ill: readonly Row[] = [
      ['cp-0', ['192.168.111.5']],
      ['cp-1', []],
      ['cp-2', ['garbage']],
      ['w-0', ['fd00::1'], WORKER],
    ]
    const { lists, odd } = decide(ill, { earlierPeers: [...before] })
    expect(lists).toEqual({
      ostest_API_0: ['192.168.111.100', '192.168.111.9'],
      ostest_INGRESS_0: ['192.168.111.100', '192.168.111.23', '192.168.111.9'],
    })
    const NONE = 'no usable IPv4 address'
    expect(odd).toEqual([
      { node: 'cp-0', what: 'InternalIP "192.168.111.5" is a VIP' },
      { node: 'cp-0', what: NONE },
      { node: 'cp-1', what: NONE },
      { node: 'cp-2', what: 'InternalIP "garbage" is no IP address' },
      { node: 'cp-2', what: NONE },
      { node: 'w-0', what: NONE },
    ])
    const { peers: moved } = decide([['cp-1', ['192.168.111.8']]], { earlierPeers: [...before] })
    expect(moved).toEqual([{ name: 'cp-1', controlPlane: true, addresses: { ipv4: '192.168.111.8' } }])
  })

  test('a stored address that is a VIP is dropped', () => {
    const earlierPeers = [{ name: 'cp-1', controlPlane: true, addresses: { ipv4: address('192.168.111.5') } }]
    expect(decide([['cp-1', []]], { earlierPeers }).peers[0]?.addresses).toEqual({})
  })

  test('two nodes with one address are one peer', () => {
    const { lists } = decide([...FIVE, ['cp-9', ['192.168.111.9']]])
    expect(lists.ostest_API_0).toEqual(['192.168.111.100', '192.168.111.9'])
  })

  test('peers are stored and read again', () => {
    const { peers } = decide(FIVE)
    expect(readPeers(JSON.parse(JSON.stringify(peers)))).toEqual(peers)
    expect(readPeers([{ name: 'a', controlPlane: true, addresses: { ipv4: 'x', ipv6: 'FD00::1' } }])).toEqual([
      { name: 'a', controlPlane: true, addresses: { ipv6: address('fd00::1') } },
    ])
    for (const other of [undefined, null, {}, [{}], [{ name: '', controlPlane: true, addresses: {} }], 'x'])
      expect(readPeers(other)).toBeUndefined()
  })
})
