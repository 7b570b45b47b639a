/**
 * For every network of a node, a router gets a source address or a fault. The address exists, belongs to the node, is
 * ready and has the right scope. Two routers without a fault never share a VRID on one interface and family.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { NodeAddress } from '../../src/config/node-view.ts'
import { resolveRouters } from '../../src/config/resolve.ts'
import { parseConfig } from '../../src/config/text/yaml.ts'
import { address, familyOf, isLinkLocal } from '../../src/wire/address.ts'
import { forAll } from '../support/for-all.ts'

const POOL = ['10.0.0.1', '10.0.0.2', '10.0.1.1', 'fe80::1', 'fe80::2', 'fd00::1', 'fd00::2', 'fd00:0:0:1::1'] as const

const present = fc
  .record({
    address: fc.constantFrom(...POOL).map(address),
    prefixLength: fc.constantFrom(24, 32, 64, 128),
    tentative: fc.boolean(),
    deprecated: fc.option(fc.boolean(), { nil: undefined }),
  })
  .map(
    (one): NodeAddress => ({
      ...one,
      prefixLength: familyOf(one.address) === 'ipv4' ? Math.min(32, one.prefixLength) : Math.max(64, one.prefixLength),
    }),
  )
const node = fc.record({
  interfaces: fc.uniqueArray(
    fc.record({
      name: fc.constantFrom('eth0', 'eth1', 'br0'),
      mtu: fc.constantFrom(0, 576, 1500),
      addresses: fc.array(present, { maxLength: 5 }),
    }),
    { selector: ({ name }) => name },
  ),
})

const v4 = fc.constantFrom(['10.0.0.1'], ['10.0.0.2/24'], ['10.0.0.200'], ['10.0.0.201/24'], ['10.0.1.200/32'])
const v6 = fc.constantFrom(['fd00::1'], ['fe80::1', 'fd00::9/64'], ['fd00::200/64'], ['fd00:0:0:1::9/128', 'fe80::9'])
const transport = (isIpv6: boolean) =>
  isIpv6
    ? fc.constantFrom<object | string>(
        'multicast',
        { unicast: { peers: ['fe80::2', 'fe80::3'] } },
        { unicast: { peers: ['fd00::2'] } },
        { unicast: { source: 'fd00::2', peers: [] } },
      )
    : fc.constantFrom<object | string>(
        'multicast',
        { unicast: { peers: ['10.0.0.2', '10.0.0.3'] } },
        { unicast: { source: '10.0.0.2', peers: [] } },
      )
const router = fc.boolean().chain((isIpv6) =>
  fc.record({
    interface: fc.constantFrom('auto', 'auto', 'eth0', 'eth9'),
    // Few different values, so that two routers with `auto` often get the same one.
    vrid: fc.constantFrom(1, 1, 2),
    addresses: isIpv6 ? v6 : v4,
    priority: fc.constantFrom(100, 255),
    ownAddresses: fc.constantFrom('node', 'installed'),
    transport: transport(isIpv6),
    profile: fc.constantFrom('holdfast', 'keepalived'),
  }),
)

test('every source address exists, belongs to the node, is ready and has the right scope, or the router has a fault', () => {
  let accepted = 0
  forAll(800, [fc.array(router, { minLength: 1, maxLength: 4 }), node], (routers, view) => {
    const parsed = parseConfig(stringify({ virtualRouters: routers.map((each, i) => ({ name: `r${i}`, ...each })) }))
    // Two routers with the same address or VRID: the check of the configuration's text reports them already.
    if ('problems' in parsed) return
    accepted++
    const virtual = new Set(
      parsed.config.virtualRouters.flatMap((each) =>
        each.priority === 255 && each.ownAddresses === 'node' ? [] : each.addresses.map((vip) => vip.address),
      ),
    )
    const resolved = resolveRouters(parsed.config, view, parsed.locate).routers
    const places = resolved
      .filter(({ fault }) => fault === undefined)
      .map(({ interfaceName, parameters }) => `${interfaceName} ${parameters.family} ${parameters.vrid}`)
    expect(new Set(places).size, JSON.stringify(places)).toBe(places.length)
    for (const { interfaceName, source, fault, parameters } of resolved) {
      const here = view.interfaces.find(({ name }) => name === interfaceName)
      if (fault === undefined) expect([here === undefined, source === undefined]).toEqual([false, false])
      if (source === undefined) continue
      const candidates = here?.addresses.filter((one) => one.address === source) ?? []
      expect(
        candidates.some(({ tentative }) => tentative !== true),
        `${source} is there and ready`,
      ).toBe(true)
      expect(virtual.has(source), `${source} is a VIP`).toBe(false)
      expect(familyOf(source)).toBe(parameters.family)
      if (parameters.family === 'ipv6' && parameters.transport.mode === 'multicast')
        expect(isLinkLocal(source)).toBe(true)
      for (const peer of parameters.transport.mode === 'unicast' ? parameters.peers : [])
        if (parameters.family === 'ipv6') expect(isLinkLocal(source)).toBe(isLinkLocal(peer.address))
    }
  })
  expect(accepted, 'configurations that were looked at').toBeGreaterThan(100)
})
