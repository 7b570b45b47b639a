/**
 * Watches the switch of the cluster for more log: `enable-nodeip-debug` in the ConfigMap `logging` of a namespace. If
 * the key is missing or not true, the switch is off.
 */
import type { ApiFailure } from './api-failure.ts'
import type { ClusterClient } from './cluster-client.ts'
import { type Patience, watchObjects } from './object-watch.ts'

const NAME = 'logging'
const KEY = 'enable-nodeip-debug'

/** Calls `onDebug` with the value of the switch, until `signal` is aborted. */
export function watchDebugFlag(
  client: Pick<ClusterClient, 'ask' | 'stream'>,
  namespace: string,
  told: { readonly onDebug: (on: boolean) => void; readonly onFailure: (failure: ApiFailure, wait: number) => void },
  signal: AbortSignal,
  patience?: Patience,
): Promise<void> {
  return watchObjects<boolean>(
    client,
    {
      path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`,
      query: { fieldSelector: `metadata.name=${NAME}` },
      read: isOn,
      onObjects: (objects) => told.onDebug(objects.get(`${namespace}/${NAME}`) === true),
      onFailure: told.onFailure,
    },
    signal,
    patience,
  )
}

function isOn(object: unknown): boolean {
  const data = typeof object === 'object' && object !== null && 'data' in object ? object.data : undefined
  return typeof data === 'object' && data !== null && Object.entries(data).some(isTrue)
}

const isTrue = ([key, value]: [string, unknown]): boolean => key === KEY && value === 'true'
