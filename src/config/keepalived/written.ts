/**
 * A configuration value with its position in a keepalived file. With these positions, problems of the schema and of the
 * cross checks point at the line that the operator wrote. This file knows nothing about which keys exist.
 */
import type { Locate, Path, Position } from '../problem.ts'

export type Scalar = string | number | boolean
export type Fields = { readonly [key: string]: Written | undefined }
export type Written = {
  readonly at: Position
  /** Position of the key that has this value; absent if the value has no key. */
  readonly key?: Position
  readonly value: Scalar | readonly Written[] | Fields
}

/** A value with its position in the keepalived file; `undefined` if the file does not set the value. */
export type Found<T> = { readonly value: T; readonly at: Written['at'] } | undefined

export const written = (value: Written['value'], at: Position, key?: Position): Written =>
  key === undefined ? { at, value } : { at, key, value }

/** Returns a YAML mapping with the keys in the order of `fields`. */
export const mapping = (fields: Fields, at: Position): Written => written(fields, at)

const isList = (value: Written['value']): value is readonly Written[] => Array.isArray(value)

/** Returns the plain value, without positions in the keepalived file. */
export function plain({ value }: Written): unknown {
  if (isList(value)) return value.map(plain)
  if (typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, field]) => (field === undefined ? [] : [[key, plain(field)]])),
  )
}

/** Returns a function that finds the position of a path in the keepalived file. */
export function locateIn(root: Written): Locate {
  return (path: Path, at = 'value') => {
    let place: Written = root
    for (const [depth, step] of path.entries()) {
      const next = stepInto(place, step)
      if (next === undefined) return place.at
      if (at === 'key' && depth === path.length - 1) return next.key ?? next.at
      place = next
    }
    return place.at
  }
}

function stepInto({ value }: Written, step: string | number): Written | undefined {
  if (isList(value)) return typeof step === 'number' ? value[step] : undefined
  if (typeof value !== 'object' || typeof step === 'number') return undefined
  return Object.hasOwn(value, step) ? value[step] : undefined
}

export const fieldsOf = ({ value }: Written): Fields => (isList(value) || typeof value !== 'object' ? {} : value)

export const itemsOf = (entry: Written | undefined): readonly Written[] =>
  entry !== undefined && isList(entry.value) ? entry.value : []

/** Returns the router with the key `fault` added, which keeps the router out of the election. */
export function inFault(router: Written, reason: string): Written {
  const fault = reason.replace(/\p{Cc}/gu, ' ').slice(0, 1000)
  return mapping({ ...fieldsOf(router), fault: written(fault, router.at) }, router.at)
}
