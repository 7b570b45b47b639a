/**
 * Decides the kind of a check and which keys belong to it. A key without effect is refused, because the operator
 * expects an effect. The functions see one entry at a time.
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
const ONE_EXPECTED = 'exactly one of http, tcp, exec, file, process, all and any'

export type KindProblem = {
  readonly path: readonly Key[]
  readonly message: string
  /** True if the message is the whole text after the path (field.ts). */
  readonly isWhole?: boolean
}

/** Returns the problems of keys that do not belong together. */
export function kindProblems(keys: HealthcheckKeys): readonly KindProblem[] {
  const [kind, second] = KINDS.filter((name) => keys[name] !== undefined)
  if (kind === undefined) return [{ path: [], message: ONE_EXPECTED }]
  if (second !== undefined)
    return [{ path: [second], message: `check "${keys.name}" has both ${kind} and ${second}; use one`, isWhole: true }]
  const odd = BOUND.filter((key) => keys[key] !== undefined && !GOES_WITH[kind].includes(key))
  return [
    ...odd.map(
      (key): KindProblem => ({
        path: [key],
        message: `only for ${kindsWith(key)}; the kind of this check is ${kind}`,
        isWhole: true,
      }),
    ),
    ...timeProblems(keys),
    ...requestProblems(keys),
  ]
}

function kindsWith(key: Key): string {
  if (OF_PROBES.includes(key)) return 'checks that are no combination'
  return `${KINDS.filter((kind) => GOES_WITH[kind].includes(key)).join(' and ')} checks`
}

function timeProblems(keys: HealthcheckKeys): KindProblem[] {
  const { interval, fastInterval, timeout, unknownAfter } = timesOf(keys)
  const problems: KindProblem[] = []
  if (fastInterval > interval)
    problems.push({ path: ['fastInterval'], message: `at most the interval (${formatDuration(interval)})` })
  // With a shorter `unknownAfter`, a working check would be unknown before its next result.
  if (unknownAfter < interval + timeout)
    problems.push({
      path: ['unknownAfter'],
      message: `at least interval and timeout together (${formatDuration(interval + timeout)})`,
    })
  return problems
}

function requestProblems({ http, method, body, tls, redirects = 0 }: HealthcheckKeys): KindProblem[] {
  const problems: KindProblem[] = []
  if (method === 'HEAD' && body !== undefined)
    problems.push({ path: ['body'], message: 'not possible with method HEAD, whose answer has no body', isWhole: true })
  if (tls !== undefined && redirects === 0 && http !== undefined && !/^https:/i.test(http))
    problems.push({ path: ['tls'], message: 'only for a URL that starts with https', isWhole: true })
  if (tls?.verify === false && tls.caFile !== undefined)
    problems.push({ path: ['tls'], message: 'either "verify: false" or caFile' })
  return problems
}
