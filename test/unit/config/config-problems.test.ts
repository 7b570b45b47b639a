/** Every mistake of the operator is a problem with a place, and all of them come at once. */
import { describe, expect, test } from 'vitest'
import { formatProblem } from '../../../src/config/problem.ts'
import { KEEPALIVED_NAMES } from '../../../src/config/text/keepalived-names.ts'
import { isKey } from '../../../src/config/text/schema-problem.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'

/** `line:column: message` of everything that is said about a text. */
function said(text: string): string[] {
  const parsed = parseConfig(text)
  return ('problems' in parsed ? parsed.problems : parsed.warnings).map(formatProblem)
}

const errors = (text: string) => said(text).filter((line) => !line.includes(': warning: '))

/** One router in flow style: the keys given replace the usual ones. */
function router(keys: Record<string, string | undefined> = {}): string {
  const usual = { name: 'a', vrid: '1', interface: 'eth0', addresses: '[10.0.0.200]', stagger: 'false' }
  const pairs = Object.entries({ ...usual, ...keys }).filter(([, value]) => value !== undefined)
  return `  - { ${pairs.map(([key, value]) => `${key}: ${value}`).join(', ')} }\n`
}

const file = (...routers: string[]) => `virtualRouters:\n${routers.join('')}`
const unicast = (peers: string) => ({ transport: `{ unicast: { peers: ${peers} } }`, ttlCheck: 'true' })

/** The message about one router, without its place. */
const about = (keys: Record<string, string | undefined>) =>
  said(file(router(keys))).map((line) => line.replace(/^\d+:\d+: /, ''))

