/**
 * `interface: { holding: … }` in a file: valid values, contradictions, and the result on a node. An address that no
 * interface has, and a file that does not exist, are warnings, because both may come later.
 */
import { describe, expect, test } from 'vitest'
import { addressFilesIn } from '../../../src/config/holding.ts'
import type { NamedAddress } from '../../../src/config/named-address.ts'
import type { NodeView } from '../../../src/config/node-view.ts'
import { formatProblem } from '../../../src/config/problem.ts'
import { resolveRouters } from '../../../src/config/resolve.ts'
import { readAddressText } from '../../../src/config/schema/holding.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import { address } from '../../../src/wire/address.ts'

const FILE = '/run/nodeip-configuration/ipv4'
const COMMON = 'name: a, vrid: 51, stagger: false'
const router = (holding: string, rest = 'addresses: [10.0.0.200]') =>
  `virtualRouters:\n  - { ${COMMON}, ${rest}, interface: { holding: ${holding} } }\n`

function problemsOf(text: string): readonly string[] {
  const parsed = parseConfig(text)
  return 'problems' in parsed ? parsed.problems.map(({ message }) => message) : []
}

function resolve(text: string, interfaces: NodeView['interfaces'], says?: NamedAddress) {
  const parsed = parseConfig(text)
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  const files = says === undefined ? undefined : new Map([[FILE, says]])
  const { problems, routers } = resolveRouters(parsed.config, { interfaces, files }, parsed.locate)
  const [resolved] = routers
  if (resolved === undefined) throw new Error('one router wanted')
  return { resolved, said: problems.map(({ severity, message }) => `${severity}: ${message}`) }
}

const on = (name: string, ...texts: string[]) => ({
  name,
  addresses: texts.map((text) => {
    const [host = '', prefix] = text.split('/')
    return { address: address(host), prefixLength: Number(prefix) }
  }),
})
const LAN = [on('eth0', '10.0.0.11/24', 'fe80::11/64'), on('br-ex', '10.0.9.5/24', 'fd00::5/64', 'fe80::5/64')]
const says = (text: string): NamedAddress => ({ reading: readAddressText(text) })

describe('what is written', () => {
  test.each([
    [
      '10.0.0',
      'virtualRouters[0].interface.holding: cannot use "10.0.0", expected an IP address, such as 10.0.0.11 or fd00::11',
    ],
    [
      '127.0.0.1',
      'virtualRouters[0].interface.holding: cannot use "127.0.0.1", expected an address of the LAN; this is a loopback address',
    ],
    [
      'eth0',
      'virtualRouters[0].interface.holding: cannot use "eth0", expected an IP address, or the absolute path of a file that contains one',
    ],
    [
      './ip',
      'virtualRouters[0].interface.holding: cannot use "./ip", expected an IP address, or the absolute path of a file that contains one',
    ],
    [
      '5',
      'virtualRouters[0].interface.holding: cannot use 5, expected an IP address, or the absolute path of a file that contains one',
    ],
    ['fd00::5', 'interface.holding of "a": cannot use "fd00::5", expected an IPv4 address, like the virtual addresses'],
    [
      '10.0.0.200',
      'interface.holding of "a": cannot use "10.0.0.200", expected an address that is not virtual and does not move',
    ],
  ])('%s is refused', (holding, problem) => {
    expect(problemsOf(router(holding))).toEqual([problem])
  })

  test('an unknown key in interface is refused, and so is a list', () => {
    expect(
      problemsOf(`virtualRouters:\n  - { ${COMMON}, addresses: [10.0.0.200], interface: { holdin: 10.0.0.5 } }\n`),
    ).toEqual([expect.stringContaining('did you mean "holding"?')])
    expect(problemsOf(`virtualRouters:\n  - { ${COMMON}, addresses: [10.0.0.200], interface: [eth0] }\n`)).toEqual([
      'virtualRouters[0].interface: cannot use a list, expected the name of an interface, auto, or { holding: an address, or a file that contains one }',
    ])
  })

  test('an address file that two routers name is listed once', () => {
    const parsed = parseConfig(
      `virtualRouters:\n${['a', 'b'].map((name, i) => `  - { name: ${name}, vrid: ${i + 1}, addresses: [10.0.0.20${i}], interface: { holding: ${FILE} } }\n`).join('')}`,
    )
    expect('config' in parsed && addressFilesIn(parsed.config)).toEqual([FILE])
  })

  test('a second router with the same VRID on the same interface is refused by the node', () => {
    const two = `virtualRouters:\n${['a', 'b'].map((name, i) => `  - { name: ${name}, vrid: 51, addresses: [10.0.0.20${i}], interface: { holding: 10.0.0.11 } }\n`).join('')}`
    expect(resolve(two, LAN).said).toEqual([
      'error: vrid of "b": cannot use 51, which "a" uses on "eth0", expected another VRID for each router of IPv4',
    ])
  })
})

