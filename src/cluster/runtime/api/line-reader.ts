/**
 * A stream of bytes as lines. Decided here: how long a line may get before it is no line (a server that never ends one must
 * not fill the memory). Refuses to know what is in them.
 */

export class LineReader {
  readonly #longest: number
  #parts: Buffer[] = []
  #length = 0

  constructor(longest: number) {
    this.#longest = longest
  }

  /** Something was begun and not ended. */
  get isInside(): boolean {
    return this.#length > 0
  }

  /** Undefined: it has become too long. Empty lines are none. */
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
