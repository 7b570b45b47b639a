/**
 * What the cluster is called, which VRIDs, instance names and passwords are made of: all nodes must come to the same one. Wrong
 * is worse than none, so what does not clearly name a cluster is refused with the reason. Refuses to read files and to know
 * what a kubeconfig is.
 */

import { parse } from 'yaml'
import { z } from 'zod'
import { messageOf } from '../../base/message-of.ts'
import { parseAddress } from '../../wire/address.ts'

export type ClusterName = { readonly name: string; readonly from: string }

const Text = z.string()
const ConfigMap = z.object({ data: z.object({ 'install-config': Text }) })
const InstallConfig = z.object({
  metadata: z.object({ name: Text }),
  platform: z.record(Text, z.unknown()).optional(),
})
type InstallConfig = z.infer<typeof InstallConfig>

export type ClusterNameSources = {
  /** The text of cluster-config.yaml, which a bootstrap node has; undefined: there is none. */
  readonly clusterConfig: string | undefined
  /** `clusters[].cluster.server` of the kubeconfig in use. */
  readonly server: string | undefined
}

/** The given cluster-config alone decides: a node that guessed on would be in another group. A string says why there is no name. */
export function clusterNameIn({ clusterConfig, server }: ClusterNameSources): ClusterName | string {
  if (clusterConfig !== undefined) {
    const installed = installConfigIn(clusterConfig)
    if (typeof installed === 'string') return installed
    const { name } = installed.metadata
    return name.trim() === ''
      ? 'Cannot use the name in the install-config: it is empty'
      : { name, from: 'install-config' }
  }
  if (server === undefined) return 'Cannot name the cluster: there is neither a cluster-config nor a kubeconfig'
  return nameInServer(server)
}

/** The first platform that the install-config in the cluster-config has; undefined: it has none. A string in `problem` says why. */
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

/** `https://api-int.NAME.DOMAIN:6443`. */
function nameInServer(server: string): ClusterName | string {
  const refused = (why: string) => `Cannot name the cluster by its API server "${server}": ${why}`
  const host = /^[a-z]+:\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^:/?#]*)/i.exec(server)?.[1] ?? ''
  if (host === '') return refused('it names no host')
  if (host.startsWith('[') || parseAddress(host) !== undefined)
    return refused('its host is an address, where api-int.NAME.DOMAIN would name it')
  const [, name, ...domain] = host.toLowerCase().split('.')
  if (name === undefined || name === '' || domain.join('') === '')
    return refused('its host is not of the form api-int.NAME.DOMAIN')
  return { name, from: 'kubeconfig' }
}
