/** Reads the expressions of actions: variables, pipelines, commands and terms. This reader knows no statements. */
import { FUNCTION_NAMES } from './functions.ts'
import { numberOf, stringOf } from './literals.ts'
import type { TokenReader } from './token-reader.ts'
import type { Token } from './tokens.ts'
import type { Command, Pipeline, Term } from './tree.ts'

/** Deepest nesting of parentheses and statements. The templates of a cluster have five. */
export const DEEPEST = 100

export class PipelineReader {
  readonly #reader: TokenReader
  /** Variables that can be used at present, the innermost last. */
  readonly #variables: string[] = ['$']
  #depth = 0

  constructor(reader: TokenReader) {
    this.#reader = reader
  }

  /** Runs `read`, and forgets the variables that were declared in it. */
  scoped<T>(read: () => T): T {
    const count = this.#variables.length
    const value = this.nested(read)
    this.#variables.length = count
    return value
  }

  nested<T>(read: () => T): T {
    const token = this.#reader.peek()
    if (this.#depth >= DEEPEST) throw this.#reader.error(token, `nested too deep, expected at most ${DEEPEST} levels`)
    this.#depth += 1
    const value = read()
    this.#depth -= 1
    return value
  }

  /** Reads the pipeline of an action to the end of the action. `owner` is the keyword of the action, or `action`. */
  pipeline(owner: string): Pipeline {
    const reader = this.#reader
    const place = reader.placeOf(reader.afterSpace())
    const { variables, assigns } = this.#targets(owner)
    const commands = this.#commands('close', owner)
    reader.take()
    return { variables, assigns, commands, place }
  }

  /** Reads the variables in front of `:=` or `=`. */
  #targets(owner: string): { readonly variables: readonly string[]; readonly assigns: boolean } {
    const reader = this.#reader
    const first = reader.peek()
    const after = reader.peek(reader.peek(1).kind === 'space' ? 2 : 1).kind
    const isTarget = after === 'declare' || after === 'assign' || (after === 'comma' && owner === 'range')
    if (first.kind !== 'variable' || !isTarget) return { variables: [], assigns: false }
    const targets = [reader.take()]
    reader.afterSpace()
    if (reader.takes('comma')) {
      if (reader.afterSpace().kind !== 'variable') throw reader.unexpected(reader.peek(), 'a second variable')
      targets.push(reader.take())
    }
    const operator = reader.afterSpace()
    if (operator.kind !== 'declare' && operator.kind !== 'assign')
      throw reader.unexpected(operator, '":=" or "=" after the variables')
    reader.take()
    const assigns = operator.kind === 'assign'
    for (const target of targets)
      if (assigns) this.#useVariable(target)
      else this.#variables.push(target.text)
    return { variables: targets.map(({ text }) => text), assigns }
  }

  #commands(end: 'close' | 'rightParenthesis', owner: string): [Command, ...Command[]] {
    const reader = this.#reader
    if (reader.afterSpace().kind === end) throw reader.unexpected(reader.peek(), `a value for ${owner}`)
    const commands: [Command, ...Command[]] = [this.#command(end)]
    while (reader.takes('pipe')) {
      const place = reader.afterSpace()
      // Go ignores a "|" at the end.
      if (place.kind === end) break
      const command = this.#command(end)
      if (command.first.kind === 'literal' || command.first.kind === 'dot')
        throw reader.unexpected(place, 'a function after "|"')
      commands.push(command)
    }
    if (reader.peek().kind !== end) throw reader.unexpected(reader.peek(), end === 'close' ? '"}}"' : '")"')
    return commands
  }

  #command(end: 'close' | 'rightParenthesis'): Command {
    const reader = this.#reader
    reader.afterSpace()
    const first = this.#operand()
    const rest: Term[] = []
    while (reader.takes('space')) {
      const next = reader.peek().kind
      if (next === end || next === 'pipe') break
      rest.push(this.#operand())
    }
    return { first, rest }
  }

  /** Reads a term and the fields behind it. */
  #operand(): Term {
    const reader = this.#reader
    const token = reader.peek()
    const place = reader.placeOf(token)
    const of = token.kind === 'field' ? ({ kind: 'dot', place } as const) : this.#term(reader.take())
    const names: string[] = []
    while (reader.peek().kind === 'field') names.push(reader.take().text.slice(1))
    if (names.length === 0) return of
    if (of.kind === 'literal' || (of.kind === 'dot' && token.kind === 'dot'))
      throw reader.error(token, `cannot use a field of ${JSON.stringify(token.text)}`)
    return { kind: 'fields', of, names, place }
  }

  #term(token: Token): Term {
    const reader = this.#reader
    const place = reader.placeOf(token)
    switch (token.kind) {
      case 'dot':
        return { kind: 'dot', place }
      case 'variable':
        return { kind: 'variable', name: this.#useVariable(token), place }
      case 'boolean':
        return { kind: 'literal', value: token.text === 'true', place }
      case 'identifier':
        if (!FUNCTION_NAMES.has(token.text))
          throw reader.error(token, `cannot use function ${token.text}, expected ${[...FUNCTION_NAMES].join(', ')}`)
        return { kind: 'function', name: token.text, place }
      case 'number':
      case 'string': {
        const value = token.kind === 'number' ? numberOf(token.text) : stringOf(token.text)
        if (value === undefined)
          throw reader.unexpected(token, token.kind === 'number' ? 'a decimal integer' : "a string with Go's escapes")
        return { kind: 'literal', value, place }
      }
      case 'leftParenthesis': {
        const commands = this.nested(() => this.#commands('rightParenthesis', 'the parentheses'))
        reader.take()
        return { kind: 'pipeline', pipeline: { variables: [], assigns: false, commands, place }, place }
      }
      default:
        throw reader.unexpected(token, 'a value')
    }
  }

  #useVariable(token: Token): string {
    if (!this.#variables.includes(token.text))
      throw this.#reader.error(token, `cannot use variable ${token.text}, which is not declared here`)
    return token.text
  }
}
