/** Configuration and node give interface, source and parameters of each router. What may change later is a warning. */
import { describe, expect, test } from 'vitest'
import type { NodeView } from '../../../src/config/node-view.ts'
import { formatProblem } from '../../../src/config/problem.ts'
import { environmentProblems, type Resolution, resolveRouters } from '../../../src/config/resolve.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import type { Parameters } from '../../../src/vrrp/parameters.ts'
import { optionsOf, profileKnobs } from '../../../src/vrrp/profile.ts'
import { address } from '../../../src/wire/address.ts'
import { millis } from '../../../src/wire/units.ts'

/** Returns a node: `node('eth0 10.0.0.11/24 10.0.1.1/24', 'eth1')`. */
function node(...interfaces: string[]): NodeView {
  return {
    interfaces: interfaces.map((text) => {
      const [name = '', ...addresses] = text.split(' ')
      return {
        name,
        addresses: addresses.map((one) => {
          const [host = '', prefix] = one.split('/')
          return { address: address(host), prefixLength: Number(prefix) }
        }),
      }
    }),
  }
}

function config(...routers: string[]) {
  const text = `virtualRouters:\n${routers.map((router) => `  - { ${router} }\n`).join('')}`
  const parsed = parseConfig(text, 'h.yaml')
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  return parsed
}

const said = (resolution: Resolution) => resolution.problems.map(formatProblem)
function resolve(view: NodeView, ...routers: string[]) {
  const parsed = config(...routers)
  const resolution = resolveRouters(parsed.config, view, parsed.locate)
  const [router] = resolution.routers
  if (router === undefined) throw new Error('no router')
  return { ...resolution, router, said: said(resolution) }
}

const API = 'name: api, vrid: 51, addresses: [10.0.0.200/24]'
const LAN = node('lo 127.0.0.1/8', 'eth0 10.0.0.11/24', 'eth1 192.168.1.11/24')

const optionsIn = ({ checksum, extensions, reception }: Parameters) => ({ checksum, extensions, reception })

describe('parameters', () => {
  test('a multicast router without options has the parameters of the defaults', () => {
    const { router, problems } = resolve(LAN, `${API}, interface: eth0, priority: 90, advertisementInterval: 100ms`)
    expect(problems).toEqual([])
    expect(router).toEqual({
      name: 'api',
      group: undefined,
      interfaceName: 'eth0',
      source: '10.0.0.11',
      fault: undefined,
      parameters: {
        vrid: 51,
        family: 'ipv4',
        version: 3,
        priority: 90,
        basePriority: 90,
        advertisementInterval: 10,
        addresses: ['10.0.0.200'],
        preempt: true,
        preemptDelay: 0,
        minHold: 10_000,
        margin: 0,
        primaryAddress: '10.0.0.11',
        transport: { mode: 'multicast', group: '224.0.0.18' },
        peers: [],
        ...optionsOf(profileKnobs('holdfast', 3), 3),
        authentication: undefined,
        phase: 0.625,
      },
      onDuplicate: 'announce',
      duplicateAllowed: [],
      announce: { at: [0, 20, 100, 500, 2000, 5000], refresh: 60_000 },
      announceOther: { at: [0, 1000, 2000], refresh: 60_000 },
      forms: [{ address: '10.0.0.200', prefixLength: 32 }],
      lifetime: 'auto',
      track: [],
    })
  })

  test.each(['holdfast', 'keepalived', 'rfc9568'] as const)(
    'profile %s gives the knobs, a key alone overrides',
    (name) => {
      const { router } = resolve(LAN, `${API}, interface: eth0, profile: ${name}`)
      expect(optionsIn(router.parameters)).toEqual(optionsOf(profileKnobs(name, 3), 3))
      const flipped = !profileKnobs(name, 3).fastPreempt
      const other = resolve(
        LAN,
        `${API}, interface: eth0, profile: ${name}, fastPreempt: ${flipped}, assertSpacing: 5ms`,
      )
      const knobs = { ...profileKnobs(name, 3), fastPreempt: flipped, assertSpacing: millis(5) }
      expect(optionsIn(other.router.parameters)).toEqual(optionsOf(knobs, 3))
    },
  )

  test('profile rfc9568 announces once', () => {
    const { router } = resolve(LAN, `${API}, interface: eth0, profile: rfc9568`)
    expect(router.announce).toEqual({ at: [0], refresh: undefined })
  })

  test('one peer list serves every node, because own addresses are skipped', () => {
    const peers = '[10.0.0.11, { address: 10.0.0.12, priority: 80 }, 192.168.1.11]'
    const { router } = resolve(LAN, `${API}, interface: eth0, transport: { unicast: { peers: ${peers} } }`)
    expect(router.parameters.transport).toEqual({ mode: 'unicast', peers: [{ address: '10.0.0.12', priority: 80 }] })
    expect(router.parameters.peers).toEqual([{ address: '10.0.0.12', priority: 80 }])
  })

  test('the key peers of multicast gives peers, and no transport', () => {
    const { router } = resolve(LAN, `${API}, interface: eth0, peers: [10.0.0.11, 10.0.0.12]`)
    expect(router.parameters.transport.mode).toBe('multicast')
    expect(router.parameters.peers).toEqual([{ address: '10.0.0.12' }])
  })

  test.each(['holdfast', 'keepalived', 'rfc9568'])('no unicast peers: alone, with profile %s', (profile) => {
    const empty = `${API}, interface: eth0, profile: ${profile}, transport: { unicast: { peers: [] } }`
    expect(resolve(LAN, empty).router.parameters.transport).toEqual({ mode: 'unicast', peers: [] })
  })
})

