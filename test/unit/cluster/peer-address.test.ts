import { describe, expect, test } from 'vitest'
import type { ClusterNode, NodeAddress } from '../../../src/cluster/decisions/cluster-node.ts'
import { type PeerWishes, peerAddress } from '../../../src/cluster/decisions/engine/peer-address.ts'
import { address, familyOf } from '../../../src/wire/address.ts'
import { network } from '../../support/case-view.ts'
import { clusterCases } from '../../support/cluster-cases.ts'

type PeerCase = {
  readonly id: string
  readonly node: Pick<ClusterNode, 'name' | 'annotations' | 'addresses'>
  readonly filterIps: readonly string[]
  readonly machineNetwork: string | null
  readonly localVrrpAddress: string
  readonly expect: string
  readonly expectError: string | null
}
const CASES = clusterCases('peerAddressForNode').map((one) => one as unknown as PeerCase)

const clusterNode = (node: Partial<ClusterNode>): ClusterNode => ({
  name: 'n',
  labels: {},
  annotations: {},
  addresses: [],
  kubeletVersion: '',
  ...node,
})

describe('the address of a peer as runtimecfg has it', () => {
  // A VIP gives the family, and a pair has at least one VIP (vip-pairs.ts), so no case is refused.
  const answered = CASES.filter(({ filterIps }) => filterIps.length > 0)
  test('all cases are replayed except the one without VIPs', () =>
    expect(CASES.filter((one) => !answered.includes(one)).map(({ id }) => id)).toEqual(['peer-empty-vips']))

  test.each(answered.map((one) => [one.id, one] as const))('%s', (_, one) => {
    const vips = one.filterIps.map(address)
    const wishes: PeerWishes = {
      family: familyOf(address(one.filterIps[0] ?? '')),
      vips,
      network: one.machineNetwork === null ? undefined : network(one.machineNetwork),
      own: address(one.localVrrpAddress),
    }
    const { address: found, odd } = peerAddress(clusterNode(one.node), wishes)
    // Upstream's error is not copied: instead of an empty peer, there is none, with a reason.
    expect(found ?? '').toBe(one.expect)
    if (found === undefined) expect(odd.join()).toContain('no usable')
  })
})

describe('holdfast’s own', () => {
  const wishes: PeerWishes = {
    family: 'ipv4',
    vips: [address('192.0.2.100'), address('192.0.2.101')],
    network: network('192.0.2.7/24'),
    own: address('192.0.2.7'),
  }
  const internal = (...texts: string[]): NodeAddress[] => texts.map((text) => ({ type: 'InternalIP', address: text }))
  const find = (node: Partial<ClusterNode>, others: Partial<PeerWishes> = {}) =>
    peerAddress(clusterNode(node), { ...wishes, ...others })

  test('a VIP is never the address of a peer', () => {
    expect(find({ addresses: internal('192.0.2.1', '192.0.2.100') })).toEqual({
      address: '192.0.2.1',
      odd: ['InternalIP "192.0.2.100" is a VIP'],
    })
    const { address: none, odd } = find({ addresses: internal('192.0.2.101') })
    expect(none).toBeUndefined()
    expect(odd).toEqual(['InternalIP "192.0.2.101" is a VIP', 'no usable IPv4 address'])
  })

  test('the last InternalIP of the family is used, or the first one if no network of this machine has the VIP', () => {
    const addresses = internal('192.0.2.1', 'fd00::1', '198.51.100.1')
    expect(find({ addresses }).address).toBe('198.51.100.1')
    expect(find({ addresses }, { network: undefined }).address).toBe('192.0.2.1')
  })

  test.each(['', 'garbage', '192.0.2.300', '0.0.0.0', '127.0.0.1', '224.0.0.18', '192.0.2.1/24'])(
    'the InternalIP "%s" is passed over and named',
    (text) => {
      const { address: found, odd } = find({ addresses: internal('192.0.2.1', text) })
      expect(found).toBe('192.0.2.1')
      expect(odd).toHaveLength(1)
      expect(odd[0]).toContain(`InternalIP "${text}" is `)
    },
  )

  const noted = (value: string, key = 'k8s.ovn.org/host-cidrs') => ({ annotations: { [key]: value } })

  test.each(['{', '{}', '7', '[1]', 'null', '["192.0.2.1/24", {}]'])('the annotation %s is named', (value) => {
    const { address: found, odd } = find(noted(value))
    expect(found).toBeUndefined()
    expect(odd[0]).toBe('annotation k8s.ovn.org/host-cidrs is not a JSON list of addresses')
  })

  test("of the addresses in OVN's annotation, our own is used, otherwise the first one in the network, and never a VIP", () => {
    const list = '["198.51.100.9/24","192.0.2.100/32","192.0.2.9/24","192.0.2.7/24"]'
    expect(find(noted(list))).toEqual({ address: '192.0.2.7', odd: [] })
    expect(find(noted(list), { own: undefined }).address).toBe('192.0.2.9')
    expect(find(noted(list), { network: undefined }).address).toBeUndefined()
    expect(find(noted('["192.0.2.9"]', 'k8s.ovn.org/host-addresses')).address).toBe('192.0.2.9')
  })
})
