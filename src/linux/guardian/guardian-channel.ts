/**
 * The engine's end of the socketpair to the guardian (SOCK_SEQPACKET: one write is one message). Decided here: which messages
 * wait for a channel that is full, in which order they go, and how the guardian's death is noticed.
 */
import { closeSync, readSync, writeSync } from 'node:fs'
import type { NativeAddon } from '../native.ts'
import { LARGEST_MESSAGE } from './will-message.ts'

/** Milliseconds. A guardian that was stopped for a moment drains a full channel within milliseconds of going on. */
const TRY_AGAIN = 20
/** Messages for the service manager that wait for a full channel. */
const MOST_UNTOLD = 16

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)
const isFull = (error: unknown): boolean => ['EAGAIN', 'ENOBUFS'].includes(String(codeOf(error)))

/** `unit`: of a plan that the guardian cannot take, with its size in octets. */
export type GuardianFault = { readonly message: string; readonly unit?: number; readonly bytes?: number }

export class GuardianChannel {
  readonly #onFault: (fault: GuardianFault) => void
  readonly #onEnd: () => void
  readonly #native: Pick<NativeAddon, 'ChannelEnd'> | undefined
  /** `undefined`: there is no guardian, or none any more. */
  #fd: number | undefined
  /** Not accepted yet, newest per unit: an old plan of a unit must not outlive a newer one or its withdrawal. */
  readonly #waiting = new Map<number, Uint8Array>()
  /** Units whose newest plan the guardian cannot take; it keeps the plan that it had of them before. */
  readonly #refused = new Set<number>()
  readonly #untold: Uint8Array[] = []
  #retry: NodeJS.Timeout | undefined
  /** Owns the descriptor from listen() on. */
  #end: InstanceType<NativeAddon['ChannelEnd']> | undefined

  /** `descriptor`: no number = there is no guardian. `onEnd`: the channel is of no use any more. */
  constructor(
    descriptor: string | undefined,
    onFault: (fault: GuardianFault) => void,
    onEnd: () => void,
    native: Pick<NativeAddon, 'ChannelEnd'> | undefined,
  ) {
    this.#fd = descriptor !== undefined && /^\d+$/.test(descriptor) ? Number(descriptor) : undefined
    this.#onFault = onFault
    this.#onEnd = onEnd
    this.#native = native
  }

  get descriptor(): number | undefined {
    return this.#fd
  }

  /** The guardian has accepted every plan. */
  get isAccepted(): boolean {
    return this.#fd !== undefined && this.#waiting.size === 0 && this.#refused.size === 0
  }

  hasWaiting(unit: number): boolean {
    return this.#waiting.has(unit)
  }

  /** Sends a plan of the unit, or its withdrawal; one that waits is replaced. */
  post(unit: number, message: Uint8Array): void {
    if (this.#fd === undefined) return
    if (message.length > LARGEST_MESSAGE) return this.#refuse(unit, message.length)
    this.#waiting.delete(unit)
    this.#waiting.set(unit, message)
    this.#flush()
  }

  /** Sends what may wait; what a channel that stays full cannot take is lost. */
  say(message: Uint8Array): void {
    if (this.#fd === undefined || this.#untold.length === MOST_UNTOLD) return
    try {
      if (this.#untold.length > 0) this.#untold.push(message)
      else writeSync(this.#fd, message)
    } catch (error) {
      if (!isFull(error)) return this.lose()
      this.#untold.push(message)
      this.#retry ??= setTimeout(() => this.#flush(), TRY_AGAIN).unref()
    }
  }

  /** Wakes the guardian; a channel that is full wakes it as well. */
  call(message: Uint8Array): void {
    if (this.#fd === undefined) return
    try {
      writeSync(this.#fd, message)
    } catch (error) {
      if (!isFull(error)) this.lose()
    }
  }

  /** A call of the guardian carries nothing: there is that to read, the end of the channel, or nothing (EAGAIN). */
  hear(): void {
    if (this.#fd === undefined) return
    try {
      if (readSync(this.#fd, new Uint8Array(1)) === 0) this.lose()
    } catch (error) {
      if (codeOf(error) !== 'EAGAIN') this.lose()
    }
  }

  /** Returns false if the event loop cannot watch the channel. */
  listen(onCall: () => void): boolean {
    if (this.#fd === undefined || this.#native === undefined || this.#end !== undefined) return false
    const called = () => {
      this.hear()
      onCall()
    }
    try {
      this.#end = new this.#native.ChannelEnd(this.#fd)
      this.#end.start(called, called)
      return true
    } catch {
      // Out of descriptors for the event loop: the caller looks by itself then.
      return false
    }
  }

  /** The guardian has died. */
  lose(): void {
    this.#stop()
    this.#onFault({
      message: 'The guardian is gone: nobody renews the lifetime of our addresses, nor takes them off when we die',
    })
  }

  /** Idempotent. */
  close(): void {
    if (this.#fd !== undefined && this.#end === undefined) closeSync(this.#fd)
    this.#stop()
  }

  #stop(): void {
    this.#fd = undefined
    // A channel that has ended stays readable.
    this.#end?.close()
    this.#onEnd()
    clearTimeout(this.#retry)
    this.#waiting.clear()
    this.#untold.length = 0
  }

  #refuse(unit: number, bytes: number): void {
    this.#waiting.delete(unit)
    if (this.#refused.has(unit)) return
    this.#refused.add(unit)
    const message = 'The last will is too large for the guardian: when this process dies, addresses of this unit stay'
    this.#onFault({ message, unit, bytes })
  }

  #flush(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
    for (const [unit, message] of this.#waiting) {
      if (this.#fd === undefined) return
      try {
        writeSync(this.#fd, message)
        this.#waiting.delete(unit)
        this.#refused.delete(unit)
      } catch (error) {
        if (isFull(error)) {
          this.#retry = setTimeout(() => this.#flush(), TRY_AGAIN).unref()
          return
        }
        // A socket whose buffer could not be raised takes less than we would send.
        if (codeOf(error) === 'EMSGSIZE') this.#refuse(unit, message.length)
        else return this.lose()
      }
    }
    // After the plans: the service manager has no hurry.
    for (const message of this.#untold.splice(0)) this.say(message)
  }
}