describe('interface: auto', () => {
  test.each([
    ['the prefix of the VIP selects', '10.0.0.200/24', 'eth0'],
    ['without one the prefixes of the node do', '192.168.1.200', 'eth1'],
    ['a wider prefix of the VIP', '10.0.255.1/16', 'eth0'],
  ])('%s', (_, vip, name) => {
    const { router, problems } = resolve(LAN, `name: a, vrid: 1, interface: auto, addresses: [${vip}]`)
    expect(problems).toEqual([])
    expect([router.interfaceName, router.fault]).toEqual([name, undefined])
  })

  test('without an interface in the network of the VIP, the router is in fault, with a warning', () => {
    const { router, said } = resolve(LAN, 'name: a, vrid: 1, interface: auto, addresses: [10.9.0.1/24]')
    expect(said).toEqual([
      'h.yaml:2:36: warning: Cannot find an interface in the network of 10.9.0.1 for "a": the router is in fault until there is one',
    ])
    expect([router.interfaceName, router.source, router.fault]).toEqual([undefined, undefined, 'interfaceMissing'])
  })

  test('several interfaces in the network of the VIP are an error, because waiting does not help', () => {
    const view = node('eth0 10.0.0.11/24', 'eth1 10.0.0.12/24')
    const { router, said } = resolve(view, `${API}, interface: auto`)
    expect(said).toEqual([
      expect.stringContaining(
        'Cannot choose an interface for "api": eth0 and eth1 are both in the network of 10.0.0.200',
      ),
    ])
    expect(router.fault).toBe('interfaceMissing')
  })

  test('an installed VIP does not choose the interface', () => {
    const view = node('eth0 10.0.0.11/24', 'eth1 10.0.0.200/32')
    expect(resolve(view, 'name: a, vrid: 1, interface: auto, addresses: [10.0.0.200]').router.interfaceName).toBe(
      'eth0',
    )
  })

  test('two routers with the same VRID on one interface are an error', () => {
    const { said } = resolve(
      LAN,
      `${API}, interface: eth0`,
      'name: b, vrid: 51, interface: auto, addresses: [10.0.0.201]',
    )
    expect(said).toEqual([
      'h.yaml:3:22: vrid of "b": cannot use 51, which "api" uses on "eth0", expected another VRID for each router of IPv4',
    ])
  })
})

describe('source', () => {
  test('the source is the address in the network of the VIP, otherwise the first', () => {
    const view = node('eth0 172.16.0.1/16 10.0.0.11/24')
    expect(resolve(view, `${API}, interface: eth0`).router.source).toBe('10.0.0.11')
    expect(resolve(view, 'name: a, vrid: 1, interface: eth0, addresses: [10.7.0.1]').router.source).toBe('172.16.0.1')
  })

  test('a VIP of any router is never the source', () => {
    const view = node('eth0 10.0.0.200/32 10.0.0.201/32 10.0.0.11/24')
    const { router } = resolve(
      view,
      `${API}, interface: eth0`,
      'name: b, vrid: 2, interface: eth0, addresses: [10.0.0.201]',
    )
    expect(router.source).toBe('10.0.0.11')
  })

  test('without a source, the router is in fault with a warning and the address 0.0.0.0', () => {
    const { router, said } = resolve(node('eth0'), `${API}, interface: eth0`)
    expect(said).toEqual([
      expect.stringContaining('warning: Cannot send from "eth0": it has no IPv4 address of its own'),
    ])
    expect([router.source, router.fault, router.parameters.primaryAddress]).toEqual([
      undefined,
      'sourceAddressMissing',
      '0.0.0.0',
    ])
  })

  test('a source in the configuration that the interface lacks puts the router in fault', () => {
    const named = `${API}, interface: eth0, transport: { unicast: { source: 10.0.0.99, peers: [10.0.0.12] } }`
    expect(resolve(LAN, named).said).toEqual([
      expect.stringMatching(
        /warning: Cannot send from 10\.0\.0\.99 on "eth0": the interface does not have this address/,
      ),
    ])
    expect(resolve(node('eth0 10.0.0.11/24 10.0.0.99/24'), named).router.source).toBe('10.0.0.99')
  })

  test('a missing interface puts the router in fault', () => {
    const { router, said } = resolve(LAN, `${API}, interface: br0`)
    expect(said).toEqual([
      'h.yaml:2:67: warning: Cannot find interface "br0" for "api": the router is in fault until it appears',
    ])
    expect([router.interfaceName, router.fault]).toEqual(['br0', 'interfaceMissing'])
  })
})

