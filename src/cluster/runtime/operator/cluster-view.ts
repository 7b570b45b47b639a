/**
 * Watches what the operator decides from: Infrastructure, HostedNetServices, nodes, and the pods of the platform. This file
 * decides what a failed watch means: the last answer stays, and a refused request is a trouble until it is allowed.
 */

import type { ClusterNode } from '../../decisions/cluster-node.ts'
import { readNode } from '../../decisions/node-object.ts'
import { type ClusterPlan, readClusterPlan } from '../../decisions/operator/cluster-plan.ts'
import { type ConfigPool, readConfigPool } from '../../decisions/operator/config-pool.ts'
import { type OperandPod, readOperandPod } from '../../decisions/operator/operand-pod.ts'
import type { Trouble } from '../../decisions/status/finding.ts'
import {
  GROUP,
  PLURAL,
  type Published,
  readPublished,
  SINGLETON,
  VERSION,
} from '../../decisions/status/published-status.ts'
import { type ApiFailure, withoutQuery } from '../api/api-failure.ts'
import type { ClusterClient } from '../api/cluster-client.ts'
import { watchObjects } from '../api/object-watch.ts'

export const OBJECTS_PATH = `/apis/${GROUP}/${VERSION}/${PLURAL}`
const INFRASTRUCTURES = '/apis/config.openshift.io/v1/infrastructures'

/** HostedNetServices of the API. `unknown`: the API has not answered; `undefined`: the object does not exist. */
export type SeenObject = { readonly value: unknown } | 'unknown' | undefined

export const publishedIn = (object: SeenObject): Published | 'unreadable' | undefined =>
  object === 'unknown' ? 'unreadable' : readPublished(object?.value)

export type ClusterViewOptions = {
  readonly client: Pick<ClusterClient, 'ask' | 'stream'>
  /** Path of the MachineConfigPools, if the operator places static pods by them. */
  readonly pools?: string | undefined
  readonly onChange: () => void
  readonly onPlan: (plan: ClusterPlan) => void
  readonly onObject: (object: { readonly value: unknown } | undefined) => void
  readonly onNodes: (nodes: readonly ClusterNode[]) => void
  readonly onFailure: (path: string, failure: ApiFailure) => void
  /** Called when the API has accepted a watch. */
  readonly onReadable: (path: string) => void
}

export class ClusterView {
  readonly #options: ClusterViewOptions
  readonly #ending = new AbortController()
  readonly #denied = new Map<string, string>()
  #podsEnding: AbortController | undefined
  #podsOf: string | undefined
  plan: ClusterPlan | undefined
  object: SeenObject = 'unknown'
  nodes: readonly ClusterNode[] = []
  pods: readonly OperandPod[] = []
  pools: readonly ConfigPool[] = []

  constructor(options: ClusterViewOptions) {
    this.#options = options
    const only = (name: string) => ({ fieldSelector: `metadata.name=${name}` })
    this.#watch(INFRASTRUCTURES, only('cluster'), (objects) => {
      const plan = readClusterPlan(objects[0])
      if (plan === undefined || JSON.stringify(plan) === JSON.stringify(this.plan)) return
      this.plan = plan
      this.#watchPods(plan.elsewhere === undefined ? plan.infraNamespace : undefined)
      this.#options.onPlan(plan)
    })
    this.#watch(OBJECTS_PATH, only(SINGLETON), ([value]) => {
      const object = value === undefined ? undefined : { value }
      this.object = object
      this.#options.onObject(object)
    })
    this.#watch('/api/v1/nodes', {}, (objects) => {
      this.nodes = objects.flatMap((object) => readNode(object).node ?? [])
      this.#options.onNodes(this.nodes)
    })
    if (options.pools !== undefined)
      this.#watch(options.pools, {}, (objects) => {
        this.pools = objects.flatMap((object) => readConfigPool(object) ?? [])
      })
  }

  /** Returns a trouble for each watch that the API refuses. */
  get troubles(): readonly Trouble[] {
    return [...this.#denied.values()].map((message) => ({ reason: 'AccessDenied', message }))
  }

  end(): void {
    this.#ending.abort()
    this.#podsEnding?.abort()
  }

  #watchPods(namespace: string | undefined): void {
    if (namespace === this.#podsOf) return
    this.#podsOf = namespace
    this.#podsEnding?.abort()
    this.#podsEnding = undefined
    this.pods = []
    if (namespace === undefined) return
    this.#podsEnding = new AbortController()
    const path = `/api/v1/namespaces/${namespace}/pods`
    const take = (objects: readonly unknown[]) => {
      this.pods = objects.flatMap((object) => readOperandPod(object) ?? [])
    }
    this.#watch(path, {}, take, this.#podsEnding.signal)
  }

  #watch(
    path: string,
    query: Readonly<Record<string, string>>,
    take: (objects: readonly unknown[]) => void,
    signal = this.#ending.signal,
  ): void {
    const { client, onChange, onFailure, onReadable } = this.#options
    void watchObjects<unknown>(
      client,
      {
        ...{ path, query },
        read: essence,
        onObjects: (objects) => {
          this.#denied.delete(path)
          take([...objects.values()])
          onChange()
        },
        onPhase: (phase) => {
          if (phase !== 'watching') return
          onReadable(path)
          this.#denied.delete(path)
          onChange()
        },
        onFailure: (failure) => {
          onFailure(path, failure)
          if (failure.kind !== 'forbidden' && failure.kind !== 'unauthorized') return
          this.#denied.set(path, withoutQuery(failure.message))
          onChange()
        },
      },
      signal,
    )
  }
}

/** Returns the object without parts that are large and not needed: images of a node, and managed fields. */
function essence(object: unknown): unknown {
  if (typeof object !== 'object' || object === null) return object
  const { metadata, status, ...rest } = Object.fromEntries(Object.entries(object))
  return { ...rest, metadata: without(metadata, 'managedFields'), status: without(status, 'images') }
}

function without(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
}
