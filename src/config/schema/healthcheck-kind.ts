/**
 * Which kind of check an entry is, and which keys go with it. Decided here: a key that would have no effect is refused,
 * because somebody meant something by it. This file knows one entry at a time.
 */
import { formatDuration } from './duration.ts'
import { timesOf } from './healthcheck-defaults.ts'
import type { HealthcheckKeys } from './healthcheck-keys.ts'

type Key = keyof HealthcheckKeys
type Kind = 'http' | 'tcp' | 'exec' | 'file' | 'process' | 'all' | 'any'

const OF_PROBES: readonly Key[] = [
  'interval',
  'fastInterval',
  'timeout',
  'rise',
  'fall',
  'initial',
  'jitter',
  'onUnknown',
  'unknownAfter',
]
const GOES_WITH: Readonly<Record<Kind, readonly Key[]>> = {
  http: [...OF_PROBES, 'events', 'method', 'headers', 'status', 'body', 'redirects', 'tls', 'unixSocket'],
  tcp: [...OF_PROBES, 'events', 'send', 'expect'],
  exec: [...OF_PROBES, 'user', 'capabilities', 'unsafe', 'environment'],
  file: [...OF_PROBES, 'content'],
  process: [...OF_PROBES, 'count'],
  all: [],
  any: [],
}
const KINDS: readonly Kind[] = ['http', 'tcp', 'exec', 'file', 'process', 'all', 'any']
const BOUND: readonly Key[] = [...new Set(Object.values(GOES_WITH).flat())]
const ONE_WANTED = 'exactly one of http, tcp, exec, file, process, all and any wanted'

export type KindProblem = {
  readonly path: readonly Key[]
  readonly message: string
  /** The message is a sentence of its own (field.ts). */
  readonly isWhole?: boolean
}

export function kindProblems(keys: HealthcheckKeys): readonly KindProblem[] {
  const [kind, second] = KINDS.filter((name) => keys[name] !== undefined)
  if (kind === undefined) return [{ path: [], message: ONE_WANTED }]
  if (second !== undefined)
    return [{ path: [second], message: `check "${keys.name}" has both ${kind} and ${second}; use one`, isWhole: true }]
  const odd = BOUND.filter((key) => keys[key] !== undefined && !GOES_WITH[kind].includes(key))
  return [
    ...odd.map((key): KindProblem => ({ path: [key], message: `it goes with ${friendsOf(key)}, and this is ${kind}` })),
    ...timeProblems(keys),
    ...requestProblems(keys),
  ]
}

function friendsOf(key: Key): string {
  return OF_PROBES.includes(key) ? 'probes' : KINDS.filter((kind) => GOES_WITH[kind].includes(key)).join(' and ')
}

function timeProblems(keys: HealthcheckKeys): KindProblem[] {
  const { interval, fastInterval, timeout, unknownAfter } = timesOf(keys)
  const problems: KindProblem[] = []
  if (fastInterval > interval)
    problems.push({ path: ['fastInterval'], message: `at most the interval (${formatDuration(interval)}) wanted` })
  // Otherwise a check that works would be unknown before its next result can come.
  if (unknownAfter < interval + timeout)
    problems.push({
      path: ['unknownAfter'],
      message: `at least interval and timeout (${formatDuration(interval + timeout)}) wanted`,
    })
  return problems
}

function requestProblems({ http, method, body, tls, redirects = 0 }: HealthcheckKeys): KindProblem[] {
  const problems: KindProblem[] = []
  if (method === 'HEAD' && body !== undefined) problems.push({ path: ['body'], message: 'an answer to HEAD has none' })
  if (tls !== undefined && redirects === 0 && http !== undefined && !/^https:/i.test(http))
    problems.push({ path: ['tls'], message: 'it goes with a URL that starts with https' })
  if (tls?.verify === false && tls.caFile !== undefined)
    problems.push({ path: ['tls'], message: 'either "verify: false" or caFile wanted' })
  return problems
}
