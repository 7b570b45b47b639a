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
      '2:66: addresses[1] of "a": cannot use "fd00::1", expected an IPv4 address, like 10.0.0.200; use one router for each family, and a sync group of both',
    ])
  })

  test.each([
    [
      `${V4}, peers: ["fd00::1"]`,
      'peers[0] of "a": cannot use "fd00::1", expected an IPv4 address, like the virtual addresses',
    ],
    [
      `${V4}, ${unicast('peers: [10.0.0.2, "fe80::1"]')}`,
      'peers[1] of "a": cannot use "fe80::1", expected an IPv4 address, like the virtual addresses',
    ],
    [
      `${V6}, ${unicast('source: 10.0.0.1, peers: ["fd00::1"]')}`,
      'source of "a": cannot use "10.0.0.1", expected an IPv6 address, like the virtual addresses',
    ],
  ])('%s', (router, problem) => expect(said(router).map(message)).toEqual([problem]))

  test('one VRID may be used once for each family on an interface, and not twice for one (VR-MI-01)', () => {
    const v6 = V6.replace('name: a', 'name: b')
    expect(said(V4, v6)).toEqual([])
    expect(said(V4, v6, V6.replace('name: a', 'name: c').replace('::200', '::201')).map(message)).toEqual([
      'vrid of "c": cannot use 1 twice (first on line 3), expected another VRID for each router of IPv6 on "eth0"',
    ])
  })
})

test('an IPv6 address with a label is refused, and an IPv4 address with a label is not', () => {
  const labelled = (router: string, address: string) =>
    router.replace(/addresses: \[[^\]]*\]/, `addresses: [{ address: "${address}", label: "eth0:1" }]`)
  expect(said(labelled(V4, '10.0.0.200'))).toEqual([])
  expect(said(labelled(V6, 'fd00::200')).map(message)).toEqual([
    'label of fd00::200: cannot use "eth0:1", expected no label, because the kernel has none for IPv6',
  ])
})

describe('link-local addresses', () => {
  test('link-local addresses do not choose an interface', () => {
    const router = 'name: a, vrid: 1, interface: auto, addresses: ["fe80::1"], stagger: false'
    expect(said(router)).toEqual([
      '2:36: interface of "a": cannot use "auto", expected the name of an interface, because any interface may have a link-local address',
    ])
  })

  test('a router without a link-local VIP gives a note, and is refused with profile rfc9568', () => {
    const router = V6.replace(', firstAddressLinkLocal: false', '')
    expect(said(router)).toEqual([
      expect.stringMatching(/^2:53: note: "a" has no link-local virtual address\. RFC 9568 §5\.2\.9 /),
    ])
    expect(said(`${router}, profile: rfc9568`)).toEqual([
      '2:53: addresses of "a": no link-local address, expected one (RFC 9568 §5.2.9), or "firstAddressLinkLocal: false"',
    ])
    expect(said(`${router}, firstAddressLinkLocal: true`).map(message)).toEqual([
      expect.stringMatching(/^addresses of "a": no link-local address, expected one/),
    ])
    expect(said(`${V6}, profile: rfc9568`)).toEqual([])
    expect(said(`${router.replace('["fd00::200"]', '["fd00::200", "fe80::1"]')}, profile: rfc9568`)).toEqual([])
  })

  test('multicast peers of IPv6 must be link-local addresses', () => {
    expect(said(`${V6}, peers: ["fe80::2", "fe80::3"]`)).toEqual([])
    expect(said(`${V6}, peers: ["fe80::2", "fd00::3"]`).map(message)).toEqual([
      'peers[1] of "a": cannot use "fd00::3", expected a link-local address, from which routers send in IPv6 multicast',
    ])
  })

  test('unicast peers of IPv6 are all link-local, or none is', () => {
    expect(said(`${V6}, ${unicast('peers: ["fe80::2", "fe80::3"]')}`)).toEqual([])
    expect(said(`${V6}, ${unicast('peers: ["fe80::2", "fd00::3"]')}`).map(message)).toEqual([
      'peers[1] of "a": cannot use "fd00::3", expected a link-local address, like the peer fe80::2, because one source address serves all peers',
    ])
    expect(said(`${V6}, ${unicast('source: "fd00::1", peers: ["fe80::2"]')}`).map(message)).toEqual([
      'peers[0] of "a": cannot use "fe80::2", expected no link-local address, like the source fd00::1, because one source address serves all peers',
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
      'authentication of "a": cannot be used in version 3 (RFC 9568 §9), expected version 2',
    ])
  })

  test('version 2 is refused for IPv6 (VR-V2-11)', () => {
    expect(said(`${V6}, version: 2`).map(message)).toEqual([
      'version of "a": cannot use 2, expected 3, because version 2 has no IPv6',
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
      '257:5: virtualRouters: cannot run 256 virtual routers for IPv4 on "eth0", expected at most 255, because each needs a VRID of its own',
      '257:25: virtualRouters[255].vrid: cannot use 256, expected an integer from 1 to 255',
    ])
    const wrapped = many(300).map((each, i) => each.replace(/vrid: \d+/, `vrid: ${(i % 255) + 1}`))
    expect(said(...wrapped)[0]).toContain('cannot run 300 virtual routers for IPv4 on "eth0"')
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
