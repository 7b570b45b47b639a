/**
 * The stream to a launcher (native/launcher/channel.h): four kinds of orders, six kinds of answers. This file decides
 * the encoding of orders and answers. `launcher-channel.ts` does not know the purpose of a program, its deadline, or
 * how a launcher is started.
 */
import type { Duplex } from 'node:stream'
import type { WantedRun } from './program-set.ts'

const KINDS = ['ready', 'exited', 'killed', 'notStarted', 'toldToEnd', 'refused'] as const

export type LauncherAnswer = {
  /**
   * `exited`, `killed`, `notStarted`: the run of the program has ended, and none of its processes is left. `lost`: the
   * launcher itself has ended, so no further answer comes.
   */
  readonly kind: (typeof KINDS)[number] | 'lost'
  /** Exit status of the program for `exited`, signal number for `killed`, otherwise errno. */
  readonly value: number
  /** True if the program wrote more than the launcher reads. */
  readonly exceeded: boolean
  /** First output of the program so far, as text. */
  readonly output: string
}

const HEADER = 8
const RUN = 0x80
const NUMBER = 0x6e
const EXCEEDED = 1
const NO_MORE = 2

export class LauncherChannel {
  readonly #stream: Duplex
  #bytes = Buffer.alloc(0)
  #open = true
  /** Receives each answer of the launcher. Never called while a method of this class sends an order to the launcher. */
  onAnswer: (answer: LauncherAnswer) => void = () => {}

  constructor(stream: Duplex) {
    this.#stream = stream
    stream.on('data', (bytes: Buffer) => this.#take(bytes))
    // The stream reports a close event after each error.
    stream.on('error', () => {})
    stream.once('close', () => {
      this.#open = false
      this.onAnswer({ kind: 'lost', value: 0, exceeded: false, output: '' })
    })
  }

  /** True if the launcher accepts orders. */
  get open(): boolean {
    return this.#open
  }

  run({ index, number }: WantedRun): void {
    const header = number === undefined ? [] : [NUMBER, number]
    this.#stream.write(Uint8Array.of(...header, RUN + index))
  }

  /**
   * Makes the launcher send SIGTERM to the program and its process group. The launcher's answer has the output of the
   * program so far.
   */
  terminate(): void {
    this.#stream.write('t')
  }

  /** Makes the launcher send SIGKILL to every process that the program has started. */
  kill(): void {
    this.#stream.write('k')
  }

  /** Makes the launcher kill all remaining processes and end itself. */
  close(): void {
    this.#stream.destroy()
  }

  #take(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes])
    while (this.#bytes.length >= HEADER) {
      const length = this.#bytes.readUInt16LE(2)
      if (this.#bytes.length < HEADER + length) return
      const kind = KINDS[this.#bytes.readUInt8(0)]
      const flags = this.#bytes.readUInt8(1)
      const exceeded = (flags & EXCEEDED) !== 0
      if ((flags & NO_MORE) !== 0) this.#open = false
      const value = this.#bytes.readInt32LE(4)
      const output = this.#bytes.toString('utf8', HEADER, HEADER + length)
      this.#bytes = this.#bytes.subarray(HEADER + length)
      if (kind !== undefined) this.onAnswer({ kind, value, exceeded, output })
    }
  }
}
