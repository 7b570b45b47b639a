/**
 * Where the API of the cluster is and who we are to it: a kubeconfig, or what a pod is given. Read again for each question, so
 * certificates and tokens that were rotated are the new ones. Decided here: that the node's own API server is asked when the
 * first address does not answer, with the same credentials. How a kubeconfig is read is @kubernetes/client-node's business.
 */

import { readFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { type KubeConfig, KubeConfig as Reader } from '@kubernetes/client-node'
import { messageOf } from '../../../base/message-of.ts'
import { ApiFailure } from './api-failure.ts'
import type { ClusterAccess, Endpoint } from './cluster-client.ts'

export type AccessPlan = {
  /** A file; undefined: the token of this pod. */
  readonly kubeconfig: string | undefined
  /** Asked when the first one does not answer; undefined: none. */
  readonly local?: string | undefined
  /** Before the paths of a pod's token. */
  readonly root?: string
}

export function clusterAccess(plan: AccessPlan): ClusterAccess {
  return async () => {
    try {
      const config = read(plan)
      const cluster = config.getCurrentCluster()
      if (cluster === null) throw new Error('its current context names no cluster')
      const own = { server: cluster.server.replace(/\/+$/, ''), options: await optionsOf(config, cluster.proxyUrl) }
      return [own, ...localBeside(own, plan.local)]
    } catch (error) {
      throw unreadable(plan, error)
    }
  }
}

/** Of the current context; undefined: there is none, or nothing that could be read. */
export function serverIn(plan: Pick<AccessPlan, 'kubeconfig'>): string | undefined {
  try {
    return read(plan).getCurrentCluster()?.server
  } catch {
    return undefined
  }
}

function read({ kubeconfig, root = '' }: Omit<AccessPlan, 'local'>): KubeConfig {
  const config = new Reader()
  if (kubeconfig !== undefined) {
    // Told by name when it is not there.
    readFileSync(kubeconfig)
    config.loadFromFile(kubeconfig)
  } else if (process.env.KUBERNETES_SERVICE_HOST === undefined) {
    throw new Error('this is no pod (KUBERNETES_SERVICE_HOST is not set), and no kubeconfig was given')
  } else config.loadFromCluster(root)
  return config
}

async function optionsOf(config: KubeConfig, proxy: string | undefined): Promise<RequestOptions> {
  const options: RequestOptions = {}
  await config.applyToHTTPSOptions(options)
  const { agent, headers = {}, ...others } = options
  // A token file may end in a newline, which no header can have.
  const trimmed = Object.entries(headers).map(([name, value]) => [
    name,
    typeof value === 'string' ? value.trim() : value,
  ])
  // The agent that comes with them keeps nothing, unless it knows the way through a proxy.
  return { ...others, headers: Object.fromEntries(trimmed), ...(proxy === undefined ? {} : { agent }) }
}

function localBeside({ server, options }: Endpoint, local: string | undefined): Endpoint[] {
  if (local === undefined || local === server) return []
  const { servername: _, agent: __, ...others } = { servername: undefined, ...options }
  return [{ server: local, options: others }]
}

function unreadable({ kubeconfig }: AccessPlan, error: unknown): ApiFailure {
  const why = messageOf(error)
  return new ApiFailure('credentials', `Cannot use ${kubeconfig ?? 'the token of this pod'}: ${why}`, { cause: error })
}
