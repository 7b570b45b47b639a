import { describe, expect, test } from 'vitest'
import { type Selection, selectNodeAddresses, type Wishes } from '../../../src/cluster/decisions/node-ip/selection.ts'
import { address } from '../../../src/wire/address.ts'
import { viewOf } from '../../support/case-view.ts'
import { type CaseLink, type CaseRoute, clusterCases } from '../../support/cluster-cases.ts'

type SelectionCase = {
  readonly id: string
  readonly vips: readonly string[]
  readonly preferIPv6: boolean
  readonly networkType?: string
  readonly links: readonly CaseLink[]
  readonly routes: readonly CaseRoute[]
}
type Chosen = { readonly chosen: readonly string[]; readonly matchesVips: boolean }

const wishesOf = ({ vips, preferIPv6, networkType }: SelectionCase): Wishes => ({
  hints: [],
  vips: vips.map(address),
  preferIpv6: preferIPv6,
  ovn: networkType === 'OVNKubernetes',
})

const select = (one: SelectionCase, wishes: Partial<Wishes> = {}): Selection =>
  selectNodeAddresses(viewOf(one), { ...wishesOf(one), ...wishes })

/** Returns a text that the order of the kernel's links and routes does not change. */
function expectSame(one: SelectionCase, found: Selection): void {
  const turned = { ...one, links: one.links.toReversed(), routes: one.routes.toReversed() }
  expect(select(turned).chosen, 'links and routes in another order').toEqual(found.chosen)
}

const casesOf = <Expected>(fn: string) =>
  clusterCases<SelectionCase, Expected>(fn).map((one) => [one.id, one as unknown as SelectionCase, one] as const)

/** Cases in which holdfast intentionally differs from upstream (reference: quirks), with holdfast's choice. */
const ON_PURPOSE: Readonly<Record<string, Chosen>> = {
  // A VIP is never the address of a node, in either family.
  'sel-quirk-opposite-is-vip': { chosen: ['10.0.0.5', 'fd00::5'], matchesVips: true },
  // An IPv4-mapped address is in no IPv4 network.
  'sel-quirk-mapped-v6': { chosen: ['fd00::5'], matchesVips: false },
}

describe('the node’s address by VIPs', () => {
  test.each(casesOf<readonly string[]>('addressesRouting'))('%s', (_, one, { expect: wanted }) => {
    const found = select(one)
    expect(found.chosen).toEqual(wanted)
    expect(found.matches).toBe(true)
    expectSame(one, found)
  })
})

describe('the node’s address by the default route', () => {
  test.each(casesOf<readonly string[]>('addressesDefault'))('%s', (_, one, { expect: wanted }) => {
    const found = select(one)
    expect(found.chosen).toEqual(wanted)
    expect(found.matches).toBe(false)
    expectSame(one, found)
  })
})

describe('the whole choice', () => {
  test.each(casesOf<Chosen>('selectNodeIPs'))('%s', (id, one, { expect: wanted, expectAnyOf }) => {
    const found = select(one)
    const ours = { chosen: found.chosen, matchesVips: found.matches }
    const purpose = ON_PURPOSE[id]
    if (expectAnyOf === undefined) expect(ours).toEqual(purpose ?? wanted)
    else expect(expectAnyOf).toContainEqual(ours)
    if (purpose !== undefined) expect(purpose, 'it differs from upstream').not.toEqual(wanted)
    expectSame(one, found)
  })

  test('every address has a result, and the chosen ones are among them', () => {
    for (const [, one] of casesOf('selectNodeIPs')) {
      const { chosen, suitability } = select(one)
      expect(suitability).toHaveLength(one.links.flatMap(({ addrs }) => addrs).length)
      expect(
        suitability
          .filter(({ chosen: is }) => is)
          .map(({ address: of }) => of)
          .sort(),
      ).toEqual([...chosen].sort())
      expect(suitability.filter(({ why }) => why === '' || why.includes('undefined'))).toEqual([])
    }
  })
})

describe('holdfast’s own', () => {
  const one = casesOf<Chosen>('selectNodeIPs').find(([id]) => id === 'sel-quirk-hint-and-vip')?.[1] as SelectionCase

  test('the hint wins over VIPs of another interface', () => {
    const [hint = '', ...vips] = one.vips
    const found = select(one, { hints: [address(hint)], vips: vips.map(address) })
    expect(found).toMatchObject({ chosen: ['192.168.1.2'], matches: true, link: 'eth1' })
    expect(found.suitability.map(({ address: of, why }) => `${of}: ${why}`)).toEqual([
      '127.0.0.1: loopback',
      '::1: loopback',
      '10.0.0.5: not on eth1, in whose network the hint 192.168.1.0 is',
      '192.168.1.2: on eth1, in whose network the hint 192.168.1.0 is',
    ])
  })

  test('the result tells by which rule an address lost', () => {
    const links = [
      { name: 'eth0', index: 2, addrs: ['10.0.0.5/24', '10.0.0.9/24', '198.51.100.7/24', 'fd69::2/125'] },
      { name: 'eth1', index: 3, addrs: ['192.168.1.2/24'] },
      { name: 'eth2', index: 4, addrs: ['172.16.0.1/24'] },
    ].map(({ addrs, ...link }) => ({ ...link, addrs: addrs.map((cidr) => ({ cidr, deprecated: false, label: '' })) }))
    const route = { dst: null, proto: 'dhcp', gw: null }
    const routes = [
      { ...route, link: 'eth0', priority: 100, gw: '10.0.0.1' },
      { ...route, link: 'eth1', priority: 101 },
    ]
    const { suitability } = select({ ...one, vips: [], links, routes })
    expect(suitability.map(({ address: of, why }) => `${of}: ${why}`)).toEqual([
      '10.0.0.5: the best address on an interface with a default route',
      '10.0.0.9: 10.0.0.5 is preferred (lower address)',
      '198.51.100.7: 10.0.0.5 is preferred (gateway in its network)',
      'fd69::2: an address that OVN uses itself',
      '192.168.1.2: 10.0.0.5 is preferred (lower metric of the route)',
      '172.16.0.1: no default route over eth2',
    ])
  })
})
