/** The command line of `holdfast runtimecfg render`: runtimecfg's flags. All invalid values are reported together. */
import { refusedValue } from '../../base/refused-value.ts'
import { type CloudBalancers, isCloud } from '../../cluster/decisions/dns/cloud-balancers.ts'
import { type VipPair, vipPairs } from '../../cluster/decisions/engine/vip-pairs.ts'
import { type AgentFlag, CLOUD_FLAG_LIST, flagLines, givenFlags } from '../agent/agent-flag-list.ts'
import { type AgentEnvironment, AgentValues } from '../agent/agent-values.ts'

export type RenderSettings = {
  readonly kubeconfig: string
  /** Templates, or one folder with templates. */
  readonly paths: readonly string[]
  /** Folder of the results; `undefined`: a new folder below the folder for temporary files. */
  readonly outDirectory: string | undefined
  readonly pairs: readonly VipPair[]
  readonly ports: { readonly api: number; readonly balancer: number; readonly statistics: number }
  readonly clusterConfig: string | undefined
  readonly resolvConf: string
  readonly platform: string
  /** Load balancers of a cloud, in the place of VIPs; empty on a platform with VIPs. */
  readonly cloud: readonly CloudBalancers[]
  readonly unicast: boolean
  readonly hostnameFile: string | undefined
}

export type RenderOrder =
  | { readonly do: 'render'; readonly settings: RenderSettings; readonly notes: readonly string[] }
  | { readonly do: 'help' }
  | { readonly do: 'refuse'; readonly problems: readonly string[] }

const RESOLV_CONF = '/etc/resolv.conf'

const FLAGS: readonly AgentFlag[] = [
  { short: 'o', long: 'out-dir', value: 'wanted', says: 'folder of the results (default: a new temporary folder)' },
  { long: 'api-vips', value: 'wanted', says: 'VIPs of the API, separated by commas: one, or one for each family' },
  { long: 'ingress-vips', value: 'wanted', says: 'VIPs of ingress, in the same order' },
  { long: 'api-vip', value: 'wanted', says: 'older form of --api-vips with one VIP' },
  { long: 'ingress-vip', value: 'wanted', says: 'older form of --ingress-vips with one VIP' },
  { long: 'dns-vip', value: 'wanted', says: 'without effect' },
  { long: 'api-port', value: 'wanted', says: 'port of the API (default: 6443)' },
  { long: 'lb-port', value: 'wanted', says: 'port of HAProxy (default: 9445)' },
  { long: 'stat-port', value: 'wanted', says: "port of HAProxy's statistics (default: 29445)" },
  { short: 'r', long: 'resolvconf-path', value: 'wanted', says: `file with the DNS servers (default: ${RESOLV_CONF})` },
  { short: 'c', long: 'cluster-config', value: 'wanted', says: 'file with the install-config, on a bootstrap node' },
  { short: 'p', long: 'platform', value: 'wanted', says: 'platform, as in the Infrastructure resource' },
  ...CLOUD_FLAG_LIST,
  { long: 'verbose', says: 'without effect' },
  { short: 'h', long: 'help', says: 'print this help' },
]

/** Reads the arguments of a command. `display` has no templates, and takes `./kubeconfig` if none is given. */
export function renderOrder(
  argv: readonly string[],
  environment: AgentEnvironment,
  command: 'render' | 'display' = 'render',
): RenderOrder {
  const read = givenFlags(argv, command === 'render' ? FLAGS : FLAGS.filter(({ long }) => long !== 'out-dir'))
  if (typeof read === 'string') return { do: 'refuse', problems: [read] }
  if (read.flags.some(({ flag }) => flag.long === 'help')) return { do: 'help' }
  const values = new AgentValues(read.flags)
  const [kubeconfig = command === 'display' ? './kubeconfig' : undefined, ...paths] = read.positional
  if (command === 'display' && paths.length > 0)
    values.problem(refusedValue('arguments', read.positional.join(' '), 'at most KUBECONFIG'))
  if (command === 'render' && (kubeconfig === undefined || paths.length === 0))
    values.problem(refusedValue('arguments', read.positional.join(' '), 'KUBECONFIG and at least one TEMPLATE'))
  const notes: string[] = []
  const vips = { api: values.vips('api', notes), ingress: values.vips('ingress', notes) }
  const { pairs, problems } = vipPairs(vips)
  for (const problem of problems) values.problem(problem)
  const platform = values.last('platform') ?? ''
  const cloud = values.cloud(platform)
  if (isCloud(platform) && pairs.length > 0)
    notes.push(`The VIPs of the command line are not used, because the platform ${platform} has its own load balancers`)
  if (!isCloud(platform) && vips.api.length + vips.ingress.length === 0)
    values.problem(refusedValue('--api-vips or --ingress-vips', undefined, 'a list of VIPs with commas'))
  const port = (long: string, unsaid: number) => values.whole(long, 1, 65_535) ?? unsaid
  const settings: RenderSettings = {
    ...{ kubeconfig: kubeconfig ?? '', paths, pairs },
    outDirectory: values.last('out-dir') || undefined,
    ports: { api: port('api-port', 6443), balancer: port('lb-port', 9445), statistics: port('stat-port', 29_445) },
    clusterConfig: values.last('cluster-config') || undefined,
    resolvConf: values.last('resolvconf-path') || RESOLV_CONF,
    ...{ platform, cloud },
    unicast: environment.ENABLE_UNICAST === 'yes',
    hostnameFile: environment.RUNTIMECFG_HOSTNAME_PATH || undefined,
  }
  return values.problems.length > 0 ? { do: 'refuse', problems: values.problems } : { do: 'render', settings, notes }
}

export const renderHelp = (): string => `Usage: holdfast runtimecfg render KUBECONFIG TEMPLATE... FLAGS

Executes templates (*.tmpl, or those of one folder) with the facts of this node, and writes each result without the
ending .tmpl. A template that cannot be executed is reported with line and column, and its result stays as it was.

${flagLines(FLAGS)}
Environment: ENABLE_UNICAST=yes, RUNTIMECFG_HOSTNAME_PATH.
Exit status: 0 ok, 1 a template was not executed, or a fact is not known, 64 usage (reports every invalid value).
`

export const displayHelp = (): string => `Usage: holdfast runtimecfg display [KUBECONFIG] FLAGS

Prints the data with which render executes templates, as JSON (KUBECONFIG: ./kubeconfig).

${flagLines(FLAGS.filter(({ long }) => long !== 'out-dir'))}
Environment: ENABLE_UNICAST=yes, RUNTIMECFG_HOSTNAME_PATH.
Exit status: 0 ok, 1 a fact is not known, 64 usage (reports every invalid value).
`
