/**
 * Former names of fields in the answer of /v1/status. This file decides that answers have them beside the new names
 * until 0.3.0, because the nodes of a group are upgraded one after the other. An answer with only the former names is
 * read as if it had the new names.
 */
import type { HealthcheckSnapshot } from '../daemon/health/healthcheck-snapshot.ts'
import type { RouterSnapshot, Snapshot } from '../daemon/telemetry/snapshot.ts'

/** Former name of each field of a router. */
const ROUTER = { holder: 'owner', mismatchedRouters: 'strangers', competingAnswer: 'rival' } as const
/** Former name of each counter of a router. */
const COUNTERS = { competingAnswers: 'rivalAnswers', cleanupPlansExecuted: 'willsExecuted' } as const

/** Former name of each field of a health check. */
const HEALTHCHECK = { result: 'verdict', countsAs: 'standing' } as const

type FormerFields = { readonly [name in keyof typeof ROUTER as (typeof ROUTER)[name]]: RouterSnapshot[name] }
type FormerCounters = {
  readonly [name in keyof typeof COUNTERS as (typeof COUNTERS)[name]]: RouterSnapshot['counters'][name]
}
type FormerResults = {
  readonly [name in keyof typeof HEALTHCHECK as (typeof HEALTHCHECK)[name]]: HealthcheckSnapshot[name]
}
type PublishedRouter = RouterSnapshot &
  FormerFields & { readonly counters: RouterSnapshot['counters'] & FormerCounters }

/** The answer of /v1/status. */
export type PublishedSnapshot = Snapshot & {
  readonly routers: readonly PublishedRouter[]
  readonly healthchecks: readonly (HealthcheckSnapshot & FormerResults)[]
}

export function withFormerNames(snapshot: Snapshot): PublishedSnapshot {
  return {
    ...snapshot,
    routers: snapshot.routers.map((router) => {
      const { counters, competingAnswer, holder, mismatchedRouters } = router
      const { cleanupPlansExecuted: willsExecuted, competingAnswers: rivalAnswers } = counters
      return {
        ...router,
        ...{ owner: holder, strangers: mismatchedRouters, rival: competingAnswer },
        counters: { ...counters, rivalAnswers, willsExecuted },
      }
    }),
    healthchecks: snapshot.healthchecks.map((check) => ({
      ...check,
      ...{ verdict: check.result, standing: check.countsAs },
    })),
  }
}

/**
 * Reviver for JSON.parse. Gives the fields of routers and counters the new names if they have only the former names.
 * The value may come from any daemon.
 */
export function newNames(_key: string, value: unknown): unknown {
  if (!isObject(value)) return value
  if ('vrid' in value) return renameIn(value, ROUTER)
  if ('verdict' in value) return renameIn(value, HEALTHCHECK)
  return 'willsExecuted' in value ? renameIn(value, COUNTERS) : value
}

function renameIn(object: Readonly<Record<string, unknown>>, names: Readonly<Record<string, string>>) {
  const found = Object.entries(names).filter(([name, former]) => !(name in object) && former in object)
  return { ...object, ...Object.fromEntries(found.map(([name, former]) => [name, object[former]])) }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
