/**
 * Converts the errors of the schema to problems: the path, what is wrong, and what is accepted. This file knows nothing
 * about single keys, except those whose values may be secrets.
 */

import type { z } from 'zod'
import { refusedSecret, refusedValue } from '../../base/refused-value.ts'
import { jsonSchema } from '../config.ts'
import { formatPath, type Locate, type Path, type Problem, problemAt } from '../problem.ts'
import { DURATION } from '../schema/duration.ts'
import { KEEPALIVED_NAMES } from './keepalived-names.ts'
import { nearestWord } from './spelling.ts'

/** Keys that a document may contain. The default are the keys of the configuration. */
type Vocabulary = {
  readonly schema: () => Schema
  /** Returns the key to use in place of a key of keepalived, and a remark. */
  readonly nameOf: (key: string) => readonly [string, string?] | undefined
}

const CONFIGURATION: Vocabulary = { schema: schemaOfConfiguration, nameOf: (key) => KEEPALIVED_NAMES[key] }

/** Returns the problems of a value that the schema refuses. */
export function schemaProblems(
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  locate: Locate,
  vocabulary: Vocabulary = CONFIGURATION,
): Problem[] {
  const problems = issues.flatMap((issue) => issueProblems(issue, [], { value, locate, ...vocabulary }))
  // A required key that the document has under another name is not reported as missing.
  const meant = new Set(problems.flatMap((problem) => problem.meant ?? []))
  return problems.filter(({ missing }) => missing === undefined || !meant.has(missing)).map(plain)
}

/**
 * A problem with two paths. `meant`: the known key that an unknown key probably means. `missing`: the key that is
 * required.
 */
type Found = Problem & { readonly meant?: string | undefined; readonly missing?: string }

const plain = ({ meant: _, missing: __, ...problem }: Found): Problem => problem

type Document = Vocabulary & { readonly value: unknown; readonly locate: Locate }

function issueProblems(issue: z.core.$ZodIssue, base: Path, document: Document): Found[] {
  const { locate, nameOf, schema, value } = document
  const path = [...base, ...issue.path.filter((step) => typeof step !== 'symbol')]
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const shownPath = isSecret(path) ? path : [...path, key]
      const known = knownKeys(path, schema())
      const name = nameOf(key)?.[0] ?? nearestWord(key, known)
      return {
        ...problemAt(
          () => locate([...path, key], 'key'),
          shownPath,
          'error',
          unknownKey(key, path, { known, meant: name, keepalived: nameOf(key) }),
        ),
        meant: name === undefined ? undefined : formatPath([...path, name]),
      }
    })
  }
  if (issue.code === 'invalid_union') {
    const inside = issue.errors.find((errors) => errors.length > 0 && errors.every((error) => isAboutContent(error)))
    if (inside !== undefined) return inside.flatMap((error) => issueProblems(error, path, document))
  }
  if (issue.code === 'custom' && issue.params?.isWhole === true)
    return [problemAt(locate, path, 'error', `${place(path)}: ${issue.message}`)]
  const found = at(value, path)
  const name = path.at(-1)
  if (name === undefined && (found ?? null) === null) return [problemAt(locate, path, 'error', 'the file is empty')]
  if (found === undefined && typeof name === 'string') {
    const parent = path.slice(0, -1)
    const message = refusedValue(formatPath(path), undefined, issue.message)
    return [{ ...problemAt(locate, parent, 'error', message), missing: formatPath(path) }]
  }
  const message =
    isSecret(path) && found !== null
      ? refusedSecret(place(path), issue.message)
      : refusedValue(place(path), found, issue.message)
  return [problemAt(locate, path, 'error', message)]
}

/**
 * Keys whose values may contain a secret. A message must not quote the values of these keys, wherever the keys stand
 * (VR-V2-06). Requests of a check and URLs may contain passwords.
 */
const SECRETS: Path = ['authentication', 'headers', 'environment', 'send', 'http', 'tcp', 'exec', 'notify']
/** Tells whether the value at a path may be a secret. */
export const isSecret = (path: Path): boolean =>
  path.some((step) => SECRETS.includes(step)) || (path[0] === 'api' && path[1] === 'peers')

