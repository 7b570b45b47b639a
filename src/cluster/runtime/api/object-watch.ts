/**
 * Keeps a copy of one collection of the API: one list, then a watch that continues from the last version. This file
 * decides when to list again (410 Gone, or an invalid event), and how long to wait after a failure. The copy stays
 * while the API is unreachable. Only the parts of an object that `read` returns are kept.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiFailure, kindOfStatus } from './api-failure.ts'
import type { ClusterClient } from './cluster-client.ts'

export type WatchPlan<T> = {
  /** Path of the watched objects in the API, such as `/api/v1/nodes`. */
  readonly path: string
  /** Selectors in the query of the request. */
  readonly query?: Readonly<Record<string, string>>
  /**
   * Returns the part of an object to keep; `undefined` drops the object. `earlier`: the part kept before of the object
   * with the same name.
   */
  readonly read: (object: unknown, earlier: T | undefined) => T | undefined
  /** Called with all objects after a list and after each change. `changed` is undefined after a list. */
  readonly onObjects: (objects: ReadonlyMap<string, T>, changed?: Changed<T>) => void
  /**
   * Called after a failed request. `waits`: milliseconds until the next attempt; `inARow`: number of failures in a row,
   * from 1.
   */
  readonly onFailure: (failure: ApiFailure, waits: number, inARow: number) => void
  readonly onPhase?: (phase: WatchPhase) => void
}

export type Changed<T> = { readonly object: T; readonly gone: boolean }

export type WatchPhase = 'listing' | 'watching' | 'waiting'

export type Patience = {
  /**
   * Delay in milliseconds before the API is asked again after a failure. The delay doubles with each failure in a row;
   * half of the delay is random.
   */
  readonly first: number
  readonly longest: number
  /** Milliseconds after which a watch counts as successful even without events. */
  readonly settled: number
  readonly random: () => number
}

export const PATIENCE: Patience = { first: 500, longest: 30_000, settled: 5_000, random: Math.random }
/**
 * Shortest duration of a watch, in seconds. The duration is random, so that the watches of all nodes do not end at the
 * same moment.
 */
const SHORTEST_WATCH = 240
const SPREAD = 240

type Fields = Readonly<Record<string, unknown>>

/** Watches a collection of the API until `signal` is aborted. Failures of the API do not reject. */
export function watchObjects<T>(
  client: Pick<ClusterClient, 'ask' | 'stream'>,
  plan: WatchPlan<T>,
  signal: AbortSignal,
  patience: Patience = PATIENCE,
): Promise<void> {
  return new ObjectWatch(client, plan, signal, patience).run()
}

class ObjectWatch<T> {
  readonly #client: Pick<ClusterClient, 'ask' | 'stream'>
  readonly #plan: WatchPlan<T>
  readonly #signal: AbortSignal
  readonly #patience: Patience
  #objects = new Map<string, T>()
  /** Version of the last list or event; `undefined` if the collection must be listed. */
  #version: string | undefined
  /** Number of failed requests in a row. */
  #failures = 0

  constructor(
    client: Pick<ClusterClient, 'ask' | 'stream'>,
    plan: WatchPlan<T>,
    signal: AbortSignal,
    patience: Patience,
  ) {
    this.#client = client
    this.#plan = plan
    this.#signal = signal
    this.#patience = patience
  }

