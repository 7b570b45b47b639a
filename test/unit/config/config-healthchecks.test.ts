/** `healthchecks:` and their trackers: defaults, errors with their positions, and warnings. */
import { describe, expect, test } from 'vitest'
import { checksOf } from '../../../src/config/checks.ts'
import { formatProblem } from '../../../src/config/problem.ts'
import { resolveRouters } from '../../../src/config/resolve.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'

const ROUTER = 'name: a, vrid: 1, interface: eth0, addresses: [10.0.0.200], stagger: false'
/**
 * Returns a file with entries in flow style. The first check is on line 2, and the router comes after the last check.
 */
const file = (checks: readonly string[], track?: string, rest = '') =>
  `healthchecks:\n${checks.map((each) => `  - { ${each} }\n`).join('')}virtualRouters:\n  - { ${ROUTER}${track === undefined ? '' : `, track: ${track}`} }\n${rest}`

function said(text: string): string[] {
  const parsed = parseConfig(text)
  return ('problems' in parsed ? parsed.problems : parsed.warnings).map(formatProblem)
}

function configOf(text: string) {
  const parsed = parseConfig(text)
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  return parsed.config
}

/** Returns a file with one check that is tracked. */
const about = (check: string) => said(file([`name: x, ${check}`], '[{ healthcheck: x }]'))
const probe = (check: string) => {
  const [found] = checksOf(configOf(file([`name: x, ${check}`], '[{ healthcheck: x, weight: 1 }]')))
  if (found?.kind !== 'probe') throw new Error('no probe')
  return found.spec
}

describe('what is not written', () => {
  test('a probe has defaults for every key', () => {
    expect(probe('tcp: "127.0.0.1:9445"')).toEqual({
      name: 'x',
      probe: { kind: 'tcp', host: '127.0.0.1', port: 9445, send: undefined, expect: undefined, events: true },
      timeout: 1000,
      cadence: { interval: 1000, fastInterval: 20, jitter: 0.1 },
      rule: { rise: 1, fall: 1, initial: 'firstResult', onUnknown: 'hold', unknownAfter: 8000 },
    })
  })

  test('the default times follow from the interval', () => {
    const { timeout, cadence, rule } = probe('process: x, interval: 10s')
    expect([timeout, cadence.fastInterval, rule.unknownAfter]).toEqual([10_000, 20, 40_000])
    expect(probe('tcp: "a:1", interval: 10ms').cadence.fastInterval).toBe(10)
    expect(probe('tcp: "a:1", interval: 3s, timeout: 500ms').rule.unknownAfter).toBe(9500)
  })

  test.each([
    [
      'http: "http://localhost/"',
      {
        kind: 'http',
        url: 'http://localhost/',
        method: 'GET',
        headers: {},
        status: [[200, 399]],
        body: undefined,
        redirects: 0,
        tls: { verify: true, caFile: undefined, serverName: undefined },
        unixSocket: undefined,
        events: true,
      },
    ],
    ['exec: [/bin/true]', { kind: 'exec', argv: ['/bin/true'], environment: {}, user: undefined }],
    [
      'exec: [/bin/true], capabilities: keep',
      { kind: 'exec', argv: ['/bin/true'], environment: {}, user: undefined, capabilities: 'keep' },
    ],
    ['file: /x', { kind: 'file', path: '/x', content: 'present' }],
    ['process: haproxy', { kind: 'process', name: 'haproxy', count: 1 }],
  ])('a check has the defaults of its kind: %s', (check, wanted) => expect(probe(check).probe).toEqual(wanted))
})

