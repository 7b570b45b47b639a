/** The values that family, scope and version of a router exclude. */
import { describe, expect, test } from 'vitest'
import { formatProblem } from '../../../src/config/problem.ts'
import { resolveRouters } from '../../../src/config/resolve.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'

const V4 = 'name: a, vrid: 1, interface: eth0, addresses: [10.0.0.200], stagger: false'
const V6 = 'name: a, vrid: 1, interface: eth0, addresses: ["fd00::200"], stagger: false, firstAddressLinkLocal: false'

function said(...routers: string[]): string[] {
  const parsed = parseConfig(`virtualRouters:\n${routers.map((each) => `  - { ${each} }\n`).join('')}`)
  return ('problems' in parsed ? parsed.problems : [...parsed.warnings, ...parsed.notes]).map(formatProblem)
}
const message = (line: string) => line.replace(/^\d+:\d+: /, '')
const unicast = (rest: string) => `ttlCheck: false, transport: { unicast: { ${rest} } }`

describe('families', () => {
  test('a router with addresses of two families is refused', () => {
    expect(said(V4.replace('10.0.0.200', '10.0.0.200, "fd00::1"'))).toEqual([
      '2:66: Cannot use fd00::1 in "a" beside 10.0.0.200: a virtual router has addresses of one family; use one router for each family, and a sync group of both',
    ])
  })

  test.each([
    [`${V4}, peers: ["fd00::1"]`, 'Cannot use fd00::1 as a peer of "a": its virtual addresses are IPv4'],
    [
      `${V4}, ${unicast('peers: [10.0.0.2, "fe80::1"]')}`,
      'Cannot use fe80::1 as a peer of "a": its virtual addresses are IPv4',
    ],
    [
      `${V6}, ${unicast('source: 10.0.0.1, peers: ["fd00::1"]')}`,
      'Cannot send from 10.0.0.1: the virtual addresses of "a" are IPv6',
    ],
  ])('%s', (router, problem) => expect(said(router).map(message)).toEqual([problem]))

  test('one VRID may be used once for each family on an interface, and not twice for one (VR-MI-01)', () => {
    const v6 = V6.replace('name: a', 'name: b')
    expect(said(V4, v6)).toEqual([])
    expect(said(V4, v6, V6.replace('name: a', 'name: c').replace('::200', '::201')).map(message)).toEqual([
      'Cannot use VRID 1 twice for IPv6 on "eth0": it is used already on line 3',
    ])
  })
})

describe('link-local addresses', () => {
  test('link-local addresses do not choose an interface', () => {
    const router = 'name: a, vrid: 1, interface: auto, addresses: ["fe80::1"], stagger: false'
    expect(said(router)).toEqual([
      '2:36: Cannot choose an interface for "a" by a link-local address, which every interface could have; write the name of the interface',
    ])
  })

  test('a router without a link-local VIP gives a note, and is refused with profile rfc9568', () => {
    const router = V6.replace(', firstAddressLinkLocal: false', '')
    expect(said(router)).toEqual([
      expect.stringMatching(/^2:53: note: "a" has no link-local virtual address\. RFC 9568 §5\.2\.9 /),
    ])
    expect(said(`${router}, profile: rfc9568`)).toEqual([
      '2:53: Cannot run "a" without a link-local virtual address (RFC 9568 §5.2.9): add one, or set "firstAddressLinkLocal: false"',
    ])
    expect(said(`${router}, firstAddressLinkLocal: true`).map(message)).toEqual([
      expect.stringMatching(/^Cannot run "a" without a link-local virtual address/),
    ])
    expect(said(`${V6}, profile: rfc9568`)).toEqual([])
    expect(said(`${router.replace('["fd00::200"]', '["fd00::200", "fe80::1"]')}, profile: rfc9568`)).toEqual([])
  })

  test('multicast peers of IPv6 must be link-local addresses', () => {
    expect(said(`${V6}, peers: ["fe80::2", "fe80::3"]`)).toEqual([])
    expect(said(`${V6}, peers: ["fe80::2", "fd00::3"]`).map(message)).toEqual([
      'Cannot use fd00::3 as a peer of "a": in IPv6 multicast, routers identify each other by their link-local addresses',
    ])
  })

  test('unicast peers of IPv6 are all link-local, or none is', () => {
    expect(said(`${V6}, ${unicast('peers: ["fe80::2", "fe80::3"]')}`)).toEqual([])
    expect(said(`${V6}, ${unicast('peers: ["fe80::2", "fd00::3"]')}`).map(message)).toEqual([
      'Cannot use fd00::3 as a peer of "a" beside fe80::2: one source address serves all peers, so either all are link-local or none is',
    ])
    expect(said(`${V6}, ${unicast('source: "fd00::1", peers: ["fe80::2"]')}`).map(message)).toEqual([
      'Cannot use fe80::2 as a peer of "a" with source fd00::1: one source address serves all peers, so either all are link-local or none is',
    ])
  })
})

