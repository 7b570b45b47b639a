/** The keys that the configuration schema allows, with their schemas. */
import type { z } from 'zod'

export type Schema = z.core.JSONSchema.BaseSchema
export type Key = { readonly path: string; readonly name: string; readonly schema: Schema }

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Keys as `virtualRouters.track.weight`: lists and alternatives leave no mark. */
export function schemaKeys(schema: unknown, path = ''): Key[] {
  if (!isSchema(schema)) return []
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const here = path === '' ? name : `${path}.${name}`
    return isSchema(inner) ? [{ path: here, name, schema: inner }, ...schemaKeys(inner, here)] : []
  })
  return [...own, ...schemaKeys(schema.items, path), ...(schema.anyOf ?? []).flatMap((one) => schemaKeys(one, path))]
}

/** True for a mapping of further keys, or a list of such mappings, which has no value of its own. */
export function isSection({ properties, items }: Schema): boolean {
  return properties !== undefined || (isSchema(items) && items.properties !== undefined)
}
