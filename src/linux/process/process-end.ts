/**
 * Reports the end of a process that is not a child, by its pidfd. This file decides that if the process cannot be
 * watched, the caller gets `undefined`, whatever the reason. This file does not know the purpose of the process.
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
    // A pidfd stays readable after the process ended, so one call is enough.
    const ended = () => {
      opened.close()
      onEnd()
    }
    opened.start(ended, ended)
    return { close: () => opened.close() }
  } catch {
    // The process cannot be watched: it has ended (ESRCH), the kernel is older than 5.3, or no descriptor is left.
    watch?.close()
    return undefined
  }
}
