/**
 * The meaning of OpenShift's rendered files: instances, peers, priorities and checks. The expectations were written
 * from the samples by hand (test/samples/keepalived/README.md has the source of each sample).
 */
import { describe, expect, test } from 'vitest'
import { isInterface } from '../../../src/config/schema/track.ts'
import { read, sample } from '../../support/keepalived-text.ts'

function config(name: string) {
  const parsed = read(sample(name))
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems, null, 1))
  return parsed.config
}

/** Returns one line for each router, as a reader of the file would describe it. */
const routers = (name: string) =>
  config(name).virtualRouters.map((router) => {
    const vips = router.addresses.map(({ address, prefixLength }) => `${address}/${prefixLength}`).join(' ')
    const { transport } = router
    const by =
      transport === 'multicast'
        ? 'multicast'
        : `${'unicast' in transport ? `${transport.unicast.source} to ${transport.unicast.peers.map(({ address }) => address).join(' ')}` : 'multicast'}`
    const password = router.authentication === undefined ? '' : ` ${router.authentication.password}`
    return `${router.name} ${router.interface} v${router.version} ${router.vrid} ${router.priority} ${vips}: ${by}${password}`
  })

const tracked = (entries: ReturnType<typeof config>['virtualRouters'][number]['track'] | undefined) =>
  (entries ?? []).map((entry) => (isInterface(entry) ? entry.interface : `${entry.healthcheck} ${entry.weight}`))

const MASTERS4 = '192.168.111.20 to 192.168.111.21 192.168.111.22'
const NODES4 = `${MASTERS4} 192.168.111.23 192.168.111.24`
const NET6 = 'fd2e:6f44:5dd8:c956:'
const MASTERS6 = `${NET6}:14 to ${NET6}:15 ${NET6}:16`
const NODES6 = `${MASTERS6} ${NET6}:17 ${NET6}:18`
const API4 = `ostest_API_0 br-ex v2 14 40 192.168.111.5/32: ${MASTERS4} ostest_api_vip`
const INGRESS4 = `ostest_INGRESS_0 br-ex v2 93 20 192.168.111.4/32: ${NODES4} ostest_ingress_vip`
const API6 = `ostest_API_1 br-ex v3 14 40 ${NET6}:5/128: ${MASTERS6}`
const INGRESS6 = `ostest_INGRESS_1 br-ex v3 93 20 ${NET6}:4/128: ${NODES6}`
const API_CHECKS = ['chk_ocp_lb 20', 'chk_ocp_both 5', 'chk_mcs 3']
const INGRESS_CHECKS = ['chk_ingress 0', 'chk_ingress_ready 10', 'chk_default_ingress 50']

describe('instances of', () => {
  test.each<readonly [string, readonly string[]]>([
    ['master', [API4, INGRESS4]],
    [
      'worker',
      [
        'ostest_INGRESS_0 br-ex v2 93 20 192.168.111.4/32: 192.168.111.23 to 192.168.111.20 192.168.111.21 ' +
          '192.168.111.22 192.168.111.24 ostest_ingress_vip',
      ],
    ],
    ['master-dualstack', [API4, INGRESS4, API6, INGRESS6]],
    ['master-openstack-dualstack', [API4, INGRESS4, API6, INGRESS6]],
    [
      'master-multicast',
      [
        'ostest_API_0 br-ex v2 14 40 192.168.111.5/32: multicast ostest_api_vip',
        'ostest_INGRESS_0 br-ex v2 93 20 192.168.111.4/32: multicast ostest_ingress_vip',
      ],
    ],
    [
      'bootstrap',
      [
        'ostest_API_0 ens3 v2 14 70 192.168.111.5/32: 192.168.111.77 to 192.168.111.20 192.168.111.21 ' +
          '192.168.111.22 ostest_api_vip',
      ],
    ],
    [
      'legacy-4.5-vsphere-master',
      [
        'vmware_API ens192 v2 109 40 10.0.0.200/24: multicast vmware_api_vip',
        'vmware_INGRESS ens192 v2 124 40 10.0.0.201/24: multicast vmware_ingress_vip',
      ],
    ],
  ])('%s', (name, expected) => {
    expect(routers(name)).toEqual(expected)
  })

  test('every sample has profile keepalived, preemption, and an interval of one second', () => {
    for (const router of config('master-dualstack').virtualRouters)
      expect(router).toMatchObject({
        profile: 'keepalived',
        preempt: true,
        preemptDelay: 0,
        advertisementInterval: 1000,
      })
  })
})

describe('checks of', () => {
  test('each router of a control-plane node tracks the checks of its script', () => {
    const [api, ingress] = config('master').virtualRouters
    expect(tracked(api?.track)).toEqual(API_CHECKS)
    expect(tracked(ingress?.track)).toEqual(INGRESS_CHECKS)
  })

  test('sync groups track for their members', () => {
    const { syncGroups, virtualRouters } = config('master-openstack-dualstack')
    expect(syncGroups.map(({ name, members, track }) => ({ name, members, track: tracked(track) }))).toEqual([
      { name: 'VG_API', members: ['ostest_API_0', 'ostest_API_1'], track: API_CHECKS },
      { name: 'VG_INGRESS', members: ['ostest_INGRESS_0', 'ostest_INGRESS_1'], track: INGRESS_CHECKS },
    ])
    expect(virtualRouters.flatMap(({ track }) => track)).toEqual([])
  })

  test('a script is a program with arguments and the interval of its file, and its first result decides', () => {
    const { healthchecks } = config('worker')
    expect(healthchecks[0]).toMatchObject({
      kind: 'probe',
      spec: {
        name: 'chk_ingress',
        probe: {
          kind: 'exec',
          argv: [
            '/usr/bin/timeout',
            '0.9',
            '/usr/bin/curl',
            '-o',
            '/dev/null',
            '-Lfs',
            'http://localhost:1936/healthz',
          ],
          environment: {},
          user: 'root',
          capabilities: 'keep',
          unsafe: 'skip',
        },
        timeout: 1000,
        cadence: { interval: 1000, fastInterval: 1000, jitter: 0 },
        rule: { rise: 3, fall: 2, initial: 'firstResult', onUnknown: 'hold' },
      },
    })
    expect(healthchecks).toHaveLength(3)
  })

  test('text that looks like shell syntax is an argument, as in keepalived', () => {
    const [check] = config('legacy-4.5-vsphere-master').healthchecks
    const probe = check?.kind === 'probe' ? check.spec.probe : undefined
    expect(probe?.kind === 'exec' ? probe.argv : undefined).toEqual([
      '/usr/bin/curl',
      '-o',
      '/dev/null',
      '-kLfs',
      'https://localhost:6443/readyz',
      '&&',
      '/usr/bin/curl',
      '-o',
      '/dev/null',
      '-kLfs',
      'http://localhost:50936/readyz',
    ])
  })
})
