/**
 * How busy the machine was during a measurement. On a busy machine a figure depends more on the machine than on a
 * daemon.
 */
import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'

export type Pressure = { readonly at: number; readonly stalledUs: number }

/** Returns the microseconds in which some runnable task waited for a CPU, since boot; NaN without PSI in the kernel. */
export function pressureNow(): Pressure {
  let stalledUs = Number.NaN
  try {
    stalledUs = Number(/^some .*total=(\d+)/m.exec(readFileSync('/proc/pressure/cpu', 'utf8'))?.[1] ?? Number.NaN)
  } catch {
    // The kernel has no PSI.
  }
  return { at: Number(process.hrtime.bigint()) / 1e3, stalledUs }
}

/** Returns the share of the time since `before`, 0 to 1. */
export function pressureSince(before: Pressure): number {
  const now = pressureNow()
  return (now.stalledUs - before.stalledUs) / (now.at - before.at)
}

export function loadAverage(): number {
  return loadavg()[0] ?? Number.NaN
}
