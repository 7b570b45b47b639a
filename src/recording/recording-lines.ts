/**
 * The lines of a recording, read one by one, because all lines as values may not fit into memory. This file decides
 * that a last line without an end was not completely written and does not count. This file knows nothing about the use
 * of the lines.
 */
import { type Header, type Line, readHeader, readLine } from './lines.ts'

const END_OF_LINE = 0x0a

export class RecordingLines {
  readonly header: Header
  /** Number of octets of the incomplete last line. */
  readonly cutOff: number
  readonly #bytes: Buffer
  #offset = 0
  #number = 0
  #ahead: Line | undefined

  /** Reads the octets of a recording. Throws UnreadableLine if they are no recording, or one of another format. */
  constructor(bytes: Buffer) {
    const whole = bytes.lastIndexOf(END_OF_LINE) + 1
    this.#bytes = bytes.subarray(0, whole)
    this.cutOff = bytes.length - whole
    this.header = readHeader(this.#text() ?? '')
  }

  /** Returns the next line; `undefined` at the end. Throws UnreadableLine. */
  peek(): Line | undefined {
    if (this.#ahead !== undefined) return this.#ahead
    const text = this.#text()
    this.#ahead = text === undefined ? undefined : readLine(text, this.#number)
    return this.#ahead
  }

  /** Returns the next line and moves behind it. */
  take(): Line | undefined {
    const line = this.peek()
    this.#ahead = undefined
    return line
  }

  /** Number of the last line that was read from the recording. */
  get number(): number {
    return this.#number
  }

  #text(): string | undefined {
    if (this.#offset >= this.#bytes.length) return undefined
    const end = this.#bytes.indexOf(END_OF_LINE, this.#offset)
    const text = this.#bytes.toString('utf8', this.#offset, end)
    this.#offset = end + 1
    this.#number++
    return text
  }
}
