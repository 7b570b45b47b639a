/**
 * The files of OpenShift's on-premise nodes as holdfast configurations: version 2 with a password for IPv4 and version
 * 3 for IPv6 on one VRID, unicast with and without peers, multicast, and the sync groups of dual stack.
 */
import { describe, expect, test } from 'vitest'
import { formatProblem } from '../../../src/config/problem.ts'
import { type ResolvedRouter, resolveRouters } from '../../../src/config/resolve.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import { address } from '../../../src/wire/address.ts'

const at = (text: string, prefixLength: number) => ({ address: address(text), prefixLength })
const NODE = {
  interfaces: [
    { name: 'enp1s0', mtu: 1500, addresses: [] },
    {
      name: 'br-ex',
      mtu: 1500,
      addresses: [
        at('192.168.111.20', 24),
        // The address comes from DHCPv6.
        at('fd2e:6f44:5dd8:c956::14', 128),
        at('fe80::5054:ff:fe12:3456', 64),
      ],
    },
  ],
}

function node(text: string) {
  const parsed = parseConfig(text)
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  const { routers, problems } = resolveRouters(parsed.config, NODE, parsed.locate)
  const short = ({ name, group, interfaceName, source, fault, parameters }: ResolvedRouter) => {
    const { version, vrid, priority, transport, peers } = parameters
    return {
      name,
      group,
      at: `${interfaceName} ${source}`,
      fault,
      says: `v${version} ${vrid} ${priority} ${transport.mode}`,
      peers: peers.map((peer) => peer.address),
    }
  }
  return { routers: routers.map(short), said: [...parsed.warnings, ...problems].map(({ message }) => message) }
}

/** Keys that keepalived's defaults set in another way than holdfast's. */
const V4 = 'profile: keepalived, version: 2, ttlCheck: false, interface: auto'
const V6 = 'profile: keepalived, version: 3, ttlCheck: false, firstAddressLinkLocal: false, interface: auto'
const pass = (word: string) => `authentication: { type: simple, password: ${word} }`
const NODES4 = '[192.168.111.20, 192.168.111.21, 192.168.111.22]'
const NODES6 = '["fd2e:6f44:5dd8:c956::14", "fd2e:6f44:5dd8:c956::15", "fd2e:6f44:5dd8:c956::16"]'

const DUAL = `virtualRouters:
  - { name: ostest_API_0, ${V4}, vrid: 14, priority: 40, addresses: [192.168.111.5/32], ${pass('ostest_a')}, transport: { unicast: { peers: ${NODES4} } } }
  - { name: ostest_INGRESS_0, ${V4}, vrid: 93, priority: 20, addresses: [192.168.111.4/32], ${pass('ostest_i')}, transport: { unicast: { peers: ${NODES4} } } }
  - { name: ostest_API_1, ${V6}, vrid: 14, priority: 40, addresses: ["fd2e:6f44:5dd8:c956::5/128"], transport: { unicast: { peers: ${NODES6} } } }
  - { name: ostest_INGRESS_1, ${V6}, vrid: 93, priority: 20, addresses: ["fd2e:6f44:5dd8:c956::4/128"], transport: { unicast: { peers: ${NODES6} } } }
`

describe('OpenShift', () => {
  const peers4 = ['192.168.111.21', '192.168.111.22']
  const peers6 = ['fd2e:6f44:5dd8:c956::15', 'fd2e:6f44:5dd8:c956::16']
  const on4 = 'br-ex 192.168.111.20'
  const on6 = 'br-ex fd2e:6f44:5dd8:c956::14'

  test('with two families, each has its own VRID, its own source, and the peers without this node', () => {
    const base = { group: undefined, fault: undefined }
    expect(node(DUAL)).toEqual({
      said: [],
      routers: [
        { ...base, name: 'ostest_API_0', at: on4, says: 'v2 14 40 unicast', peers: peers4 },
        { ...base, name: 'ostest_INGRESS_0', at: on4, says: 'v2 93 20 unicast', peers: peers4 },
        { ...base, name: 'ostest_API_1', at: on6, says: 'v3 14 40 unicast', peers: peers6 },
        { ...base, name: 'ostest_INGRESS_1', at: on6, says: 'v3 93 20 unicast', peers: peers6 },
      ],
    })
  })

  test('on OpenStack, the two routers of a service are in one group', () => {
    const groups = `syncGroups:
  - { name: VG_API, members: [ostest_API_0, ostest_API_1] }
  - { name: VG_INGRESS, members: [ostest_INGRESS_0, ostest_INGRESS_1] }
`
    const { routers, said } = node(DUAL + groups)
    expect(said).toEqual([])
    expect(routers.map(({ name, group }) => `${name} ${group}`)).toEqual([
      'ostest_API_0 VG_API',
      'ostest_INGRESS_0 VG_INGRESS',
      'ostest_API_1 VG_API',
      'ostest_INGRESS_1 VG_INGRESS',
    ])
  })

  test('a bootstrap node without peers is alone; files from before unicast use multicast', () => {
    const key = `name: a, ${V4}, vrid: 14, priority: 70, addresses: [192.168.111.5/32], stagger: false`
    const bootstrap = node(`virtualRouters:\n  - { ${key}, transport: { unicast: { peers: [] } } }\n`)
    expect(bootstrap.said).toEqual([
      '"a" has an empty list of unicast peers: it hears no other router and becomes Active',
    ])
    const old = node(`virtualRouters:\n  - { ${key} }\n`)
    expect(old.said).toEqual([])
    const says = ({ routers }: typeof old) => routers.map((router) => [router.at, router.says])
    expect(says(old)).toEqual([[on4, 'v2 14 70 multicast']])
    expect(says(bootstrap)).toEqual([[on4, 'v2 14 70 unicast']])
  })
})
