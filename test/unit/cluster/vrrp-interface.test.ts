import { describe, expect, test } from 'vitest'
import {
  type AddressFiles,
  machineNetwork,
  vrrpInterface,
} from '../../../src/cluster/decisions/engine/vrrp-interface.ts'
import { address } from '../../../src/wire/address.ts'
import { type CaseMachine, viewOf } from '../../support/case-view.ts'
import { clusterCases } from '../../support/cluster-cases.ts'

type InterfaceCase = CaseMachine & { readonly vips: readonly string[]; readonly ipFiles: Partial<AddressFiles> }
type Place = { readonly interface: string; readonly nonVirtualIP: string }

const NO_FILES: AddressFiles = { ipv4: undefined, ipv6: undefined }
const CASES = clusterCases<unknown, Place>('vrrpInterface').map((one) => ({
  ...one,
  machine: one as unknown as InterfaceCase,
}))
const machineOf = (id: string): InterfaceCase => {
  const found = CASES.find((one) => one.id === id)
  if (found === undefined) throw new Error(`There is no case ${id}`)
  return found.machine
}
const RULES: Readonly<Record<string, string>> = {
  'vif-file-v6': 'file',
  'vif-file-overrides-subnet': 'file',
  'vif-file-stale': 'network',
  'vif-nofile-subnet': 'network',
  'vif-nofile-default': 'defaultRoute',
}

describe('where VIPs belong, as runtimecfg has it', () => {
  test.each(CASES.map((one) => [one.id, one] as const))('%s', (id, { machine, expect: wanted, expectError }) => {
    const found = vrrpInterface(viewOf(machine), { ...NO_FILES, ...machine.ipFiles }, machine.vips.map(address))
    if (expectError === true) expect(found).toContain('Cannot choose an interface')
    else {
      expect(found).toMatchObject({ interface: wanted?.interface, source: wanted?.nonVirtualIP })
      expect(found).toMatchObject({ rule: RULES[id] })
    }
    const turned = { ...machine, links: machine.links.toReversed(), routes: machine.routes.toReversed() }
    const again = vrrpInterface(viewOf(turned), { ...NO_FILES, ...machine.ipFiles }, machine.vips.map(address))
    expect(again, 'links and routes in another order').toEqual(found)
  })
})

describe('holdfast’s own', () => {
  const machine = machineOf('vif-file-overrides-subnet')
  const view = viewOf(machine)
  const vips = [address('192.168.1.99')]

  test('the result tells which file chose, and why the earlier rules did not', () => {
    expect(vrrpInterface(view, { ...NO_FILES, ipv4: '10.0.0.5\n' }, vips)).toEqual({
      interface: 'eth0',
      source: '10.0.0.5',
      rule: 'file',
      file: '/run/nodeip-configuration/ipv4',
      passedOver: [],
    })
    expect(vrrpInterface(view, { ...NO_FILES, ipv4: '10.0.0.77' }, vips)).toMatchObject({
      interface: 'eth1',
      rule: 'network',
      file: undefined,
      passedOver: ['/run/nodeip-configuration/ipv4 contains 10.0.0.77, which no interface has'],
    })
  })

  test.each([
    ['garbage', 'contains "garbage", expected an IPv4 address'],
    ['fd00::5', 'contains "fd00::5", expected an IPv4 address'],
    ['192.168.1.99', 'contains 192.168.1.99, which is a VIP'],
    ['', 'contains no address'],
  ])('a file with "%s" does not choose', (text, why) => {
    const found = vrrpInterface(view, { ...NO_FILES, ipv4: text }, vips)
    expect(found).toMatchObject({ rule: 'network', source: '192.168.1.2' })
    expect(found).toHaveProperty('passedOver', [expect.stringContaining(why)])
  })

  test('the first VIP decides, and the network of the second does not', () => {
    const pair = [address('172.16.0.10'), address('192.168.1.99')]
    expect(vrrpInterface(view, NO_FILES, pair)).toMatchObject({ interface: 'eth0', rule: 'defaultRoute' })
  })

  const route = { link: 'eth0', dst: null, proto: 'dhcp', priority: 100, gw: null }
  const link = (cidrs: readonly string[]) => [
    { name: 'eth0', index: 2, addrs: cidrs.map((cidr) => ({ cidr, deprecated: false, label: '' })) },
  ]

  test('an IPv6 VIP is not advertised from an IPv4 address', () => {
    const both = viewOf({ links: link(['10.0.0.5/24', 'fd00::5/64']), routes: [route] })
    expect(vrrpInterface(both, NO_FILES, [address('fd01::64')])).toMatchObject({
      source: 'fd00::5',
      rule: 'defaultRoute',
    })
    const only = viewOf({ links: link(['10.0.0.5/24']), routes: [route] })
    expect(vrrpInterface(only, NO_FILES, [address('fd01::64')])).toContain(
      'no IPv6 address on an interface with a default',
    )
  })

  test('a VIP that this machine holds is neither its address nor its network', () => {
    const holding = viewOf({ links: link(['10.0.0.100/24', '10.0.0.101/32', '10.0.0.5/24']), routes: [route] })
    const held = [address('10.0.0.100'), address('10.0.0.101')]
    expect(vrrpInterface(holding, NO_FILES, held.slice(1), held)).toMatchObject({ source: '10.0.0.5', rule: 'network' })
    expect(machineNetwork(holding, address('10.0.0.101'), held)).toEqual({ address: '10.0.0.5', prefixLength: 24 })
    expect(machineNetwork(holding, address('10.0.1.1'), held)).toBeUndefined()
    const dhcp = viewOf({ links: link(['fd00::5/128']), routes: [] })
    expect(machineNetwork(dhcp, address('fd00::64'), [])).toEqual({ address: 'fd00::5', prefixLength: 64 })
  })

  test('without any match, the text has all reasons', () =>
    expect(vrrpInterface({ links: [], routes: [] }, NO_FILES, vips)).toBe(
      'Cannot choose an interface for 192.168.1.99: /run/nodeip-configuration/ipv4 contains no address; no interface has a network with 192.168.1.99 in it; no IPv4 address on an interface with a default route',
    ))
})