describe('what a file says', () => {
  test.each([
    ['10.0.9.5', { address: '10.0.9.5' }],
    ['10.0.9.5\n', { address: '10.0.9.5' }],
    ['  fd00:0::5 \r\n', { address: 'fd00::5' }],
    ['', { problem: 'the file is empty' }],
    ['\n', { problem: 'the file is empty' }],
    ['10.0.9.5\n10.0.9.6\n', { problem: expect.stringContaining(String.raw`it contains "10.0.9.5\n10.0.9.6"`) }],
    [
      '10.0.9.5/24',
      {
        problem: expect.stringContaining(
          'it contains "10.0.9.5/24", expected an IP address, such as 10.0.0.11 or fd00::11',
        ),
      },
    ],
    [
      '::1',
      {
        problem: expect.stringContaining(
          'it contains "::1", expected an address of the LAN; this is a loopback address',
        ),
      },
    ],
    [`${'x'.repeat(200)}`, { problem: expect.stringMatching(/^it contains "x{57}\.\.\.", expected /) }],
    ['\u0000\u001b[2J', { problem: expect.not.stringContaining('\u001b') }],
  ])('%j', (text, reading) => {
    expect(readAddressText(text)).toEqual(reading)
  })
})

describe('where it runs', () => {
  test('the address file wins over the network of the VIP (vif-file-overrides-subnet), and gives the source', () => {
    const { resolved, said } = resolve(router(FILE), LAN, says('10.0.9.5\n'))
    expect([resolved.interfaceName, resolved.source, resolved.fault, said]).toEqual([
      'br-ex',
      '10.0.9.5',
      undefined,
      [],
    ])
  })

  test('a source in the configuration wins over the address file', () => {
    const rest =
      'addresses: [10.0.0.200], transport: { unicast: { source: 10.0.9.6, peers: [10.0.9.7] } }, ttlCheck: true'
    const { resolved } = resolve(router(FILE, rest), [on('br-ex', '10.0.9.5/24', '10.0.9.6/24')], says('10.0.9.5'))
    expect([resolved.interfaceName, resolved.source]).toEqual(['br-ex', '10.0.9.6'])
  })

  test('in IPv6, the address of the file is the source in unicast, and the link-local address in multicast (RFC 9568 §5.1.2.1)', () => {
    const six = 'addresses: [fd00::200], firstAddressLinkLocal: false'
    const unicast = `${six}, transport: { unicast: { peers: [fd00::6] } }, ttlCheck: true`
    expect(resolve(router(FILE, unicast), LAN, says('fd00::5')).resolved.source).toBe('fd00::5')
    const { resolved } = resolve(router(FILE, six), LAN, says('fd00::5'))
    expect([resolved.interfaceName, resolved.source]).toEqual(['br-ex', 'fe80::5'])
  })

  test.each<[string, NamedAddress | undefined, string]>([
    ['not read', undefined, `${FILE}: it has not been read yet`],
    ['missing', { reading: { problem: 'it does not exist' } }, `${FILE}: it does not exist`],
    ['of the other family', says('fd00::5'), `${FILE}: it contains fd00::5, but the virtual addresses of "a" are IPv4`],
    ['nowhere', says('10.0.9.9'), `no interface has 10.0.9.9 (from ${FILE})`],
  ])('an address file without a usable address puts the router in fault, with a warning: %s', (_, named, why) => {
    const { resolved, said } = resolve(router(FILE), LAN, named)
    expect([resolved.interfaceName, resolved.fault]).toEqual([undefined, 'interfaceMissing'])
    expect(said).toEqual([
      `warning: Cannot find the interface of "a": ${why}; the router is in fault until that changes`,
    ])
  })

  test('a VIP of another router in the configuration is not an own address of the node', () => {
    const text = `${router(FILE)}  - { name: b, vrid: 52, addresses: [10.0.9.5], interface: eth0, priority: 90, stagger: false }\n`
    expect(resolve(text, LAN, says('10.0.9.5')).resolved.held?.problem).toBe(
      `10.0.9.5 (from ${FILE}) is a virtual address of this configuration, not an own address of this node`,
    )
  })

  test('a router waits for a tentative address', () => {
    const tentative = [
      { name: 'br-ex', addresses: [{ address: address('fd00::5'), prefixLength: 64, tentative: true }] },
    ]
    const rest =
      'addresses: [fd00::200], firstAddressLinkLocal: false, transport: { unicast: { peers: [fd00::6] } }, ttlCheck: true'
    expect(resolve(router('fd00::5', rest), tentative).resolved).toMatchObject({
      interfaceName: 'br-ex',
      fault: 'sourceAddressMissing',
    })
  })
})
