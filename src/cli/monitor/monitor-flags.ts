/**
 * The command line of `holdfast monitor`: that of OpenShift's monitor of HAProxy, and some flags of its own. This file
 * decides that all invalid values are reported together. Pure: arguments in, settings or problems out.
 */
import { dirname, join } from 'node:path'
import { refusedValue } from '../../base/refused-value.ts'
import { vipPairs } from '../../cluster/decisions/engine/vip-pairs.ts'
import {
  HAPROXY_SOCKET,
  type MonitorSettings,
  PROFILE,
  PROFILES,
  type ProfileName,
} from '../../cluster/decisions/haproxy/monitor-settings.ts'
import { parseAddress } from '../../wire/address.ts'
import { type AgentFlag, flagLines, givenFlags } from '../agent/agent-flag-list.ts'
import { AgentValues } from '../agent/agent-values.ts'

export type MonitorOrder =
  | {
      readonly do: 'run'
      readonly settings: MonitorSettings
      readonly profile: ProfileName
      readonly notes: readonly string[]
    }
  | { readonly do: 'help' }
  | { readonly do: 'refuse'; readonly problems: readonly string[] }

const FLAGS: readonly AgentFlag[] = [
  { long: 'api-vips', value: 'wanted', says: 'VIPs of the API, separated by commas: one, or one for each family' },
  { long: 'api-vip', value: 'wanted', says: 'older form of --api-vips with one VIP' },
  { long: 'api-port', value: 'wanted', says: 'port of the API (default: 6443)' },
  { long: 'lb-port', value: 'wanted', says: 'port on which HAProxy serves the API (default: 9445)' },
  { long: 'stat-port', value: 'wanted', says: "port of HAProxy's statistics (default: 29445)" },
  {
    long: 'check-interval',
    value: 'wanted',
    says: 'interval of the comparisons with the cluster (default: 1s; 6s with --profile=upstream)',
  },
  {
    long: 'profile',
    value: 'wanted',
    says: "fast: rules follow HAProxy immediately and end without a monitor; upstream: as OpenShift's monitor (default: fast)",
  },
  {
    long: 'haproxy',
    value: 'wanted',
    says: "HAProxy's program, which checks each new configuration (default: haproxy)",
  },
  { long: 'haproxy-socket', value: 'wanted', says: `socket that takes "reload" (default: ${HAPROXY_SOCKET})` },
  {
    long: 'state-dir',
    value: 'wanted',
    says: 'folder in which the nodes are stored (default: the folder holdfast-monitor beside CFG)',
  },
  {
    long: 'nodes-from',
    value: 'wanted',
    says: 'state folder of the agent of this node, whose list of nodes is used (default, and without a list for 30 s: the monitor watches the nodes at the API)',
  },
  { long: 'listen', value: 'wanted', says: 'ADDRESS:PORT for /metrics and /healthz (default: none)' },
  {
    long: 'log-format',
    value: 'wanted',
    says: 'json, text or journald (default: journald for the systemd journal, otherwise text)',
  },
  { long: 'json', says: 'same as --log-format=json' },
  { short: 'h', long: 'help', says: 'print this help' },
]

export function monitorOrder(argv: readonly string[]): MonitorOrder {
  const read = givenFlags(argv, FLAGS)
  if (typeof read === 'string') return { do: 'refuse', problems: [read] }
  if (read.flags.some(({ flag }) => flag.long === 'help')) return { do: 'help' }
  const values = new AgentValues(read.flags)
  const notes: string[] = []
  const vips = values.vips('api', notes)
  for (const problem of vipPairs({ api: vips, ingress: [] }).problems) values.problem(problem)
  if (vips.length === 0) values.problem(refusedValue('--api-vips', undefined, 'a list of VIPs with commas'))
  const name = profileIn(values)
  const profile = PROFILE[name]
  const { kubeconfig, template, file } = paths(read.positional, values)
  const settings: MonitorSettings = {
    ...{ kubeconfig, template, file, profile },
    vips: vips.flatMap((vip) => parseAddress(vip) ?? []),
    ...ports(values),
    checkInterval: values.duration('check-interval') ?? profile.checkInterval,
    haproxy: values.last('haproxy') ?? 'haproxy',
    socket: values.path(values.last('haproxy-socket'), '--haproxy-socket') ?? HAPROXY_SOCKET,
    stateDirectory: values.path(values.last('state-dir'), '--state-dir') ?? join(dirname(file), 'holdfast-monitor'),
    nodesFrom: values.path(values.last('nodes-from'), '--nodes-from'),
    listen: values.listen(),
    logFormat: values.logFormat(),
  }
  return values.problems.length > 0
    ? { do: 'refuse', problems: values.problems }
    : { do: 'run', settings, profile: name, notes }
}

function paths([kubeconfig, template, file, ...further]: readonly string[], values: AgentValues) {
  if (further.length > 0)
    values.problem(`arguments: cannot use ${JSON.stringify(further.join(' '))}, expected KUBECONFIG TEMPLATE CFG`)
  if (file === undefined) values.problem(refusedValue('arguments', undefined, 'KUBECONFIG TEMPLATE CFG'))
  return {
    kubeconfig: values.path(kubeconfig, 'KUBECONFIG') ?? '',
    template: values.path(template, 'TEMPLATE') ?? '',
    file: values.path(file, 'CFG') ?? '',
  }
}

function ports(values: AgentValues) {
  const found = {
    apiPort: values.whole('api-port', 1, 65_535) ?? 6443,
    lbPort: values.whole('lb-port', 1, 65_535) ?? 9445,
    statPort: values.whole('stat-port', 1, 65_535) ?? 29_445,
  }
  if (new Set(Object.values(found)).size < 3)
    values.problem('--api-port, --lb-port and --stat-port: cannot use one port twice, expected three ports')
  return found
}

function profileIn(values: AgentValues): ProfileName {
  const text = values.last('profile') ?? 'fast'
  const name = PROFILES.find((each) => each === text)
  if (name === undefined) values.problem(refusedValue('--profile', text, PROFILES.join(' or ')))
  return name ?? 'fast'
}

export const monitorHelp = (): string =>
  `Usage: holdfast monitor KUBECONFIG TEMPLATE CFG FLAGS (also under the name monitor)\n\n${flagLines(FLAGS)}\nExit status: 0 ok, 1 failure, 64 usage (reports every invalid value).\n`