describe('what can be said wrong about one value', () => {
  test('a minimal file has no problem', () => expect(said(file(router()))).toEqual([]))

  test.each([
    ['vrid', '0', 'vrid: cannot use 0, expected an integer from 1 to 255'],
    ['vrid', '256', 'vrid: cannot use 256, expected an integer from 1 to 255'],
    ['vrid', '1.5', 'vrid: cannot use 1.5, expected an integer from 1 to 255'],
    ['vrid', '"51"', 'vrid: cannot use "51", expected an integer from 1 to 255'],
    ['vrid', '', 'vrid: no value, expected an integer from 1 to 255'],
    ['vrid', undefined, 'vrid: required, an integer from 1 to 255'],
    ['priority', '0', 'priority: cannot use 0, expected an integer from 1 to 255'],
    ['priority', '256', 'priority: cannot use 256, expected an integer from 1 to 255'],
    ['preempt', 'yes', 'preempt: cannot use "yes", expected true or false'],
    ['profile', 'cisco', 'profile: cannot use "cisco", expected holdfast, keepalived or rfc9568'],
    ['name', '51', 'name: cannot use 51, expected a name of letters, digits, ".", "_" and "-"'],
    [
      'interface',
      'averylonginterface',
      'interface: cannot use "averylonginterface", expected the name of an interface, up to 15 characters',
    ],
    ['version', '4', 'version: cannot use 4, expected 2 or 3'],
    ['addresses', '[]', 'addresses: cannot use an empty list, expected at least one address'],
    ['addresses', '10.0.0.1', 'addresses: cannot use "10.0.0.1", expected a list of addresses'],
    [
      'transport',
      'broadcast',
      'transport: cannot use "broadcast", expected multicast or { unicast: { peers: [...] } }',
    ],
    ['transport', '{ unicast: {} }', 'transport.unicast.peers: required, a list of peers'],
    [
      'track',
      '[{ interface: eth1, weight: 254 }]',
      'track[0].weight: cannot use 254, expected an integer from -253 to 253',
    ],
    [
      'announce',
      '{ at: [20ms] }',
      'announce.at: cannot use a list, expected 1 to 20 durations, the first 0ms and each greater than the one before',
    ],
    [
      'announce',
      '{ at: [0ms, 5ms, 5ms] }',
      'announce.at: cannot use a list, expected 1 to 20 durations, the first 0ms and each greater than the one before',
    ],
    [
      'transport',
      '{ unicast: [10.0.0.11, 10.0.0.12] }',
      'transport.unicast: cannot use a list, expected unicast: { peers: [10.0.0.11, 10.0.0.12] }',
    ],
    ['onDuplicate', 'resign', 'onDuplicate: cannot use "resign", expected announce, yield or alarm'],
    [
      'duplicateAllowed',
      '00:1c:73:00:00:99',
      'duplicateAllowed: cannot use "00:1c:73:00:00:99", expected a list of MAC addresses',
    ],
    ...[
      '["001c.7300.0099"]',
      '["01:00:5e:00:00:12"]',
      '["00:00:00:00:00:00"]',
      '["00:1c:73:00:00"]',
      '["00:1c-73:00:00:99"]',
    ].map((value): [string, string, string] => [
      'duplicateAllowed',
      value,
      `duplicateAllowed[0]: cannot use ${value.slice(1, -1)}, expected the MAC address of one host, such as 00:1c:73:00:00:99`,
    ]),
    ['announce', '{ refresh: 1ms }', 'announce.refresh: cannot use "1ms", expected a duration from 1s to 24h'],
  ])('%s: %s', (key, value, message) => {
    expect(about({ [key]: value })).toEqual([`virtualRouters[0].${message}`])
  })

  test.each([
    ['10.0.0', 'an IP address, such as 10.0.0.200, 10.0.0.200/24 or fd00::200/64'],
    ['010.0.0.1', 'an IP address, such as 10.0.0.200, 10.0.0.200/24 or fd00::200/64'],
    ['10.0.0.1/33', 'a prefix length from 1 to 32 after the slash'],
    ['10.0.0.1/24/1', 'a prefix length from 1 to 32 after the slash'],
    ['10.0.0.1/x', 'a prefix length from 1 to 32 after the slash'],
    ['10.0.0.0/24', 'the address of a host; this is the address of its network'],
    ['10.0.0.255/24', 'the address of a host; this is the broadcast address of its network'],
    ['224.0.0.18', 'the address of one host; this is a multicast address'],
    ['127.0.0.1', 'an address of the LAN; this is a loopback address'],
    ['0.0.0.0', 'an address that a host can have'],
    ['255.255.255.255', 'an address that a host can have'],
    ['fd00::200/129', 'a prefix length from 1 to 128 after the slash'],
    ['fd00::/64', 'the address of a host; this is the address of its network'],
    ['fd00::1%eth0', 'an address without a zone (%): the router sets the interface'],
    ['ff02::12', 'the address of one host; this is a multicast address'],
    ['::1', 'an address of the LAN; this is a loopback address'],
    ['::', 'an address that a host can have'],
    ['::ffff:10.0.0.1', 'the IPv4 form of this address: 10.0.0.1'],
  ])('address %s', (text, message) => {
    expect(about({ addresses: `["${text}"]` })).toEqual([
      `virtualRouters[0].addresses[0]: cannot use "${text}", expected ${message}`,
    ])
  })

  test.each([
    '10.0.0.1',
    '10.0.0.0/31',
    '10.0.0.255/32',
    '10.0.0.0',
    'fd00::200',
    'fd00::200/64',
    'fd00::/127',
    'fd00::ffff:ffff:ffff:ffff/64',
    'fd00::/128',
    'FE80::1',
  ])('address %s is one of a host', (text) => {
    expect(about({ addresses: `["${text}"]`, firstAddressLinkLocal: 'false' })).toEqual([])
  })

  test('255 addresses fit into a packet, and 256 are refused', () => {
    const many = (count: number) => `[${Array.from({ length: count }, (_, i) => `10.0.${i >> 7}.${(i & 127) + 1}`)}]`
    expect(about({ addresses: many(255) })).toEqual([])
    expect(about({ addresses: many(256) })).toEqual([
      'virtualRouters[0].addresses: cannot use a list, expected at most 255 addresses, because the packet counts them in one octet',
    ])
  })
})

