/** Executes the statements of a template with its data. */
import { callFunction } from './functions.ts'
import { type Place, TemplateError } from './template-error.ts'
import type { Branch, Command, Pipeline, Statement, Term } from './tree.ts'
import { isList, isTrue, kindOf, type Structure, type TemplateValue, textOf } from './value.ts'

/** Largest number of evaluated terms and printed texts. Nested `range` statements could take hours otherwise. */
const MOST_STEPS = 1_000_000

/** Returns the text that statements produce, or throws a TemplateError. */
export function evaluate(statements: readonly Statement[], data: Structure): string {
  const evaluation = new Evaluation(data)
  evaluation.run(statements, data)
  return evaluation.text
}

type Variable = { readonly name: string; value: TemplateValue }
/** How a list of statements ended. */
type Ended = 'complete' | 'break' | 'continue'

class Evaluation {
  text = ''
  #variables: Variable[]
  #steps = 0

  constructor(data: Structure) {
    this.#variables = [{ name: '$', value: data }]
  }

  run(statements: readonly Statement[], dot: TemplateValue): Ended {
    for (const statement of statements) {
      const ended = this.#runOne(statement, dot)
      if (ended !== 'complete') return ended
    }
    return 'complete'
  }

  #runOne(statement: Statement, dot: TemplateValue): Ended {
    switch (statement.kind) {
      case 'text':
        this.text += statement.text
        return 'complete'
      case 'action':
        this.#print(statement.pipeline, dot)
        return 'complete'
      case 'break':
      case 'continue':
        return statement.kind
      case 'range':
        return this.#scoped(() => this.#range(statement, dot))
      default:
        return this.#scoped(() => {
          const value = this.#pipeline(statement.pipeline, dot)
          if (!isTrue(value)) return this.run(statement.otherwise, dot)
          return this.run(statement.body, statement.kind === 'with' ? value : dot)
        })
    }
  }

  #print(pipeline: Pipeline, dot: TemplateValue): void {
    const value = this.#pipeline(pipeline, dot)
    if (pipeline.variables.length > 0) return
    const text = textOf(value)
    if (text === undefined) throw new TemplateError(pipeline.place, 'cannot print a structure')
    this.text += text
  }

  #range({ pipeline, body, otherwise }: Branch, dot: TemplateValue): Ended {
    const items = this.#pipeline(pipeline, dot)
    if (!isList(items)) throw new TemplateError(pipeline.place, `cannot range over ${kindOf(items)}, expected a list`)
    if (items.length === 0) return this.run(otherwise, dot)
    const [first, second] = pipeline.variables
    for (const [index, item] of items.entries()) {
      if (first !== undefined) this.#set(first, second === undefined ? item : index, pipeline.place)
      if (second !== undefined) this.#set(second, item, pipeline.place)
      if (this.#scoped(() => this.run(body, item)) === 'break') break
    }
    return 'complete'
  }

  /** Runs `work`, and forgets the variables that were declared in it. */
  #scoped<T>(work: () => T): T {
    const count = this.#variables.length
    const result = work()
    this.#variables.length = count
    return result
  }

  #pipeline({ variables, assigns, commands, place }: Pipeline, dot: TemplateValue): TemplateValue {
    const [first, ...rest] = commands
    const value = rest.reduce<TemplateValue>(
      (before, command) => this.#command(command, dot, before),
      this.#command(first, dot, undefined),
    )
    for (const name of variables)
      if (assigns) this.#set(name, value, place)
      else this.#variables.push({ name, value })
    return value
  }

  /** Evaluates a command. `last` is the result of the command before it in the pipeline. */
  #command({ first, rest }: Command, dot: TemplateValue, last: TemplateValue | undefined): TemplateValue {
    if (first.kind === 'function') return this.#call(first, rest, dot, last)
    if (rest.length > 0 || last !== undefined)
      throw new TemplateError(first.place, 'cannot give arguments to a value, expected a function')
    return this.#term(first, dot)
  }

  #call(
    { name, place }: Extract<Term, { readonly kind: 'function' }>,
    given: readonly Term[],
    dot: TemplateValue,
    last: TemplateValue | undefined,
  ): TemplateValue {
    if (name === 'and' || name === 'or') return this.#shortCircuit(name, place, given, dot, last)
    const values = given.map((term) => this.#term(term, dot))
    const result = callFunction(name, last === undefined ? values : [...values, last])
    if ('problem' in result) throw new TemplateError(place, `${name}: ${result.problem}`)
    return result.value
  }

  /** Returns the first value that decides `and` or `or`, or the last one. The values after it are not evaluated. */
  #shortCircuit(
    name: 'and' | 'or',
    place: Place,
    given: readonly Term[],
    dot: TemplateValue,
    last: TemplateValue | undefined,
  ): TemplateValue {
    let value: TemplateValue | undefined
    for (const term of given) {
      value = this.#term(term, dot)
      if (isTrue(value) === (name === 'or')) return value
    }
    const result = last ?? value
    if (result === undefined) throw new TemplateError(place, `${name}: 0 arguments, expected 1 or more`)
    return result
  }

  #term(term: Term, dot: TemplateValue): TemplateValue {
    this.#steps += 1
    if (this.#steps > MOST_STEPS)
      throw new TemplateError(term.place, `too much work, expected at most ${MOST_STEPS} evaluated values`)
    switch (term.kind) {
      case 'literal':
        return term.value
      case 'dot':
        return dot
      case 'variable':
        return this.#variable(term.name, term.place).value
      case 'function':
        return this.#call(term, [], dot, undefined)
      case 'pipeline':
        return this.#pipeline(term.pipeline, dot)
      case 'fields':
        return term.names.reduce((of, name) => fieldOf(of, name, term.place), this.#term(term.of, dot))
    }
  }

  #variable(name: string, place: Place): Variable {
    const found = this.#variables.findLast((variable) => variable.name === name)
    if (found === undefined) throw new TemplateError(place, `cannot use variable ${name}, which is not declared here`)
    return found
  }

  #set(name: string, value: TemplateValue, place: Place): void {
    this.#variable(name, place).value = value
  }
}

function fieldOf(of: TemplateValue, name: string, place: Place): TemplateValue {
  if (typeof of !== 'object' || isList(of))
    throw new TemplateError(place, `cannot use field ${name} of ${kindOf(of)}, expected a structure`)
  const found = Object.hasOwn(of, name) ? of[name] : undefined
  if (found === undefined)
    throw new TemplateError(place, `cannot use field ${name}, expected ${Object.keys(of).join(', ')}`)
  return found
}
