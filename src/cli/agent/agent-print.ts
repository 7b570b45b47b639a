/**
 * `holdfast agent --print`: prints the configuration that the agent would hand over, as YAML and as keepalived.conf.
 * The command changes nothing. Notes go to standard error. The configuration itself is decided in
 * cluster/decisions/engine/desired-state.ts.
 */

import { EXIT } from '../../app/exit-code.ts'
import type { AgentSettings } from '../../cluster/decisions/agent-settings.ts'
import {
  type Cluster,
  desiredState,
  type Machine,
  peerWishes,
  roleOf,
} from '../../cluster/decisions/engine/desired-state.ts'
import { documentText } from '../../cluster/decisions/engine/document.ts'
import { type PeerNode, peerNodes } from '../../cluster/decisions/engine/peers.ts'
import { chosenVrids, type Service } from '../../cluster/decisions/engine/vrid.ts'
import { readNode } from '../../cluster/decisions/node-object.ts'
import type { FoundNodes, NodeSource } from '../../cluster/runtime/api/node-source.ts'
import { wasStopped } from '../../cluster/runtime/bootstrap-duty.ts'
import { machineWith } from '../../cluster/runtime/machine.ts'
import { rememberedIntent } from '../../cluster/runtime/status/intent-memory.ts'
import { intentBy } from '../../cluster/runtime/status/wishes.ts'
import type { CommandResult } from '../command.ts'
import { readNodeTables } from '../node-tables.ts'
import {
  clusterName,
  clusterOf,
  firstMode,
  grouping,
  isFollowed,
  keepalivedFile,
  offPremises,
  ownName,
} from './agent-cluster.ts'

export type PrintSources = {
  readonly nodes: NodeSource
  /** URL of the API server in the kubeconfig in use; `undefined` if unknown. */
  readonly server: string | undefined
}

const NOTHING = 'Nothing would be handed over; the configuration in force is kept'

export async function agentPrint(settings: AgentSettings, sources: PrintSources): Promise<CommandResult> {
  const elsewhere = offPremises(settings)
  if (elsewhere !== undefined) return fail([elsewhere, NOTHING])
  const tables = readNodeTables()
  if (tables === undefined) return fail(['Cannot read links, addresses and routes of this machine'])
  const machine = machineWith(tables.view)
  const named = clusterName(settings, sources.server)
  if (typeof named === 'string') return fail([named])
  const vrids = chosenVrids(named.name, settings.vrids)
  if (typeof vrids === 'string') return { ...fail([vrids]), exitCode: EXIT.usage }
  const nodeName = ownName(settings)
  const found = await sources.nodes()
  if ('missing' in found) return fail([found.missing])
  const { grouped, notes: odd } = grouping(settings)
  const cluster = clusterOf(
    settings,
    { name: named.name, vrids, nodeName, grouped },
    settings.bootstrap ? 'bootstrap' : undefined,
  )
  const { peers, notes } = peersOf(found, cluster, machine)
  notes.unshift(...odd)
  if (!settings.bootstrap && peers.every(({ name }) => name !== nodeName)) {
    const role = roleOf({ cluster, machine, peers }) === 'worker' ? 'worker' : 'control plane node'
    notes.push(
      `${nodeName} is not in the list of nodes (NODE_NAME sets another name); by its address it is treated as a ${role}`,
    )
  }
  const decision = desiredState({
    cluster,
    machine,
    peers,
    intent: wishedServices(settings, notes),
    mode: firstMode(settings, named.name),
    earlier: undefined,
  })
  notes.push(...decision.notes)
  if (decision.desired === undefined) return fail([...notes, NOTHING])
  const yaml = documentText(decision.desired, { native: settings.native })
  const rendered = keepalivedFile(settings, decision.desired)
  if ('problem' in rendered && settings.print !== 'yaml') return fail([...notes, rendered.problem, NOTHING])
  const keepalived = 'text' in rendered ? rendered.text : ''
  const text = { yaml, keepalived, both: `${yaml}---\n${keepalived}` }[settings.print ?? 'both']
  return { exitCode: EXIT.ok, stdout: text, stderr: lines(notes) }
}

/**
 * Returns the services that an agent of this node would start with. If the API does not answer, the stored choice
 * counts.
 */
function wishedServices(settings: AgentSettings, notes: string[]): Readonly<Record<Service, boolean>> {
  const found = rememberedIntent(settings.stateDirectory)
  if (typeof found === 'string') notes.push(found)
  const known = typeof found === 'object' ? found : {}
  const isStopped = settings.bootstrap && wasStopped(settings.stateDirectory) && settings.handOver.to === 'engine'
  const { api, ingress } = intentBy(known, { isFollowed: isFollowed(settings), isStopped })
  if (known.elsewhere !== undefined)
    notes.push(`stored from an earlier run: nodes hold no VIPs: ${known.elsewhere.message}`)
  else if (isStopped) notes.push('stored from an earlier run: the bootstrap node has released its VIPs')
  else if (ingress === false) notes.push('stored from an earlier run: ingressHa is Disabled')
  return { api, ingress: ingress !== false }
}

function peersOf(found: Exclude<FoundNodes, { missing: string }>, cluster: Cluster, machine: Machine) {
  const notes: string[] = []
  if ('peers' in found) return { peers: found.peers, notes }
  const readings = found.nodes.map((node) => readNode(node))
  for (const { node, field, found: what } of readings.flatMap(({ malformed }) => malformed))
    notes.push(`${node}: ${field}: invalid value ${what}`)
  const nodes = readings.flatMap(({ node }) => node ?? [])
  const { peers, odd } = peerNodes(nodes, peerWishes({ cluster, machine }), [])
  notes.push(...odd.map(({ node, what }) => `${node}: ${what}`))
  const known: readonly PeerNode[] = peers
  return { peers: known, notes }
}

const lines = (notes: readonly string[]): string => notes.map((note) => `holdfast: ${note}\n`).join('')
const fail = (problems: readonly string[]): CommandResult => ({
  exitCode: EXIT.failure,
  stdout: '',
  stderr: lines(problems),
})
