/**
 * The lines of a recording, one after the other, read when they are wanted: a recording may be larger than what its lines
 * take as values. Decided here: that a last line without an end is one that nobody finished writing, and none. Refuses to
 * know what the lines are for.
 */
import { type Header, type Line, readHeader, readLine } from './lines.ts'

const END_OF_LINE = 0x0a

export class RecordingLines {
  readonly header: Header
  /** Of how many octets it consists that say nothing. */
  readonly cutOff: number
  readonly #bytes: Buffer
  #offset = 0
  #number = 0
  #ahead: Line | undefined

  /** Throws UnreadableLine: it is no recording, or none of this format. */
  constructor(bytes: Buffer) {
    const whole = bytes.lastIndexOf(END_OF_LINE) + 1
    this.#bytes = bytes.subarray(0, whole)
    this.cutOff = bytes.length - whole
    this.header = readHeader(this.#text() ?? '')
  }

  /** The one that is next; undefined: there is none. Throws UnreadableLine. */
  peek(): Line | undefined {
    if (this.#ahead !== undefined) return this.#ahead
    const text = this.#text()
    this.#ahead = text === undefined ? undefined : readLine(text, this.#number)
    return this.#ahead
  }

  /** And goes on behind it. */
  take(): Line | undefined {
    const line = this.peek()
    this.#ahead = undefined
    return line
  }

  /** Of the line that was last looked at. */
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
