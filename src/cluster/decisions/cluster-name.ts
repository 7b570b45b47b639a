/**
 * Finds the name of the cluster. VRIDs, instance names and passwords are computed from that name, so all nodes must
 * find the same name. A wrong name does more harm than no name, so an unclear source is an error. No file is read here.
 */

import { parse } from 'yaml'
import { z } from 'zod'
import { messageOf } from '../../base/message-of.ts'
import { parseAddress } from '../../wire/address.ts'

export type ClusterName = {
  readonly name: string
  /** Domain in which the cluster's own domain NAME.DOMAIN is; `undefined` if the install-config names none. */
  readonly domain: string | undefined
  readonly from: string
}

const Text = z.string()
const ConfigMap = z.object({ data: z.object({ 'install-config': Text }) })
const InstallConfig = z.object({
  metadata: z.object({ name: Text }),
  baseDomain: Text.optional(),
  platform: z.record(Text, z.unknown()).optional(),
})
type InstallConfig = z.infer<typeof InstallConfig>

export type ClusterNameSources = {
  /** Text of cluster-config.yaml, which only a bootstrap node has; `undefined` on other nodes. */
  readonly clusterConfig: string | undefined
  /** Value of `clusters[].cluster.server` in the kubeconfig; `undefined` if unknown. */
  readonly server: string | undefined
}

/**
 * Returns the name of the cluster, or the reason why the name is unknown. If a cluster-config is given, only that file
 * counts: with another source, the node could join another VRRP group.
 */
export function clusterNameIn({ clusterConfig, server }: ClusterNameSources): ClusterName | string {
  if (clusterConfig !== undefined) {
    const installed = installConfigIn(clusterConfig)
    if (typeof installed === 'string') return installed
    const { name } = installed.metadata
    const { baseDomain: domain } = installed
    return name.trim() === ''
      ? 'Cannot use the name in the install-config: it is empty'
      : { name, domain, from: 'install-config' }
  }
  if (server === undefined) return 'Cannot name the cluster: there is neither a cluster-config nor a kubeconfig'
  return nameInServer(server)
}

/**
 * Returns the first platform of the install-config in the cluster-config; `undefined` if the install-config names no
 * platform.
 */
export function installedPlatform(clusterConfig: string): { platform: string | undefined } | { problem: string } {
  const installed = installConfigIn(clusterConfig)
  if (typeof installed === 'string') return { problem: installed }
  const [platform] = Object.entries(installed.platform ?? {}).flatMap(([name, value]) => (value == null ? [] : [name]))
  return { platform }
}

function installConfigIn(clusterConfig: string): InstallConfig | string {
  try {
    const outer = ConfigMap.safeParse(parse(clusterConfig))
    if (!outer.success) return 'Cannot use the cluster-config: it has no text data["install-config"]'
    const inner = InstallConfig.safeParse(parse(outer.data.data['install-config']))
    return inner.success ? inner.data : 'Cannot use the install-config in the cluster-config: it has no metadata.name'
  } catch (error) {
    return `Cannot use the cluster-config: ${messageOf(error)}`
  }
}

/** Returns the cluster's NAME in `https://api-int.NAME.DOMAIN:6443`. */
function nameInServer(server: string): ClusterName | string {
  const refused = (why: string) => `Cannot name the cluster by its API server "${server}": ${why}`
  const host = /^[a-z]+:\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^:/?#]*)/i.exec(server)?.[1] ?? ''
  if (host === '') return refused('it names no host, expected https://api-int.NAME.DOMAIN:6443')
  if (host.startsWith('[') || parseAddress(host) !== undefined)
    return refused('its host is an IP address, expected api-int.NAME.DOMAIN')
  const [, name, ...domain] = host.toLowerCase().split('.')
  if (name === undefined || name === '' || domain.join('') === '')
    return refused('its host does not have the form api-int.NAME.DOMAIN')
  return { name, domain: domain.join('.'), from: 'kubeconfig' }
}
