/** Reads tokens one by one, and makes errors with their places. */
import { type Place, placeOf, TemplateError } from './template-error.ts'
import type { Token, TokenKind } from './tokens.ts'

export class TokenReader {
  readonly #template: string
  readonly #tokens: readonly Token[]
  #next = 0

  constructor(template: string, tokens: readonly Token[]) {
    this.#template = template
    this.#tokens = tokens
  }

  /** Returns the next token, which stays the next one. After the end of the text, the end is returned again. */
  peek(ahead = 0): Token {
    const token = this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)]
    if (token === undefined) throw new RangeError('Expected a list of tokens with the token "end" as its last one')
    return token
  }

  take(): Token {
    const token = this.peek()
    this.#next += 1
    return token
  }

  /** Takes the next token if it has this kind. */
  takes(kind: TokenKind): boolean {
    const fits = this.peek().kind === kind
    if (fits) this.#next += 1
    return fits
  }

  /** Takes white space, and returns the token after it, which stays the next one. */
  afterSpace(): Token {
    this.takes('space')
    return this.peek()
  }

  /** Tells whether the next token, after white space, is this keyword. */
  isKeyword(word: string): boolean {
    const token = this.afterSpace()
    return token.kind === 'keyword' && token.text === word
  }

  placeOf(token: Token): Place {
    return placeOf(this.#template, token.at)
  }

  error(token: Token, reason: string): TemplateError {
    return new TemplateError(this.placeOf(token), reason)
  }

  /** Returns the error about a token that cannot stand where it stands. */
  unexpected(token: Token, expected: string): TemplateError {
    const shown = token.kind === 'endOfText' ? 'the end of the template' : JSON.stringify(token.text)
    return this.error(token, `cannot use ${shown}, expected ${expected}`)
  }
}
