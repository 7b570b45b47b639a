/**
 * Options of `holdfast run` that replace keys of the section `api`, because keepalived's file has no such keys. Values
 * and bounds of the options are the same as in YAML.
 */

import { refusedValue } from '../base/refused-value.ts'
import { listenProblems } from './advice/cross-check.ts'
import { apiSchema, type Config } from './config.ts'

export type ApiOptions = {
  readonly listen?: string | undefined
  readonly public?: boolean | undefined
  readonly metricsCompat?: string | undefined
}

/**
 * Keys of the section `api` that the command line sets. Keys of the command line replace the keys of the configuration
 * file, or the defaults.
 */
export type ApiOverride = Partial<Pick<Config['api'], 'listen' | 'public' | 'metricsCompat'>>

const FLAG: Readonly<Record<string, string>> = {
  listen: '--listen',
  public: '--public',
  metricsCompat: '--metrics-compat',
}

/** Returns the keys of `api` to replace, or the text of the error if an option is wrong. */
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
    return refusedValue(FLAG[key] ?? key, given[key], issue?.message ?? '')
  }
  const { listen, metricsCompat, public: isPublic } = read.data
  const refused = listenProblems(listen, isPublic, () => ({ line: 0, column: 0 }))
  if (refused.length > 0 && listen !== false)
    return refusedValue('--listen', listen.host, 'a loopback address, or --public beside it')
  return {
    ...(options.listen === undefined ? {} : { listen }),
    ...(options.public === undefined ? {} : { public: isPublic }),
    ...(options.metricsCompat === undefined ? {} : { metricsCompat }),
  }
}
