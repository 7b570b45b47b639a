/**
 * Builds specifications of health checks, with the default values of the configuration. A test changes only the values
 * that matter to it.
 */
import type { CheckSpec, HttpSpec, ProbeSpec, TcpSpec } from '../../src/healthcheck/check.ts'
import { monotonicNow, type Probe } from '../../src/healthcheck/probe.ts'
import type { ProbeResult } from '../../src/healthcheck/probe-result.ts'
import { millis } from '../../src/wire/units.ts'

export function httpSpec(url: string, changes: Partial<HttpSpec> = {}): HttpSpec {
  return {
    kind: 'http',
    url,
    method: 'GET',
    headers: {},
    status: [[200, 399]],
    body: undefined,
    redirects: 0,
    tls: { verify: true, caFile: undefined, serverName: undefined },
    unixSocket: undefined,
    events: true,
    ...changes,
  }
}

export function tcpSpec(port: number, changes: Partial<TcpSpec> = {}): TcpSpec {
  return { kind: 'tcp', host: '127.0.0.1', port, send: undefined, expect: undefined, events: true, ...changes }
}

type Changes = Partial<Pick<CheckSpec, 'name' | 'timeout'> & CheckSpec['cadence'] & CheckSpec['rule']>

export function checkSpec(probe: ProbeSpec, changes: Changes = {}): CheckSpec {
  const { name = 'check', timeout = millis(1_000), ...rest } = changes
  const { interval = millis(1_000), fastInterval = millis(20), jitter = 0, ...rule } = rest
  return {
    name,
    probe,
    timeout,
    cadence: { interval, fastInterval, jitter },
    rule: { rise: 1, fall: 1, initial: 'firstResult', onUnknown: 'hold', unknownAfter: millis(5_000), ...rule },
  }
}

/** Runs a probe once. Returns its result and, in `took`, its duration in ms of real time. */
export async function ask(probe: Probe, timeout = 20_000): Promise<ProbeResult & { readonly took: number }> {
  const abort = new AbortController()
  const startedAt = monotonicNow()
  const timer = setTimeout(() => abort.abort(), timeout)
  const run = probe.start(abort.signal)
  const result = await run.result
  const took = monotonicNow() - startedAt
  clearTimeout(timer)
  await run.ended
  return { ...result, took }
}
