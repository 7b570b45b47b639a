/**
 * How long it takes at most until the addresses have moved after something that is tracked has failed without a sign:
 * a poll has to find it, and the successor has to wait. Decided here: the parts of that sum. A connection that ends is
 * noticed at once and is not meant here. This file does not know whether that is too long.
 */
import type { CheckSpec } from '../../healthcheck/check.ts'
import { staggerStep } from '../../vrrp/extensions/stagger.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import { activeDownInterval, skewTime } from '../../vrrp/timers.ts'
import { type Check, nameOf } from '../checks.ts'
import type { Track } from '../schema/track.ts'
import { probesBehind } from './priority-table.ts'

export type Part = { readonly ms: number; readonly what: string }
export type SlowestPath = {
  readonly check: CheckSpec
  readonly ms: number
  readonly parts: readonly Part[]
}

/** Undefined: nothing that is tracked moves the addresses, or interfaces only, which the kernel tells of at once. */
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

/** It fails just after a poll, and no run gets an answer. */
function detectionOf({ cadence, timeout, rule, probe }: CheckSpec): readonly Part[] {
  const { interval, fastInterval, jitter } = cadence
  // A look at a file or at the list of processes has its answer at once.
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

/** Undefined: it never moves. The successor is a node like this one, and the last in rank. */
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