describe('what is written', () => {
  test.each([
    ['status: 204', { status: [[204, 204]] }],
    ['status: 200-299', { status: [[200, 299]] }],
    [
      'status: [200, 300-399]',
      {
        status: [
          [200, 200],
          [300, 399],
        ],
      },
    ],
    ['redirects: true', { redirects: 50 }],
    ['redirects: false', { redirects: 0 }],
    ['redirects: 3', { redirects: 3 }],
    ['headers: { Host: a.example, X-Y: "1" }', { headers: { host: 'a.example', 'x-y': '1' } }],
    ['body: ok', { body: { kind: 'contains', text: 'ok' } }],
    ['body: { matches: "^ok$" }', { body: { kind: 'matches', pattern: '^ok$' } }],
    ['tls: { verify: false }', { tls: { verify: false, caFile: undefined, serverName: undefined } }],
    ['events: false', { events: false }],
    ['method: HEAD', { method: 'HEAD' }],
    ['unixSocket: /run/x.sock', { unixSocket: '/run/x.sock' }],
  ])('an http check reads its keys: %s', (keys, wanted) => {
    expect(probe(`http: "https://localhost:6443/x", ${keys}`).probe).toMatchObject(wanted)
  })

  test.each([
    ['tcp: "[::1]:80"', { host: '::1', port: 80 }],
    ['tcp: "[fe80::1%eth0]:80"', { host: 'fe80::1%eth0', port: 80 }],
    ['tcp: "db.example.org:65535"', { host: 'db.example.org', port: 65535 }],
    ['tcp: "a:1", send: "PING\\r\\n", expect: PONG', { send: 'PING\r\n', expect: { kind: 'contains', text: 'PONG' } }],
    [
      'exec: [/x, -a, "b c"], user: 1000, environment: { A: b }',
      { argv: ['/x', '-a', 'b c'], user: '1000', environment: { A: 'b' } },
    ],
    ['file: /x, content: weight', { content: 'weight' }],
    ['process: x, count: 3', { count: 3 }],
  ])('a check reads its keys: %s', (check, wanted) => expect(probe(check).probe).toMatchObject(wanted))

  test('times and counts of a check are read', () => {
    expect(
      probe(
        'tcp: "a:1", interval: 2s, fastInterval: 50ms, timeout: 1.9s, rise: 3, fall: 2, initial: down, jitter: 2.5%, onUnknown: fail, unknownAfter: 9s',
      ),
    ).toMatchObject({
      timeout: 1900,
      cadence: { interval: 2000, fastInterval: 50, jitter: 0.025 },
      rule: { rise: 3, fall: 2, initial: 'down', onUnknown: 'fail', unknownAfter: 9000 },
    })
  })

  test('trackers belong to the router, or to the group and all of its members', () => {
    const text = file(
      ['name: x, file: /x', 'name: y, tcp: "a:1"'],
      '[{ healthcheck: x, weight: -20, reverse: true }, { healthcheck: y }]',
    )
    const [router] = resolveRouters(configOf(text), { interfaces: [] }).routers
    expect(router?.track).toEqual([
      { healthcheck: 'x', weight: -20, reverse: true },
      { healthcheck: 'y', weight: 0, reverse: false },
    ])
    const grouped = file(
      ['name: x, file: /x'],
      undefined,
      'syncGroups:\n  - { name: g, members: [a], track: [{ healthcheck: x, weight: 5 }] }\n',
    )
    const [member] = resolveRouters(configOf(grouped), { interfaces: [] }).routers
    expect(member?.track).toEqual([{ healthcheck: 'x', weight: 5, reverse: false }])
  })

  test('combinations come after their members, wherever the file has them', () => {
    const checks = [
      'name: top, any: [mid, z]',
      'name: mid, all: [x, y]',
      'name: x, file: /x',
      'name: y, file: /y',
      'name: z, file: /z',
    ]
    const found = checksOf(configOf(file(checks, '[{ healthcheck: top }]')))
    expect(
      found.map((check) => (check.kind === 'probe' ? check.spec.name : `${check.name} ${check.mode} ${check.members}`)),
    ).toEqual(['x', 'y', 'z', 'mid all x,y', 'top any mid,z'])
  })
})

