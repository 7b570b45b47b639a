/** What a changed text means for the routers that run: nothing, new parameters, or another router in its place. */
import { describe, expect, test } from 'vitest'
import { type ConfigDiff, diffConfig } from '../../../src/config/diff.ts'
import { formatProblem } from '../../../src/config/problem.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import { changeText, groupsText, ownTexts } from '../../../src/config/value-diff.ts'

function config(text: string) {
  const parsed = parseConfig(text)
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  return parsed.config
}

const A = 'name: a, vrid: 1, interface: eth0, addresses: [10.0.0.200]'
const B = 'name: b, vrid: 2, interface: eth0, addresses: [10.0.0.201]'
const C = 'name: c, vrid: 3, interface: eth0, addresses: ["fd00::200"]'
const file = (...routers: string[]) => `virtualRouters:\n${routers.map((router) => `  - { ${router} }\n`).join('')}`

const NOTHING: ConfigDiff = {
  added: [],
  removed: [],
  recreated: [],
  changed: [],
  unchanged: [],
  groupsChanged: false,
  checksChanged: [],
  restartOnly: [],
  values: [],
}
/** What it means for the routers; the values are tested below. */
const diff = (old: string, next: string): ConfigDiff => ({ ...diffConfig(config(old), config(next)), values: [] })

test('two equal texts have no difference', () => {
  expect(diff(file(A, B), file(A, B))).toEqual({ ...NOTHING, unchanged: ['a', 'b'] })
})

describe('texts with the same meaning have no difference', () => {
  test.each([
    ['order of routers', file(A, B), file(B, A)],
    [
      'order of keys and block style',
      file(A, B),
      `virtualRouters:\n  - addresses:\n      - 10.0.0.200 # the VIP\n    vrid: 1\n    interface: eth0\n    name: a\n  - { ${B} }\n`,
    ],
    ['defaults that are written out', file(A, B), file(`${A}, priority: 100, advertisementInterval: 1000ms`, B)],
    ['knobs of the profile written out', file(A, B), file(`${A}, stagger: true, assertSpacing: 0.1s`, B)],
    ['a schedule written out', file(A, B), file(`${A}, announce: { at: [0s, 20ms, 0.1s, 500ms, 2s, 5s] }`, B)],
    ['another spelling of an address', file(A, B, C), file(A, B, C.replace('fd00::200', 'FD00:0::0200'))],
    [
      'order of peers',
      file(`${A}, peers: [10.0.0.2, { address: 10.0.0.3, priority: 5 }]`, B),
      file(`${A}, peers: [{ address: 10.0.0.3, priority: 5 }, 10.0.0.2]`, B),
    ],
    [
      'order and spelling of MACs',
      file(`${A}, duplicateAllowed: ["00:1c:73:00:00:99", "00:1c:73:00:00:9a"]`, B),
      file(`${A}, onDuplicate: announce, duplicateAllowed: ["00-1C-73-00-00-9A", "00:1c:73:00:00:99"]`, B),
    ],
    [
      'order of trackers',
      file(`${A}, track: [{ interface: eth1 }, { interface: eth2, weight: 5 }]`, B),
      file(`${A}, track: [{ interface: eth2, weight: 5 }, { interface: eth1, weight: 0 }]`, B),
    ],
    ['members of no group', file(A, B), `${file(A, B)}syncGroups: []\n`],
  ])('%s', (_, old, next) => {
    const { unchanged, ...rest } = diff(old, next)
    expect([...unchanged].sort().slice(0, 2)).toEqual(['a', 'b'])
    expect({ ...rest, unchanged: [] }).toEqual(NOTHING)
  })
})

