/**
 * Parses an HTTP/1.x response from the octets of a connection (RFC 9112 §4 to §7), as far as a check needs it. This
 * file decides where head and body of a response end, and which responses are invalid. Every octet of the response is
 * one character until the body is requested. Other files decide whether a response is a success.
 */
import { ANSWER_LIMIT } from './expectation.ts'

/** Limit of the head of a response in characters, as in Node. The limit includes interim heads (1xx). */
const HEAD_LIMIT = 16_384
const HEAD_END = /\r?\n\r?\n/
const STATUS_LINE = /^HTTP\/1\.[01] ([1-9]\d\d)(?: |$)/
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):(.*)$/
/** A folded header line, which continues the line before (RFC 9112 §5.2). */
const FOLDED = /^[ \t]/
const CHUNK_SIZE = /^([0-9A-Fa-f]{1,12})[ \t]*(?:;.*)?$/

type Part = 'head' | 'counted' | 'chunkSize' | 'chunk' | 'chunkEnd' | 'untilTheEnd' | 'done'

export class HttpAnswer {
  readonly #method: string
  #part: Part = 'head'
  /** Characters of the response that are not parsed yet. */
  #text = ''
  /** Number of characters in all heads of the response so far. */
  #headLength = 0
  /** Number of characters that the current body or chunk still lacks. */
  #left = 0
  #status: number | undefined
  #location: string | undefined
  #body = ''

  constructor(method: string) {
    this.#method = method
  }

  /** Status of the response. `undefined` until the head is complete. */
  get status(): number | undefined {
    return this.#status
  }

  get location(): string | undefined {
    return this.#location
  }

  /** Body of the response so far, up to the limit. */
  get body(): string {
    return Buffer.from(this.#body, 'latin1').toString('utf8')
  }

  /** True if the response is complete, or longer than the limit. */
  get complete(): boolean {
    return this.#part === 'done' || this.#body.length > ANSWER_LIMIT
  }

  /**
   * Parses octets of the response. Returns the error, or `undefined` if the octets are valid. After an error the
   * response is unusable.
   */
  read(bytes: Buffer): string | undefined {
    this.#text += bytes.toString('latin1')
    while (this.#part === 'head') {
      const end = HEAD_END.exec(this.#text)
      if (end === null) return this.#beginning()
      const head = this.#text.slice(0, end.index)
      this.#text = this.#text.slice(end.index + end[0].length)
      this.#headLength += end.index + end[0].length
      const wrong = this.#headLength > HEAD_LIMIT ? TOO_LONG : this.#head(head.split(/\r?\n/))
      if (wrong !== undefined) return wrong
    }
    return this.#more()
  }

  /** Handles the end of the stream. Returns false if the response is incomplete at that point. */
  end(): boolean {
    if (this.#part === 'untilTheEnd') this.#part = 'done'
    return this.complete
  }

  /** Tests the first octets early, so that the check does not wait for a server with another protocol. */
  #beginning(): string | undefined {
    const length = Math.min(this.#text.length, 5)
    if (this.#text.slice(0, length) !== 'HTTP/'.slice(0, length)) return 'it does not begin with HTTP/'
    return this.#headLength + this.#text.length > HEAD_LIMIT ? TOO_LONG : undefined
  }

  #head([first = '', ...lines]: readonly string[]): string | undefined {
    const status = Number(STATUS_LINE.exec(first)?.[1])
    if (Number.isNaN(status)) return 'its first line is no status line of HTTP/1.1'
    let length: string | undefined
    let coding: string | undefined
    let location: string | undefined
    for (const line of lines) {
      if (FOLDED.test(line)) continue
      const [, name, padded] = HEADER.exec(line) ?? []
      if (name === undefined || padded === undefined) return 'one of its headers is none'
      const key = name.toLowerCase()
      const value = trimmed(padded)
      if (key === 'content-length') {
        if (!/^\d{1,15}$/.test(value) || (length !== undefined && length !== value)) return 'its length is no number'
        length = value
      } else if (key === 'transfer-encoding') coding = coding === undefined ? value : `${coding}, ${value}`
      else if (key === 'location') location ??= value
    }
    if (status === 101) return 'it switched protocols'
    // A status below 200 is an interim answer; the head of the final answer follows (RFC 9110 §15.2).
    if (status < 200) return undefined
    this.#status = status
    this.#location = location
    this.#part = this.#framing(status, length, coding)
    return undefined
  }

  /** Returns how the end of the body is recognised (RFC 9112 §6.3). */
  #framing(status: number, length: string | undefined, coding: string | undefined): Part {
    if (this.#method === 'HEAD' || status === 204 || status === 304) return 'done'
    if (coding !== undefined) return /(?:^|,)[ \t]*chunked$/i.test(coding) ? 'chunkSize' : 'untilTheEnd'
    if (length === undefined) return 'untilTheEnd'
    this.#left = Number(length)
    return this.#left === 0 ? 'done' : 'counted'
  }

  #more(): string | undefined {
    while (!this.complete && this.#text !== '') {
      if (this.#part === 'untilTheEnd') {
        this.#take(this.#text.length)
      } else if (this.#part === 'counted' || this.#part === 'chunk') {
        this.#left -= this.#take(this.#left)
        if (this.#left > 0) continue
        this.#part = this.#part === 'counted' ? 'done' : 'chunkEnd'
      } else {
        const line = this.#line()
        if (line === undefined) return this.#text.length > HEAD_LIMIT ? TOO_LONG : undefined
        if (this.#part === 'chunkEnd') {
          if (line !== '') return 'a chunk of it is longer than it says'
          this.#part = 'chunkSize'
          continue
        }
        const [, size] = CHUNK_SIZE.exec(line) ?? []
        if (size === undefined) return 'the size of a chunk of it is no number'
        this.#left = Number.parseInt(size, 16)
        // Trailers after the last chunk are not needed.
        this.#part = this.#left === 0 ? 'done' : 'chunk'
      }
    }
    return undefined
  }

  #take(most: number): number {
    const taken = this.#text.slice(0, most)
    this.#body += taken
    this.#text = this.#text.slice(taken.length)
    return taken.length
  }

  #line(): string | undefined {
    const end = this.#text.indexOf('\n')
    if (end < 0) return undefined
    const line = this.#text.slice(0, end)
    this.#text = this.#text.slice(end + 1)
    return line.endsWith('\r') ? line.slice(0, -1) : line
  }
}

/**
 * Returns a header's value without the blanks around it (RFC 9112 §5.1). A regular expression would take quadratic time
 * for that.
 */
function trimmed(value: string): string {
  let [start, end] = [0, value.length]
  while (start < end && isBlank(value[start])) start++
  while (end > start && isBlank(value[end - 1])) end--
  return value.slice(start, end)
}

const isBlank = (character: string | undefined): boolean => character === ' ' || character === '\t'

const TOO_LONG = `its head exceeds ${HEAD_LIMIT} bytes`
