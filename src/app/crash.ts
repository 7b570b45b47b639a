/**
 * The end of an engine that has a bug. Decided here: first the guardian gets its turn, then a person is told, and
 * neither waits for whoever reads standard error: a stuck reader must not keep a dead engine's addresses. The last of all is
 * a word for the journal: a disk may hang, and by then it keeps nothing but the exit status. Refuses to
 * know what the engine was doing, and to end the process itself.
 */
import { constants, openSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { inspect } from 'node:util'
import { EXIT } from './exit-code.ts'

const STDERR = 2

/**
 * Resolves with the exit status upon the first exception or rejection that nobody caught; never without one. `remember`
 * comes after all else; what it throws is lost.
 */
export function untilCrashed(release: () => void, remember: (error: unknown) => void = () => {}): Promise<number> {
  return new Promise((resolve) => {
    process.once('uncaughtException', (error) => {
      // What comes after the first says nothing new, and must not end the process before it was told.
      process.on('uncaughtException', () => {})
      release()
      resolve(EXIT.failure)
      tell(`holdfast: This is a bug, leaving: ${inspect(error)}\n`)
      try {
        remember(error)
      } catch {
        // The bug may be in there.
      }
    })
  })
}

function tell(text: string): void {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK | constants.O_NOCTTY
  let own: number
  try {
    // An open of our own does not block, and leaves the guardian's and the shell's as they are.
    own = openSync(`/proc/self/fd/${STDERR}`, flags)
  } catch {
    // A socket (the journal's) cannot be opened twice. A write that does not block is tried at once.
    new Socket({ fd: STDERR, readable: false, writable: true }).on('error', () => {}).write(text)
    return
  }
  try {
    writeSync(own, text)
  } catch {
    // Nobody reads: the line is lost, the address is not kept.
  }
}
