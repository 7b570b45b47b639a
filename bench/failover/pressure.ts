/** How busy the machine was meanwhile: a figure measured on a busy machine says more of the machine than of a daemon. */
import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'

export type Pressure = { readonly at: number; readonly stalledUs: number }

/** Microseconds in which some runnable task waited for a CPU, since boot; NaN where the kernel does not say (no PSI). */
export function pressureNow(): Pressure {
  let stalledUs = Number.NaN
  try {
    stalledUs = Number(/^some .*total=(\d+)/m.exec(readFileSync('/proc/pressure/cpu', 'utf8'))?.[1] ?? Number.NaN)
  } catch {
    // A kernel without PSI.
  }
  return { at: Number(process.hrtime.bigint()) / 1e3, stalledUs }
}

/** Share of the time since `before`, 0 to 1. */
export function pressureSince(before: Pressure): number {
  const now = pressureNow()
  return (now.stalledUs - before.stalledUs) / (now.at - before.at)
}

export function loadAverage(): number {
  return loadavg()[0] ?? Number.NaN
}
