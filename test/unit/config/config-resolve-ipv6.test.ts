/** IPv6 on a node: the interface, the source, the order in the packet, and both families side by side. */
import { describe, expect, test } from 'vitest'
import type { NodeAddress, NodeView } from '../../../src/config/node-view.ts'
import { formatProblem } from '../../../src/config/problem.ts'
import { resolveRouters } from '../../../src/config/resolve.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import { address } from '../../../src/wire/address.ts'

/**
 * Returns a node: `node('eth0 fe80::11/64 fd00::11/64~')`; ~ is tentative, ! deprecated, + known not to be deprecated.
 */
function node(...interfaces: string[]): NodeView {
  return {
    interfaces: interfaces.map((text) => {
      const [name = '', ...addresses] = text.split(' ')
      return {
        name,
        mtu: 1500,
        addresses: addresses.map((one): NodeAddress => {
          const [host = '', prefix = ''] = one.replace(/[~!+]/, '').split('/')
          return {
            address: address(host),
            prefixLength: Number(prefix),
            tentative: one.includes('~'),
            deprecated: one.includes('!') ? true : one.includes('+') ? false : undefined,
          }
        }),
      }
    }),
  }
}

function resolve(view: NodeView, ...routers: string[]) {
  const text = `virtualRouters:\n${routers.map((router) => `  - { ${router}, stagger: false, ttlCheck: false, firstAddressLinkLocal: false }\n`).join('')}`
  const parsed = parseConfig(text, 'h.yaml')
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  const resolution = resolveRouters(parsed.config, view, parsed.locate)
  const [router] = resolution.routers
  if (router === undefined) throw new Error('no router')
  return { ...resolution, router, said: resolution.problems.map(formatProblem) }
}

const API6 = 'name: api6, vrid: 51, addresses: ["fd00::200"]'
const LAN = node(
  'lo 127.0.0.1/8 ::1/128',
  'eth0 10.0.0.11/24 fd00::11/64 fe80::11/64',
  'eth1 fd01::11/64 fe80::1:11/64',
)

describe('multicast', () => {
  test('multicast goes to ff02::12 from the link-local address (RFC 9568 §5.1.2)', () => {
    const { router, problems } = resolve(LAN, `${API6}, interface: eth0`)
    expect(problems).toEqual([])
    expect(router).toMatchObject({ interfaceName: 'eth0', source: 'fe80::11', fault: undefined })
    expect(router.parameters).toMatchObject({
      family: 'ipv6',
      version: 3,
      addresses: ['fd00::200'],
      primaryAddress: 'fe80::11',
      transport: { mode: 'multicast', group: 'ff02::12' },
    })
    expect(router.announce).toEqual({ at: [0, 1000, 2000], refresh: 60_000 })
  })

  test('multicast without a link-local address gives a warning, a fault, and the source ::', () => {
    const { router, said } = resolve(node('eth0 fd00::11/64'), `${API6}, interface: eth0`)
    expect(said).toEqual([
      'h.yaml:2:66: warning: Cannot send from "eth0": it has no link-local address of its own, "api6" is in fault until that changes',
    ])
    expect([router.source, router.fault, router.parameters.primaryAddress]).toEqual([
      undefined,
      'sourceAddressMissing',
      '::',
    ])
  })

  test('a tentative link-local address is no source yet', () => {
    const { router, said } = resolve(node('eth0 fd00::11/64 fe80::11/64~'), `${API6}, interface: eth0`)
    expect(said).toEqual([expect.stringContaining('"eth0": its link-local address is still tentative')])
    expect(router.fault).toBe('sourceAddressMissing')
    const second = resolve(node('eth0 fe80::11/64~ fe80::12/64'), `${API6}, interface: eth0`)
    expect([second.router.source, second.said]).toEqual(['fe80::12', []])
  })

  test('a link-local VIP is never the source', () => {
    const view = node('eth0 fe80::51/128! fe80::11/64')
    const { router } = resolve(view, 'name: a, vrid: 1, interface: eth0, addresses: ["fe80::51", "fd00::1"]')
    expect(router.source).toBe('fe80::11')
  })

  test('profile rfc9568 announces once', () => {
    const { router } = resolve(
      LAN,
      'name: a, vrid: 1, interface: eth0, addresses: ["fd00::1", "fe80::51"], profile: rfc9568',
    )
    expect(router.announce).toEqual({ at: [0], refresh: undefined })
  })
})

test('the link-local address is first in the packet, even if it is last in the file (VR-TX-04)', () => {
  const { router } = resolve(LAN, 'name: a, vrid: 1, interface: eth0, addresses: ["fd00::2", "fd00::1", "fe80::51"]')
  expect(router.parameters.addresses).toEqual(['fe80::51', 'fd00::2', 'fd00::1'])
})

