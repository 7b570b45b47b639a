/**
 * The command line and environment of `holdfast agent`: dynkeepalived's flags and some of its own. Decided here: every
 * invalid value is reported at once, and a command line that would give two groups or none (no VIP, a pair of VIPs of
 * two families) is refused. Pure: arguments in, settings or problems out. This file does not know what the settings do.
 */
import { dirname, join } from 'node:path'
import type { AgentSettings, HandOver } from '../../cluster/decisions/agent-settings.ts'
import { vipPairs } from '../../cluster/decisions/engine/vip-pairs.ts'
import { type AgentEnvironment, AgentValues } from './agent-values.ts'
import { AGENT_FLAGS, type AgentFlag, givenFlags } from './agent-words.ts'

export type AgentOrder =
  | { readonly do: 'run'; readonly settings: AgentSettings; readonly notes: readonly string[] }
  | { readonly do: 'help' }
  | { readonly do: 'refuse'; readonly problems: readonly string[] }

const ENGINE_SOCKET = '/run/holdfast/holdfast.sock'
const KEEPALIVED_SOCKET = '/var/run/keepalived/keepalived.sock'
const STATE_DIRECTORY = '/var/lib/holdfast/agent'
const TOPOLOGIES = ['', 'HighlyAvailable', 'HighlyAvailableArbiter', 'DualReplica', 'SingleReplica', 'External']

export function agentOrder(argv: readonly string[], environment: AgentEnvironment): AgentOrder {
  const read = givenFlags(argv)
  if (typeof read === 'string') return { do: 'refuse', problems: [read] }
  if (read.flags.some(({ flag }) => flag.long === 'help')) return { do: 'help' }
  const words = new AgentValues(read.flags)
  const [kubeconfig, template, file, ...further] = read.positional
  if (further.length > 0) words.problem(`Unexpected argument: ${further.join(' ')}`)
  if (template !== undefined && file === undefined)
    words.problem('two arguments; accepted: KUBECONFIG alone, or KUBECONFIG TEMPLATE CFG')
  const notes: string[] = []
  const vips = { api: words.vips('api', notes), ingress: words.vips('ingress', notes) }
  if (words.last('dns-vip') !== undefined) {
    words.address('dns-vip')
    notes.push('--dns-vip no longer has an effect')
  }
  for (const problem of vipPairs(vips).problems) words.problem(problem)
  if (vips.api.length + vips.ingress.length === 0)
    words.problem('no VIP; required: --api-vips or --ingress-vips, a list with commas')
  const topology = words.last('control-plane-topology') ?? ''
  if (!TOPOLOGIES.includes(topology)) notes.push(`--control-plane-topology ${topology} is unknown and has no effect`)
  const settings: AgentSettings = {
    kubeconfig: words.path(kubeconfig, 'KUBECONFIG'),
    handOver: handOver(words, file),
    template,
    vips,
    apiPort: words.whole('api-port', 1, 65_535) ?? 6443,
    lbPort: words.whole('lb-port', 1, 65_535) ?? 9445,
    checkInterval: words.duration('check-interval') ?? 10_000,
    stableFor: words.duration('stable-for') ?? 5_000,
    clusterConfig: words.path(words.last('cluster-config') || undefined, '--cluster-config'),
    clusterName: words.clusterName(),
    vrids: words.vrids(),
    platform: words.last('platform') ?? '',
    controlPlaneTopology: topology,
    // Every manifest sets ENABLE_UNICAST for keepalived's monitor. This engine uses unicast without it.
    unicast: words.yesOrNo(environment, 'ENABLE_UNICAST', file === undefined),
    bootstrap: words.yesOrNo(environment, 'IS_BOOTSTRAP'),
    podNamespace: environment.POD_NAMESPACE || undefined,
    nodeName: environment.NODE_NAME || undefined,
    hostnameFile: words.path(environment.RUNTIMECFG_HOSTNAME_PATH || undefined, 'RUNTIMECFG_HOSTNAME_PATH'),
    stateDirectory: words.path(words.last('state-dir'), '--state-dir') ?? stateBeside(file),
    listen: words.listen(),
    native: words.has('native'),
    status: !words.has('no-status'),
    print: words.form(),
    nodesFile: words.last('nodes'),
    logFormat: words.logFormat(),
  }
  if (settings.nodesFile !== undefined && settings.print === undefined) words.problem('--nodes requires --print')
  if (settings.native && settings.handOver.to === 'keepalived')
    words.problem("--native requires holdfast's engine, not keepalived: omit TEMPLATE and CFG")
  return words.problems.length > 0 ? { do: 'refuse', problems: words.problems } : { do: 'run', settings, notes }
}

/** Returns the state folder. The container of the monitor may write to one folder of the node only, that of CFG. */
const stateBeside = (file: string | undefined): string =>
  file === undefined ? STATE_DIRECTORY : join(dirname(file), 'holdfast-agent')

function handOver(words: AgentValues, file: string | undefined): HandOver {
  const socket = words.path(words.last('engine-socket'), '--engine-socket')
  if (file === undefined) return { to: 'engine', socket: socket ?? ENGINE_SOCKET }
  if (socket !== undefined)
    words.problem("--engine-socket is for holdfast's engine and CFG for keepalived; give one of them")
  return { to: 'keepalived', file: words.path(file, 'CFG') ?? file, socket: KEEPALIVED_SOCKET }
}

export function agentHelp(): string {
  const word = ({ short, long, value }: AgentFlag) =>
    `  ${short === undefined ? '    ' : `-${short}, `}--${long}${value === undefined ? '' : value === 'maybe' ? '[=VALUE]' : '=VALUE'}`
  const width = Math.max(...AGENT_FLAGS.map((flag) => word(flag).length)) + 2
  const lines = AGENT_FLAGS.map((flag) => `${word(flag).padEnd(width)}${flag.says}\n`)
  return `Usage: holdfast agent [KUBECONFIG] [TEMPLATE CFG] FLAGS (also under the name dynkeepalived)\n\n${lines.join('')}\n${ENVIRONMENT}`
}

const ENVIRONMENT = `Environment: ENABLE_UNICAST=yes|no, IS_BOOTSTRAP=yes|no, POD_NAMESPACE, NODE_NAME, RUNTIMECFG_HOSTNAME_PATH.
Exit status: 0 ok, 1 failure, 64 usage (reports every invalid value).
`
