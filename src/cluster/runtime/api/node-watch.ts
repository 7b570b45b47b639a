/**
 * Passes the nodes of the cluster to the core of the agent. Only some parts of a Node object are kept, because a node
 * lists all of its images. A watch that is resumed immediately does not count as a failure.
 */
import type { AgentEvent } from '../../decisions/agent-state.ts'
import type { ApiFailure, FailureKind } from './api-failure.ts'
import type { ClusterClient } from './cluster-client.ts'
import { type Patience, type WatchPhase, watchObjects } from './object-watch.ts'

export type NodeWatchPorts = {
  readonly take: (event: AgentEvent) => void
  readonly onFailure: (failure: ApiFailure, waits: number) => void
  readonly onPhase: (phase: WatchPhase) => void
}

/** Kinds of failures that are ignored once, because a stream ends now and then. */
const HARMLESS: readonly FailureKind[] = ['cut', 'silent', 'gone']

/** Watches the nodes of the cluster until `signal` is aborted. */
export function watchNodes(
  client: Pick<ClusterClient, 'ask' | 'stream'>,
  { take, onFailure, onPhase }: NodeWatchPorts,
  signal: AbortSignal,
  patience?: Patience,
): Promise<void> {
  let isBlind = false
  return watchObjects<unknown>(
    client,
    {
      path: '/api/v1/nodes',
      read: essence,
      onObjects(objects, changed) {
        isBlind = false
        if (changed === undefined) take({ kind: 'nodesListed', nodes: [...objects.values()] })
        else take({ kind: changed.gone ? 'nodeGone' : 'nodeChanged', node: changed.object })
      },
      onFailure(failure, waits, inARow) {
        onFailure(failure, waits)
        if (inARow === 1 && HARMLESS.includes(failure.kind)) return
        isBlind = true
        take({ kind: 'listFailed', reason: `${failure.kind}: ${failure.message}` })
      },
      onPhase(phase) {
        onPhase(phase)
        if (phase !== 'watching' || !isBlind) return
        isBlind = false
        take({ kind: 'watchResumed' })
      },
    },
    signal,
    patience,
  )
}

/** Returns the parts of a Node object that node-object.ts reads, unchanged. */
function essence(object: unknown): unknown {
  const { metadata, status } = fieldsOf(object)
  const { name, labels, annotations } = fieldsOf(metadata)
  const isStatus = typeof status === 'object' && status !== null && !Array.isArray(status)
  const { addresses, nodeInfo } = fieldsOf(status)
  return { metadata: { name, labels, annotations }, status: isStatus ? { addresses, nodeInfo } : status }
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {}
