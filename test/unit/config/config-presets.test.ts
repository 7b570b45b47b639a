/**
 * The presets compared with the table of OpenShift's own checks: the same requests, times, weights and sums. The sums
 * are computed by the functions of the daemon: combinations, contributions, limits.
 */
import { describe, expect, test } from 'vitest'
import { priorityTable } from '../../../src/config/advice/priority-table.ts'
import { type Check, checksOf, nameOf } from '../../../src/config/checks.ts'
import { formatProblem } from '../../../src/config/problem.ts'
import { resolveRouters } from '../../../src/config/resolve.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'

const router = (keys: string) =>
  `  - { name: a, vrid: 1, interface: eth0, addresses: [10.0.0.200], stagger: false, ${keys} }\n`

function read(text: string) {
  const parsed = parseConfig(text)
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  const { routers } = resolveRouters(parsed.config, { interfaces: [] })
  return { routers, checks: checksOf(parsed.config), warnings: parsed.warnings.map(formatProblem) }
}

const preset = (name: string, priority: number) =>
  read(`virtualRouters:\n${router(`priority: ${priority}, preset: ${name}`)}`)

function sums(name: string, priority: number): Record<string, number | 'FAULT'> {
  const { routers, checks } = preset(name, priority)
  const { columns, rows } = priorityTable(priority, routers[0]?.track ?? [], checks)
  return Object.fromEntries(
    rows.map(({ up, priority: effective, fault }) => [
      columns.filter((_, i) => up[i]).join(' + ') || 'none',
      fault ? 'FAULT' : effective,
    ]),
  )
}

const summary = (check: Check) => {
  if (check.kind === 'combination') return `${check.name} = ${check.mode} of ${check.members.join(', ')}`
  const { probe, timeout, cadence, rule } = check.spec
  const what = probe.kind === 'http' ? probe.url : probe.kind === 'file' ? probe.path : probe.kind
  return `${nameOf(check)} ${what} interval ${cadence.interval} timeout ${timeout} rise ${rule.rise} fall ${rule.fall}`
}

describe('openshift-api', () => {
  test("preset openshift-api checks what OpenShift's scripts check", () => {
    const { checks, routers, warnings } = preset('openshift-api', 40)
    expect(warnings).toEqual([])
    expect(checks.map(summary)).toEqual([
      'openshift-haproxy http://localhost:9444/haproxy_ready interval 2000 timeout 1900 rise 3 fall 3',
      'openshift-iptables /var/run/keepalived/iptables-rule-exists interval 2000 timeout 1900 rise 3 fall 3',
      'openshift-readyz https://localhost:6443/readyz interval 2000 timeout 1900 rise 3 fall 3',
      'openshift-mcs /run/holdfast/agent/machine-config-server interval 2000 timeout 1900 rise 3 fall 3',
      'openshift-lb = all of openshift-haproxy, openshift-iptables',
      'openshift-both = any of openshift-lb, openshift-readyz',
    ])
    expect(routers[0]?.track).toEqual([
      { healthcheck: 'openshift-lb', weight: 20, reverse: false },
      { healthcheck: 'openshift-both', weight: 5, reverse: false },
      { healthcheck: 'openshift-mcs', weight: 3, reverse: false },
    ])
  })

  test('preset openshift-api gives the same priorities, without impossible rows', () => {
    expect(sums('openshift-api', 40)).toEqual({
      'openshift-lb + openshift-both + openshift-mcs': 68,
      'openshift-lb + openshift-both': 65,
      'openshift-both + openshift-mcs': 48,
      'openshift-both': 45,
      'openshift-mcs': 43,
      none: 40,
    })
  })

  test('preset openshift-api does not verify the certificate and follows redirects, as curl -kL does', () => {
    const { checks } = preset('openshift-api', 40)
    const readyz = checks.find((check) => nameOf(check) === 'openshift-readyz')
    expect(readyz).toMatchObject({ spec: { probe: { tls: { verify: false }, redirects: 50, status: [[200, 399]] } } })
  })
})

