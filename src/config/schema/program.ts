/**
 * A program that holdfast runs, as a file names it: absolute path and arguments, the user it runs as, and whether it has
 * the daemon's capabilities, and what becomes of one that others can change. Decided here: there is never a shell. This
 * file does not know what a program is run for, nor whether it may be (files/script-problem.ts).
 */
import * as z from 'zod'
import { list, oneOf, pattern, whole } from './field.ts'

const ARGV_WANTED = 'a program with its absolute path and its arguments wanted, as a list'

export const argv = () =>
  list(pattern(/^[^\0]*$/, 'a text wanted'), ARGV_WANTED).transform((words, context): [string, ...string[]] => {
    const [program, ...rest] = words
    if (program !== undefined && /^\/[^/]/.test(program)) return [program, ...rest]
    context.issues.push({ code: 'custom', message: ARGV_WANTED, input: words })
    return z.NEVER
  })

export const user = () =>
  z
    .union(
      [
        whole(0, 4_294_967_294),
        pattern(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}\$?$/, 'the name or number of a user wanted'),
      ],
      { error: 'the name or number of a user wanted' },
    )
    .transform(String)

/** Of a program that others can change; `refuse`, written, means the same as nothing. */
export const unsafe = () =>
  oneOf('refuse', 'skip', 'run').transform((wanted) => (wanted === 'refuse' ? undefined : wanted))

/** `none`, written, means the same as nothing. */
export const capabilities = () => oneOf('none', 'keep').transform((wanted) => (wanted === 'keep' ? wanted : undefined))