describe('other parameters change a router and keep its state', () => {
  test.each([
    'priority: 99',
    'advertisementInterval: 100ms',
    'preempt: false',
    'preemptDelay: 5s',
    'minHold: 1s',
    'margin: 5',
    'peers: [10.0.0.2]',
    'stagger: false',
    'profile: rfc9568',
    'announce: { refresh: false }',
    'lifetime: off',
    'track: [{ interface: eth1 }]',
  ])('%s', (key) => {
    expect(diff(file(A, B), file(`${A}, ${key}`, B))).toEqual({ ...NOTHING, changed: ['a'], unchanged: ['b'] })
  })

  test.each([
    ['addresses', A.replace('10.0.0.200', '10.0.0.200, 10.0.0.210')],
    ['a prefix', A.replace('10.0.0.200', '10.0.0.200/24')],
  ])('%s', (_, next) => expect(diff(file(A, B), file(next, B)).changed).toEqual(['a']))

  test('another password changes the router', () => {
    const with2 = (password: string) =>
      file(`${A}, version: 2, authentication: { type: simple, password: ${password} }`)
    expect(diff(with2('one'), with2('two')).changed).toEqual(['a'])
    expect(diff(with2('firsteight'), with2('firsteigXX')).unchanged).toEqual(['a'])
  })

  test.each(['onDuplicate: alarm', 'duplicateAllowed: ["00:1c:73:00:00:99"]', 'radar: false'])('%s', (key) => {
    expect(diff(file(A, B), file(`${A}, ${key}`, B))).toEqual({ ...NOTHING, changed: ['a'], unchanged: ['b'] })
  })

  test('other peers of unicast change the router, and another source recreates it', () => {
    const unicast = (rest: string) => file(`${A}, transport: { unicast: { ${rest} } }`, B)
    const changed = { ...NOTHING, changed: ['a'], unchanged: ['b'] }
    expect(diff(unicast('peers: [10.0.0.2]'), unicast('peers: [10.0.0.3]'))).toEqual(changed)
    expect(diff(unicast('peers: [10.0.0.2]'), unicast('peers: [10.0.0.2], source: 10.0.0.1'))).toEqual({
      ...NOTHING,
      recreated: ['a'],
      unchanged: ['b'],
    })
    expect(diff(unicast('peers: [10.0.0.2]'), unicast('source: auto, peers: [10.0.0.2]')).unchanged).toEqual(['a', 'b'])
  })
})

describe('another identity recreates a router (VR-CFG-08)', () => {
  test.each([
    ['vrid', A.replace('vrid: 1', 'vrid: 9')],
    ['interface', A.replace('eth0', 'eth1')],
    ['version', `${A}, version: 2`],
    ['family', A.replace('10.0.0.200', '"fd00::1"')],
    ['address owner', `${A}, priority: 255`],
  ])('%s', (_, next) => {
    const expected = { ...NOTHING, recreated: ['a'], unchanged: ['b'] }
    expect(diff(file(A, B), file(next, B))).toEqual(expected)
    expect(diff(file(next, B), file(A, B))).toEqual(expected)
  })

  test('a change between multicast and unicast recreates a router in IPv6, and changes it in IPv4', () => {
    const unicast = '{ unicast: { peers: [10.0.0.2] } }'
    const four = diff(file(A, B), file(`${A}, transport: ${unicast}`, B))
    expect(four).toEqual({ ...NOTHING, changed: ['a'], unchanged: ['b'] })
    const other = diff(file(A, B), file(`${A}, transport: { unicast: { source: 10.0.0.1, peers: [10.0.0.2] } }`, B))
    expect(other).toEqual({ ...NOTHING, recreated: ['a'], unchanged: ['b'] })
    const six = A.replace('10.0.0.200', '"fd00::1"')
    const changed = diff(file(six, B), file(`${six}, transport: { unicast: { peers: ["fd00::2"] } }`, B))
    expect(changed).toEqual({ ...NOTHING, recreated: ['a'], unchanged: ['b'] })
  })

  test('an empty list of unicast peers differs from multicast with every profile', () => {
    const empty = (profile: string) => file(`${A}, profile: ${profile}, transport: { unicast: { peers: [] } }`)
    expect(diff(file(`${A}, profile: keepalived`), empty('keepalived')).changed).toEqual(['a'])
    expect(diff(file(A), empty('holdfast')).changed).toEqual(['a'])
  })

  test('another way to find the interface, or another address to follow, recreates a router', () => {
    const on = (key: string) => file(`${A.replace('interface: eth0', `interface: ${key}`)}`)
    const literal = on('{ holding: 10.0.0.5 }')
    expect(diff(file(A), literal).recreated).toEqual(['a'])
    expect(diff(literal, on('{ holding: /run/ip }')).recreated).toEqual(['a'])
    expect(diff(literal, on('{ holding: 10.0.0.5 }')).unchanged).toEqual(['a'])
  })
})

