/**
 * How good the gauge is on this machine, now: before the runs, on a LAN where nobody runs a daemon and what happens is
 * known. Decides what is compared: its own punctuality, its outages with those of the demo's prober beside it, its overlap
 * with the time for which two kernels had the address. Refuses to know anything of VRRP.
 */
import { run } from '../../src/cli/demo-network.ts'
import { Prober, startResponder } from '../../src/cli/demo-probe.ts'
import { createLab, type Host } from '../../test/support/lab.ts'
import { monotonicMs, sleep } from '../../test/support/wait.ts'
import type { Punctuality } from './client-record.ts'
import { startObservation } from './observation.ts'

export type GaugeQuality = Punctuality & {
  /** Outages that both probers saw, each time: ours minus the demo's, ms. Both ask once a millisecond. */
  readonly outageDifferencesMs: readonly number[]
  /** Overlap as the observer saw it, and the shortest and the longest that it may have been, ms. */
  readonly overlapMs: number
  readonly overlapFromMs: number
  readonly overlapToMs: number
}

const STEADY_MS = 2_000
const CUTS = 5
const CUT_MS = 60
const OVERLAP_MS = 80

export async function selfTest(): Promise<GaugeQuality> {
  const lab = createLab({ routers: 2 })
  try {
    const [r1, r2] = [lab.router(1), lab.router(2)]
    const observation = await startObservation(lab, { family: 4, cachedNeighbour: true })
    const address = (verb: 'add' | 'delete', host: Host) =>
      run(['ip', '-n', host.namespace, 'address', verb, `${observation.address}/32`, 'dev', 'eth0', 'noprefixroute'])
    address('add', r1)
    startResponder(lab, r1)
    const other = new Prober(lab, lab.client, observation.address)
    await observation.answeredBy('r1')
    await sleep(200)
    const { gauge } = await observation.measure(monotonicMs(), STEADY_MS)

    const outageDifferencesMs: number[] = []
    for (let i = 0; i < CUTS; i++) {
      const at = lab.cut(r1)
      await sleep(CUT_MS + Math.random())
      lab.heal(r1)
      const { outageMs } = await observation.measure(at, 3 * CUT_MS)
      outageDifferencesMs.push(outageMs - other.longestGap(at - 2, at + 3 * CUT_MS))
    }
    await other.stop()

    const began = monotonicMs()
    address('add', r2)
    const added = monotonicMs()
    await sleep(OVERLAP_MS)
    const removing = monotonicMs()
    address('delete', r2)
    const removed = monotonicMs()
    const { overlapMs } = await observation.measure(began, removed - began + 20)
    await observation.close()
    const bounds = { overlapFromMs: removing - added, overlapToMs: removed - began }
    return { ...gauge, outageDifferencesMs, overlapMs, ...bounds }
  } finally {
    lab.destroy()
  }
}

/** In a sentence, for tables and standard error. */
export function qualityText(quality: GaugeQuality): string {
  const ms = (value: number) => value.toFixed(2)
  const { outageDifferencesMs: differences, overlapFromMs: from, overlapToMs: to } = quality
  return [
    `${quality.fifo ? 'SCHED_FIFO' : 'no SCHED_FIFO'}, probes late by ${ms(quality.lateP50Ms)} ms (median), ${ms(quality.lateP99Ms)} (p99), ${ms(quality.lateMaxMs)} (most)`,
    `round trip ${ms(quality.roundTripP50Ms)} and ${ms(quality.roundTripP99Ms)} ms`,
    `${quality.missedTicks} ticks missed in ${STEADY_MS / 1000} s`,
    `outages differ from the demo's prober by ${ms(Math.min(...differences))} to ${ms(Math.max(...differences))} ms`,
    `an overlap of ${ms(from)} to ${ms(to)} ms was seen as ${ms(quality.overlapMs)}`,
  ].join('; ')
}
