/** Reads a template into statements. The expressions in them are read by pipeline-reader.ts. */
import { PipelineReader } from './pipeline-reader.ts'
import { TokenReader } from './token-reader.ts'
import { type Token, tokensOf } from './tokens.ts'
import type { Branch, Statement } from './tree.ts'

/** Reads a template, or throws a TemplateError at the first thing that is not in the subset. */
export function parseTemplate(template: string): readonly Statement[] {
  const { statements, ending } = new Parser(new TokenReader(template, tokensOf(template))).statements(false)
  if (ending.kind === 'endOfText') return statements
  throw new TokenReader(template, []).unexpected(ending, 'a statement that it ends')
}

/** Statements up to the token that ends them: `end`, `else`, or the end of the text. */
type Statements = { readonly statements: readonly Statement[]; readonly ending: Token }

class Parser {
  readonly #reader: TokenReader
  readonly #pipelines: PipelineReader

  constructor(reader: TokenReader) {
    this.#reader = reader
    this.#pipelines = new PipelineReader(reader)
  }

  statements(isInRange: boolean): Statements {
    const reader = this.#reader
    const statements: Statement[] = []
    for (;;) {
      const token = reader.take()
      if (token.kind === 'endOfText') return { statements, ending: token }
      if (token.kind === 'text') {
        statements.push({ kind: 'text', text: token.text })
        continue
      }
      const word = reader.afterSpace()
      if (word.kind !== 'keyword') {
        statements.push({ kind: 'action', pipeline: this.#pipelines.pipeline('an action') })
        continue
      }
      reader.take()
      if (word.text === 'end' || word.text === 'else') return { statements, ending: word }
      statements.push(this.#statement(word, isInRange))
    }
  }

  #statement(word: Token, isInRange: boolean): Statement {
    const reader = this.#reader
    switch (word.text) {
      case 'if':
      case 'with':
      case 'range':
        return this.#branch(word.text, word, isInRange)
      case 'break':
      case 'continue':
        if (!isInRange) throw reader.error(word, `cannot use ${word.text} outside range`)
        this.#endAction(word)
        return { kind: word.text }
      default:
        throw reader.unexpected(word, 'if, with, range, break, continue, else, end, or a value')
    }
  }

  #branch(kind: Branch['kind'], word: Token, isInRange: boolean): Branch {
    return this.#pipelines.scoped(() => {
      const pipeline = this.#pipelines.pipeline(kind)
      const { statements: body, ending } = this.statements(isInRange || kind === 'range')
      if (ending.kind === 'endOfText') throw this.#withoutEnd(word)
      const otherwise = ending.text === 'else' ? this.#otherwise(kind, word, ending, isInRange) : []
      if (ending.text === 'end') this.#endAction(ending)
      return { kind, pipeline, body, otherwise }
    })
  }

  /** Reads what follows `else`. `else if` and `else with` are statements that share the `end` of the first one. */
  #otherwise(kind: Branch['kind'], word: Token, ending: Token, isInRange: boolean): readonly Statement[] {
    const reader = this.#reader
    if (kind !== 'range' && reader.isKeyword(kind)) return [this.#branch(kind, reader.take(), isInRange)]
    this.#endAction(ending)
    const last = this.statements(isInRange)
    if (last.ending.kind === 'endOfText') throw this.#withoutEnd(word)
    if (last.ending.text === 'else') throw reader.unexpected(last.ending, 'end after else')
    this.#endAction(last.ending)
    return last.statements
  }

  #endAction(word: Token): void {
    const token = this.#reader.afterSpace()
    if (!this.#reader.takes('close')) throw this.#reader.unexpected(token, `"}}" after ${word.text}`)
  }

  #withoutEnd(word: Token): Error {
    return this.#reader.error(word, `cannot use ${word.text} without end`)
  }
}
