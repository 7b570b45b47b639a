/** The cluster that an agent was started for, as far as its command line and its files say. */
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { AgentSettings } from '../../cluster/decisions/agent-settings.ts'
import { clusterNameIn, installedPlatform } from '../../cluster/decisions/cluster-name.ts'
import type { Cluster, Mode, Topology } from '../../cluster/decisions/engine/desired-state.ts'
import { modeIn } from '../../cluster/decisions/engine/mode.ts'
import { isOnPremises } from '../../cluster/decisions/engine/platform.ts'
import { readTemplate } from '../../cluster/decisions/engine/template.ts'
import { vipPairs } from '../../cluster/decisions/engine/vip-pairs.ts'
import type { Vrids } from '../../cluster/decisions/engine/vrid.ts'
import { textIn } from '../../cluster/runtime/machine.ts'

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

/**
 * Returns whether VIPs form sync groups. MCO's command line does not name the platform, its template has the groups.
 * `notes`: the template cannot be read, or has scripts that are written differently here.
 */
export function grouping({ platform, template }: AgentSettings): {
  readonly grouped: boolean
  readonly notes: readonly string[]
} {
  const isOpenStack = platform.toLowerCase() === 'openstack'
  if (template === undefined) return { grouped: isOpenStack, notes: [] }
  const text = textIn(template)
  if (text === undefined) {
    const given = isOpenStack ? 'because of --platform=OpenStack they do' : 'without --platform=OpenStack they do not'
    return {
      grouped: isOpenStack,
      notes: [`Cannot read the template ${template}: whether VIPs form sync groups is unknown, ${given}`],
    }
  }
  const { grouped, unknown } = readTemplate(text)
  const notes = unknown.map(
    (script) => `The template ${template} has a script that this version does not know, and does not write: ${script}`,
  )
  return { grouped: grouped || isOpenStack, notes }
}

/** Where keepalived and its monitor have their files on the node. */
export const KEEPALIVED_FOLDER = '/etc/keepalived'

/**
 * Returns the mode of an engine without a configuration. Until each node has our engine, its group may still speak
 * multicast: keepalived's file of this cluster says so. Without that file, ENABLE_UNICAST decides.
 */
export function firstMode({ handOver, unicast }: AgentSettings, cluster: string, folder = KEEPALIVED_FOLDER): Mode {
  const text = textIn(handOver.to === 'keepalived' ? handOver.file : join(folder, 'keepalived.conf'))
  const isOfCluster = handOver.to === 'keepalived' || text?.includes(`vrrp_instance ${cluster}_`) === true
  return (isOfCluster ? modeIn(text) : undefined) ?? (unicast ? 'unicast' : 'multicast')
}

type Named = {
  readonly name: string
  readonly vrids: Vrids
  readonly nodeName: string
  readonly grouped: boolean
}

export function clusterOf<R extends Cluster['role'] | undefined>(settings: AgentSettings, named: Named, role: R) {
  return {
    ...named,
    role,
    pairs: vipPairs(settings.vips).pairs,
    topology: TOPOLOGIES.find((each) => each === settings.controlPlaneTopology) ?? ('HighlyAvailable' as const),
  }
}

/** HostedNetServices is followed: not in the place of keepalived's monitor, nor on a bootstrap node. */
export const isFollowed = ({ bootstrap, handOver, status }: AgentSettings): boolean =>
  handOver.to === 'engine' && status && !bootstrap

/** The node's own API server: asked when the cluster's address does not answer. */
export const localApi = ({ apiPort }: AgentSettings): string => `https://localhost:${apiPort}`
