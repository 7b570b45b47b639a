/**
 * What wakes the engine: a timer of the kernel's own (timerfd). Decided here: that it is not one of Node's, whose grain is a
 * millisecond, whose early ticks have to be waited for a second time, and which goes on ticking for deadlines that have been
 * put off (docs/adr/0040). Refuses to know what is due.
 */
import type { MakeWakeUp } from '../daemon/ports.ts'
import type { NativeAddon } from './native.ts'

/** Undefined where there is none to be had: out of descriptors. Node's timers do, then. */
export function openKernelTimer(native: Pick<NativeAddon, 'NativeTimer'>): MakeWakeUp | undefined {
  try {
    const timer = new native.NativeTimer()
    return (onTick) => {
      timer.start(onTick, onTick)
      return { set: (at) => timer.set(at), clear: () => timer.set(0) }
    }
  } catch {
    return undefined
  }
}
