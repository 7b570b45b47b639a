/** Lists the keys that the configuration schema allows, each with its schema. */
import type { z } from 'zod'

export type Schema = z.core.JSONSchema.BaseSchema
export type Key = { readonly path: string; readonly name: string; readonly schema: Schema }

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Returns the paths of all keys, such as `virtualRouters.track.weight`. Lists and alternatives leave no mark in a path.
 */
export function schemaKeys(schema: unknown, path = ''): Key[] {
  if (!isSchema(schema)) return []
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const here = path === '' ? name : `${path}.${name}`
    return isSchema(inner) ? [{ path: here, name, schema: inner }, ...schemaKeys(inner, here)] : []
  })
  return [...own, ...schemaKeys(schema.items, path), ...(schema.anyOf ?? []).flatMap((one) => schemaKeys(one, path))]
}

/**
 * Returns true if the key has no value of its own: its value is a mapping with further keys, or a list of such
 * mappings.
 */
export function isSection({ properties, items }: Schema): boolean {
  return properties !== undefined || (isSchema(items) && items.properties !== undefined)
}
