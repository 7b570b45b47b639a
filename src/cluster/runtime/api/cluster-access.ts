/**
 * Finds the API of the cluster and the credentials: a kubeconfig, or the token of a pod. Kubeconfig and token are read
 * for each request, so rotated certificates and tokens are used. If the first address does not answer, the node's own
 * API server is asked, with the same credentials. @kubernetes/client-node reads the kubeconfig.
 */

import { readFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { dirname, resolve } from 'node:path'
import { type KubeConfig, KubeConfig as Reader } from '@kubernetes/client-node'
import { messageOf } from '../../../base/message-of.ts'
import { tokenFilesIn } from '../../decisions/token-files.ts'
import { ApiFailure } from './api-failure.ts'
import type { ClusterAccess, Endpoint } from './cluster-client.ts'

export type AccessPlan = {
  /** Path of a kubeconfig; `undefined` for the token of this pod. */
  readonly kubeconfig: string | undefined
  /**
   * URL of the API server on this node, which is asked if the server of the kubeconfig does not answer; `undefined`: no
   * second server is asked.
   */
  readonly local?: string | undefined
  /** Prefix of the path of a pod's token, for tests. */
  readonly root?: string
}

/** Returns a function that reads the servers and credentials. */
export function clusterAccess(plan: AccessPlan): ClusterAccess {
  return async () => {
    try {
      const config = read(plan)
      const cluster = config.getCurrentCluster()
      if (cluster === null) throw new Error('the current context of the kubeconfig has no cluster')
      const own = { server: cluster.server.replace(/\/+$/, ''), options: await optionsOf(config, cluster.proxyUrl) }
      return [own, ...localBeside(own, plan.local)]
    } catch (error) {
      throw unreadable(plan, error)
    }
  }
}

/** Returns the server of the kubeconfig's current context; `undefined` if the kubeconfig cannot be read. */
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
    // Reading the file here gives an error that names a missing file.
    const text = readFileSync(kubeconfig, 'utf8')
    config.loadFromFile(kubeconfig)
    addTokens(config, tokenFilesIn(text), dirname(kubeconfig))
  } else if (process.env.KUBERNETES_SERVICE_HOST === undefined) {
    throw new Error('no kubeconfig was given, and this is not a pod (KUBERNETES_SERVICE_HOST is not set)')
  } else config.loadFromCluster(root)
  return config
}

/** Gives each user the content of its token file, which takes precedence over a token in the kubeconfig, as in client-go. */
function addTokens(config: KubeConfig, files: ReadonlyMap<string, string>, folder: string): void {
  const current = config.getCurrentUser()?.name
  config.users = config.users.map((user) => {
    const file = files.get(user.name)
    return file === undefined || user.name !== current
      ? user
      : { ...user, token: readFileSync(resolve(folder, file), 'utf8') }
  })
}

async function optionsOf(config: KubeConfig, proxy: string | undefined): Promise<RequestOptions> {
  const options: RequestOptions = {}
  await config.applyToHTTPSOptions(options)
  const { agent, headers = {}, ...others } = options
  // A token file may end with a newline, which a header cannot have.
  const trimmed = Object.entries(headers).map(([name, value]) => [
    name,
    typeof value === 'string' ? value.trim() : value,
  ])
  // The agent of the options keeps no connection. Such an agent is needed only for a proxy.
  return { ...others, headers: Object.fromEntries(trimmed), ...(proxy === undefined ? {} : { agent }) }
}

function localBeside({ server, options }: Endpoint, local: string | undefined): Endpoint[] {
  if (local === undefined || local === server) return []
  const { servername: _, agent: __, ...others } = { servername: undefined, ...options }
  return [{ server: local, options: others }]
}

function unreadable({ kubeconfig }: AccessPlan, error: unknown): ApiFailure {
  // The further lines of an error of YAML show the text of the file, which has credentials.
  const [why] = messageOf(error).split('\n', 1)
  return new ApiFailure('credentials', `Cannot use ${kubeconfig ?? 'the token of this pod'}: ${why}`, { cause: error })
}