describe('own addresses', () => {
  const own = (...interfaces: string[]) => resolve(node(...interfaces), `${API}, interface: eth0`).said

  test('an own address of the node as a VIP is an error', () => {
    expect(own('eth0 10.0.0.200/24')).toContainEqual(
      'h.yaml:2:40: addresses of "api": cannot use 10.0.0.200, which is the own address of "eth0", expected another address, or priority 255 of an address owner',
    )
    expect(own('eth0 10.0.0.11/24', 'eth1 10.0.0.200/24')).toContainEqual(
      expect.stringContaining('own address of "eth1"'),
    )
  })

  test('an address of an earlier run is not an own address', () =>
    expect(own('eth0 10.0.0.11/24 10.0.0.200/32')).toEqual([]))

  test('the only address of an interface is an own address', () =>
    expect(own('eth0 10.0.0.11/24', 'eth1 10.0.0.200/32')).toEqual([expect.stringContaining('own address of "eth1"')]))

  test('an own address stays one beside a VIP of a router that was removed from the file', () =>
    expect(own('eth0 10.0.0.200/24 10.0.0.201/32')).toContainEqual(
      expect.stringContaining('cannot use 10.0.0.200, which is the own address of "eth0"'),
    ))

  test('an address of another daemon gives a warning', () => {
    expect(own('eth0 10.0.0.11/24 10.0.0.200/24')).toEqual([
      'h.yaml:2:40: warning: Found 10.0.0.200/24 on "eth0": it will be removed, because it is a virtual address',
    ])
  })

  test.each(['lo', 'kube-ipvs0'])('a VIP on %s stays there: a warning', (name) =>
    expect(own('eth0 10.0.0.11/24', `${name} 10.0.0.200/32`)).toEqual([
      `h.yaml:2:40: warning: 10.0.0.200/32 is on "${name}" as well and stays there, because LVS and kube-proxy (IPVS) need it: ` +
        'unless arp_ignore is 1, this node answers ARP for it even as Backup',
    ]),
  )

  const isOwn = (text: string) => expect.stringContaining(`cannot use ${text}, which is the own address of "eth0"`)
  const both = (...interfaces: string[]) =>
    resolve(node(...interfaces), 'name: api, vrid: 51, interface: eth0, addresses: [10.0.0.11, 10.0.0.200]').said

  test.each([
    ['alone', ['eth0 10.0.0.11/24']],
    ['beside a VIP of the running daemon', ['eth0 10.0.0.11/24 10.0.0.200/32']],
    ['beside a VIP of the running daemon, listed first by the kernel', ['eth0 10.0.0.200/32 10.0.0.11/24']],
  ])('the only own address, listed as a VIP, gives one error: %s', (_, interfaces) =>
    expect(both(...interfaces)).toEqual([isOwn('10.0.0.11')]),
  )

  test.each([
    ['both have the form of a VIP', ['eth0 10.0.0.11/32 10.0.0.200/32'], [isOwn('10.0.0.11'), isOwn('10.0.0.200')]],
    ['neither has', ['eth0 10.0.0.11/24 10.0.0.200/24'], [isOwn('10.0.0.11'), isOwn('10.0.0.200')]],
    ['the own address of another interface', ['eth0 10.0.0.200/32', 'eth1 10.0.0.11/24'], [isOwn('10.0.0.200')]],
  ])('two listed addresses without an own one give an error: %s', (_, interfaces, wanted) =>
    expect(both(...interfaces)).toEqual(expect.arrayContaining(wanted)),
  )

  test('a listed own address still tells the interface of auto, and gives one error', () => {
    const text = 'name: api, vrid: 51, addresses: [10.0.0.11, 10.0.0.200/24], interface: auto'
    expect(resolve(node('eth0 10.0.0.11/24'), text).said).toEqual([isOwn('10.0.0.11')])
  })

  test('a file without an error leaves each interface an address that the file does not list', () => {
    const forms = [undefined, 24, 32]
    for (const profile of ['{}', '{ profile: keepalived }'])
      for (const [a, b, third] of forms.flatMap((x) => forms.flatMap((y) => forms.map((z) => [x, y, z] as const)))) {
        const put = (text: string, prefix: number | undefined) => (prefix === undefined ? '' : ` ${text}/${prefix}`)
        const eth0 = `eth0${put('10.0.0.11', a)}${put('10.0.0.200', b)}${put('10.0.0.7', third)}`
        const keys = profile === '{}' ? '' : ', profile: keepalived'
        const { problems, said } = resolve(
          node(eth0),
          `name: api, vrid: 51, interface: eth0, addresses: [10.0.0.11/24, 10.0.0.200/24]${keys}`,
        )
        const wouldCutOff = (a !== undefined || b !== undefined) && third === undefined
        if (wouldCutOff)
          expect(
            problems.some(({ severity }) => severity === 'error'),
            `${profile} ${eth0}: ${said}`,
          ).toBe(true)
      }
  })

  test('an address owner has its addresses and may send from them', () => {
    const { router, problems } = resolve(node('eth0 10.0.0.200/24'), `${API}, interface: eth0, priority: 255`)
    expect(problems).toEqual([])
    expect([router.source, router.fault]).toEqual(['10.0.0.200', undefined])
  })

  test('an address owner without its addresses is in fault', () => {
    const { router, said } = resolve(LAN, `${API}, interface: eth0, priority: 255`)
    expect(said).toEqual([
      expect.stringContaining(
        'warning: "eth0" has no address 10.0.0.200: "api" (priority 255) is in fault until the node has this address',
      ),
    ])
    expect(router.fault).toBe('sourceAddressMissing')
  })
})