test('routers are added and removed; a renamed router is another one', () => {
  expect(diff(file(A, B), file(B, C))).toEqual({ ...NOTHING, added: ['c'], removed: ['a'], unchanged: ['b'] })
  expect(diff(file(A), file(A.replace('name: a', 'name: z')))).toEqual({ ...NOTHING, added: ['z'], removed: ['a'] })
})

describe('sync groups', () => {
  const group = (rest: string) => `${file(A, B, C)}syncGroups:\n  - { ${rest} }\n`
  test('another member changes the groups, and no router', () => {
    const expected = { ...NOTHING, unchanged: ['a', 'b', 'c'], groupsChanged: true }
    expect(diff(file(A, B, C), group('name: g, members: [a, b]'))).toEqual(expected)
    expect(diff(group('name: g, members: [a, b, c]'), group('name: g, members: [a, b]'))).toEqual(expected)
    expect(diff(group('name: g, members: [a, b]'), group('name: h, members: [a, b]'))).toEqual(expected)
  })

  test('the order of members makes no difference', () => {
    expect(diff(group('name: g, members: [a, b]'), group('name: g, members: [b, a]')).groupsChanged).toBe(false)
  })

  test('another tracker of a group changes its members', () => {
    const next = group('name: g, members: [a, b], track: [{ interface: eth5, weight: -5 }]')
    const expected = { ...NOTHING, changed: ['a', 'b'], unchanged: ['c'], groupsChanged: true }
    expect(diff(group('name: g, members: [a, b]'), next)).toEqual(expected)
  })
})

test('keys that need a restart are listed', () => {
  const head = 'runDirectory: /run/x\napi: { listen: false, metricsCompat: keepalived-exporter }\nio: raw-socket\n'
  const { restartOnly, unchanged } = diff(file(A), `${head}${file(A)}`)
  expect(restartOnly).toEqual(['runDirectory', 'api.socket', 'api.listen', 'api.metricsCompat', 'journal', 'io'])
  expect(unchanged).toEqual(['a'])
})

test('another health check changes no router; another weight changes the router that tracks it', () => {
  const checks = (text: string) => `healthchecks:\n${text}`
  const track = (rest: string) => file(`${A}, track: [{ healthcheck: x${rest} }]`, B)
  const before = checks('  - { name: x, tcp: "h:1" }\n  - { name: y, all: [x] }\n') + track('')
  const same =
    checks('  - { name: y, all: [x] }\n  - { name: x, tcp: "h:1", interval: 1s, timeout: 1s }\n') + track(', weight: 0')
  expect(diff(before, same)).toEqual({ ...NOTHING, unchanged: ['a', 'b'] })
  const other = checks('  - { name: x, tcp: "h:1", fall: 2 }\n  - { name: z, any: [x] }\n') + track('')
  expect(diff(before, other)).toEqual({ ...NOTHING, unchanged: ['a', 'b'], checksChanged: ['x', 'y', 'z'] })
  const weighed = checks('  - { name: x, tcp: "h:1" }\n  - { name: y, all: [x] }\n') + track(', weight: 5')
  expect(diff(before, weighed)).toEqual({ ...NOTHING, changed: ['a'], unchanged: ['b'] })
  const preset = file(`${A}, preset: openshift-ingress`)
  expect(diff(file(A), preset)).toMatchObject({
    changed: ['a'],
    checksChanged: expect.arrayContaining(['openshift-ingress']),
  })
})