describe('durations carry their unit (VR-CFG-02: nothing is rounded)', () => {
  const bounds = 'a duration from 10ms to 40.95s (version 2: 1s to 255s)'
  test.each([
    ['1', `virtualRouters[0].advertisementInterval: cannot use 1, expected ${bounds}, with its unit: 1s or 1ms`],
    ['1 s', `virtualRouters[0].advertisementInterval: cannot use "1 s", expected ${bounds}, such as 100ms, 1.5s or 2m`],
    ['-1s', `virtualRouters[0].advertisementInterval: cannot use "-1s", expected ${bounds}, such as 100ms, 1.5s or 2m`],
    ['9ms', `virtualRouters[0].advertisementInterval: cannot use "9ms", expected ${bounds}`],
    ['0s', `virtualRouters[0].advertisementInterval: cannot use "0s", expected ${bounds}`],
    ['255.01s', `virtualRouters[0].advertisementInterval: cannot use "255.01s", expected ${bounds}`],
    [
      '40.96s',
      'advertisementInterval of "a": cannot use "40.96s", expected a duration from 10ms to 40.95s in version 3',
    ],
    [
      '0.925s',
      'virtualRouters[0].advertisementInterval: cannot use "0.925s", expected a multiple of 10ms, such as 930ms',
    ],
    ['1.001s', 'virtualRouters[0].advertisementInterval: cannot use "1.001s", expected a multiple of 10ms, such as 1s'],
  ])('%s is refused', (text, message) => {
    expect(about({ advertisementInterval: text })).toEqual([message])
  })

  test.each([
    ['10ms', 10],
    ['100ms', 100],
    ['0.92s', 920],
    ['1s', 1000],
    ['1.5s', 1500],
    ['0.5m', 30_000],
    ['40.95s', 40_950],
  ])('%s is %i ms', (text, value) => {
    const parsed = parseConfig(file(router({ advertisementInterval: text })))
    expect('config' in parsed ? parsed.config.virtualRouters[0]?.advertisementInterval : parsed.problems).toBe(value)
  })
})

