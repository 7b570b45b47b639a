/** docs/config-reference.yaml has no problem and no warning, every key, and the true defaults. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { jsonSchema } from '../../../src/config/config.ts'
import { formatProblem } from '../../../src/config/problem.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import { profileKnobs } from '../../../src/vrrp/profile.ts'
import { schemaKeys } from '../../support/schema-keys.ts'

const DOCS = join(import.meta.dirname, '../../../docs')
const text = readFileSync(join(DOCS, 'config-reference.yaml'), 'utf8')
const lines = text.split('\n')

function valueKeys(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => valueKeys(item, path))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const here = path === '' ? name : `${path}.${name}`
    return [here, ...valueKeys(inner, here)]
  })
}

/** Returns the comments above every line that sets this key. */
function commentOf(name: string): string {
  const above = (at: number): string[] => {
    const line = lines[at - 1] ?? ''
    return /^\s*#/.test(line) ? [...above(at - 1), line.replace(/^\s*# ?/, '')] : []
  }
  const sets = new RegExp(`^\\s*(- )?${name}:`)
  return lines.flatMap((line, at) => (sets.test(line) ? above(at) : [])).join(' ')
}

const keys = schemaKeys(jsonSchema())

describe('docs/config-reference.yaml', () => {
  test('docs/config-reference.yaml has neither problems nor warnings', () => {
    const parsed = parseConfig(text, 'config-reference.yaml')
    const said = 'problems' in parsed ? parsed.problems : parsed.warnings
    expect(said.map(formatProblem)).toEqual([])
  })

  test('docs/config-reference.yaml has every key of the schema', () => {
    const written = new Set(valueKeys(parse(text)))
    expect(keys.length).toBeGreaterThan(40)
    expect(keys.map(({ path }) => path).filter((path) => !written.has(path))).toEqual([])
  })

  test.each(keys.map((key) => [key.path, key] as const))('describes %s', (_, { name, schema }) => {
    expect(schema.description ?? '', `${name} has no description in the schema`).not.toBe('')
    const comment = commentOf(name)
    const value = schema.default
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      expect(comment, `the comment of ${name} must tell its default`).toContain(`default ${value}`)
    if (schema.minimum !== undefined && name !== 'version') {
      expect(comment).toContain(String(schema.minimum))
      expect(comment).toContain(name === 'priority' ? '1 to 254' : String(schema.maximum))
    }
  })

  test('docs/config-reference.yaml has the default of every option in both profiles', () => {
    const letter = Object.entries(profileKnobs('rfc9568', 3))
    const ours = new Map(Object.entries(profileKnobs('holdfast', 3)))
    const told = (value: unknown) => (typeof value === 'number' ? `${value}ms` : String(value))
    for (const [name, value] of letter)
      expect(commentOf(name)).toContain(`default ${told(ours.get(name))} (rfc9568: ${told(value)})`)
  })
})

describe.each([
  ['configuration.md', 5],
  ['healthchecks.md', 4],
])('docs/%s', (name, count) => {
  const page = readFileSync(join(DOCS, name), 'utf8')
  const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => match[1] ?? '')

  test.each(examples.map((example, index) => [index + 1, example] as const))(
    'example %i has no errors',
    (_, example) => {
      const parsed = parseConfig(example, 'example')
      expect('problems' in parsed ? parsed.problems.map(formatProblem) : []).toEqual([])
    },
  )

  test('the page has examples', () => {
    expect(examples.length).toBe(count)
  })
})