describe('refused', () => {
  const ONE = 'exactly one of http, tcp, exec, file, process, all and any'
  const URL = 'healthchecks[0].http: cannot use this value, expected a URL such as http://localhost:8080/healthz'
  test.each([
    ['interval: 1s', `2:5: healthchecks[0]: cannot use a mapping, expected ${ONE}`],
    ['tcp: "a:1", file: /x', '2:34: healthchecks[0].file: check "x" has both tcp and file; use one'],
    ['http: "ftp://a/"', `2:22: ${URL}`],
    ['http: "localhost:80"', `2:22: ${URL}`],
    ['http: "/x"', `2:22: ${URL}`],
    ['file: /x, intervall: 1s', '2:26: unknown key "intervall" in healthchecks[0]: did you mean "interval"?'],
  ])('%s, with the place', (check, line) => expect(about(check)).toEqual([line]))

  const HOST = 'cannot use this value, expected a host and a port, such as 127.0.0.1:9445 or [::1]:9445'
  const PROGRAM = 'cannot use this value, expected a list: a program with its absolute path, then its arguments'
  const STATUS = 'expected a status from 100 to 599, a range such as 200-399, or a list of them'
  test.each([
    ['http: "http://a/", method: get', 'method: cannot use "get", expected a method, such as GET or HEAD'],
    ['http: "http://a/", status: 99', `status: cannot use 99, ${STATUS}`],
    ['http: "http://a/", status: 300-200', `status: cannot use "300-200", ${STATUS}`],
    ['http: "http://a/", status: []', `status: cannot use an empty list, ${STATUS}`],
    [
      'http: "http://a/", body: { matches: "(" }',
      'body.matches: cannot use "(", expected a valid regular expression (',
    ],
    ['http: "http://a/", body: ""', 'body: cannot use "", expected a text of at least one character'],
    ['http: "http://a/", method: HEAD, body: x', 'body: not possible with method HEAD, whose answer has no body'],
    ['http: "http://a/", tls: { verify: false }', 'tls: only for a URL that starts with https'],
    [
      'http: "https://a/", tls: { verify: false, caFile: /x }',
      'tls: cannot use a mapping, expected either "verify: false" or caFile',
    ],
    ['http: "http://a/", send: x', 'send: only for tcp checks; the kind of this check is http'],
    ['tcp: "a:1", redirects: 3', 'redirects: only for http checks; the kind of this check is tcp'],
    ['file: /x, events: false', 'events: only for http and tcp checks; the kind of this check is file'],
    ['all: [y], interval: 1s', 'interval: only for checks that are no combination; the kind of this check is all'],
    ['tcp: "a"', `tcp: ${HOST}`],
    ['tcp: "a:0"', `tcp: ${HOST}`],
    ['tcp: "a:65536"', `tcp: ${HOST}`],
    ['tcp: "10.0.0.256:1"', `tcp: ${HOST}`],
    ['tcp: "[10.0.0.x]:1"', `tcp: ${HOST}`],
    ['exec: true', `exec: ${PROGRAM}`],
    ['exec: [true]', 'exec[0]: cannot use this value, expected a text'],
    ['exec: [curl, x]', `exec: ${PROGRAM}`],
    ['exec: []', `exec: ${PROGRAM}`],
    ['file: x', 'file: cannot use "x", expected an absolute path'],
    ['process: a/b', 'process: cannot use "a/b", expected the name of a program'],
    ['process: a, count: 0', 'count: cannot use 0, expected an integer from 1 to 1000'],
    ['file: /x, fastInterval: 2s', 'fastInterval: cannot use "2s", expected at most the interval (1s)'],
    [
      'file: /x, interval: 2s, unknownAfter: 3s',
      'unknownAfter: cannot use "3s", expected at least interval and timeout together (4s)',
    ],
    ['file: /x, jitter: 101%', 'jitter: cannot use "101%", expected a percentage from 0% to 100%'],
    ['file: /x, jitter: 0.1', 'jitter: cannot use 0.1, expected a percentage from 0% to 100%'],
    ['file: /x, timeout: 5', 'timeout: cannot use 5, expected a duration from 1ms to 1h, with its unit: 5s or 5ms'],
    ['file: /x, rise: 0', 'rise: cannot use 0, expected an integer from 1 to 1000'],
    ['file: /x, initial: maybe', 'initial: cannot use "maybe", expected firstResult, up or down'],
    ['any: []', 'any: cannot use an empty list, expected a list of names of health checks'],
  ])('%s', (check, text) => expect(about(check)).toEqual([expect.stringContaining(`healthchecks[0].${text}`)]))

  test('all problems of a file are reported in one run', () => {
    const text = file(['name: x, tcp: "a:0"', 'name: y, file: y', 'name: x, file: /z'], '[{ healthcheck: xx }]')
    expect(said(text)).toEqual([
      expect.stringMatching(/^2:\d+: healthchecks\[0\]\.tcp: cannot use this value/),
      expect.stringMatching(/^3:\d+: healthchecks\[1\]\.file: cannot use "y", expected an absolute path/),
      expect.stringMatching(
        /^6:\d+: track of "a": cannot use "xx", expected the name of a health check, did you mean "x"\?$/,
      ),
    ])
  })

  test.each([
    [
      'a name twice',
      ['name: x, file: /x', 'name: x, file: /y'],
      '3:13: name: cannot use "x" twice (first on line 2), expected another name for each health check',
    ],
    [
      'a member that is not there',
      ['name: x, all: [lbb]', 'name: lb, file: /x'],
      '2:22: all of "x": cannot use "lbb", expected the name of a health check, did you mean "lb"?',
    ],
    [
      'a member of itself',
      ['name: x, all: [x]'],
      '2:22: all of "x": cannot use "x", expected a check that does not depend on "x" itself',
    ],
    [
      'a member twice',
      ['name: x, any: [y, y]', 'name: y, file: /y'],
      '2:25: any of "x": cannot use "y" twice, expected one entry for each check',
    ],
  ])('%s', (_, checks, line) => expect(said(file(checks, '[{ healthcheck: x }]'))).toContain(line))

  test('a circle of combinations is reported at each of its steps', () => {
    const text = file(['name: x, all: [y]', 'name: y, any: [x, z]', 'name: z, file: /z'], '[{ healthcheck: x }]')
    expect(said(text)).toEqual([
      '2:22: all of "x": cannot use "y", expected a check that does not depend on "x" itself',
      '3:22: any of "y": cannot use "x", expected a check that does not depend on "y" itself',
    ])
  })

  test.each([
    ['{ weight: 3 }', 'virtualRouters[0].track[0]: cannot use a mapping, expected interface or healthcheck'],
    [
      '{ interface: eth1, healthcheck: x }',
      'virtualRouters[0].track[0].healthcheck: cannot use "x", expected either interface or healthcheck',
    ],
    ['{ interface: eth1, reverse: true }', 'virtualRouters[0].track[0].reverse: only together with healthcheck'],
    [
      '{ interface: eth1, weight: 254 }',
      'virtualRouters[0].track[0].weight: cannot use 254, expected an integer from -253 to 253',
    ],
    [
      '{ healthcheck: x, weight: 255 }',
      'virtualRouters[0].track[0].weight: cannot use 255, expected an integer from -254 to 254',
    ],
  ])('track %s', (tracker, message) => {
    const found = said(file(['name: x, file: /x'], `[${tracker}]`))
    expect(found.map((line) => line.replace(/^\d+:\d+: /, ''))).toEqual([message])
  })

  test.each([
    ['tcp: "a:1"', false],
    ['exec: [/x]', false],
    ['file: /x', true],
    ['process: x', true],
  ])('weight 254 of %s: %s (VR-TRK-01)', (check, allowed) => {
    const found = said(file([`name: x, ${check}`], '[{ healthcheck: x, weight: 254 }]'))
    expect(found).toEqual(
      allowed
        ? []
        : [
            expect.stringContaining(
              'weight of "x": cannot use 254, expected an integer from -253 to 253; 254 is for files and processes only',
            ),
          ],
    )
  })

  test('a check that a router and its group both track is refused', () => {
    const text = file(
      ['name: x, file: /x'],
      '[{ healthcheck: x }]',
      'syncGroups:\n  - { name: g, members: [a], track: [{ healthcheck: x }] }\n',
    )
    expect(said(text)).toContainEqual(expect.stringContaining('track of "a": cannot use "x" twice'))
  })
})