describe('own addresses of an owner that installs', () => {
  const OWNER = `${API}, interface: eth0, profile: keepalived, priority: 255`
  const ownAddresses = ({ config: { virtualRouters } }: Resolution) => virtualRouters[0]?.ownAddresses

  test('an address owner that installs gives no warning if the node has none of its addresses', () => {
    const resolution = resolve(LAN, `${OWNER}, addressPrefix: host, preempt: true, stagger: false`)
    expect([resolution.said, resolution.router.fault]).toEqual([[], undefined])
    expect(resolution.router.parameters.ownAddresses).toBe('installed')
    expect(ownAddresses(resolution)).toBeUndefined()
  })

  test('an address owner that installs removes what another daemon left, as any router does', () => {
    const resolution = resolve(node('eth0 10.0.0.11/24 10.0.0.200/24'), OWNER)
    expect(resolution.said).toEqual([expect.stringContaining('Found 10.0.0.200/24 on "eth0": it will be removed')])
    expect(ownAddresses(resolution)).toBeUndefined()
  })

  test('an own address of the node changes an owner that installs to ownAddresses: node, with a warning', () => {
    const resolution = resolve(node('eth0 10.0.0.200/24'), OWNER)
    expect(resolution.said).toEqual([
      expect.stringMatching(/^h\.yaml:2:40: warning: Found 10\.0\.0\.200\/24 on "eth0": it is the node's own/),
    ])
    expect(ownAddresses(resolution)).toBe('node')
    const settled = resolveRouters(resolution.config, node('eth0 10.0.0.200/24'))
    expect([said(settled), settled.routers[0]?.fault, settled.routers[0]?.source]).toEqual([
      [],
      undefined,
      '10.0.0.200',
    ])
  })

  test('a deprecated IPv6 address is not an own address, whatever its prefix length', () => {
    const here = { address: address('fd00::200'), prefixLength: 64, deprecated: true }
    const view = {
      interfaces: [{ name: 'eth0', addresses: [{ address: address('fe80::11'), prefixLength: 64 }, here] }],
    }
    const router =
      'name: api, vrid: 51, addresses: ["fd00::200/64"], interface: eth0, profile: keepalived, priority: 255'
    expect(ownAddresses(resolve(view, router))).toBeUndefined()
    const living = { ...here, deprecated: false }
    expect(ownAddresses(resolve({ interfaces: [{ name: 'eth0', addresses: [living] }] }, router))).toBe('node')
  })
})

test('environmentProblems returns the problems of the resolution, also without positions', () => {
  const { config: value } = config(`${API}, interface: br0`)
  expect(environmentProblems(value, LAN).map(formatProblem)).toEqual([
    'warning: Cannot find interface "br0" for "api": the router is in fault until it appears',
  ])
})
