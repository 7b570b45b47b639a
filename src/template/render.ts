/**
 * Executes the templates of a cluster as Go's text/template does. A construct outside the subset is an error with a
 * place in the template, and never a guess: two nodes with another configuration could both take an address.
 */
import { evaluate } from './evaluate.ts'
import { parseTemplate } from './parser.ts'
import type { Structure } from './value.ts'

/**
 * Returns the text that a template produces from its data. Throws a TemplateError if it cannot be executed.
 *
 * The data must have each field that the template uses, even if the field is empty.
 */
export const render = (template: string, data: Structure): string => evaluate(parseTemplate(template), data)
