/**
 * Computes the longest time from a failure to the move of the addresses, for a service that stops answering. First a
 * run of a check has to notice the failure, and then the successor waits. This file decides the summands of that time.
 * A closed connection is left out, because the check notices it immediately. Other files decide which time is too long.
 */
import type { CheckSpec } from '../../healthcheck/check.ts'
import { staggerStep } from '../../vrrp/extensions/stagger.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import { activeDownInterval, skewTime } from '../../vrrp/timers.ts'
import { type Check, nameOf } from '../checks.ts'
import type { Track } from '../schema/track.ts'
import { probesBehind } from './priority-table.ts'

/** One summand of the time until the addresses move, in milliseconds. */
export type Part = { readonly ms: number; readonly what: string }
export type SlowestPath = {
  readonly check: CheckSpec
  readonly ms: number
  readonly parts: readonly Part[]
}

/**
 * Returns the check whose failure takes longest to move the addresses. `undefined` if no check can move the addresses.
 * Interfaces do not count, because the kernel reports their changes immediately.
 */
export function slowestPath(
  parameters: Parameters,
  track: readonly Track[],
  checks: readonly Check[],
): SlowestPath | undefined {
  const byName = new Map(checks.map((check) => [nameOf(check), check]))
  const paths = track.flatMap((tracker): SlowestPath[] => {
    if (!('healthcheck' in tracker)) return []
    const move = moveOf(parameters, tracker.weight)
    if (move === undefined) return []
    return probesBehind(tracker.healthcheck, byName).flatMap((name) => {
      const check = byName.get(name)
      if (check?.kind !== 'probe') return []
      const parts = [...detectionOf(check.spec), ...move].filter(({ ms }) => ms > 0)
      return [{ check: check.spec, ms: parts.reduce((sum, { ms }) => sum + ms, 0), parts }]
    })
  })
  return paths.reduce<SlowestPath | undefined>(
    (slowest, path) => (path.ms > (slowest?.ms ?? 0) ? path : slowest),
    undefined,
  )
}

/**
 * Returns the summands of the longest time from the failure of a service until its check is down. The service fails
 * just after a run of the check, and each later run ends with the timeout.
 */
function detectionOf({ cadence, timeout, rule, probe }: CheckSpec): readonly Part[] {
  const { interval, fastInterval, jitter } = cadence
  // Reading a file or the list of processes takes no time.
  const answer = probe.kind === 'file' || probe.kind === 'process' ? 0 : timeout
  return [
    { ms: interval * (1 + jitter), what: 'until the next poll (interval and jitter)' },
    { ms: rule.fall * answer, what: rule.fall === 1 ? 'timeout' : `${rule.fall} times the timeout (fall)` },
    {
      ms: (rule.fall - 1) * fastInterval * (1 + jitter),
      what: rule.fall === 2 ? 'fastInterval' : `${rule.fall - 1} times fastInterval`,
    },
  ]
}

/**
 * Returns the time from the failed check to the takeover; `undefined` if the addresses never move. The assumed
 * successor is configured like this node and last in rank.
 */
function moveOf(parameters: Parameters, weight: number): readonly Part[] | undefined {
  const { priority, advertisementInterval: interval, version, extensions, preempt, preemptDelay, peers } = parameters
  const rank = extensions.stagger === true && preempt ? Math.max(0, peers.length - 1) : 0
  const stagger = { ms: rank * staggerStep(interval, peers.length), what: 'stagger' }
  const skew = { ms: skewTime(priority, interval, version), what: 'Skew_Time of the successor' }
  if (weight === 0) return [skew, stagger]
  if (!preempt) return undefined
  if (extensions.fastPreempt === true && preemptDelay === 0) return [skew, stagger]
  return [
    { ms: preemptDelay, what: 'preemptDelay' },
    { ms: activeDownInterval(priority, interval, version), what: 'Active_Down_Interval of the successor' },
    stagger,
  ]
}
