/**
 * Stores the objects of the Kubernetes API's stand-in by collection, with one version counter for all collections, and
 * the changes since a version. This file decides which versions are too old to resume a watch. This file does not know
 * HTTP.
 */

/** An object of the Kubernetes API, parsed from JSON. The store reads only `metadata`. */
export type KubeObject = {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly resourceVersion?: string
    readonly [more: string]: unknown
  }
  readonly [more: string]: unknown
}

export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED'
export type Change = {
  readonly version: number
  readonly collection: string
  readonly type: ChangeType
  readonly object: KubeObject
}

/** Group, version and resource of a collection, such as `apps/v1/deployments` or `v1/nodes`. */
export type Collection = string

const keyOf = ({ metadata: { namespace = '', name } }: KubeObject): string => `${namespace}/${name}`

export class Store {
  /** Version of the last change. The counter does not begin at 0, so that no client can rely on version 0 or 1. */
  #version = 1000
  /** Version up to which the store has forgotten all changes. */
  #forgotten = 1000
  readonly #objects = new Map<Collection, Map<string, KubeObject>>()
  #changes: Change[] = []
  readonly #listeners = new Set<(change: Change) => void>()

  get version(): number {
    return this.#version
  }

  #of(collection: Collection): Map<string, KubeObject> {
    const found = this.#objects.get(collection) ?? new Map<string, KubeObject>()
    this.#objects.set(collection, found)
    return found
  }

  #tell(collection: Collection, type: ChangeType, object: KubeObject): void {
    const change = { version: this.#version, collection, type, object }
    this.#changes.push(change)
    for (const listener of this.#listeners) listener(change)
  }

  /** Creates or replaces an object. Returns the object as it is stored, with its new version. */
  put(collection: Collection, object: KubeObject): KubeObject {
    this.#version++
    const objects = this.#of(collection)
    const before = objects.get(keyOf(object))
    const uid = before?.metadata.uid ?? `00000000-0000-4000-8000-${String(this.#version).padStart(12, '0')}`
    const metadata = { creationTimestamp: '2026-11-22T00:00:00Z', ...object.metadata, uid }
    const stored = { ...object, metadata: { ...metadata, resourceVersion: String(this.#version) } }
    objects.set(keyOf(object), stored)
    this.#tell(collection, before === undefined ? 'ADDED' : 'MODIFIED', stored)
    return stored
  }

  /** Removes an object. Returns the removed object; `undefined` if there was none. */
  remove(collection: Collection, name: string, namespace?: string): KubeObject | undefined {
    const objects = this.#of(collection)
    const before = objects.get(`${namespace ?? ''}/${name}`)
    if (before === undefined) return undefined
    this.#version++
    objects.delete(keyOf(before))
    const metadata = { ...before.metadata, resourceVersion: String(this.#version) }
    this.#tell(collection, 'DELETED', { ...before, metadata })
    return before
  }

  get(collection: Collection, name: string, namespace?: string): KubeObject | undefined {
    return this.#of(collection).get(`${namespace ?? ''}/${name}`)
  }

  list(collection: Collection, namespace?: string): KubeObject[] {
    const all = [...this.#of(collection).values()]
    return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace)
  }

  /** Returns the changes of a collection since a version; `undefined` if the store has forgotten them (410 Gone). */
  since(collection: Collection, version: number): Change[] | undefined {
    if (version < this.#forgotten) return undefined
    return this.#changes.filter((change) => change.collection === collection && change.version > version)
  }

  /**
   * Forgets all changes, as a compaction of etcd does. A client that resumes a watch from an older version receives 410
   * Gone.
   */
  compact(): void {
    // No client has received this version, so even clients that have every change have to list the objects again.
    this.#version++
    this.#forgotten = this.#version
    this.#changes = []
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
