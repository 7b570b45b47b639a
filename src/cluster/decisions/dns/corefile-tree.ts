/**
 * Reads a Corefile into server blocks and directives, with the lines of each. The syntax is that of CoreDNS: words,
 * quotation marks, comments, blocks in braces. The meaning of a directive is decided in other files. Pure.
 */

export type Directive = {
  /** First word of the directive, such as `forward`. */
  readonly name: string
  readonly words: readonly string[]
  /** Directives in the block of this directive; empty without a block. */
  readonly block: readonly Directive[]
  /** Numbers of its first and last line, from 1. */
  readonly first: number
  readonly last: number
}

/** A server block: its zones are the words before the brace. */
export type ServerBlock = Directive

type Line = { readonly number: number; readonly words: readonly string[] }

/** Returns the server blocks of a Corefile, or the first error of its syntax. */
export function corefileTree(text: string): readonly ServerBlock[] | { readonly problem: string } {
  const lines: Line[] = []
  for (const [index, line] of text.split('\n').entries()) {
    const words = wordsOf(line)
    if (words === undefined) return { problem: `line ${index + 1}: a quotation mark is not closed` }
    if (words.length > 0) lines.push({ number: index + 1, words })
  }
  const reader = new BlockReader(lines)
  const blocks = reader.directives()
  return reader.problem === undefined ? blocks : { problem: reader.problem }
}

class BlockReader {
  problem: string | undefined
  readonly #lines: readonly Line[]
  #next = 0

  constructor(lines: readonly Line[]) {
    this.#lines = lines
  }

  /** Reads directives until the brace that closes the block `open`, or until the end of the text. */
  directives(open?: Line): Directive[] {
    const found: Directive[] = []
    for (let line = this.#take(); line !== undefined; line = this.#take()) {
      const [name = '', ...words] = line.words
      if (name === '}') {
        if (open !== undefined && words.length === 0) return found
        this.#wrong(line, open === undefined ? 'a brace closes no block' : 'words follow a closing brace')
        return found
      }
      const isOpening = line.words.at(-1) === '{'
      const own = isOpening ? words.slice(0, -1) : words
      if (name === '{' || own.includes('{') || own.includes('}')) this.#wrong(line, 'a brace stands in a wrong place')
      const block = isOpening ? this.directives(line) : []
      found.push({ name, words: own, block, first: line.number, last: this.#last?.number ?? line.number })
    }
    if (open !== undefined) this.#wrong(open, 'a block is not closed')
    return found
  }

  get #last(): Line | undefined {
    return this.#lines[this.#next - 1]
  }

  #take(): Line | undefined {
    const line = this.#lines[this.#next]
    if (line !== undefined) this.#next++
    return line
  }

  #wrong({ number }: Line, what: string): void {
    this.problem ??= `line ${number}: ${what}`
  }
}

/** Returns the words of a line; `undefined` if a quotation mark is not closed. */
function wordsOf(line: string): readonly string[] | undefined {
  const words: string[] = []
  let rest = line.trim()
  while (rest !== '' && !rest.startsWith('#')) {
    const quoted = rest.startsWith('"')
    const [whole, word] = (quoted ? /^"((?:\\.|[^"\\])*)"/ : /^(\S+)/).exec(rest) ?? []
    if (whole === undefined || word === undefined) return undefined
    words.push(quoted ? word.replaceAll('\\"', '"') : word)
    rest = rest.slice(whole.length).trimStart()
  }
  return words
}
