/**
 * Wakes the engine by a timer of the kernel (timerfd). Decided here: it is not a timer of Node. Node's timers have a
 * grain of a millisecond, so an early tick has to be waited for again. They also tick for deadlines that have moved
 * (docs/adr/0040). Does not know what is due.
 */
import type { MakeWakeUp } from '../daemon/ports.ts'
import type { NativeAddon } from './native.ts'

/** Returns `undefined` if no descriptor is left. The engine then uses Node's timers. */
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
