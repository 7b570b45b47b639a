/** Optional fields of an object, exact: a field without a value is left out instead of being `undefined`. */

type MayBeUndefined<T> = { [K in keyof T]-?: undefined extends T[K] ? K : never }[keyof T]

/** The same fields; one whose value may be undefined is optional, and never undefined. */
export type Defined<T> = { [K in Exclude<keyof T, MayBeUndefined<T>>]: T[K] } & {
  [K in MayBeUndefined<T>]?: Exclude<T[K], undefined>
}

/**
 * Returns the fields that have a value, in their order: `{ name, ...defined({ label }) }`. Not for a path that runs for each
 * packet: it walks over the fields.
 */
export function defined<T extends object>(fields: T): Defined<T>
export function defined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
