/** The command line of `holdfast monitor`: OpenShift's own works, and every invalid value is reported together. */
import { describe, expect, test } from 'vitest'
import { monitorHelp, monitorOrder } from '../../../src/cli/monitor/monitor-flags.ts'
import { PROFILE } from '../../../src/cluster/decisions/haproxy/monitor-settings.ts'

const PATHS = ['/var/lib/kubelet/kubeconfig', '/config/haproxy.cfg.tmpl', '/etc/haproxy/haproxy.cfg']

describe('the command line of the monitor', () => {
  test('is that of the pod of OpenShift, with its defaults', () => {
    const order = monitorOrder([...PATHS, '--api-vips', '192.168.111.5,fd2e::5'])
    expect(order).toMatchObject({
      do: 'run',
      profile: 'fast',
      settings: {
        kubeconfig: PATHS[0],
        template: PATHS[1],
        file: PATHS[2],
        vips: ['192.168.111.5', 'fd2e::5'],
        ...{ apiPort: 6443, lbPort: 9445, statPort: 29_445, checkInterval: 1_000 },
        ...{ haproxy: 'haproxy', socket: '/var/run/haproxy/haproxy-master.sock', listen: undefined },
        stateDirectory: '/etc/haproxy/holdfast-monitor',
        nodesFrom: undefined,
      },
    })
  })

  test('has upstream’s interval with upstream’s profile, and the given one before both', () => {
    const upstream = monitorOrder([...PATHS, '--api-vip=10.0.0.5', '--profile=upstream'])
    expect(upstream).toMatchObject({ settings: { profile: PROFILE.upstream, checkInterval: 6_000 } })
    const given = monitorOrder([...PATHS, '--api-vips=10.0.0.5', '--check-interval=2s'])
    expect(given).toMatchObject({ settings: { profile: PROFILE.fast, checkInterval: 2_000 } })
  })

  test('is refused with all its problems', () => {
    const order = monitorOrder(['kubeconfig', ...PATHS.slice(1), '--lb-port=6443', '--profile=slow', '--api-vips=x'])
    expect(order).toEqual({
      do: 'refuse',
      problems: [
        'VIP of API: cannot use "x", expected an IP address',
        '--profile: cannot use "slow", expected fast or upstream',
        'KUBECONFIG: cannot use "kubeconfig", expected an absolute path',
        '--api-port, --lb-port and --stat-port: cannot use one port twice, expected three ports',
      ],
    })
  })

  test.each<readonly [string, readonly string[], string]>([
    ['an unknown flag', ['--what'], 'Unknown option --what'],
    ['a missing path', PATHS.slice(0, 2), 'arguments: required, KUBECONFIG TEMPLATE CFG'],
    ['a fourth path', [...PATHS, '/more'], 'arguments: cannot use "/more", expected KUBECONFIG TEMPLATE CFG'],
    ['no VIP', PATHS, '--api-vips: required, a list of VIPs with commas'],
    ['a wrong port', [...PATHS, '--lb-port=0'], '--lb-port: cannot use "0", expected an integer from 1 to 65535'],
  ])('is refused with %s', (_, argv, problem) => {
    expect(monitorOrder(argv)).toMatchObject({ do: 'refuse', problems: expect.arrayContaining([problem]) })
  })

  test('has a line of help for each flag', () => {
    for (const flag of ['api-vips', 'api-port', 'lb-port', 'stat-port', 'check-interval', 'profile', 'haproxy-socket'])
      expect(monitorHelp()).toContain(`--${flag}=VALUE`)
    expect(monitorOrder(['--help'])).toEqual({ do: 'help' })
  })
})