describe('advised', () => {
  const alone = (checks: readonly string[], track?: string) => said(file(checks, track))
  test('a check without a tracker gives a warning', () => {
    expect(alone(['name: x, file: /x'])).toEqual([
      '2:13: warning: check "x" is not used by any router (add it under track:)',
    ])
    expect(alone(['name: x, file: /x', 'name: y, all: [x]'], '[{ healthcheck: y }]')).toEqual([])
  })

  test('a timeout above the interval, and frequent polls of a missing process, give warnings', () => {
    expect(about('file: /x, timeout: 2s')).toEqual([
      expect.stringContaining(
        'the timeout of "x" (2s) is longer than its interval (1s): a poll that is due while the check still runs is skipped',
      ),
    ])
    expect(about('process: x, interval: 100ms')).toEqual([
      expect.stringContaining(
        '"x" reads all processes of this node while the process is missing: an interval of 1s is often enough',
      ),
    ])
  })

  test('a file with weight 0 gives a warning', () => {
    expect(about('file: /x, content: weight')).toEqual([
      expect.stringContaining(
        '"a" is in fault while the file of "x" contains another number than 0, because its weight is 0. Write "weight: 1" to add the number to the priority.',
      ),
    ])
  })

  test('weights of a member and of an address owner give warnings (VR-SG-04, VR-TRK-08)', () => {
    const group = 'syncGroups:\n  - { name: g, members: [a] }\n'
    expect(said(file(['name: x, file: /x'], '[{ healthcheck: x, weight: 5 }]', group))).toContainEqual(
      expect.stringContaining(
        'warning: The weight of "x" has no effect in "a", because it is a member of sync group "g"',
      ),
    )
    const owner = file(['name: x, file: /x'], '[{ healthcheck: x, weight: 5 }], priority: 255')
    expect(said(owner)).toEqual([expect.stringContaining('warning: Weights have no effect on "a"')])
    expect(said(owner.replace('weight: 5', 'weight: 0'))).toEqual([])
  })
})