/**
 * Tells whether the error concerns the content of an alternative. If the error concerns the content, the operator meant
 * this alternative of the union.
 */
function isAboutContent(issue: z.core.$ZodIssue): boolean {
  return issue.path.length > 0 || issue.code === 'unrecognized_keys' || issue.code === 'custom'
}

/** Largest number of known keys that a message lists. With more, the list would hide the message. */
const MOST_LISTED = 12

type Meant = {
  readonly known: readonly string[]
  readonly meant: string | undefined
  readonly keepalived: readonly [string, string?] | undefined
}

function unknownKey(key: string, parent: Path, { keepalived, known, meant }: Meant): string {
  const list =
    known.length > MOST_LISTED ? 'holdfast schema lists the known keys' : `known keys are ${known.join(', ')}`
  if (isSecret(parent)) return `unknown key in ${place(parent)}: ${list}`
  const [here, remark] = keepalived ?? []
  if (here !== undefined) return `"${key}" is called "${here}" here${remark === undefined ? '' : ` (${remark})`}`
  const advice = meant === undefined ? list : `did you mean "${meant}"?`
  return `unknown key "${key.slice(0, 64)}" in ${place(parent)}: ${advice}`
}

/** Returns the path of a configuration key for a message. */
const place = (path: Path): string => (path.length === 0 ? 'the configuration' : formatPath(path))

type Schema = z.core.JSONSchema._JSONSchema | z.core.JSONSchema._JSONSchema[] | undefined

/**
 * The JSON Schema of the configuration, created once. Creating the schema takes a millisecond, and a file in a wrong
 * format can have a thousand unknown keys.
 */
let schemaOfAll: Schema

function schemaOfConfiguration(): Schema {
  schemaOfAll ??= jsonSchema()
  return schemaOfAll
}

function knownKeys(path: Path, schema: Schema): string[] {
  let schemas: Schema[] = [schema]
  for (const step of path) {
    schemas = alternatives(schemas).map((schema) =>
      typeof step === 'number' ? schema.items : schema.properties?.[step],
    )
  }
  return alternatives(schemas).flatMap(({ properties }) => Object.keys(properties ?? {}))
}

let words: ReadonlySet<string> | undefined

/** Tells whether a word is a key anywhere in the configuration. */
export function isKey(word: string): boolean {
  words ??= new Set(wordsOf(schemaOfConfiguration()))
  return words.has(word)
}

let durations: ReadonlySet<string> | undefined

/** Tells whether the value of a key is a duration, or a list of durations. */
export function isDurationKey(key: string): boolean {
  durations ??= new Set(durationsIn(schemaOfConfiguration()))
  return durations.has(key)
}

function durationsIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const keys = 'properties' in schema && typeof schema.properties === 'object' ? (schema.properties ?? {}) : {}
  const own = Object.entries(keys).flatMap(([key, inner]) => (isDuration(inner) ? [key] : []))
  return [...own, ...Object.values(schema).flatMap(durationsIn)]
}

function isDuration(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  if ('pattern' in schema && schema.pattern === DURATION.source) return true
  if ('items' in schema && isDuration(schema.items)) return true
  return 'anyOf' in schema && Array.isArray(schema.anyOf) && schema.anyOf.some(isDuration)
}

function wordsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const keys =
    'properties' in schema && typeof schema.properties === 'object' ? Object.keys(schema.properties ?? {}) : []
  return [...keys, ...Object.values(schema).flatMap(wordsOf)]
}

function alternatives(schemas: readonly Schema[]): z.core.JSONSchema.BaseSchema[] {
  return schemas.flatMap((schema) => {
    if (schema === undefined || typeof schema === 'boolean' || Array.isArray(schema)) return []
    return [schema, ...alternatives(schema.anyOf ?? [])]
  })
}

function at(root: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, step) ? Reflect.get(value, step) : undefined,
    root,
  )
}
