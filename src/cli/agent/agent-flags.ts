/**
 * The command line and environment of `holdfast agent`: dynkeepalived's flags and some of its own. This file decides
 * that all invalid values are reported together. A command line is refused if it has no VIP, or a pair of VIPs of two
 * address families. Pure: arguments in, settings or problems out. This file knows nothing about the effect of a
 * setting.
 */

import { dirname, join } from 'node:path'
import { refusedValue } from '../../base/refused-value.ts'
import type { AgentSettings, HandOver } from '../../cluster/decisions/agent-settings.ts'
import { vipPairs } from '../../cluster/decisions/engine/vip-pairs.ts'
import { AGENT_FLAGS, flagLines, givenFlags } from './agent-flag-list.ts'
import { type AgentEnvironment, AgentValues } from './agent-values.ts'

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
  const values = new AgentValues(read.flags)
  const [kubeconfig, template, file, ...further] = read.positional
  if (further.length > 0)
    values.problem(`arguments: cannot use ${JSON.stringify(further.join(' '))}, expected at most three`)
  if (template !== undefined && file === undefined)
    values.problem('arguments: cannot use two, expected KUBECONFIG alone, or KUBECONFIG TEMPLATE CFG')
  const notes: string[] = []
  const vips = { api: values.vips('api', notes), ingress: values.vips('ingress', notes) }
  if (values.last('dns-vip') !== undefined) {
    values.address('dns-vip')
    notes.push('--dns-vip no longer has an effect')
  }
  for (const problem of vipPairs(vips).problems) values.problem(problem)
  if (vips.api.length + vips.ingress.length === 0)
    values.problem(refusedValue('--api-vips or --ingress-vips', undefined, 'a list of VIPs with commas'))
  const topology = values.last('control-plane-topology') ?? ''
  if (!TOPOLOGIES.includes(topology)) notes.push(`--control-plane-topology ${topology} is unknown and has no effect`)
  const settings: AgentSettings = {
    kubeconfig: values.path(kubeconfig, 'KUBECONFIG'),
    handOver: handOver(values, file),
    template,
    vips,
    apiPort: values.whole('api-port', 1, 65_535) ?? 6443,
    lbPort: values.whole('lb-port', 1, 65_535) ?? 9445,
    checkInterval: values.duration('check-interval') ?? 10_000,
    stableFor: values.duration('stable-for') ?? 5_000,
    clusterConfig: values.path(values.last('cluster-config') || undefined, '--cluster-config'),
    clusterName: values.clusterName(),
    vrids: values.vrids(),
    platform: values.last('platform') ?? '',
    controlPlaneTopology: topology,
    // Manifests set ENABLE_UNICAST for keepalived's monitor. If the variable is missing, holdfast's own engine uses
    // unicast.
    unicast: values.yesOrNo(environment, 'ENABLE_UNICAST', file === undefined),
    bootstrap: values.yesOrNo(environment, 'IS_BOOTSTRAP'),
    podNamespace: environment.POD_NAMESPACE || undefined,
    nodeName: environment.NODE_NAME || undefined,
    hostnameFile: values.path(environment.RUNTIMECFG_HOSTNAME_PATH || undefined, 'RUNTIMECFG_HOSTNAME_PATH'),
    stateDirectory: values.path(values.last('state-dir'), '--state-dir') ?? stateBeside(file),
    listen: values.listen(),
    native: values.has('native'),
    status: !values.has('no-status'),
    dnsReport: values.path(values.last('dns-report'), '--dns-report'),
    print: values.form(),
    nodesFile: values.last('nodes'),
    logFormat: values.logFormat(),
  }
  if (settings.nodesFile !== undefined && settings.print === undefined) values.problem('--nodes requires --print')
  if (settings.native && settings.handOver.to === 'keepalived')
    values.problem("--native requires holdfast's engine, not keepalived: omit TEMPLATE and CFG")
  return values.problems.length > 0 ? { do: 'refuse', problems: values.problems } : { do: 'run', settings, notes }
}

/**
 * Returns the state folder. The container of keepalived's monitor may write to one folder of the node only, the folder
 * of CFG.
 */
const stateBeside = (file: string | undefined): string =>
  file === undefined ? STATE_DIRECTORY : join(dirname(file), 'holdfast-agent')

function handOver(values: AgentValues, file: string | undefined): HandOver {
  const socket = values.path(values.last('engine-socket'), '--engine-socket')
  if (file === undefined) return { to: 'engine', socket: socket ?? ENGINE_SOCKET }
  if (socket !== undefined)
    values.problem("--engine-socket is for holdfast's engine and CFG for keepalived; give one of them")
  return { to: 'keepalived', file: values.path(file, 'CFG') ?? file, socket: KEEPALIVED_SOCKET }
}

export const agentHelp = (): string =>
  `Usage: holdfast agent [KUBECONFIG] [TEMPLATE CFG] FLAGS (also under the name dynkeepalived)\n\n${flagLines(AGENT_FLAGS)}\n${ENVIRONMENT}`

const ENVIRONMENT = `Environment: ENABLE_UNICAST=yes|no, IS_BOOTSTRAP=yes|no, POD_NAMESPACE, NODE_NAME, RUNTIMECFG_HOSTNAME_PATH.
Exit status: 0 ok, 1 failure, 64 usage (reports every invalid value).
`
