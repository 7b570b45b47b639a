/**
 * What the command line says of `api` where the file cannot: keepalived's has no place for it. Decided here: the same
 * words and the same bounds as in YAML. Pure. Refuses to know which command it was.
 */

import { listenProblems } from './advice/cross-check.ts'
import { apiSchema, type Config } from './config.ts'

export type ApiWords = {
  readonly listen?: string | undefined
  readonly public?: boolean | undefined
  readonly metricsCompat?: string | undefined
}

/** In the place of what the file says, or of the default. */
export type ApiOverride = Partial<Pick<Config['api'], 'listen' | 'public' | 'metricsCompat'>>

const FLAG: Readonly<Record<string, string>> = {
  listen: '--listen',
  public: '--public',
  metricsCompat: '--metrics-compat',
}

/** Or why not, in words. Source: the operator. */
export function apiOverride(words: ApiWords): ApiOverride | string {
  const said = Object.fromEntries(
    Object.entries(words).flatMap(([key, word]) =>
      word === undefined ? [] : [[key, key === 'listen' && word === 'false' ? false : word]],
    ),
  )
  const read = apiSchema.safeParse(said)
  if (!read.success) {
    const [issue] = read.error.issues
    const key = String(issue?.path[0] ?? '')
    return `Cannot use "${said[key]}" as ${FLAG[key] ?? key}: ${issue?.message ?? ''}`
  }
  const { listen, metricsCompat, public: isPublic } = read.data
  const refused = listenProblems(listen, isPublic, () => ({ line: 0, column: 0 }))
  if (refused.length > 0 && listen !== false)
    return `Cannot listen on ${listen.host} without --public: it is not a loopback address`
  return {
    ...(words.listen === undefined ? {} : { listen }),
    ...(words.public === undefined ? {} : { public: isPublic }),
    ...(words.metricsCompat === undefined ? {} : { metricsCompat }),
  }
}
