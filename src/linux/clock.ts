/**
 * The engine's clock: CLOCK_MONOTONIC, which all network namespaces share and which stops while the machine is
 * suspended. Date.now() can be stepped, and performance.now() starts at zero in each process, so the engine uses
 * neither. CLOCK_BOOTTIME continues during a suspension: its difference from CLOCK_MONOTONIC tells how long the machine
 * was suspended.
 */
import type { Clock } from '../daemon/ports.ts'
import { millis } from '../wire/units.ts'
import type { NativeAddon } from './native.ts'
import type { ClockPair } from './sockets/receive-time.ts'

export type KernelClock = Clock & {
  /** Returns CLOCK_MONOTONIC and CLOCK_REALTIME from one call, to convert the kernel's receive times. */
  pair(): ClockPair
}

/**
 * Milliseconds. A smaller difference of the clocks is the time between two readings, not a suspension of the machine.
 */
const NO_SLEEP = 1

export function openClock(native: Pick<NativeAddon, 'clocks'>): KernelClock {
  const read = new Float64Array(3)
  native.clocks(read)
  let asleep = Number.NaN
  return {
    now() {
      native.clocks(read)
      return millis(read[0] ?? 0)
    },
    asleep() {
      let found = (read[2] ?? 0) - (read[0] ?? 0)
      if (!(Math.abs(found - asleep) <= NO_SLEEP)) {
        native.clocks(read)
        found = Math.min(found, (read[2] ?? 0) - (read[0] ?? 0))
      }
      asleep = found
      return millis(Math.max(0, found))
    },
    pair() {
      native.clocks(read)
      return { monotonic: read[0] ?? 0, realtime: read[1] ?? 0 }
    },
  }
}
