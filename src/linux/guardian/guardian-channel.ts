/**
 * The engine's end of the socketpair to the guardian (SOCK_SEQPACKET: one write is one message). This file decides
 * which messages wait while the channel is full, the order in which they are sent, and how the guardian's death is
 * noticed.
 */
import { closeSync, readSync, writeSync } from 'node:fs'
import type { NativeAddon } from '../native.ts'
import { LARGEST_MESSAGE } from './plan-message.ts'

/**
 * Milliseconds between two attempts to send to the guardian. A guardian that was stopped for a moment drains a full
 * channel within milliseconds.
 */
const RETRY_MS = 20
/**
 * Number of messages for the service manager that wait while the channel to the guardian is full. Further messages are
 * lost.
 */
const UNSENT_LIMIT = 16
/** Limit of a message of the guardian in octets, and the kind of those without content. */
const LARGEST_ANSWER = 4_096
const WAKE_UP = 0

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)
const isFull = (error: unknown): boolean => ['EAGAIN', 'ENOBUFS'].includes(String(codeOf(error)))

/**
 * Fault of the channel to the guardian. If a cleanup plan is too large for the guardian, `unit` is its unit and `bytes`
 * its size in octets.
 */
export type GuardianFault = {
  readonly event: 'cleanupPlanTooLarge' | 'guardianDied' | 'guardianMemoryNotShared'
  readonly message: string
  readonly unit?: number
  readonly bytes?: number
}

export class GuardianChannel {
  readonly #onFault: (fault: GuardianFault) => void
  readonly #onEnd: () => void
  readonly #native: Pick<NativeAddon, 'ChannelEnd'> | undefined
  /** Descriptor of the channel to the guardian; `undefined` without a guardian, or after its death. */
  #fd: number | undefined
  /**
   * Newest message of each unit that the channel has not accepted yet. A newer cleanup plan, or its withdrawal,
   * replaces an older plan.
   */
  readonly #waiting = new Map<number, Uint8Array>()
  /**
   * Units whose newest cleanup plan is too large for the guardian. The guardian keeps the previous plan of such a unit.
   */
  readonly #refused = new Set<number>()
  readonly #unsent: Uint8Array[] = []
  #onAnswer: (answer: Uint8Array) => void = () => {}
  #retry: NodeJS.Timeout | undefined
  /** Watches the channel to the guardian. From listen() on, this object owns the descriptor and closes it. */
  #end: InstanceType<NativeAddon['ChannelEnd']> | undefined

  /**
   * Without `descriptor` there is no guardian. Calls `onEnd` when the channel to the guardian can no longer be used.
   */
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

  /** True after the guardian has accepted every cleanup plan. */
  get isAccepted(): boolean {
    return this.#fd !== undefined && this.#waiting.size === 0 && this.#refused.size === 0
  }

  hasWaiting(unit: number): boolean {
    return this.#waiting.has(unit)
  }

  /** Sends a cleanup plan of the unit, or its withdrawal. Replaces an earlier message of the unit that still waits. */
  post(unit: number, message: Uint8Array): void {
    if (this.#fd === undefined) return
    if (message.length > LARGEST_MESSAGE) return this.#refuse(unit, message.length)
    this.#waiting.delete(unit)
    this.#waiting.set(unit, message)
    this.#flush()
  }

  /** Forgets a message that the channel has not accepted yet. */
  withdraw(unit: number): void {
    this.#waiting.delete(unit)
  }

  /** Sends a message that may wait. If the channel stays full, the message is lost. */
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

  /**
   * Wakes the guardian. Does nothing if the channel is full, because the messages in the channel wake the guardian as
   * well.
   */
  wake(message: Uint8Array): void {
    if (this.#fd === undefined) return
    try {
      writeSync(this.#fd, message)
    } catch (error) {
      if (!isFull(error)) this.handleEnd()
    }
  }

  /** Sets the function for messages of the guardian that are no mere wake-up. */
  onAnswer(listener: (answer: Uint8Array) => void): void {
    this.#onAnswer = listener
  }

  /** Reads a message of the guardian: a wake-up without content, an answer, the end of the channel, or nothing (EAGAIN). */
  readCalls(): void {
    if (this.#fd === undefined) return
    try {
      const message = new Uint8Array(LARGEST_ANSWER)
      const size = readSync(this.#fd, message)
      if (size === 0) this.handleEnd()
      else if (message[0] !== WAKE_UP) this.#onAnswer(message.subarray(0, size))
    } catch (error) {
      if (codeOf(error) !== 'EAGAIN') this.handleEnd()
    }
  }

  /** Watches the channel to the guardian. Returns false if the event loop cannot watch it. */
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
      // The event loop has no descriptor left. The caller polls the channel to the guardian instead.
      return false
    }
  }

  /** Closes the channel after the guardian's death. */
  handleEnd(): void {
    this.#stop()
    this.#onFault({
      event: 'guardianDied',
      message: 'Guardian died: the lifetime of the addresses is not renewed, and no process removes them after a crash',
    })
  }

  /** Closes the channel to the guardian. May be called again. */
  close(): void {
    if (this.#fd !== undefined && this.#end === undefined) closeSync(this.#fd)
    this.#stop()
  }

  #stop(): void {
    this.#fd = undefined
    // A channel whose other end is closed stays readable, so the event loop must stop watching it.
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
    this.#onFault({ event: 'cleanupPlanTooLarge', message, unit, bytes })
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
        // If the buffer of the socket could not be raised, the socket accepts less than some cleanup plans need.
        if (codeOf(error) === 'EMSGSIZE') this.#refuse(unit, message.length)
        else return this.handleEnd()
      }
    }
    // Cleanup plans are sent first, because messages for the service manager are not urgent.
    for (const message of this.#unsent.splice(0)) this.send(message)
  }
}