describe('the values that differ are shown as text', () => {
  const values = (old: string, next: string) => diffConfig(config(old), config(next)).values.map(changeText)
  const router = (before: string, after: string) => values(file(`${A}, ${before}`, B), file(`${A}, ${after}`, B))

  test.each([
    ['priority: 150', 'priority: 110', 'priority 150 → 110'],
    ['advertisementInterval: 1s', 'advertisementInterval: 100ms', 'advertisementInterval 1s → 100ms'],
    ['announce: { refresh: false }', 'announce: { refresh: 90s }', 'announce.refresh false → 90s'],
    ['announce: { at: [0s] }', 'announce: { at: [0s, 1s] }', 'announce.at [0ms] → [0ms, 1s]'],
    ['minHold: 1s', 'stagger: false, minHold: 1s', 'stagger default → false'],
    [
      'peers: [10.0.0.2]',
      'peers: [{ address: 10.0.0.2, priority: 90 }, 10.0.0.3]',
      'peers [10.0.0.2] → [10.0.0.2 (90), 10.0.0.3]',
    ],
    ['track: [{ interface: eth1, weight: -5 }]', 'track: [{ interface: eth1 }]', 'track [eth1 -5] → [eth1 0]'],
    [
      'transport: { unicast: { peers: [10.0.0.2] } }',
      'transport: { unicast: { peers: [10.0.0.2], ttl: 64 } }',
      'transport.unicast.ttl 255 → 64',
    ],
    ['transport: multicast', 'transport: { unicast: { peers: [10.0.0.2] } }', 'transport multicast → unicast'],
    [
      'version: 2, authentication: { type: simple, password: geheim1 }',
      'version: 2, authentication: { type: simple, password: geheim2 }',
      'authentication.password changed',
    ],
    ['notify: { active: [/bin/true, geheim] }', 'notify: { active: [/bin/true] }', 'notify.active changed'],
  ])('the change of a key is shown as %s, then %s', (before, after, text) =>
    expect(router(before, after)).toEqual([text]),
  )

  test('other addresses are shown with their prefix lengths', () => {
    expect(values(file(A), file(A.replace('10.0.0.200', '10.0.0.200/24')))).toEqual([
      'addresses [10.0.0.200] → [10.0.0.200/24]',
    ])
  })

  test('a changed health check is shown with its keys, without values that may be secrets', () => {
    const check = (keys: string) => `healthchecks: [{ name: web, ${keys} }]\n${file(A)}`
    expect(values(check('http: "http://h/", fall: 2'), check('http: "http://h/", fall: 3, interval: 500ms'))).toEqual([
      'timeout 1s → 500ms',
      'interval 1s → 500ms',
      'fall 2 → 3',
    ])
    expect(values(check('http: "http://u:geheim@h/"'), check('http: "http://h/"'))).toEqual(['http changed'])
    expect(values(check('exec: [/bin/true, geheim]'), check('exec: [/bin/true]'))).toEqual(['exec changed'])
  })

  test('a changed sync group is shown with its members', () => {
    const group = (weight: number) =>
      `${file(A, B)}syncGroups: [{ name: g, members: [a, b], track: [{ interface: eth1, weight: ${weight} }] }]\n`
    expect(values(group(-20), group(-60))).toEqual(['track [eth1 -20] → [eth1 -60]'])
    expect(groupsText(diffConfig(config(group(-20)), config(group(-60))).values)).toBe(
      ' (g: track [eth1 -20] → [eth1 -60])',
    )
  })

  test('changed keys of the configuration itself are shown, without values that may be secrets', () => {
    expect(values(file(A), `log: { level: debug }\n${file(A)}`)).toEqual(['log.level info → debug'])
    expect(values(file(A), `log: { format: text }\n${file(A)}`)).toEqual(['log.format default → text'])
    const webhook = (url: string) => `notify: { webhook: { url: "${url}" } }\n${file(A)}`
    expect(values(webhook('http://h/geheim'), webhook('http://h/'))).toEqual(['notify.webhook.url changed'])
  })

  test('the text of the configuration itself leaves out the keys under a path, and groups without a change', () => {
    const all = diffConfig(config(file(A)), config(`log: { level: debug, format: text }\n${file(A)}`)).values
    expect(ownTexts(all, [])).toEqual(['log.level info → debug', 'log.format default → text'])
    expect(ownTexts(all, ['log.level'])).toEqual(['log.format default → text'])
    expect([ownTexts(all, ['log']), ownTexts(all, ['lo'])]).toEqual([[], ownTexts(all, [])])
    expect(groupsText(all)).toBe('')
  })
})
