/**
 * The engine's end of the socketpair to the guardian (SOCK_SEQPACKET: one write is one message). Decided here: what
 * counts as armed. Refused here: what a will says (daemon/) and how it is spelled (will-message.ts).
 */
import { writeSync } from 'node:fs'
import type { LastWillPort } from '../daemon/ports.ts'
import { armMessage, withdrawMessage } from './will-message.ts'

const isTemporary = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'EAGAIN' || error.code === 'ENOBUFS')

/** Undefined or no number: started without a guardian, wills go nowhere. */
export function openGuardian(descriptor: string | undefined = process.env.HOLDFAST_GUARDIAN_FD): LastWillPort {
  let fd = descriptor !== undefined && /^\d+$/.test(descriptor) ? Number(descriptor) : undefined
  /** Not accepted yet, newest per unit: an old will of a unit must not outlive a newer one or its withdrawal. */
  const waiting = new Map<number, Uint8Array>()

  function flush(): void {
    for (const [unit, message] of waiting) {
      if (fd === undefined) return
      try {
        writeSync(fd, message)
        waiting.delete(unit)
      } catch (error) {
        // A full socketpair empties again; everything else (EPIPE, ECONNRESET, EBADF, EMSGSIZE) does not.
        if (isTemporary(error)) return
        fd = undefined
      }
    }
  }

  function post(unit: number, message: Uint8Array): void {
    if (fd === undefined) return
    waiting.delete(unit)
    waiting.set(unit, message)
    flush()
  }

  return {
    arm: (will) => post(will.unit, armMessage(will)),
    withdraw: (unit) => post(unit, withdrawMessage(unit)),
    get armed() {
      return fd !== undefined && waiting.size === 0
    },
  }
}
