/**
 * Rules of an API server for the schema of a custom resource (structural schemas), and its handling of an object.
 * Unknown fields are dropped and values are checked. Decides which schemas are faulty; CEL rules are not evaluated.
 */
import * as z from 'zod'

export type Schema = { readonly [key: string]: unknown }

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const partsOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  isSchema(value) ? Object.entries(value) : []

/** Keywords that are never allowed, or only where types are given elsewhere. */
const FORBIDDEN = ['$ref', 'definitions', 'patternProperties', 'additionalItems', 'dependencies', 'deprecated', 'id']
const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean']

/** Returns one line for each fault. */
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

/** Returns faults of lists: a list that is merged by keys needs the keys in every item. */
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

/** Returns the fields that an API server would drop. */
export function prunedFrom(schema: unknown, value: unknown, path = ''): readonly string[] {
  if (!isSchema(schema)) return []
  if (Array.isArray(value)) return value.flatMap((item: unknown) => prunedFrom(schema.items, item, `${path}[]`))
  if (!isSchema(schema.properties)) return []
  const { properties } = schema
  return partsOf(value).flatMap(([name, inner]) =>
    name in properties ? prunedFrom(properties[name], inner, `${path}.${name}`) : [`${path}.${name}`],
  )
}
