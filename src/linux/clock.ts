/**
 * The engine's clock: CLOCK_MONOTONIC, shared by all network namespaces and stopped while the machine is suspended.
 * Date.now() and performance.now() are not used: the first is stepped, the second starts at the process's own zero.
 */
import type { Clock } from '../daemon/ports.ts'
import { millis } from '../wire/units.ts'
import type { NativeAddon } from './native.ts'
import type { ClockPair } from './receive-time.ts'

export type KernelClock = Clock & {
  /** Both clocks in one call, for the kernel's receive stamps. */
  pair(): ClockPair
}

export function openClock(native: Pick<NativeAddon, 'clocks'>): KernelClock {
  const read = new Float64Array(3)
  return {
    now() {
      native.clocks(read)
      return millis(read[0] ?? 0)
    },
    pair() {
      native.clocks(read)
      return { monotonic: read[0] ?? 0, realtime: read[1] ?? 0 }
    },
  }
}