describe('openshift-ingress', () => {
  test("preset openshift-ingress checks what OpenShift's scripts check", () => {
    const { checks, warnings } = preset('openshift-ingress', 20)
    expect(warnings).toEqual([])
    expect(checks.map(summary)).toEqual([
      'openshift-ingress http://localhost:1936/healthz interval 1000 timeout 900 rise 3 fall 2',
      'openshift-ingress-ready http://localhost:1936/healthz/ready interval 1000 timeout 900 rise 3 fall 2',
      'openshift-default-router /run/holdfast/agent/default-router interval 5000 timeout 4900 rise 3 fall 2',
    ])
  })

  test('preset openshift-ingress gives the same priorities', () => {
    expect(sums('openshift-ingress', 20)).toEqual({
      'openshift-ingress + openshift-ingress-ready + openshift-default-router': 80,
      'openshift-ingress + openshift-default-router': 70,
      'openshift-ingress + openshift-ingress-ready': 30,
      'openshift-ingress': 20,
      'openshift-ingress-ready + openshift-default-router': 'FAULT',
      'openshift-default-router': 'FAULT',
      'openshift-ingress-ready': 'FAULT',
      none: 'FAULT',
    })
  })
})

describe('beside what the file says', () => {
  test('a check of the file with the same name replaces the one of the preset, and keeps its place', () => {
    const own = 'healthchecks:\n  - { name: openshift-mcs, tcp: "127.0.0.1:22623" }\n'
    const { checks } = read(`${own}virtualRouters:\n${router('preset: openshift-api')}`)
    expect(checks.filter((check) => nameOf(check) === 'openshift-mcs')).toEqual([
      expect.objectContaining({ spec: expect.objectContaining({ probe: expect.objectContaining({ kind: 'tcp' }) }) }),
    ])
    expect(checks).toHaveLength(6)
  })

  test('a weight of the file replaces the one of the preset, and other trackers stay', () => {
    const track = 'track: [{ healthcheck: openshift-mcs, weight: 1 }, { interface: eth1 }]'
    const { routers } = read(`virtualRouters:\n${router(`preset: openshift-api, ${track}`)}`)
    expect(
      routers[0]?.track.map((each) => ('interface' in each ? each.interface : `${each.healthcheck} ${each.weight}`)),
    ).toEqual(['openshift-mcs 1', 'eth1', 'openshift-lb 20', 'openshift-both 5'])
  })

  test('two routers with the same preset share its checks', () => {
    const two =
      router('preset: openshift-api') +
      router('preset: openshift-api').replace('name: a, vrid: 1', 'name: b, vrid: 2').replace('200', '201')
    expect(read(`virtualRouters:\n${two}`).checks).toHaveLength(6)
  })

  test("a preset of a group is tracked by the group, as in OpenShift's dual-stack files", () => {
    const group = 'syncGroups:\n  - { name: g, members: [a], preset: openshift-api }\n'
    const { routers } = read(`virtualRouters:\n${router('priority: 40')}${group}`)
    expect(routers[0]?.track).toHaveLength(3)
    const member = read(
      `virtualRouters:\n${router('preset: openshift-api')}syncGroups:\n  - { name: g, members: [a] }\n`,
    )
    expect(member.routers[0]?.track).toEqual([])
    expect(member.warnings).toContainEqual(expect.stringContaining('The weight of "openshift-lb" has no effect in "a"'))
  })

  test('a preset of a group and of its member is reported at the line of each', () => {
    const text = `virtualRouters:\n  - name: a\n    vrid: 1\n    interface: eth0\n    addresses: [10.0.0.200]\n    stagger: false\n    preset: openshift-api\nsyncGroups:\n  - name: g\n    members: [a]\n    preset: openshift-api\n`
    const parsed = parseConfig(text)
    if (!('problems' in parsed)) throw new Error('it was taken')
    const twice = parsed.problems.filter(({ message }) => message.includes('in the router or in its sync group "g"'))
    expect(twice.map(({ line, column }) => [line, column])).toEqual([7, 7, 7].map((line) => [line, 13]))
    expect(twice[0]?.message).toContain('line 11')
  })

  test('an unknown preset is refused', () => {
    const parsed = parseConfig(`virtualRouters:\n${router('preset: openshift')}`)
    expect('problems' in parsed && parsed.problems.map(({ message }) => message)).toEqual([
      'virtualRouters[0].preset: cannot use "openshift", expected openshift-api or openshift-ingress',
    ])
  })
})
