/**
 * Hears of the end of a process that is not ours, by its pidfd. Decided here: what cannot be watched is undefined, whatever
 * the reason. Refuses to know whose process it is.
 */
import type { NativeAddon } from '../native.ts'

export function watchProcessEnd(
  native: NativeAddon,
  pid: number,
  onEnd: () => void,
): { readonly close: () => void } | undefined {
  let watch: InstanceType<NativeAddon['ProcessEnd']> | undefined
  try {
    const opened = new native.ProcessEnd(pid)
    watch = opened
    // It stays readable: once is enough.
    const ended = () => {
      opened.close()
      onEnd()
    }
    opened.start(ended, ended)
    return { close: () => opened.close() }
  } catch {
    // It has ended (ESRCH), the kernel is older than 5.3, or we have run out of descriptors.
    watch?.close()
    return undefined
  }
}