describe('interface: auto', () => {
  const auto = (addresses: string) => `name: a, vrid: 1, interface: auto, addresses: [${addresses}]`

  test.each([
    ['the prefix of the VIP selects', '"fd00::200/64"', 'eth0'],
    ['without one the prefixes of the node do', '"fd01::200"', 'eth1'],
    ['a prefix of one host says nothing', '"fd01::200/128"', 'eth1'],
    ['the first address that is not link-local', '"fe80::51", "fd01::200"', 'eth1'],
    ['not on a boundary of octets', '"fd01:0:0:0:4000::1/66"', undefined],
    ['not on a boundary of octets, inside', '"fd01:0:0:0:3000::1/66"', 'eth1'],
  ])('%s', (_, addresses, name) => {
    const { router } = resolve(LAN, auto(addresses))
    expect(router.interfaceName).toBe(name)
  })

  test('in IPv4, a /32 does not tell the network', () => {
    expect(resolve(LAN, 'name: a, vrid: 1, interface: auto, addresses: [10.0.0.5/32]').router.interfaceName).toBe(
      'eth0',
    )
  })

  test('a /128 of DHCPv6 counts for its /64, unless another interface is certain', () => {
    const dhcp = node('eth0 fd00::11/128 fe80::11/64', 'eth1 fd01::11/64 fe80::12/64')
    expect(resolve(dhcp, auto('"fd00::200"')).router.interfaceName).toBe('eth0')
    expect(
      resolve(node('eth0 fd00::11/128 fe80::11/64', 'eth1 fd00::12/64'), auto('"fd00::200"')).router.interfaceName,
    ).toBe('eth1')
    // A VIP of another daemon does not choose an interface.
    expect(resolve(node('eth0 fd00::99/128! fe80::11/64'), auto('"fd00::200"')).router.fault).toBe('interfaceMissing')
  })

  test('several interfaces in the network of the VIP are an error', () => {
    const view = node('eth0 fd00::11/64', 'eth1 fd00::12/64')
    expect(resolve(view, auto('"fd00::200"')).said).toEqual([
      expect.stringContaining('Cannot choose an interface for "a": eth0 and eth1 are both in the network of fd00::200'),
    ])
  })
})

describe('unicast', () => {
  const unicast = (rest: string) => `${API6}, interface: eth0, transport: { unicast: { ${rest} } }`

  test('the unicast source has the scope of the peers', () => {
    const view = node('eth0 fe80::11/64 2001:db8::11/64 fd00::11/64 10.0.0.11/24')
    expect(resolve(view, unicast('peers: ["fd00::12"]')).router.source).toBe('fd00::11')
    expect(resolve(view, unicast('peers: ["fe80::12"]')).router.source).toBe('fe80::11')
    expect(resolve(view, unicast('peers: []')).router.source).toBe('fd00::11')
  })

  test('without an address in the network of the VIP, the first preferred address that is not tentative is the source', () => {
    const view = node('eth0 fe80::11/64 2001:db8::11/64! 2001:db8::12/64~ 2001:db8::13/64')
    expect(resolve(view, unicast('peers: ["2001:db8::20"]')).router.source).toBe('2001:db8::13')
  })

  test('without an address of the scope of the peers, the router is in fault', () => {
    const { said, router } = resolve(node('eth0 fe80::11/64'), unicast('peers: ["fd00::12"]'))
    expect(said).toEqual([expect.stringContaining('Cannot send from "eth0": it has no IPv6 address of its own')])
    expect(router.fault).toBe('sourceAddressMissing')
  })

  test('a source in the configuration must exist and must not be tentative', () => {
    const named = unicast('source: "fd00::15", peers: ["fd00::12"]')
    expect(resolve(LAN, named).said).toEqual([
      expect.stringContaining(
        'Cannot send from fd00::15 on "eth0": the interface does not have this address, "api6" is in fault until that changes',
      ),
    ])
    const tentative = resolve(node('eth0 fd00::15/64~'), named)
    expect(tentative.said).toEqual([expect.stringContaining('"eth0": this address is still tentative')])
    expect(tentative.router.fault).toBe('sourceAddressMissing')
    expect(resolve(node('eth0 fd00::15/64'), named).router.source).toBe('fd00::15')
  })

  test('an empty list of unicast peers never means multicast, even with profile keepalived', () => {
    const { router } = resolve(LAN, `${unicast('peers: []')}, profile: keepalived`)
    expect([router.source, router.parameters.transport]).toEqual(['fd00::11', { mode: 'unicast', peers: [] }])
  })
})

