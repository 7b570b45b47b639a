/**
 * The end of an engine that has a bug. This file decides that first the guardian is released, so that it removes the
 * addresses. After the release of the guardian, the error is written to standard error, without waiting for a slow
 * reader. The event journal comes last, because a disk may hang. The process is ended by the caller. A guardian that
 * starts the engine again kills this process as soon as it is released, so it is released last. If the disk hangs, the
 * lease of the clock ends.
 */
import { constants, openSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { inspect } from 'node:util'
import { EXIT } from './exit-code.ts'

const STDERR = 2

/**
 * Resolves with the exit status at the first uncaught exception or rejection; never without one. The errors of
 * `remember` are ignored. `isRestarted` tells whether the guardian starts the engine again.
 */
export function untilCrashed(
  release: () => void,
  remember: (error: unknown) => void = () => {},
  isRestarted: () => boolean = () => false,
): Promise<number> {
  return new Promise((resolve) => {
    process.once('uncaughtException', (error) => {
      // Later exceptions add no information, and must not end the process before the first exception is written.
      process.on('uncaughtException', () => {})
      const isReleasedLast = isRestarted()
      if (!isReleasedLast) release()
      resolve(EXIT.failure)
      tell(`holdfast: stopping because of a bug: ${inspect(error)}\n`)
      try {
        remember(error)
      } catch {
        // The defect may be in `remember` itself, so its errors are ignored.
      }
      if (isReleasedLast) release()
    })
  })
}

function tell(text: string): void {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK | constants.O_NOCTTY
  let own: number
  try {
    // Standard error is opened a second time. A second descriptor does not block, and does not change the flags of the
    // descriptor that the guardian and the shell share.
    own = openSync(`/proc/self/fd/${STDERR}`, flags)
  } catch {
    // A socket, such as that of the systemd journal, cannot be opened a second time. A non-blocking write is tried
    // immediately.
    new Socket({ fd: STDERR, readable: false, writable: true }).on('error', () => {}).write(text)
    return
  }
  try {
    writeSync(own, text)
  } catch {
    // No process reads standard error. The line about the crash is lost, but the addresses are removed.
  }
}
