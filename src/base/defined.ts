/** Optional fields of a value: present, or not there at all. */

/** The fields of T without `undefined`: a field that may be undefined is optional. */
export type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Returns the fields that are not `undefined`, for a spread: `exactOptionalPropertyTypes` tells the two apart. */
export function defined<T extends object>(fields: T): Defined<T>
export function defined(fields: Readonly<Record<string, unknown>>): object {
  const present: Record<string, unknown> = {}
  for (const name in fields) if (fields[name] !== undefined) present[name] = fields[name]
  return present
}
