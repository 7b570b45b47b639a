/**
 * Routes in the kernel's own bytes. Provenance: RTM_GETROUTE in a fresh network namespace (kernel 6.18) with eth0
 * (index 3) and eth1 (index 5), after the `ip route add` above each.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseRoute, routesRequest } from '../../../src/linux/netlink/route.ts'
import { forAll } from '../../support/for-all.ts'

const bytes = (text: string): Uint8Array =>
  Uint8Array.from(text.replaceAll(/\s/g, '').match(/../g) ?? [], (octet) => Number.parseInt(octet, 16))
const IPV6_REST = '24000c0000000000000000000000000000000000000000000000000000000000000000000500140000000000'

describe('routes of the main table', () => {
  test.each([
    [
      'default via 10.0.0.1 metric 100',
      '02000000fe03000100000000 08000f00fe000000 0800060064000000 080005000a000001 0800040003000000',
      [{ destination: undefined, gateway: '10.0.0.1', metric: 100, interfaceIndex: 3 }],
    ],
    [
      'the network of an address (proto kernel)',
      '02180000fe02fd0100000000 08000f00fe000000 080001000a000000 080007000a000005 0800040003000000',
      [{ destination: { address: '10.0.0.0', prefixLength: 24 }, gateway: undefined, metric: 0, interfaceIndex: 3 }],
    ],
    [
      '10.8.0.0/16 via inet6 fe80::9 dev eth0',
      '02100000fe03000100000000 08000f00fe000000 080001000a080000 160012000a00fe800000000000000000000000000009 0000' +
        '0800040003000000',
      [{ destination: { address: '10.8.0.0', prefixLength: 16 }, gateway: 'fe80::9', interfaceIndex: 3 }],
    ],
    ['blackhole 10.9.0.0/16', '02100000fe03000600000000 08000f00fe000000 080001000a090000', []],
    [
      '172.16.0.0/12 nexthop via 10.0.0.2 nexthop via 192.168.1.1',
      '020c0000fe03000100000000 08000f00fe000000 08000100ac100000 24000900 1000000003000000080005000a000002' +
        '1000000005000000 08000500c0a80101',
      [
        { destination: { address: '172.16.0.0', prefixLength: 12 }, gateway: '10.0.0.2', interfaceIndex: 3 },
        { destination: { address: '172.16.0.0', prefixLength: 12 }, gateway: '192.168.1.1', interfaceIndex: 5 },
      ],
    ],
    [
      '-6 default via fe80::1 dev eth0 proto ra metric 1024',
      `0a000000fe09000100000000 08000f00fe000000 0800060000040000 14000500fe800000000000000000000000000001 0800040003000000 ${IPV6_REST}`,
      [{ family: 'ipv6', destination: undefined, gateway: 'fe80::1', metric: 1024, fromRouter: true }],
    ],
    [
      '-6 fd01::/64 dev eth0 proto ra metric 100',
      `0a400000fe09000100000000 08000f00fe000000 14000100fd010000000000000000000000000000 0800060064000000 0800040003000000 ${IPV6_REST}`,
      [{ destination: { address: 'fd01::', prefixLength: 64 }, gateway: undefined, fromRouter: true }],
    ],
    [
      '-6 default metric 2000 nexthop via fe80::2 dev eth0 nexthop via fe80::3 dev eth1',
      '0a000000fe03000100000000 08000f00fe000000 08000600d0070000 3c000900 1c00000003000000' +
        '14000500fe800000000000000000000000000002 1c0000000500000014000500fe800000000000000000000000000003' +
        IPV6_REST,
      [
        { gateway: 'fe80::2', interfaceIndex: 3, metric: 2000, fromRouter: false },
        { gateway: 'fe80::3', interfaceIndex: 5, metric: 2000, fromRouter: false },
      ],
    ],
  ])('%s', (_, text, wanted) => {
    const found = parseRoute(bytes(text))
    expect(found).toHaveLength(wanted.length)
    expect(found).toMatchObject(wanted)
  })

  test('routes of other tables, kinds and families are ignored', () => {
    const local = bytes('02200000ff02fe0200000000 08000f00ff000000 080001000a000005 0800040003000000')
    const mpls = bytes('1c140000fe02fd0100000000')
    expect([local, mpls].map(parseRoute)).toEqual([[], []])
  })

  test('no bytes throw, and a wrong length is detected', () => {
    expect(parseRoute(bytes('0200'))).toBeUndefined()
    expect(parseRoute(bytes('02180000fe02fd0100000000 0f000100'))).toBeUndefined()
    expect(parseRoute(bytes('02180000fe02fd0100000000 06000100 0a00'))).toBeUndefined()
    // A next hop that is shorter than its header would be read for ever.
    expect(parseRoute(bytes('02000000fe03000100000000 08000f00fe000000 0c000900 0000000003000000'))).toBeUndefined()
    forAll(100, [fc.uint8Array({ maxLength: 120 })], (any) => void parseRoute(any))
    forAll(
      100,
      [fc.uint8Array({ maxLength: 80 })],
      (any) => void parseRoute(Uint8Array.from([2, 0, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0, ...any])),
    )
  })

  test('the request asks for all routes', () => {
    expect([...routesRequest(7)]).toEqual([...bytes('1c0000001a000103 07000000 00000000'), ...new Uint8Array(12)])
  })
})