describe('version 2', () => {
  const v2 = `${V4}, version: 2`

  test.each(['1s', '2s', '255s', '1m'])('%s is an interval', (interval) => {
    expect(said(`${v2}, advertisementInterval: ${interval}`)).toEqual([])
  })

  test.each(['1.5s', '100ms', '254.99s'])('%s is none: whole seconds (VR-V2-13)', (interval) => {
    expect(said(`${v2}, advertisementInterval: ${interval}`).filter((line) => !line.includes('warning'))).toEqual([
      expect.stringMatching(/: cannot use ".*", expected whole seconds from 1s to 255s in version 2$/),
    ])
  })

  test('an interval of 255s in version 2 is 25500 centiseconds', () => {
    const parsed = parseConfig(`virtualRouters:\n  - { ${v2}, advertisementInterval: 255s }\n`)
    const routers = 'config' in parsed ? resolveRouters(parsed.config, { interfaces: [] }).routers : []
    expect(routers.map(({ parameters }) => [parameters.version, parameters.advertisementInterval])).toEqual([
      [2, 25_500],
    ])
  })

  test('version 3 refuses an interval above 40.95 s, and authentication', () => {
    expect(
      said(`${V4}, advertisementInterval: 41s, authentication: { type: simple, password: x }`).map(message),
    ).toEqual([
      'advertisementInterval of "a": cannot use "41s", expected a duration from 10ms to 40.95s in version 3',
      'Cannot use "authentication" in "a": version 3 has no authentication (RFC 9568 §9), only version 2 has',
    ])
  })

  test('version 2 is refused for IPv6 (VR-V2-11)', () => {
    expect(said(`${V6}, version: 2`).map(message)).toEqual([
      'Cannot use version 2 in "a": version 2 has no IPv6; use version 3',
    ])
  })

  test('a password is padded or cut to 8 octets', () => {
    const octets = (password: string) => {
      const text = `virtualRouters:\n  - { ${v2}, authentication: { type: simple, password: ${password} } }\n`
      const parsed = parseConfig(text)
      if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
      return resolveRouters(parsed.config, { interfaces: [] }).routers[0]?.parameters.authentication
    }
    const ascii = (text: string) => [...text].map((character) => character.charCodeAt(0))
    expect(octets('abc')).toEqual({ type: 'simple', octets: [...ascii('abc'), 0, 0, 0, 0, 0] })
    expect(octets('ostest_api_vip')).toEqual({ type: 'simple', octets: ascii('ostest_a') })
  })

  test('addressListCheck is on with profile rfc9568, and can be set alone', () => {
    const checked = (keys: string) => {
      const parsed = parseConfig(`virtualRouters:\n  - { ${keys} }\n`)
      const routers = 'config' in parsed ? resolveRouters(parsed.config, { interfaces: [] }).routers : []
      return routers[0]?.parameters.reception.addressListCheck
    }
    expect([checked(v2), checked(`${v2}, profile: keepalived`), checked(`${V4}, profile: rfc9568`)]).toEqual([
      false,
      false,
      false,
    ])
    expect([checked(`${v2}, profile: rfc9568`), checked(`${V4}, addressListCheck: true`)]).toEqual([true, true])
  })
})

describe('more routers than VRIDs', () => {
  const many = (count: number, rest = '') =>
    Array.from({ length: count }, (_, i) => {
      const address = `10.0.${i >> 7}.${(i & 127) + 1}`
      return `name: r${i}, vrid: ${i + 1}, interface: eth0, addresses: [${address}], stagger: false${rest}`
    })

  test('255 routers are accepted on an interface, and as many for IPv6 and on another interface', () => {
    const v6 = many(255).map((each) =>
      each.replace('name: r', 'name: s').replace(/\[10\.0\.(\d+)\.(\d+)\]/, '["fd00::$1:$2"]'),
    )
    const eth1 = many(255).map((each) =>
      each.replace('name: r', 'name: t').replace('eth0', 'eth1').replace('[10.0', '[10.1'),
    )
    expect(said(...many(255), ...v6.map((each) => `${each}, firstAddressLinkLocal: false`), ...eth1)).toEqual([])
  })

  test('the 256th router is refused because of the number of routers', () => {
    expect(said(...many(256))).toEqual([
      '257:5: Cannot run 256 virtual routers for IPv4 on "eth0": each needs a VRID of its own, and there are 255 of them on an interface for each family',
      '257:25: virtualRouters[255].vrid: cannot use 256, expected an integer from 1 to 255',
    ])
    const wrapped = many(300).map((each, i) => each.replace(/vrid: \d+/, `vrid: ${(i % 255) + 1}`))
    expect(said(...wrapped)[0]).toContain('Cannot run 300 virtual routers for IPv4 on "eth0"')
  })
})

test('a packet of more than 1500 octets gives a warning', () => {
  const addresses = Array.from({ length: 92 }, (_, i) => `"fd00::${i + 1}"`)
  const router = (count: number) => V6.replace('"fd00::200"', addresses.slice(0, count).join(', '))
  expect(said(router(90))).toEqual([])
  expect(said(router(92))).toEqual([
    '2:53: warning: "a" advertises 92 addresses in packets of 1520 octets, more than the usual MTU of 1500: only an interface with a larger MTU can send them',
  ])
})