describe('unknown keys', () => {
  test.each([
    ['vird', 'did you mean "vrid"?'],
    ['advertisment_interval', 'did you mean "advertisementInterval"?'],
    ['Priority', 'did you mean "priority"?'],
    ['preemptdelay', 'did you mean "preemptDelay"?'],
  ])('%s: %s', (key, advice) => {
    expect(about({ [key]: '1' })).toEqual([`unknown key "${key}" in virtualRouters[0]: ${advice}`])
  })

  test('an unknown key that is like no known one gets a list of the known keys', () => {
    expect(said(`colour: red\n${file(router())}`)).toEqual([
      '1:1: unknown key "colour" in the configuration: known keys are version, runDirectory, api, log, journal, notify, lease, onCrash, io, healthchecks, virtualRouters, syncGroups',
    ])
  })

  test('an unknown key inside a union is reported with the keys of the alternative', () => {
    expect(about({ ...unicast('[{ address: 10.0.0.2, prio: 3 }]') })).toEqual([
      'unknown key "prio" in virtualRouters[0].transport.unicast.peers[0]: known keys are address, priority, minTtl, maxTtl',
    ])
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('%s is a key like any other', (key) => {
    expect(errors(`${key}: 1\n${file(router())}`)).toHaveLength(1)
  })
})

describe("keepalived's names", () => {
  test("a key of keepalived's language is reported with its YAML name, and not as missing", () => {
    const text =
      'virtualRouters:\n  - name: a\n    virtual_router_id: 1\n    interface: eth0\n    state: MASTER\n    advert_int: 1\n' +
      '    virtual_ipaddress: [10.0.0.1]\n'
    expect(errors(text)).toEqual([
      '3:5: "virtual_router_id" is called "vrid" here',
      '5:5: "state" is called "startAs" here (rarely needed: "priority" decides who is Active)',
      '6:5: "advert_int" is called "advertisementInterval" here (with a unit, such as 1s)',
      '7:5: "virtual_ipaddress" is called "addresses" here',
    ])
  })

  test.each(Object.entries(KEEPALIVED_NAMES))('%s leads to keys that exist', (_, [name]) => {
    const words = name.match(/[A-Za-z]+(?=\b)/g) ?? []
    expect(words.filter((word) => !isKey(word) && word !== 'false')).toEqual([])
  })

  test('an unknown key of a router gets no list of all keys', () => {
    expect(about({ colour: '1' })).toEqual([
      'unknown key "colour" in virtualRouters[0]: holdfast schema lists the known keys',
    ])
  })

  test('a misspelt key is not reported as missing', () => {
    expect(errors('virtualRouter: []\n')).toEqual([
      '1:1: unknown key "virtualRouter" in the configuration: did you mean "virtualRouters"?',
    ])
  })
})

describe('white space that is wrong is one message', () => {
  const lines = (...more: readonly string[]) => ['virtualRouters:', ...more, ''].join('\n')
  test.each([
    ['one column too few', lines('  - name: a', '   vrid: 1'), '3:4: "vrid" is indented by 3, expected 4'],
    ['one column too many', lines('  - name: a', '     vrid: 1'), '3:6: "vrid" is indented by 5, expected 4'],
    [
      'a list of another column',
      lines(' - name: a', '   vrid: 1', '  - name: b'),
      '4:3: "name" is indented by 2, expected 1',
    ],
    [
      'an entry between two levels',
      lines('  - name: a', '    addresses:', '      - 10.0.0.1', '     - 10.0.0.2'),
      '5:6: this line is indented by 5, expected 6',
    ],
    [
      'behind lines with comments, quotes and brackets',
      lines('  - name: "a: b" # c: d', '', '    peers: [{ address: 10.0.0.1 }]', '   vrid: 1'),
      '5:4: "vrid" is indented by 3, expected 4',
    ],
    ['a no-break space', lines('  - name: a', '\u00a0   vrid: 1'), '3:1: this line contains a no-break space (U+00A0)'],
    [
      'a word that is no key is not quoted',
      lines('  - authentication:', '      password: abc', '     geheim: 1'),
      '4:6: this line is indented by 5, expected 6',
    ],
  ])('%s', (_, text, message) => expect(errors(text)).toEqual([message]))

  test('correct indentation is not blamed for an error in another line', () => {
    const right = lines(
      '- name: a',
      '  addresses:',
      '  - 10.0.0.1',
      '  peers:',
      '      - 10.0.0.2',
      '  vrid: 1',
      'log: "',
    )
    expect(errors(right)).toEqual([expect.stringContaining('Cannot read the text as YAML: Missing closing')])
  })
})

describe('places', () => {
  test('all problems come together in reading order, each at its value or its key', () => {
    const text = [
      'api: { lisen: 127.0.0.1:1 }',
      'virtualRouters:',
      '  - name: a',
      '    vrid: 300',
      '    interface: eth0',
      '    interface: eth1',
      '    addresses:',
      '      - 10.0.0.200',
      '      - nonsense',
      '  - { name: b, vrid: 5, interface: eth0, addresses: [10.0.0.1], stagger: false }',
      '  - { name: b, vrid: 5, interface: eth0, addresses: [10.0.0.1], stagger: false }',
    ].join('\n')
    expect(said(text)).toEqual([
      '1:8: unknown key "lisen" in api: did you mean "listen"?',
      '4:11: virtualRouters[0].vrid: cannot use 300, expected an integer from 1 to 255',
      '6:5: interface: cannot set this key twice (first on line 5), expected it once',
      '9:9: virtualRouters[0].addresses[1]: cannot use "nonsense", expected an IP address, such as 10.0.0.200, 10.0.0.200/24 or fd00::200/64',
      '11:13: name: cannot use "b" twice (first on line 10), expected another name for each virtual router',
      '11:22: vrid of "b": cannot use 5 twice (first on line 10), expected another VRID for each router of IPv4 on "eth0"',
      '11:54: addresses of "b": cannot use 10.0.0.1 twice (first on line 10), expected each virtual address in one place only',
    ])
  })

  test('a problem behind an alias is at the text of the anchor', () => {
    const text = `virtualRouters:\n  - name: a\n    vrid: 1\n    interface: eth0\n    addresses: [10.0.0.200]\n    transport: { unicast: { peers: &p [10.0.0.2, x] } }\n`
    expect(errors(text)).toEqual([
      '6:50: virtualRouters[0].transport.unicast.peers[1]: cannot use "x", expected an IP address, such as 10.0.0.11 or fd00::11',
    ])
  })

  test('a problem carries file, path and severity', () => {
    const parsed = parseConfig(file(router({ vrid: '0' })), 'h.yaml')
    expect('problems' in parsed ? parsed.problems : []).toEqual([
      {
        file: 'h.yaml',
        line: 2,
        column: 22,
        path: 'virtualRouters[0].vrid',
        message: 'virtualRouters[0].vrid: cannot use 0, expected an integer from 1 to 255',
        severity: 'error',
      },
    ])
  })

  test.each([
    ['', '1:1: the file is empty'],
    ['- 1', '1:1: the configuration: cannot use a list, expected a mapping with virtualRouters'],
    ['virtualRouters: []', '1:17: warning: no virtual router is configured, so the daemon does nothing'],
    ['log: {}', '1:1: virtualRouters: required, a list of virtual routers'],
  ])('%j', (text, message) => expect(said(text)).toEqual([message]))

  test.each([
    'a: [',
    '"\\q"',
    '*nowhere',
    'a: b: c',
    '\tx: 1',
    'a: 1\n---\nb: 2',
    '!!binary x',
    `a: &a ${'[*a,'.repeat(3)}`,
    '['.repeat(20_000),
  ])('a text that is not YAML gives one problem: %j', (text) => {
    const lines = said(text)
    expect(lines.length).toBeGreaterThan(0)
    expect(
      lines.some((line) => /^\d+:\d+: Cannot read the text as YAML: /.test(line)),
      lines.join('\n'),
    ).toBe(true)
  })

  test('lines after an error have the correct numbers', () => {
    const lines = said('"a"} b\nc: d: e\n')
    expect(lines).toContain('2:2: Cannot read the text as YAML: Unexpected map-value-ind token in YAML stream')
  })

  test('a key of several lines is shown on one line', () => {
    expect(said('"a\\nb": 1\n').map((line) => line.split(':')[2])).toContain(' unknown key "a b" in the configuration')
  })

  test('a list as a key is refused', () => {
    expect(said(`? [a]\n: b\n${file(router())}`)).toContain(
      '1:3: key: cannot use a list, a mapping or an alias, expected a word',
    )
  })
})

describe('what one value means for another', () => {
  test('the same VRID on another interface is accepted', () => {
    const other = { name: 'b', interface: 'eth1', addresses: '[10.0.1.200]' }
    expect(errors(file(router(), router(other)))).toEqual([])
  })

  test('the same VRID on the same interface is refused, even with different unicast peers', () => {
    const text = file(
      router(unicast('[10.0.0.2]')),
      router({ name: 'b', addresses: '[10.0.0.201]', ...unicast('[10.0.0.3]') }),
    )
    expect(errors(text)).toEqual([expect.stringContaining('vrid of "b": cannot use 1 twice')])
  })

  test('the same address twice in one router is refused', () => {
    expect(about({ addresses: '[10.0.0.200, 10.0.0.200/24]' })).toEqual([
      'addresses of "a": cannot use 10.0.0.200 twice (first on line 2), expected each virtual address in one place only',
    ])
  })

  test('a repeated peer, and a virtual address as a peer, are refused', () => {
    expect(about(unicast('[10.0.0.2, { address: 10.0.0.2 }, 10.0.0.200]'))).toEqual([
      'peers of "a": cannot use 10.0.0.2 twice (first on line 2), expected one entry for each peer',
      'peers[2] of "a": cannot use "10.0.0.200", expected the own address of a peer, not a virtual address',
    ])
  })

  test('the key peers together with unicast is refused', () => {
    expect(about({ ...unicast('[10.0.0.2]'), peers: '[10.0.0.2]' })).toEqual([
      'peers of "a": cannot be used with unicast, expected the peers under transport.unicast',
    ])
  })

  test('a virtual address as the source is refused', () => {
    expect(about({ transport: '{ unicast: { source: 10.0.0.200, peers: [10.0.0.2] } }', ttlCheck: 'true' })).toEqual([
      'source of "a": cannot use "10.0.0.200", expected an address that is not virtual',
    ])
  })

  test('an interface that is tracked twice is refused', () => {
    expect(about({ track: '[{ interface: eth1 }, { interface: eth1, weight: 5 }]' })).toEqual([
      'track of "a": cannot use "eth1" twice (first on line 2), expected one entry for each',
    ])
  })

  test('an empty list of unicast peers gives a warning with every profile', () => {
    expect(about(unicast('[]'))[0]).toContain(
      'a" has an empty list of unicast peers: it hears no other router and becomes Active',
    )
    expect(about({ ...unicast('[]'), profile: 'keepalived' })[0]).toContain(
      'a" has an empty list of unicast peers: it hears no other router and becomes Active',
    )
    expect(about({ ...unicast('[]'), profile: 'rfc9568' })[0]).toContain(
      'a" has an empty list of unicast peers: it hears no other router and becomes Active',
    )
  })

  test.each([
    ['0.0.0.0:9655', 'api.listen: cannot use "0.0.0.0", expected a loopback address, or "public: true" beside it'],
    ['"[::]:9655"', 'api.listen: cannot use "::", expected a loopback address, or "public: true" beside it'],
    [
      'localhost:9655',
      'api.listen: cannot use "localhost:9655", expected an IP address and a port, such as 127.0.0.1:9655, or false',
    ],
    [
      '127.0.0.1:0',
      'api.listen: cannot use "127.0.0.1:0", expected an IP address and a port, such as 127.0.0.1:9655, or false',
    ],
    [
      'localhost',
      'api.listen: cannot use "localhost", expected an IP address and a port, such as 127.0.0.1:9655, or false',
    ],
    ['true', 'api.listen: cannot use true, expected an IP address and a port, such as 127.0.0.1:9655, or false'],
  ])('api.listen refuses %s', (listen, message) => {
    expect(said(`api: { listen: ${listen} }\n${file(router())}`)).toEqual([`1:16: ${message}`])
  })

  test.each(['0.0.0.0:9655, public: true', 'false', '"[::1]:80"', '127.1.2.3:65535'])(
    'api.listen %s is fine',
    (listen) => {
      expect(said(`api: { listen: ${listen} }\n${file(router())}`)).toEqual([])
    },
  )
})

describe('advice does not fail', () => {
  test.each([
    [
      'an owner that does not preempt (VR-PRE-01)',
      { priority: '255', preempt: 'false' },
      '"preempt: false" has no effect on "a"',
    ],
    [
      'weights of an owner (VR-TRK-08)',
      { priority: '255', track: '[{ interface: eth1, weight: 5 }]' },
      'Weights have no effect on "a"',
    ],
    ['a delay without preemption', { preempt: 'false', preemptDelay: '5s' }, '"preemptDelay" has no effect on "a"'],
    ['its own interface', { track: '[{ interface: eth0 }]' }, '"a" need not track "eth0"'],
    [
      'a short interval',
      { advertisementInterval: '50ms' },
      '106: warning: An interval of 50ms needs real-time priority: without it, a Backup on a busy node may take over from an Active that works; holdfast doctor measures the delays',
    ],
    [
      'unicast without ttlCheck',
      { transport: '{ unicast: { peers: [10.0.0.2] } }' },
      'note: "a" accepts unicast advertisements from outside the LAN. Set "ttlCheck: true" to reject them, if all peers are on this LAN and send TTL 255.',
    ],
    ['multicast without peers', { stagger: undefined }, 'no "peers" listed for "a"'],
    [
      'neighbouring priorities, unknown',
      { stagger: undefined, peers: '[10.0.0.2, 10.0.0.3]', advertisementInterval: '100ms' },
      '74: warning: the addresses of "a" may move twice if two priorities differ by less than 8: list the priority of each peer',
    ],
    [
      'neighbouring priorities, known',
      {
        stagger: undefined,
        peers: '[{ address: 10.0.0.2, priority: 100 }, { address: 10.0.0.3, priority: 99 }]',
        advertisementInterval: '100ms',
      },
      '74: warning: the addresses of "a" may move twice if two priorities differ by less than 8: set the priorities further apart',
    ],
    [
      'half of the priorities',
      { stagger: undefined, peers: '[{ address: 10.0.0.2, priority: 100 }, 10.0.0.3]' },
      '74: warning: the "peers" of "a" list a priority for some nodes only: a peer without one counts as a node of another priority',
    ],
  ])('%s', (_, keys, words) => {
    const parsed = parseConfig(file(router(keys)))
    const warnings = 'warnings' in parsed ? [...parsed.warnings, ...parsed.notes].map(formatProblem) : parsed.problems
    expect(warnings).toEqual([expect.stringContaining(words)])
    expect(warnings).toEqual([expect.stringMatching(/^\d+:\d+: (warning|note): /)])
  })

  test.each([
    [
      'priorities far apart',
      {
        stagger: undefined,
        peers: '[{ address: 10.0.0.2, priority: 100 }, { address: 10.0.0.3, priority: 80 }]',
        advertisementInterval: '100ms',
      },
    ],
    ['three nodes at 1s', { stagger: undefined, peers: '[10.0.0.2, 10.0.0.3, 10.0.0.4]' }],
    ['ttlCheck said to be off', { transport: '{ unicast: { peers: [10.0.0.2] } }', ttlCheck: 'false' }],
    ['no preemption: no stagger', { stagger: undefined, preempt: 'false' }],
  ])('no warning is given about %s', (_, keys) => expect(about(keys)).toEqual([]))
})

test('a long value is cut in the message', () => {
  const [message = ''] = errors(file(router({ priority: 'x'.repeat(80) })))
  expect(message).toContain(`"${'x'.repeat(56)}...`)
  expect(message).not.toContain('x'.repeat(57))
})
