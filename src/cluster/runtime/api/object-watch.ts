/**
 * One collection of the API, kept as it is: listed once, then one watch that goes on from the last version it heard of.
 * Decided here: when to list again (410 Gone, or what was heard makes no sense), and how long to wait after a failure. What is
 * known stays known while the API is away. Only what `read` makes of an object is kept. Refuses to know what objects mean.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiFailure, kindOfStatus } from './api-failure.ts'
import type { ClusterClient } from './cluster-client.ts'

export type WatchPlan<T> = {
  /** `/api/v1/nodes`. */
  readonly path: string
  /** Selectors, encoded as in a query. */
  readonly query?: Readonly<Record<string, string>>
  /** Undefined: it cannot be kept; `earlier`: of the same name. */
  readonly read: (object: unknown, earlier: T | undefined) => T | undefined
  /** All that there are, after the list and after each change (`changed`; undefined: a list). */
  readonly onObjects: (objects: ReadonlyMap<string, T>, changed?: Changed<T>) => void
  /** `waits`: ms until the next attempt; `inARow`: from 1. */
  readonly onFailure: (failure: ApiFailure, waits: number, inARow: number) => void
  readonly onPhase?: (phase: WatchPhase) => void
}

export type Changed<T> = { readonly object: T; readonly gone: boolean }

export type WatchPhase = 'listing' | 'watching' | 'waiting'

export type Patience = {
  /** Milliseconds; doubled with each failure in a row, the half of it by chance. */
  readonly first: number
  readonly longest: number
  /** A watch that lasted so long was none that failed at once. */
  readonly settled: number
  readonly random: () => number
}

export const PATIENCE: Patience = { first: 500, longest: 30_000, settled: 5_000, random: Math.random }
/** Seconds: all nodes' watches must not end at the same moment. */
const SHORTEST_WATCH = 240
const SPREAD = 240

type Fields = Readonly<Record<string, unknown>>

/** Ends when `signal` says so; never rejects for what the API does. */
export async function watchObjects<T>(
  client: Pick<ClusterClient, 'ask' | 'stream'>,
  plan: WatchPlan<T>,
  signal: AbortSignal,
  patience: Patience = PATIENCE,
): Promise<void> {
  let objects = new Map<string, T>()
  /** Undefined: to be listed. */
  let version: string | undefined
  let failures = 0

  async function list(): Promise<string> {
    plan.onPhase?.('listing')
    const { items, metadata } = fieldsOf(await client.ask({ path: pathOf(plan, {}) }, signal))
    const listed = fieldsOf(metadata).resourceVersion
    if (!Array.isArray(items) || typeof listed !== 'string')
      throw new ApiFailure('garbage', `Cannot read ${plan.path}: it is no list with a version`)
    const next = new Map<string, T>()
    for (const item of items) keep(next, item, objects)
    objects = next
    plan.onObjects(objects)
    return listed
  }

  function keep(into: Map<string, T>, object: unknown, earlier: ReadonlyMap<string, T>): void {
    const key = keyOf(object)
    const value = plan.read(object, key === undefined ? undefined : earlier.get(key))
    if (value !== undefined && key !== undefined) into.set(key, value)
  }

  async function watch(from: string): Promise<void> {
    const timeoutSeconds = String(Math.round(SHORTEST_WATCH + SPREAD * patience.random()))
    const query = { watch: 'true', allowWatchBookmarks: 'true', resourceVersion: from, timeoutSeconds }
    const startedAt = performance.now()
    let heard = false
    await client.stream(pathOf(plan, query), {
      signal,
      onOpen: () => plan.onPhase?.('watching'),
      onLine: (line) => {
        take(eventIn(line, plan.path))
        heard = true
        failures = 0
      },
    })
    if (performance.now() - startedAt >= patience.settled) failures = 0
    // One that ends at once, again and again, would be polling.
    else if (!heard) throw new ApiFailure('cut', `The watch of ${plan.path} was ended at once`)
  }

  function take({ type, object }: { type: string; object: unknown }): void {
    if (type === 'ERROR') throw told(object, plan.path)
    const next = fieldsOf(fieldsOf(object).metadata).resourceVersion
    if (typeof next !== 'string')
      throw new ApiFailure(
        'garbage',
        `An event of ${plan.path} has no version: ${JSON.stringify(object)?.slice(0, 120)}`,
      )
    const key = keyOf(object)
    const before = key === undefined ? undefined : objects.get(key)
    if (type === 'ADDED' || type === 'MODIFIED') keep(objects, object, objects)
    else if (type === 'DELETED' && key !== undefined) objects.delete(key)
    else if (type !== 'BOOKMARK') throw new ApiFailure('garbage', `An event of ${plan.path} is a ${type}`)
    version = next
    if (type === 'BOOKMARK' || key === undefined) return
    const changed = objects.get(key) ?? before
    if (changed !== undefined) plan.onObjects(objects, { object: changed, gone: type === 'DELETED' })
  }

  while (!signal.aborted) {
    try {
      version ??= await list()
      await watch(version)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof ApiFailure)) throw error
      // Of what makes no sense, nobody knows what was missed.
      if (error.kind === 'gone' || error.kind === 'garbage') version = undefined
      const wait = Math.max(waitAfter(failures, patience), error.retryAfter ?? 0)
      failures++
      plan.onPhase?.('waiting')
      plan.onFailure(error, wait, failures)
      await sleep(wait, undefined, { signal }).catch(() => {})
    }
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
  const words = new URLSearchParams({ ...query, ...more }).toString()
  return words === '' ? path : `${path}?${words}`
}

function eventIn(line: string, path: string): { type: string; object: unknown } {
  try {
    const { type, object } = fieldsOf(JSON.parse(line))
    if (typeof type === 'string') return { type, object }
  } catch (error) {
    throw new ApiFailure('garbage', `An event of ${path} is no JSON: ${line.slice(0, 120)}`, { cause: error })
  }
  throw new ApiFailure('garbage', `An event of ${path} has no type: ${line.slice(0, 120)}`)
}

/** An ERROR event: the stream is of no use any more. */
function told(status: unknown, path: string): ApiFailure {
  const { code, message, reason } = fieldsOf(status)
  const kind = typeof code === 'number' ? kindOfStatus(code) : 'refused'
  return new ApiFailure(kind, `The watch of ${path} was told ${code} ${reason}: ${message}`)
}

function keyOf(object: unknown): string | undefined {
  const { namespace, name } = fieldsOf(fieldsOf(object).metadata)
  if (typeof name !== 'string' || name === '') return undefined
  return typeof namespace === 'string' ? `${namespace}/${name}` : name
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {}
