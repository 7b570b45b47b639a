/** The cluster that an agent was started for, as far as its command line and its files say. */
import { hostname } from 'node:os'
import { textIn } from '../agent/machine.ts'
import type { AgentSettings } from '../kubernetes/agent-settings.ts'
import { clusterNameIn, installedPlatform } from '../kubernetes/cluster-name.ts'
import type { Cluster, Topology } from '../kubernetes/desired-state.ts'
import { isOnPremises } from '../kubernetes/platform.ts'
import { vipPairs } from '../kubernetes/vip-pairs.ts'
import type { Vrids } from '../kubernetes/vrid.ts'

const TOPOLOGIES: readonly Topology[] = ['HighlyAvailable', 'HighlyAvailableArbiter', 'DualReplica', 'SingleReplica']

/** `server`: of the kubeconfig in use. A string says why it has no name. */
export function clusterName(settings: AgentSettings, server: string | undefined): { readonly name: string } | string {
  if (settings.clusterName !== undefined) return { name: settings.clusterName }
  const { clusterConfig: file } = settings
  const clusterConfig = file === undefined ? undefined : textIn(file)
  if (file !== undefined && clusterConfig === undefined) return `Cannot read the cluster-config ${file}`
  return clusterNameIn({ clusterConfig, server })
}

/** Why nothing is to be handed over here; undefined: its nodes hold its addresses, as where nobody says anything of a platform. */
export function offPremises({ clusterConfig, platform: given }: AgentSettings): string | undefined {
  const text = clusterConfig === undefined ? undefined : textIn(clusterConfig)
  const found = text === undefined ? undefined : installedPlatform(text)
  const installed = found !== undefined && 'platform' in found ? found.platform : undefined
  const answer = isOnPremises({ installed, given })
  if (typeof answer === 'string') return answer
  return answer ? undefined : `The platform is "${given || installed}", whose load balancers have the addresses`
}

/** As the API calls this node. */
export const ownName = ({ nodeName, hostnameFile }: AgentSettings): string =>
  nodeName ?? (hostnameFile && textIn(hostnameFile)?.trim()) ?? hostname()

type Named = { readonly name: string; readonly vrids: Vrids; readonly nodeName: string }

export function clusterOf<R extends Cluster['role'] | undefined>(settings: AgentSettings, named: Named, role: R) {
  return {
    ...named,
    role,
    pairs: vipPairs(settings.vips).pairs,
    topology: TOPOLOGIES.find((each) => each === settings.controlPlaneTopology) ?? ('HighlyAvailable' as const),
    platform: settings.platform,
  }
}

/** The node's own API server: asked when the cluster's address does not answer. */
export const localApi = ({ apiPort }: AgentSettings): string => `https://localhost:${apiPort}`
