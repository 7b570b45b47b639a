/**
 * The options of `holdfast run` that stand for keys of `api`: keepalived's file has no place for them. Decided here: the
 * values and bounds are those of YAML.
 */

import { listenProblems } from './advice/cross-check.ts'
import { apiSchema, type Config } from './config.ts'

export type ApiOptions = {
  readonly listen?: string | undefined
  readonly public?: boolean | undefined
  readonly metricsCompat?: string | undefined
}

/** Replaces what the file says, or the default. */
export type ApiOverride = Partial<Pick<Config['api'], 'listen' | 'public' | 'metricsCompat'>>

const FLAG: Readonly<Record<string, string>> = {
  listen: '--listen',
  public: '--public',
  metricsCompat: '--metrics-compat',
}

/** Returns a string if an option is wrong. */
export function apiOverride(options: ApiOptions): ApiOverride | string {
  const given = Object.fromEntries(
    Object.entries(options).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, key === 'listen' && value === 'false' ? false : value]],
    ),
  )
  const read = apiSchema.safeParse(given)
  if (!read.success) {
    const [issue] = read.error.issues
    const key = String(issue?.path[0] ?? '')
    return `Cannot use "${given[key]}" as ${FLAG[key] ?? key}: ${issue?.message ?? ''}`
  }
  const { listen, metricsCompat, public: isPublic } = read.data
  const refused = listenProblems(listen, isPublic, () => ({ line: 0, column: 0 }))
  if (refused.length > 0 && listen !== false)
    return `Cannot listen on ${listen.host} without --public: it is not a loopback address`
  return {
    ...(options.listen === undefined ? {} : { listen }),
    ...(options.public === undefined ? {} : { public: isPublic }),
    ...(options.metricsCompat === undefined ? {} : { metricsCompat }),
  }
}
