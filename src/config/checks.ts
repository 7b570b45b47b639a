/**
 * The checks of a configuration as the rest of the daemon takes them: probes with every default filled in, and
 * combinations of checks (docs/adr/0024). Decided here: the defaults, those that depend on another key among them.
 * This file does not know how the keys are written, nor what a check weighs.
 */
import type { CheckSpec, ProbeSpec } from '../healthcheck/check.ts'
import { type Millis, millis } from '../wire/units.ts'
import type { Config } from './config.ts'
import type { HealthcheckKeys } from './schema/healthcheck.ts'

export type Check =
  | { readonly kind: 'probe'; readonly spec: CheckSpec }
  | {
      readonly kind: 'combination'
      readonly name: string
      readonly mode: 'all' | 'any'
      /** Names of probes, or of combinations: those stand earlier in checksOf(). */
      readonly members: readonly string[]
    }

export const nameOf = (check: Check): string => (check.kind === 'probe' ? check.spec.name : check.name)

/** Probes in the order of the file, then combinations, each behind its members: one pass computes them all. */
export function checksOf({ healthchecks }: Pick<Config, 'healthchecks'>): readonly Check[] {
  const probes = healthchecks.filter(({ kind }) => kind === 'probe')
  const sorted: Check[] = [...probes]
  const placed = new Set(probes.map(nameOf))
  let waiting = healthchecks.filter(({ kind }) => kind === 'combination')
  for (;;) {
    const ready = waiting.filter((check) => check.kind === 'combination' && check.members.every((m) => placed.has(m)))
    // A circle, or a member that is nowhere: healthcheck-problem.ts has refused it.
    if (ready.length === 0) return sorted
    for (const check of ready) placed.add(nameOf(check))
    sorted.push(...ready)
    waiting = waiting.filter((check) => !ready.includes(check))
  }
}

const INTERVAL = millis(1000)
const FAST_INTERVAL = millis(20)
const JITTER = 0.1
/** The last result outlives a thread that hangs, is found out and starts again. */
const LEAST_UNKNOWN_AFTER = 8000

/** What is not written: for a shorter or longer interval other values make sense. */
export function timesOf(keys: Pick<HealthcheckKeys, 'interval' | 'fastInterval' | 'timeout' | 'unknownAfter'>): {
  readonly [key in 'interval' | 'fastInterval' | 'timeout' | 'unknownAfter']: Millis
} {
  const interval = keys.interval ?? INTERVAL
  const timeout = keys.timeout ?? interval
  return {
    interval,
    fastInterval: keys.fastInterval ?? millis(Math.min(FAST_INTERVAL, interval)),
    timeout,
    unknownAfter: keys.unknownAfter ?? millis(Math.max(LEAST_UNKNOWN_AFTER, 3 * interval + timeout)),
  }
}

/** Undefined: of no kind, or of several, which is refused before anybody asks. */
export function checkFrom(keys: HealthcheckKeys): Check | undefined {
  const { name, all, any } = keys
  if (all !== undefined) return { kind: 'combination', name, mode: 'all', members: all }
  if (any !== undefined) return { kind: 'combination', name, mode: 'any', members: any }
  const probe = probeFrom(keys)
  if (probe === undefined) return undefined
  const { interval, fastInterval, timeout, unknownAfter } = timesOf(keys)
  return {
    kind: 'probe',
    spec: {
      name,
      probe,
      timeout,
      cadence: { interval, fastInterval, jitter: keys.jitter ?? JITTER },
      rule: {
        rise: keys.rise ?? 1,
        fall: keys.fall ?? 1,
        initial: keys.initial ?? 'firstResult',
        onUnknown: keys.onUnknown ?? 'hold',
        unknownAfter,
      },
    },
  }
}

function probeFrom(keys: HealthcheckKeys): ProbeSpec | undefined {
  const { http, tcp, exec, file, process, tls, events = true } = keys
  if (http !== undefined)
    return {
      kind: 'http',
      url: http,
      method: keys.method ?? 'GET',
      headers: keys.headers ?? {},
      status: keys.status ?? [[200, 399]],
      body: keys.body,
      redirects: keys.redirects ?? 0,
      tls: { verify: tls?.verify ?? true, caFile: tls?.caFile, serverName: tls?.serverName },
      unixSocket: keys.unixSocket,
      events,
    }
  if (tcp !== undefined) return { kind: 'tcp', ...tcp, send: keys.send, expect: keys.expect, events }
  if (exec !== undefined) {
    const { capabilities, environment = {}, unsafe, user } = keys
    return { kind: 'exec', argv: exec, environment, user, capabilities, unsafe }
  }
  if (file !== undefined) return { kind: 'file', path: file, content: keys.content ?? 'present' }
  if (process !== undefined) return { kind: 'process', name: process, count: keys.count ?? 1 }
  return undefined
}
