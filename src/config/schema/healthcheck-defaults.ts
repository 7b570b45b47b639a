/**
 * Converts the keys of a health check to a check with every default (docs/adr/0024). This file decides the defaults,
 * including those that depend on another key.
 */
import type { ProbeSpec } from '../../healthcheck/check.ts'
import { type Millis, millis } from '../../wire/units.ts'
import type { Check } from '../checks.ts'
import type { HealthcheckKeys } from './healthcheck-keys.ts'

const INTERVAL = millis(1000)
const FAST_INTERVAL = millis(20)
const JITTER = 0.1
/**
 * Shortest default of `unknownAfter`, in milliseconds. With this default the last result of a check stays valid while a
 * check worker that hangs is detected and started again.
 */
const LEAST_UNKNOWN_AFTER = 8000

/** Returns the interval, timeouts and other times of a probe. The default of most of them depends on the interval. */
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

/**
 * Returns the health check of an entry in the configuration. `undefined` if the entry has no kind of check; the schema
 * has refused that entry, and any entry with several kinds.
 */
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
