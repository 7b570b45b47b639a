/** A template that was read: the statements of its text, and the expressions in its actions. */
import type { Place } from './template-error.ts'

export type Term =
  | { readonly kind: 'literal'; readonly value: string | number | boolean; readonly place: Place }
  | { readonly kind: 'dot'; readonly place: Place }
  /** A variable with its dollar sign; `$` alone is the data of the whole template. */
  | { readonly kind: 'variable'; readonly name: string; readonly place: Place }
  | { readonly kind: 'function'; readonly name: string; readonly place: Place }
  | { readonly kind: 'pipeline'; readonly pipeline: Pipeline; readonly place: Place }
  /** Fields of a term, from the outside to the inside: `.A.B` has the dot and two names. */
  | { readonly kind: 'fields'; readonly of: Term; readonly names: readonly string[]; readonly place: Place }

/** A term and its arguments. */
export type Command = { readonly first: Term; readonly rest: readonly Term[] }

export type Pipeline = {
  /** Variables that the pipeline sets. Only `range` has two. */
  readonly variables: readonly string[]
  /** True for `=`, which sets a variable that exists; false for `:=`, which makes a new one. */
  readonly assigns: boolean
  /** Commands, each of which receives the result of the command before it as its last argument. */
  readonly commands: readonly [Command, ...Command[]]
  readonly place: Place
}

export type Branch = {
  readonly kind: 'if' | 'with' | 'range'
  readonly pipeline: Pipeline
  readonly body: readonly Statement[]
  readonly otherwise: readonly Statement[]
}

export type Statement =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly pipeline: Pipeline }
  | { readonly kind: 'break' | 'continue' }
  | Branch
