/**
 * Schema of a program in the configuration: absolute path and arguments, its user, its capabilities, and whether it
 * runs if other users can change it. A program never runs in a shell. This file knows nothing about why a program runs,
 * and whether it is safe (files/script-problem.ts).
 */
import * as z from 'zod'
import { list, oneOf, pattern, whole } from './field.ts'

const ARGV_EXPECTED = 'a list: a program with its absolute path, then its arguments'

export const argv = () =>
  list(pattern(/^[^\0]*$/, 'a text'), ARGV_EXPECTED).transform((words, context): [string, ...string[]] => {
    const [program, ...rest] = words
    if (program !== undefined && /^\/[^/]/.test(program)) return [program, ...rest]
    context.issues.push({ code: 'custom', message: ARGV_EXPECTED, input: words })
    return z.NEVER
  })

export const user = () =>
  z
    .union(
      [whole(0, 4_294_967_294), pattern(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}\$?$/, 'the name or number of a user')],
      { error: 'the name or number of a user' },
    )
    .transform(String)

/** Returns the schema of the key `unsafe`, about a program that other users can change. `refuse` is the default. */
export const unsafe = () =>
  oneOf('refuse', 'skip', 'run').transform((choice) => (choice === 'refuse' ? undefined : choice))

/** Returns the schema of the key `capabilities` of a program. `none` is the default. */
export const capabilities = () => oneOf('none', 'keep').transform((choice) => (choice === 'keep' ? choice : undefined))
