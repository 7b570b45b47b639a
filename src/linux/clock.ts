/**
 * The engine's clock: CLOCK_MONOTONIC, shared by all network namespaces and stopped while the machine is suspended.
 * Date.now() and performance.now() are not used: the first is stepped, the second starts at the process's own zero.
 * CLOCK_BOOTTIME is the one that goes on meanwhile: the difference says how long that was.
 */
import type { Clock } from '../daemon/ports.ts'
import { millis } from '../wire/units.ts'
import type { NativeAddon } from './native.ts'
import type { ClockPair } from './sockets/receive-time.ts'

export type KernelClock = Clock & {
  /** Both clocks in one call, for the kernel's receive stamps. */
  pair(): ClockPair
}

/** Two clocks are read one after the other, and this process may be interrupted in between; a millisecond is no sleep. */
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