  async run(): Promise<void> {
    while (!this.#signal.aborted) {
      try {
        this.#version ??= await this.#list()
        await this.#watch(this.#version)
      } catch (error) {
        if (this.#signal.aborted) return
        if (!(error instanceof ApiFailure)) throw error
        await this.#wait(error)
      }
    }
  }

  async #wait(failure: ApiFailure): Promise<void> {
    // After an invalid event, the watch may have missed changes. After 404, the collection may be another one. For this
    // reason all objects are read again after 404.
    if (failure.kind === 'gone' || failure.kind === 'garbage' || failure.status === 404) this.#version = undefined
    const wait = Math.max(waitAfter(this.#failures, this.#patience), failure.retryAfter ?? 0)
    this.#failures++
    this.#plan.onPhase?.('waiting')
    this.#plan.onFailure(failure, wait, this.#failures)
    await sleep(wait, undefined, { signal: this.#signal }).catch(() => {})
  }

  async #list(): Promise<string> {
    const plan = this.#plan
    plan.onPhase?.('listing')
    const { items, metadata } = fieldsOf(await this.#client.ask({ path: pathOf(plan, {}) }, this.#signal))
    const listed = fieldsOf(metadata).resourceVersion
    if (!Array.isArray(items) || typeof listed !== 'string')
      throw new ApiFailure('garbage', `Cannot read ${plan.path}: it is not a list with a version`)
    const next = new Map<string, T>()
    for (const item of items) this.#keep(next, item, this.#objects)
    this.#objects = next
    plan.onObjects(next)
    return listed
  }

  #keep(into: Map<string, T>, object: unknown, earlier: ReadonlyMap<string, T>): void {
    const key = keyOf(object)
    const value = this.#plan.read(object, key === undefined ? undefined : earlier.get(key))
    if (value !== undefined && key !== undefined) into.set(key, value)
  }

  async #watch(from: string): Promise<void> {
    const { path } = this.#plan
    const { random, settled } = this.#patience
    const timeoutSeconds = String(Math.round(SHORTEST_WATCH + SPREAD * random()))
    const query = { watch: 'true', allowWatchBookmarks: 'true', resourceVersion: from, timeoutSeconds }
    const startedAt = performance.now()
    let heard = false
    await this.#client.stream(pathOf(this.#plan, query), {
      signal: this.#signal,
      onOpen: () => this.#plan.onPhase?.('watching'),
      onLine: (line) => {
        this.#take(eventIn(line, path))
        heard = true
        this.#failures = 0
      },
    })
    if (performance.now() - startedAt >= settled) this.#failures = 0
    // A watch that ends immediately again and again would be polling.
    else if (!heard) throw new ApiFailure('cut', `The watch of ${path} ended immediately`)
  }

  #take({ type, object }: { type: string; object: unknown }): void {
    const { path } = this.#plan
    if (type === 'ERROR') throw told(object, path)
    const next = fieldsOf(fieldsOf(object).metadata).resourceVersion
    if (typeof next !== 'string')
      throw new ApiFailure('garbage', `An event of ${path} has no version: ${JSON.stringify(object)?.slice(0, 120)}`)
    const key = keyOf(object)
    const before = key === undefined ? undefined : this.#objects.get(key)
    if (type === 'ADDED' || type === 'MODIFIED') this.#keep(this.#objects, object, this.#objects)
    else if (type === 'DELETED' && key !== undefined) this.#objects.delete(key)
    else if (type !== 'BOOKMARK') throw new ApiFailure('garbage', `An event of ${path} is a ${type}`)
    this.#version = next
    if (type === 'BOOKMARK' || key === undefined) return
    const changed = this.#objects.get(key) ?? before
    if (changed !== undefined) this.#plan.onObjects(this.#objects, { object: changed, gone: type === 'DELETED' })
  }
}

function waitAfter(failures: number, { first, longest, random }: Patience): number {
  const most = Math.min(longest, first * 2 ** Math.min(failures, 20))
  return most / 2 + (most / 2) * random()
}

function pathOf(
  { path, query }: Pick<WatchPlan<unknown>, 'path' | 'query'>,
  more: Readonly<Record<string, string>>,
): string {
  const text = new URLSearchParams({ ...query, ...more }).toString()
  return text === '' ? path : `${path}?${text}`
}

function eventIn(line: string, path: string): { type: string; object: unknown } {
  try {
    const { type, object } = fieldsOf(JSON.parse(line))
    if (typeof type === 'string') return { type, object }
  } catch (error) {
    throw new ApiFailure('garbage', `An event of ${path} is not JSON: ${line.slice(0, 120)}`, { cause: error })
  }
  throw new ApiFailure('garbage', `An event of ${path} has no type: ${line.slice(0, 120)}`)
}

/** Returns the failure of an ERROR event, after which the stream cannot be used. */
function told(status: unknown, path: string): ApiFailure {
  const { code, message, reason } = fieldsOf(status)
  const kind = typeof code === 'number' ? kindOfStatus(code) : 'refused'
  return new ApiFailure(kind, `The watch of ${path} ended with ${code} ${reason}: ${message}`)
}

function keyOf(object: unknown): string | undefined {
  const { namespace, name } = fieldsOf(fieldsOf(object).metadata)
  if (typeof name !== 'string' || name === '') return undefined
  return typeof namespace === 'string' ? `${namespace}/${name}` : name
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {}
