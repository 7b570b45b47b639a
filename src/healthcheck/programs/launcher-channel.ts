/**
 * The stream to a launcher (native/launcher/channel.h): four orders, six answers. Decided here: how they lie in the bytes. Refuses
 * to know what a program is run for, when its time is over, and how a launcher comes about.
 */
import type { Duplex } from 'node:stream'
import type { WantedRun } from './program-set.ts'

const KINDS = ['ready', 'exited', 'killed', 'notStarted', 'toldToEnd', 'refused'] as const

export type LauncherAnswer = {
  /** `exited`, `killed` and `notStarted` are the end of a run, of which nothing is left by then; `lost`: no launcher. */
  readonly kind: (typeof KINDS)[number] | 'lost'
  /** Exit status, number of the signal, or errno. */
  readonly value: number
  /** The program wrote more than the launcher is willing to read. */
  readonly exceeded: boolean
  /** The first words of the program so far. */
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
  /** Who listens now; never called during an order. */
  onAnswer: (answer: LauncherAnswer) => void = () => {}

  constructor(stream: Duplex) {
    this.#stream = stream
    stream.on('data', (bytes: Buffer) => this.#take(bytes))
    // The close that follows says it all.
    stream.on('error', () => {})
    stream.once('close', () => {
      this.#open = false
      this.onAnswer({ kind: 'lost', value: 0, exceeded: false, output: '' })
    })
  }

  /** It takes orders. */
  get open(): boolean {
    return this.#open
  }

  run({ index, number }: WantedRun): void {
    const told = number === undefined ? [] : [NUMBER, number]
    this.#stream.write(Uint8Array.of(...told, RUN + index))
  }

  /** SIGTERM for the program and its group; answered by what it has said so far. */
  terminate(): void {
    this.#stream.write('t')
  }

  /** SIGKILL for everything that the program has started. */
  kill(): void {
    this.#stream.write('k')
  }

  /** The launcher kills what is left, and ends. */
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
