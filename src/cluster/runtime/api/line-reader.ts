/**
 * Splits a stream of bytes into lines. The length of a line is limited, so that a server that never ends a line cannot
 * fill the memory.
 */

export class LineReader {
  readonly #longest: number
  #parts: Buffer[] = []
  #length = 0

  constructor(longest: number) {
    this.#longest = longest
  }

  /** True if a line has begun and not ended. */
  get isInside(): boolean {
    return this.#length > 0
  }

  /** Returns the complete lines of the stream, without empty lines; `undefined` if a line is too long. */
  take(chunk: Buffer): readonly string[] | undefined {
    const lines: string[] = []
    let rest = chunk
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      const line = Buffer.concat([...this.#parts, rest.subarray(0, end)])
        .toString('utf8')
        .trim()
      if (line !== '') lines.push(line)
      this.#parts = []
      this.#length = 0
      rest = rest.subarray(end + 1)
    }
    if (rest.length > 0) this.#parts.push(rest)
    this.#length += rest.length
    return this.#length > this.#longest ? undefined : lines
  }
}
