/** The one error of this folder: a template that cannot be read or executed, with the place in its text. */

/** A place in the text of a template. Line and column begin with 1. */
export type Place = { readonly line: number; readonly column: number }

/** The template uses something outside the subset, or does not fit the data. After this error no text was rendered. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError'
  readonly line: number
  readonly column: number
  /** Problem and accepted values, without the place. */
  readonly reason: string

  constructor({ line, column }: Place, reason: string) {
    super(`line ${line}, column ${column}: ${reason}`)
    this.line = line
    this.column = column
    this.reason = reason
  }
}

/** Returns the place of an offset in the text. */
export function placeOf(text: string, offset: number): Place {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: [...before.slice(before.lastIndexOf('\n') + 1)].length + 1 }
}
