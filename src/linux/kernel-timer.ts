/**
 * Wakes the engine by a timer of the kernel (timerfd). Node's timers are not used, for two reasons. Node's timers have
 * a resolution of a millisecond, so they may fire too early and have to be set again. Node's timers also fire for
 * deadlines that have moved (docs/adr/0040). This file does not know what is due.
 */
import type { MakeWakeUp } from '../daemon/ports.ts'
import type { NativeAddon, NativeTimer } from './native.ts'

export type KernelTimer = { readonly timer: NativeTimer; readonly wakeUp: MakeWakeUp }

/** Opens the timer. Returns `undefined` if no descriptor is left. The engine then uses Node's timers. */
export function openKernelTimer(native: Pick<NativeAddon, 'NativeTimer'>): KernelTimer | undefined {
  try {
    const timer = new native.NativeTimer()
    return {
      timer,
      wakeUp: (onTick) => {
        timer.start(onTick, onTick)
        return { set: (at) => timer.set(at), clear: () => timer.set(0) }
      },
    }
  } catch {
    return undefined
  }
}
