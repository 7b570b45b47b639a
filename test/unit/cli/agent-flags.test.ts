/** dynkeepalived's command line as pods have it, and every value in it that nothing could be built on. */
import { describe, expect, test } from 'vitest'
import { AGENT_FLAGS } from '../../../src/cli/agent/agent-flag-list.ts'
import { agentHelp, agentOrder } from '../../../src/cli/agent/agent-flags.ts'

const POD = ['/var/lib/kubelet/kubeconfig', '/config/keepalived.conf.tmpl', '/etc/keepalived/keepalived.conf']
const VIPS = ['--api-vips=192.168.111.5', '--ingress-vips=192.168.111.4']
const ENVIRONMENT = { ENABLE_UNICAST: 'yes', IS_BOOTSTRAP: 'no', POD_NAMESPACE: 'openshift-kni-infra' }

function settings(argv: readonly string[], environment: Record<string, string> = ENVIRONMENT) {
  const order = agentOrder(argv, environment)
  if (order.do !== 'run') throw new Error(JSON.stringify(order))
  return order.settings
}
function problems(argv: readonly string[], environment: Record<string, string> = {}) {
  const order = agentOrder(argv, environment)
  return order.do === 'refuse' ? order.problems : []
}

describe('agent', () => {
  test('a pod that started dynkeepalived', () => {
    expect(settings([...POD, ...VIPS])).toEqual({
      kubeconfig: '/var/lib/kubelet/kubeconfig',
      handOver: {
        to: 'keepalived',
        file: '/etc/keepalived/keepalived.conf',
        socket: '/var/run/keepalived/keepalived.sock',
      },
      template: '/config/keepalived.conf.tmpl',
      vips: { api: ['192.168.111.5'], ingress: ['192.168.111.4'] },
      apiPort: 6443,
      lbPort: 9445,
      checkInterval: 10_000,
      stableFor: 5000,
      clusterConfig: undefined,
      clusterName: undefined,
      vrids: {},
      platform: '',
      controlPlaneTopology: '',
      unicast: true,
      bootstrap: false,
      podNamespace: 'openshift-kni-infra',
      nodeName: undefined,
      hostnameFile: undefined,
      stateDirectory: '/etc/keepalived/holdfast-agent',
      listen: undefined,
      native: false,
      status: true,
      print: undefined,
      nodesFile: undefined,
      logFormat: undefined,
    })
  })

  test('the bootstrap node: short flags, another interval, flags among the arguments', () => {
    const read = settings(
      ['-c', '/opt/openshift/manifests/cluster-config.yaml', ...POD, '--check-interval', '5s', '-pBareMetal', ...VIPS],
      { IS_BOOTSTRAP: 'yes', ENABLE_UNICAST: 'no', RUNTIMECFG_HOSTNAME_PATH: '/etc/hostname', NODE_NAME: 'm0' },
    )
    expect(read).toMatchObject({
      clusterConfig: '/opt/openshift/manifests/cluster-config.yaml',
      checkInterval: 5000,
      platform: 'BareMetal',
      bootstrap: true,
      unicast: false,
      hostnameFile: '/etc/hostname',
      nodeName: 'm0',
    })
  })

  test('dual stack, in one list or several, and the older words', () => {
    expect(settings(['--api-vips', '10.0.0.5, fd00::5', '--ingress-vips=10.0.0.4,fd00::4']).vips).toEqual({
      api: ['10.0.0.5', 'fd00::5'],
      ingress: ['10.0.0.4', 'fd00::4'],
    })
    expect(settings(['--api-vips=10.0.0.5', '--api-vips=fd00::5']).vips.api).toEqual(['10.0.0.5', 'fd00::5'])
    expect(settings(['--api-vip', '10.0.0.5', '--ingress-vip', '10.0.0.4', '--dns-vip', '10.0.0.3']).vips).toEqual({
      api: ['10.0.0.5'],
      ingress: ['10.0.0.4'],
    })
  })

  test('ours: an engine of holdfast, without an API to ask', () => {
    const words = ['--name', 'ostest', '--api-vrid=7', '--ingress-vrid', '8', '--engine-socket=/run/e.sock', '--native']
    const more = ['--state-dir', '/s', '--stable-for', '1m30s', '--json', '--print', 'yaml', '--nodes', 'n.json']
    expect(settings([...VIPS, ...words, ...more])).toMatchObject({
      kubeconfig: undefined,
      handOver: { to: 'engine', socket: '/run/e.sock' },
      clusterName: 'ostest',
      vrids: { api: 7, ingress: 8 },
      native: true,
      stateDirectory: '/s',
      stableFor: 90_000,
      logFormat: 'json',
      print: 'yaml',
      nodesFile: 'n.json',
    })
    expect(settings(VIPS).stateDirectory).toBe('/var/lib/holdfast/agent')
    expect(settings([...VIPS, '--print']).print).toBe('both')
    expect(settings([...VIPS, '--print=keepalived']).print).toBe('keepalived')
    // Not a value of --print: an argument.
    expect(settings(['--print', '/k', ...VIPS])).toMatchObject({ print: 'both', kubeconfig: '/k' })
  })

  test.each<readonly [string, readonly string[], RegExp]>([
    ['no VIP at all', [], /--api-vips or --ingress-vips: required/],
    ['no address', ['--api-vips=192.168.111.5/24'], /"192\.168\.111\.5\/24".*expected an IP address/],
    ['an empty place in a list', ['--api-vips=10.0.0.5,'], /"".*expected an IP address/],
    ['two families in a pair', ['--api-vips=10.0.0.5', '--ingress-vips=fd00::4'], /their families differ/],
    ['one VIP for both', ['--api-vips=10.0.0.5', '--ingress-vips=10.0.0.5'], /10\.0\.0\.5 is listed twice/],
    ['a port', [...VIPS, '--api-port=0'], /--api-port: cannot use "0", expected an integer from 1 to 65535/],
    ['a VRID', [...VIPS, '--api-vrid=256'], /--api-vrid: cannot use "256"/],
    ['one VRID for both', [...VIPS, '--api-vrid=7', '--ingress-vrid=7'], /cannot both have VRID 7/],
    [
      'an interval without a unit',
      [...VIPS, '--check-interval=10'],
      /--check-interval: cannot use "10", expected a duration/,
    ],
    ['an interval of nothing', [...VIPS, '--stable-for=0s'], /--stable-for: cannot use "0s"/],
    ['a relative path', [...VIPS, '--state-dir=here'], /--state-dir: cannot use "here", expected an absolute path/],
    ['a name that is none', [...VIPS, '--name=Os test'], /--name: cannot use "Os test"/],
    ['a form that is none', [...VIPS, '--print=xml'], /--print: cannot use "xml"/],
    [
      'a log in no such format',
      [...VIPS, '--log-format', 'xml'],
      /--log-format: cannot use "xml", expected json, text or journald/,
    ],
    ['nodes without a look', [...VIPS, '--nodes', 'n.json'], /--nodes requires --print/],
    ['two arguments', ['/k', '/t', ...VIPS], /arguments: cannot use two, expected/],
    ['four arguments', [...POD, 'more', ...VIPS], /arguments: cannot use "more"/],
    ['native keepalived', [...POD, ...VIPS, '--native'], /--native requires holdfast's engine/],
    ['both engines', [...POD, ...VIPS, '--engine-socket=/e'], /give one of them/],
    ['an unknown flag', [...VIPS, '--vips=1'], /Unknown option --vips/],
    ['an unknown letter', [...VIPS, '-x'], /Unknown option -x/],
    ['a missing value', ['--api-vips', '--ingress-vips=10.0.0.4'], /Missing value for option --api-vips/],
    ['a value too many', [...VIPS, '--native=yes'], /--native takes no value/],
  ])('refused: %s', (_, argv, expected) => {
    expect(problems(argv).join('\n')).toMatch(expected)
  })

  test('every invalid value is reported, also those of the environment', () => {
    const found = problems(['--api-vips=x', '--api-port=y', '--check-interval=z'], { ENABLE_UNICAST: 'perhaps' })
    expect(found).toHaveLength(4)
    expect(found.join('\n')).toMatch(/"x"[\s\S]*"y"[\s\S]*"z"[\s\S]*ENABLE_UNICAST: cannot use "perhaps"/)
  })

  test('the help has every flag', () => {
    expect(AGENT_FLAGS.filter(({ long }) => !agentHelp().includes(`--${long}`))).toEqual([])
    expect(agentOrder(['--help'], {}).do).toBe('help')
  })
})
