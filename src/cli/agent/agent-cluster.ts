/** Describes the cluster of an agent, from its command line and files. */
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { AgentSettings } from '../../cluster/decisions/agent-settings.ts'
import { clusterNameIn, installedPlatform } from '../../cluster/decisions/cluster-name.ts'
import type { Desired } from '../../cluster/decisions/engine/desired.ts'
import type { Cluster, Mode, Topology } from '../../cluster/decisions/engine/desired-state.ts'
import { keepalivedText } from '../../cluster/decisions/engine/keepalived-text.ts'
import { modeIn, withoutComments } from '../../cluster/decisions/engine/mode.ts'
import { isOnPremises } from '../../cluster/decisions/engine/platform.ts'
import { type RenderedText, renderedText } from '../../cluster/decisions/engine/rendered-text.ts'
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
 * assumed if the platform is unknown. On None and External the VIPs of the command line were given by hand.
 */
export function offPremises({ clusterConfig, platform: given }: AgentSettings): string | undefined {
  const text = clusterConfig === undefined ? undefined : textIn(clusterConfig)
  const found = text === undefined ? undefined : installedPlatform(text)
  const installed = found !== undefined && 'platform' in found ? found.platform : undefined
  const answer = isOnPremises({ installed, given })
  if (typeof answer === 'string') return answer
  const isByHand = ['none', 'external'].includes((given || installed || '').toLowerCase())
  return answer || isByHand ? undefined : `The platform is "${given || installed}", where load balancers hold the VIPs`
}

/** Returns the name of this node in the API. */
export const ownName = ({ nodeName, hostnameFile }: AgentSettings): string =>
  nodeName ?? (hostnameFile && textIn(hostnameFile)?.trim()) ?? hostname()

/**
 * Tells whether the VIPs form sync groups. The Machine Config Operator's command line does not name the platform, but
 * its template has the groups. `notes` has a warning if the template cannot be read.
 */
export function grouping({ platform, template }: AgentSettings): {
  readonly grouped: boolean
  readonly notes: readonly string[]
} {
  const isOpenStack = platform.toLowerCase() === 'openstack'
  const text = template === undefined ? undefined : textIn(template)
  if (text !== undefined)
    return { grouped: isOpenStack || withoutComments(text).includes('vrrp_sync_group'), notes: [] }
  const notes =
    template === undefined
      ? []
      : [
          `Cannot read the template ${template}: the text of keepalived.conf is holdfast's own, ${
            isOpenStack
              ? 'with sync groups because of --platform=OpenStack'
              : 'without sync groups, because --platform=OpenStack is not given'
          }`,
        ]
  return { grouped: isOpenStack, notes }
}

/**
 * Returns the text of keepalived.conf: the executed template of the cluster. Without a template that can be read, the
 * text is holdfast's own.
 */
export function keepalivedFile(settings: AgentSettings, desired: Desired): RenderedText {
  const { template: path, platform, controlPlaneTopology: topology, apiPort, lbPort } = settings
  const text = path === undefined ? undefined : textIn(path)
  if (path === undefined || text === undefined) return { text: keepalivedText(desired) }
  return renderedText(desired, {
    ...{ path, text, platform, topology, domain: '' },
    pairs: vipPairs(settings.vips).pairs,
    hostname: ownName(settings).split('.')[0] ?? '',
    ports: { api: apiPort, balancer: lbPort, statistics: STATISTICS_PORT },
  })
}

/** Port of HAProxy's statistics, which is the same on all nodes. */
const STATISTICS_PORT = 29_445

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
