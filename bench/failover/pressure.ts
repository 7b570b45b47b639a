/**
 * Measures how busy the machine was during a measurement. On a busy machine, a figure depends more on the machine than
 * on the measured daemon.
 */
import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'

export type Pressure = { readonly at: number; readonly stalledUs: number }

/**
 * Returns for how many microseconds since boot at least one runnable task has waited for a CPU; NaN if the kernel has
 * no PSI.
 */
export function pressureNow(): Pressure {
  let stalledUs = Number.NaN
  try {
    stalledUs = Number(/^some .*total=(\d+)/m.exec(readFileSync('/proc/pressure/cpu', 'utf8'))?.[1] ?? Number.NaN)
  } catch {
    // The kernel of this machine has no PSI (/proc/pressure).
  }
  return { at: Number(process.hrtime.bigint()) / 1e3, stalledUs }
}

/** Returns the share of the time since `before` in which some task waited for a CPU, from 0 to 1. */
export function pressureSince(before: Pressure): number {
  const now = pressureNow()
  return (now.stalledUs - before.stalledUs) / (now.at - before.at)
}

export function loadAverage(): number {
  return loadavg()[0] ?? Number.NaN
}
