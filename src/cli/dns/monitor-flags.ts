/**
 * The command line of `holdfast corednsmonitor`: runtimecfg's flags, then holdfast's own. All invalid values are reported
 * together. Pure.
 */
import { refusedValue } from '../../base/refused-value.ts'
import { isCloud } from '../../cluster/decisions/dns/cloud-balancers.ts'
import type { DnsSettings } from '../../cluster/decisions/dns/settings.ts'
import { vipPairs } from '../../cluster/decisions/engine/vip-pairs.ts'
import { type AgentFlag, CLOUD_FLAG_LIST, flagLines, givenFlags } from '../agent/agent-flag-list.ts'
import { type AgentEnvironment, AgentValues } from '../agent/agent-values.ts'

export type MonitorOrder =
  | { readonly do: 'run'; readonly settings: DnsSettings; readonly notes: readonly string[] }
  | { readonly do: 'help' }
  | { readonly do: 'refuse'; readonly problems: readonly string[] }

const RESOLV_CONF = '/var/run/NetworkManager/resolv.conf'

const FLAGS: readonly AgentFlag[] = [
  { long: 'api-vips', value: 'wanted', says: 'VIPs of the API, separated by commas: one, or one for each family' },
  { long: 'ingress-vips', value: 'wanted', says: 'VIPs of ingress, in the same order' },
  { long: 'api-vip', value: 'wanted', says: 'older form of --api-vips with one VIP' },
  { long: 'ingress-vip', value: 'wanted', says: 'older form of --ingress-vips with one VIP' },
  { long: 'check-interval', value: 'wanted', says: 'interval of checks besides those after a change (default: 30s)' },
  {
    short: 'c',
    long: 'cluster-config',
    value: 'wanted',
    says: 'file with the install-config, on a bootstrap node',
  },
  { short: 'p', long: 'platform', value: 'wanted', says: 'platform, as in the Infrastructure resource' },
  ...CLOUD_FLAG_LIST,
  { long: 'api-port', value: 'wanted', says: 'port of kube-api at an external load balancer (default: 6443)' },
  { long: 'resolv-conf', value: 'wanted', says: `file with the upstream DNS servers (default: ${RESOLV_CONF})` },
  { long: 'health-port', value: 'wanted', says: "port of CoreDNS' plugin health (default: 18080)" },
  {
    long: 'dnsmasq-hosts',
    value: 'wanted',
    says: 'dnsmasq runs on this node and reads this file of hosts (addn-hosts); CoreDNS becomes its server of the cluster',
  },
  {
    long: 'report',
    value: 'wanted',
    says: 'file for the report to the agent of this node, which the agent reads with --dns-report (default: none)',
  },
  {
    long: 'nodes-from',
    value: 'wanted',
    says: 'state folder of the agent of this node, whose list of nodes is used (default, and without a list for 30 s: the monitor watches the nodes at the API)',
  },
  {
    long: 'once',
    says: 'write CFG without the names of the nodes if it does not exist yet, and end (for an init container)',
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

export function monitorOrder(argv: readonly string[], environment: AgentEnvironment): MonitorOrder {
  const read = givenFlags(argv, FLAGS)
  if (typeof read === 'string') return { do: 'refuse', problems: [read] }
  if (read.flags.some(({ flag }) => flag.long === 'help')) return { do: 'help' }
  const values = new AgentValues(read.flags)
  const [kubeconfig = '', template = '', corefile = ''] = read.positional
  if (read.positional.length !== 3)
    values.problem(refusedValue('arguments', read.positional.join(' '), 'KUBECONFIG TEMPLATE CFG'))
  for (const [what, path] of Object.entries({ KUBECONFIG: kubeconfig, TEMPLATE: template, CFG: corefile }))
    if (path !== '') values.path(path, what)
  const notes: string[] = []
  const vips = { api: values.vips('api', notes), ingress: values.vips('ingress', notes) }
  for (const problem of vipPairs(vips).problems) values.problem(problem)
  const platform = values.last('platform') ?? ''
  const cloud = values.cloud(platform)
  if (isCloud(platform) && vips.api.length + vips.ingress.length > 0)
    notes.push(`The VIPs of the command line are not used, because the platform ${platform} has its own load balancers`)
  if (!isCloud(platform) && vips.api.length === 0)
    values.problem(refusedValue('--api-vips', undefined, 'a list of VIPs with commas'))
  const settings: DnsSettings = {
    ...{ kubeconfig, template, corefile, platform, cloud },
    vips: isCloud(platform) ? { api: [], ingress: [] } : vips,
    apiPort: values.whole('api-port', 1, 65_535) ?? 6443,
    checkInterval: values.duration('check-interval') ?? 30_000,
    clusterConfig: values.path(values.last('cluster-config') || undefined, '--cluster-config'),
    resolvConf: values.path(values.last('resolv-conf'), '--resolv-conf') ?? RESOLV_CONF,
    healthPort: values.whole('health-port', 1, 65_535) ?? 18_080,
    dnsmasqHosts: values.path(values.last('dnsmasq-hosts'), '--dnsmasq-hosts'),
    report: values.path(values.last('report'), '--report'),
    nodesFrom: values.path(values.last('nodes-from'), '--nodes-from'),
    once: values.has('once'),
    hostnameFile: values.path(environment.RUNTIMECFG_HOSTNAME_PATH || undefined, 'RUNTIMECFG_HOSTNAME_PATH'),
    listen: values.listen(),
    logFormat: values.logFormat(),
  }
  return values.problems.length > 0 ? { do: 'refuse', problems: values.problems } : { do: 'run', settings, notes }
}

export const monitorHelp = (): string => `Usage: holdfast corednsmonitor KUBECONFIG TEMPLATE CFG FLAGS

Keeps the Corefile of CoreDNS on this node up to date: VIPs, names of the nodes, upstream DNS servers, and the wishes in
HostedNetServices. CoreDNS reads a changed Corefile by its plugin reload.

${flagLines(FLAGS)}
Environment: RUNTIMECFG_HOSTNAME_PATH.
Exit status: 0 ok, 1 failure, 64 usage (reports every invalid value), 78 no usable name of the cluster.
`
