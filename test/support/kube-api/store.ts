/**
 * Memory of an API server: objects by collection, one counter of versions for all of them, and the changes since a
 * version. Decides which versions are too old to resume from. This file does not know HTTP.
 */

/** An object as JSON has it. The store reads only `metadata`. */
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

/** `apps/v1/deployments`, `v1/nodes`: group, version and resource. */
export type Collection = string

const keyOf = ({ metadata: { namespace = '', name } }: KubeObject): string => `${namespace}/${name}`

export class Store {
  /** The counter of a cluster that has been up for a while, so that no client relies on version 0 or 1. */
  #version = 1000
  /** Changes up to this version are forgotten. */
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

  /** Creates or replaces an object; returns it as stored. */
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

  /** Returns the removed object, `undefined` if there was none. */
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

  /** Returns the changes since a version, `undefined` if they are forgotten (410 Gone). */
  since(collection: Collection, version: number): Change[] | undefined {
    if (version < this.#forgotten) return undefined
    return this.#changes.filter((change) => change.collection === collection && change.version > version)
  }

  /** Forgets all changes, as etcd's compaction does: a client that resumes from an older version receives Gone. */
  compact(): void {
    // No client has seen this version, so clients that are up to date have to list again as well.
    this.#version++
    this.#forgotten = this.#version
    this.#changes = []
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