describe('own addresses', () => {
  const own = (...interfaces: string[]) => resolve(node(...interfaces), `${API6}, interface: eth0`).said

  test.each([
    ['as the network has it', 'eth0 fe80::11/64 fd00::200/64'],
    ['by DHCPv6, and the only one besides link-local', 'eth0 fe80::11/64 fd00::200/128'],
    ['preferred, so nobody made it a VIP', 'eth0 fe80::11/64 fd00::11/64 fd00::200/128+'],
  ])('an own address as a VIP is an error: %s', (_, text) => {
    expect(own(text)).toEqual([expect.stringMatching(/^h\.yaml:2:41: addresses of "api6": cannot use fd00::200/)])
  })

  test.each([
    ['beside an own address', 'eth0 fe80::11/64 fd00::11/64 fd00::200/128'],
    ['deprecated, as VIPs are', 'eth0 fe80::11/64 fd00::200/128!'],
  ])('an address of an earlier run is not an own address: %s', (_, text) => expect(own(text)).toEqual([]))

  test('an address of another daemon gives a warning', () => {
    expect(own('eth0 fe80::11/64 fd00::11/64 fd00::200/64!')).toEqual([
      expect.stringContaining('warning: Found fd00::200/64 on "eth0": it will be removed'),
    ])
  })

  test('the same link-local address on another interface is neither the VIP nor the peer', () => {
    const view = node('eth0 fe80::11/64 fd00::11/64', 'docker0 fe80::1/64+')
    const { said, router } = resolve(
      view,
      'name: a, vrid: 1, interface: eth0, addresses: ["fe80::1", "fd00::200"], peers: ["fe80::11", "fe80::12"]',
    )
    expect([said, router.fault]).toEqual([[], undefined])
    const other = node('eth0 fe80::11/64 fd00::11/64', 'docker0 fe80::12/64+')
    expect(resolve(other, `${API6}, interface: eth0, peers: ["fe80::11", "fe80::12"]`).router.parameters.peers).toEqual(
      [{ address: 'fe80::12' }],
    )
  })

  test('an address owner has its addresses, and sends from its link-local one', () => {
    const view = node('eth0 fe80::51/64 fd00::200/64')
    const { router, problems } = resolve(
      view,
      'name: a, vrid: 1, interface: eth0, addresses: ["fe80::51", "fd00::200"], priority: 255',
    )
    expect([problems, router.source, router.fault]).toEqual([[], 'fe80::51', undefined])
  })
})

describe('one VRID', () => {
  test('one VRID may be used once for each family on an interface (VR-MI-01)', () => {
    const { problems, routers } = resolve(
      LAN,
      'name: api, vrid: 51, interface: eth0, addresses: [10.0.0.200]',
      `${API6}, interface: eth0`,
    )
    expect(problems).toEqual([])
    expect(routers.map(({ parameters, fault }) => [parameters.family, parameters.vrid, fault])).toEqual([
      ['ipv4', 51, undefined],
      ['ipv6', 51, undefined],
    ])
  })

  test('of two routers with `auto` and the same VRID on one interface, the second is in fault', () => {
    const other = 'name: b, vrid: 51, interface: auto, addresses: ["fd00::201"]'
    const { said, routers } = resolve(LAN, `${API6}, interface: auto`, other)
    expect(said).toEqual([
      'h.yaml:3:22: vrid of "b": cannot use 51, which "api6" uses on "eth0", expected another VRID for each router of IPv6',
    ])
    expect(routers.map(({ name, interfaceName, fault }) => [name, interfaceName, fault])).toEqual([
      ['api6', 'eth0', undefined],
      ['b', 'eth0', 'vridTaken'],
    ])
  })
})

describe('a packet must fit into the MTU (VR-PKT-10)', () => {
  const many = (count: number) => `[${Array.from({ length: count }, (_, i) => `"fd00::${i + 1}"`).join(', ')}]`
  const router = (count: number) => `name: a, vrid: 1, interface: eth0, addresses: ${many(count)}`
  const view = (mtu: number): NodeView => ({ interfaces: [{ ...LAN.interfaces[1], name: 'eth0', mtu, addresses: [] }] })
  const errors = (count: number, mtu: number) =>
    resolve(view(mtu), router(count)).said.filter((l) => !l.includes('warning'))

  test('90 IPv6 addresses give a packet of 1488 octets', () => {
    expect(errors(90, 1488)).toEqual([])
    expect(errors(90, 1487)).toEqual([
      'h.yaml:2:53: addresses of "a": cannot advertise 90 on "eth0" in one packet of 1488 octets, expected at most 1487 octets (the MTU); use two routers',
    ])
    expect(errors(90, 0), 'an MTU that is not known').toEqual([])
  })
})

test('phases depend on the VRID alone, are spread, and are not too early', () => {
  const phase = (vrid: number, rest = '') =>
    resolve(LAN, `name: a, vrid: ${vrid}, interface: eth0, addresses: [10.0.0.200]${rest}`).router.parameters.phase ?? 0
  const phases = Array.from({ length: 255 }, (_, i) => phase(i + 1))
  const sorted = phases.toSorted((a, b) => a - b)
  expect(sorted[0]).toBeGreaterThanOrEqual(0.25)
  expect(sorted.at(-1)).toBeLessThanOrEqual(1)
  // The phases are 32nds of the interval: many routers share one system call, and no moment is crowded.
  const places = new Map<number, number>()
  for (const each of phases) places.set(each * 32, (places.get(each * 32) ?? 0) + 1)
  expect([...places.keys()].filter((place) => !Number.isInteger(place))).toEqual([])
  expect(places.size).toBe(24)
  expect(Math.max(...places.values()), 'of 255 in one place').toBeLessThanOrEqual(12)
  expect(Math.min(...places.values())).toBeGreaterThanOrEqual(9)
  expect(phase(77, ', priority: 3, advertisementInterval: 100ms')).toBe(phase(77))
  expect(phase(77, ', profile: rfc9568')).toBe(1)
})
