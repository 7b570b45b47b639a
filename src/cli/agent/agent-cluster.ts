/** Describes the cluster of an agent, from its command line and files. */
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

/**
 * Returns the name of the cluster, or the reason why the name is unknown. `server` comes from the kubeconfig in use.
 */
export function clusterName(settings: AgentSettings, server: string | undefined): { readonly name: string } | string {
  if (settings.clusterName !== undefined) return { name: settings.clusterName }
  const { clusterConfig: file } = settings
  const clusterConfig = file === undefined ? undefined : textIn(file)
  if (file !== undefined && clusterConfig === undefined) return `Cannot read the cluster configuration ${file}`
  return clusterNameIn({ clusterConfig, server })
}

/**
 * Returns why the engine gets no configuration on this platform. `undefined` if the nodes hold the VIPs; that is
 * assumed if the platform is unknown.
 */
export function offPremises({ clusterConfig, platform: given }: AgentSettings): string | undefined {
  const text = clusterConfig === undefined ? undefined : textIn(clusterConfig)
  const found = text === undefined ? undefined : installedPlatform(text)
  const installed = found !== undefined && 'platform' in found ? found.platform : undefined
  const answer = isOnPremises({ installed, given })
  if (typeof answer === 'string') return answer
  return answer ? undefined : `The platform is "${given || installed}", where load balancers hold the VIPs`
}

/** Returns the name of this node in the API. */
export const ownName = ({ nodeName, hostnameFile }: AgentSettings): string =>
  nodeName ?? (hostnameFile && textIn(hostnameFile)?.trim()) ?? hostname()

/**
 * Tells whether the VIPs form sync groups. The Machine Config Operator's command line does not name the platform, but
 * its template has the groups. `notes` has the reason if the template cannot be read, or the scripts in it that this
 * version does not know.
 */
export function grouping({ platform, template }: AgentSettings): {
  readonly grouped: boolean
  readonly notes: readonly string[]
} {
  const isOpenStack = platform.toLowerCase() === 'openstack'
  if (template === undefined) return { grouped: isOpenStack, notes: [] }
  const text = textIn(template)
  if (text === undefined) {
    const given = isOpenStack
      ? 'because of --platform=OpenStack the VIPs form sync groups'
      : 'without --platform=OpenStack the VIPs form no sync groups'
    return {
      grouped: isOpenStack,
      notes: [`Cannot read the template ${template}, which says whether VIPs form sync groups: ${given}`],
    }
  }
  const { grouped, unknown } = readTemplate(text)
  const notes = unknown.map(
    (script) => `The template ${template} has a script that this version does not know and leaves out: ${script}`,
  )
  return { grouped: grouped || isOpenStack, notes }
}

/** Folder on the node with the files of keepalived and of keepalived's monitor. */
export const KEEPALIVED_FOLDER = '/etc/keepalived'

/**
 * Returns unicast or multicast, for an engine that has no configuration yet. As long as some nodes run keepalived, the
 * VRRP group may use multicast. The keepalived.conf of this cluster shows which mode it uses. Without that file,
 * ENABLE_UNICAST decides.
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

/**
 * Tells whether the agent follows HostedNetServices. An agent in place of keepalived's monitor, or on a bootstrap node,
 * does not.
 */
export const isFollowed = ({ bootstrap, handOver, status }: AgentSettings): boolean =>
  handOver.to === 'engine' && status && !bootstrap

/** Returns the URL of the node's own API server, for use when the cluster's address does not answer. */
export const localApi = ({ apiPort }: AgentSettings): string => `https://localhost:${apiPort}`
