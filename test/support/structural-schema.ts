/**
 * Applies the rules of a Kubernetes API server to the schema of a custom resource (structural schema), and to an object
 * of that resource. Unknown fields are dropped and values are checked. This file decides which schemas are faulty. CEL
 * rules are not evaluated.
 */
import * as z from 'zod'

export type Schema = { readonly [key: string]: unknown }

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const partsOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  isSchema(value) ? Object.entries(value) : []

/** Schema keywords that are never allowed, or only where another part of the schema gives the types. */
const FORBIDDEN = ['$ref', 'definitions', 'patternProperties', 'additionalItems', 'dependencies', 'deprecated', 'id']
const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean']

/** Returns one line for each fault of the schema; an empty list if there is none. */
export function faultsOf(schema: unknown, path = '.'): readonly string[] {
  if (!isSchema(schema)) return [`${path}: no schema`]
  const { items, properties, required, type } = schema
  const own = [
    ...(typeof type === 'string' && TYPES.includes(type) ? [] : [`${path}: type is missing`]),
    ...FORBIDDEN.filter((word) => word in schema).map((word) => `${path}: ${word} is forbidden`),
    ...(type === 'array' && !isSchema(items) ? [`${path}: items is missing`] : []),
    ...(schema.uniqueItems === true ? [`${path}: uniqueItems is forbidden`] : []),
    ...(Array.isArray(required) ? required : [])
      .filter((name) => !isSchema(properties) || !(name in properties))
      .map((name) => `${path}: required ${name} is no property`),
    ...listFaults(schema, path),
    ...('default' in schema && !judge(schema, schema.default).ok ? [`${path}: its default is none of its values`] : []),
  ]
  const inner = partsOf(properties).flatMap(([name, part]) =>
    faultsOf(part, `${path}${path === '.' ? '' : '.'}${name}`),
  )
  return [...own, ...inner, ...(isSchema(items) ? faultsOf(items, `${path}[]`) : [])]
}

/** Returns the faults of a list's schema. In a list that is merged by keys, every item needs the keys. */
function listFaults(schema: Schema, path: string): readonly string[] {
  const keys = schema['x-kubernetes-list-map-keys']
  if (schema['x-kubernetes-list-type'] !== 'map') return keys === undefined ? [] : [`${path}: keys without a map`]
  const items = isSchema(schema.items) ? schema.items : {}
  if (!Array.isArray(keys) || keys.length === 0) return [`${path}: a map without keys`]
  return keys
    .filter((key) => !(Array.isArray(items.required) && items.required.includes(key)) || !isScalar(items, key))
    .map((key) => `${path}: key ${key} is no required scalar`)
}

const isScalar = ({ properties }: Schema, key: string): boolean => {
  const found = isSchema(properties) ? properties[key] : undefined
  return isSchema(found) && ['string', 'integer', 'number', 'boolean'].includes(String(found.type))
}

export function judge(schema: Schema, value: unknown): { readonly ok: boolean; readonly problems: readonly string[] } {
  const read = z.fromJSONSchema(schema).safeParse(value)
  return {
    ok: read.success,
    problems: read.success ? [] : read.error.issues.map(({ message, path }) => `${path.join('.')}: ${message}`),
  }
}

/** Returns the paths of those fields of an object that an API server would drop. */
export function prunedFrom(schema: unknown, value: unknown, path = ''): readonly string[] {
  if (!isSchema(schema)) return []
  if (Array.isArray(value)) return value.flatMap((item: unknown) => prunedFrom(schema.items, item, `${path}[]`))
  if (!isSchema(schema.properties)) return []
  const { properties } = schema
  return partsOf(value).flatMap(([name, inner]) =>
    name in properties ? prunedFrom(properties[name], inner, `${path}.${name}`) : [`${path}.${name}`],
  )
}
