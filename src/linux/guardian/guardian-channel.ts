/**
 * The engine's end of the socketpair to the guardian (SOCK_SEQPACKET: one write is one message). Decided here: which
 * messages wait for a full channel, in which order they are sent, and how the guardian's death is noticed.
 */
import { closeSync, readSync, writeSync } from 'node:fs'
import type { NativeAddon } from '../native.ts'
import { LARGEST_MESSAGE } from './plan-message.ts'

/**
 * Milliseconds between two attempts. A guardian that was stopped for a moment drains a full channel within
 * milliseconds.
 */
const RETRY_MS = 20
/** Number of messages for the service manager that wait for a full channel. Further ones are lost. */
const UNSENT_LIMIT = 16

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)
const isFull = (error: unknown): boolean => ['EAGAIN', 'ENOBUFS'].includes(String(codeOf(error)))

/**
 * Fault of the channel. `unit` and `bytes` belong to a plan that is too large for the guardian: its unit and its size
 * in octets.
 */
export type GuardianFault = { readonly message: string; readonly unit?: number; readonly bytes?: number }

export class GuardianChannel {
  readonly #onFault: (fault: GuardianFault) => void
  readonly #onEnd: () => void
  readonly #native: Pick<NativeAddon, 'ChannelEnd'> | undefined
  /** Descriptor of the channel; `undefined` without a guardian, or after its death. */
  #fd: number | undefined
  /**
   * Newest message of each unit that the channel has not accepted yet. An old plan must not outlive a newer one or its
   * withdrawal.
   */
  readonly #waiting = new Map<number, Uint8Array>()
  /** Units whose newest plan is too large for the guardian. The guardian keeps the plan that it had before. */
  readonly #refused = new Set<number>()
  readonly #unsent: Uint8Array[] = []
  #retry: NodeJS.Timeout | undefined
  /** Watcher of the channel, and owner of its descriptor from listen() on. */
  #end: InstanceType<NativeAddon['ChannelEnd']> | undefined

  /** Without `descriptor` there is no guardian. Calls `onEnd` when the channel can no longer be used. */
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

  /** True once the guardian has accepted every plan. */
  get isAccepted(): boolean {
    return this.#fd !== undefined && this.#waiting.size === 0 && this.#refused.size === 0
  }

  hasWaiting(unit: number): boolean {
    return this.#waiting.has(unit)
  }

  /** Sends a plan of the unit, or its withdrawal. Replaces a message of the unit that still waits. */
  post(unit: number, message: Uint8Array): void {
    if (this.#fd === undefined) return
    if (message.length > LARGEST_MESSAGE) return this.#refuse(unit, message.length)
    this.#waiting.delete(unit)
    this.#waiting.set(unit, message)
    this.#flush()
  }

  /** Sends a message that may wait. It is lost if the channel stays full. */
  send(message: Uint8Array): void {
    if (this.#fd === undefined || this.#unsent.length === UNSENT_LIMIT) return
    try {
      if (this.#unsent.length > 0) this.#unsent.push(message)
      else writeSync(this.#fd, message)
    } catch (error) {
      if (!isFull(error)) return this.handleEnd()
      this.#unsent.push(message)
      this.#retry ??= setTimeout(() => this.#flush(), RETRY_MS).unref()
    }
  }

  /** Wakes the guardian. Does nothing if the channel is full: the waiting messages wake it as well. */
  wake(message: Uint8Array): void {
    if (this.#fd === undefined) return
    try {
      writeSync(this.#fd, message)
    } catch (error) {
      if (!isFull(error)) this.handleEnd()
    }
  }

  /** Reads from the channel: a wake-up without content, the end of the channel, or nothing (EAGAIN). */
  readCalls(): void {
    if (this.#fd === undefined) return
    try {
      if (readSync(this.#fd, new Uint8Array(1)) === 0) this.handleEnd()
    } catch (error) {
      if (codeOf(error) !== 'EAGAIN') this.handleEnd()
    }
  }

  /** Returns false if the event loop cannot watch the channel. */
  listen(onCall: () => void): boolean {
    if (this.#fd === undefined || this.#native === undefined || this.#end !== undefined) return false
    const onReadable = () => {
      this.readCalls()
      onCall()
    }
    try {
      this.#end = new this.#native.ChannelEnd(this.#fd)
      this.#end.start(onReadable, onReadable)
      return true
    } catch {
      // The event loop has no descriptor left. The caller polls the channel instead.
      return false
    }
  }

  /** Closes the channel after the guardian's death. */
  handleEnd(): void {
    this.#stop()
    this.#onFault({
      message: 'Guardian died: the lifetime of the addresses is not renewed, and no process removes them after a crash',
    })
  }

  /** Closes the channel. Idempotent. */
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
    this.#unsent.length = 0
  }

  #refuse(unit: number, bytes: number): void {
    this.#waiting.delete(unit)
    if (this.#refused.has(unit)) return
    this.#refused.add(unit)
    const message = 'Cleanup plan is too large for the guardian: if this process dies, addresses of this unit stay'
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
          this.#retry = setTimeout(() => this.#flush(), RETRY_MS).unref()
          return
        }
        // A socket whose buffer could not be raised accepts less than some plans need.
        if (codeOf(error) === 'EMSGSIZE') this.#refuse(unit, message.length)
        else return this.handleEnd()
      }
    }
    // Plans are sent first, because messages for the service manager are not urgent.
    for (const message of this.#unsent.splice(0)) this.send(message)
  }
}
