/**
 * What an API server remembers: objects by collection, one counter of versions for all, and what changed since when.
 * Decides which versions are too old to resume from; refuses to know HTTP.
 */

/** As JSON has it; `metadata` is all that the store looks at. */
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
  /** As a cluster that has been up for a while: nobody may take 0 or 1 for a version. */
  #version = 1000
  /** Changes up to this one are forgotten. */
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

  /** Put there, or in the place of the one with its name; returns it as it is stored. */
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

  /** Undefined: it was not there. */
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

  /** Undefined: nobody knows any more (410 Gone). */
  since(collection: Collection, version: number): Change[] | undefined {
    if (version < this.#forgotten) return undefined
    return this.#changes.filter((change) => change.collection === collection && change.version > version)
  }

  /** As etcd's compaction: whoever resumes from before now is told Gone. */
  compact(): void {
    // A version that nobody has seen: those who are up to date have to list again as well.
    this.#version++
    this.#forgotten = this.#version
    this.#changes = []
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
