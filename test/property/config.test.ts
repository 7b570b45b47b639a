/** Any text gives either a configuration, or problems with their places in the text; never an exception. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { diffConfig } from '../../src/config/diff.ts'
import { environmentProblems } from '../../src/config/resolve.ts'
import { formatDuration, parseDuration } from '../../src/config/schema/duration.ts'
import { parseConfig } from '../../src/config/text/yaml.ts'
import { effectivePriority } from '../../src/config/weights.ts'
import { forAll } from '../support/for-all.ts'

const reference = readFileSync(join(import.meta.dirname, '../../docs/config-reference.yaml'), 'utf8')
const bare = reference
  .split('\n')
  .filter((line) => !/^\s*(#|$)/.test(line))
  .join('\n')

/** Checks the result of the parser: either a configuration or problems, whose places are inside the text. */
function answer(text: string): void {
  const parsed = parseConfig(text, 'f.yaml')
  const lines = text.split(/\r\n|\r|\n/).length
  const problems = 'problems' in parsed ? parsed.problems : parsed.warnings
  for (const problem of problems) {
    expect(problem.message, 'one line, and in words').toMatch(/^[^\n]{10,}$/)
    expect(problem.line, JSON.stringify(problem)).toBeGreaterThanOrEqual(1)
    expect(problem.line, JSON.stringify(problem)).toBeLessThanOrEqual(lines)
    expect(problem.column, JSON.stringify(problem)).toBeGreaterThanOrEqual(1)
  }
  const errors = problems.filter(({ severity }) => severity === 'error').length
  if ('problems' in parsed) expect(errors, 'a refusal gives a reason').toBeGreaterThan(0)
  else {
    expect(errors, 'what is used has no error').toBe(0)
    environmentProblems(parsed.config, { interfaces: [] }, parsed.locate)
  }
}

const yamlish = fc.array(
  fc.oneof(
    fc.constantFrom(
      ...'{}[],:-?*&!|>\'"#%@`\n\t ',
      '\n  ',
      '- ',
      ': ',
      '<<',
      '&a ',
      '*a',
      '!!map ',
      '---\n',
      '...',
      '~',
    ),
    fc.constantFrom('virtualRouters', 'name', 'vrid', 'addresses', '__proto__', 'transport', '1s', '10.0.0.1', 'null'),
    fc.string({ maxLength: 4 }),
  ),
  { maxLength: 60 },
)

describe('the parser of configurations', () => {
  test('parsing never throws on any string', () => forAll(100, [fc.string({ unit: 'binary', maxLength: 300 })], answer))

  test('parsing never throws on text that resembles YAML', () => {
    forAll(500, [yamlish], (parts) => answer(parts.join('')))
  })

  test('parsing never throws on a valid file with a few changed characters', () => {
    const edit = fc.record({
      at: fc.nat(bare.length),
      cut: fc.nat(12),
      insert: fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('\n', ' ', '[', '{', ': ', '- ', '*p', '0', '-')),
    })
    forAll(300, [fc.array(edit, { minLength: 1, maxLength: 3 })], (edits) => {
      answer(edits.reduce((text, { at, cut, insert }) => text.slice(0, at) + insert + text.slice(at + cut), bare))
    })
  })

  test('parsing never throws on any value in the place of any line', () => {
    const lines = bare.split('\n')
    forAll(300, [fc.nat(lines.length - 1), fc.jsonValue({ maxDepth: 3 })], (at, value) => {
      const changed = (lines[at] ?? '').replace(/:.*/, () => `: ${JSON.stringify(value)}`)
      answer([...lines.slice(0, at), changed, ...lines.slice(at + 1)].join('\n'))
    })
  })

  test('parsing never throws on any document', () => {
    forAll(100, [fc.jsonValue()], (value) => answer(stringify({ virtualRouters: value })))
  })
})

describe('a duration in a configuration', () => {
  test('is read exactly for all whole centiseconds from 10ms to 40.95s, in every spelling', () => {
    forAll(500, [fc.integer({ min: 1, max: 4095 })], (centis) => {
      const spellings = [`${centis * 10}ms`, `${(centis / 100).toFixed(2)}s`, formatDuration(centis * 10)]
      expect(spellings.map(parseDuration)).toEqual([centis * 10, centis * 10, centis * 10])
    })
  })
})

describe('an effective priority', () => {
  const contribution = fc.record({ weight: fc.integer({ min: -253, max: 253 }), up: fc.boolean() })
  test('stays within 1 to 254, does not depend on the order of weights, and loses a removed weight completely', () => {
    forAll(100, [fc.integer({ min: 1, max: 254 }), fc.array(contribution), contribution], (base, list, extra) => {
      const before = effectivePriority(base, list)
      const after = effectivePriority(base, [...list, extra])
      expect(after.priority).toBeGreaterThanOrEqual(1)
      expect(after.priority).toBeLessThanOrEqual(254)
      expect(effectivePriority(base, [extra, ...list].reverse())).toEqual(after)
      expect(after.sum - before.sum).toBe(extra.weight > 0 === extra.up ? extra.weight : 0)
    })
  })
})

describe('the difference between two configurations', () => {
  const edit = (what: string): object =>
    what === 'changed' ? { priority: 77 } : what === 'recreated' ? { interface: 'eth9' } : {}
  const kind = fc.constantFrom('none', 'changed', 'recreated', 'removed', 'added')
  const parsed = (virtualRouters: readonly object[]) => {
    const result = parseConfig(stringify({ virtualRouters }))
    if ('problems' in result) throw new Error(JSON.stringify(result.problems))
    return result.config
  }

  test('names every router once with its change, whatever the order', () => {
    fc.assert(
      fc.property(
        // The last router stays in both configuration files, so neither file is empty.
        fc.array(fc.tuple(kind, fc.boolean(), fc.nat()), { maxLength: 12 }),
        (plan) => {
          const all = [...plan, ['none', false, 0] as const].map(([what, isIpv6, order], i) => {
            const addresses = [isIpv6 ? `fd00::${i + 1}` : `10.0.0.${i + 1}`]
            return { what, order, router: { name: `r${i}`, vrid: i + 1, interface: 'eth0', addresses } }
          })
          const old = all.filter(({ what }) => what !== 'added').map(({ router }) => router)
          const next = all
            .filter(({ what }) => what !== 'removed')
            .toSorted((a, b) => a.order - b.order)
            .map(({ what, router }) => ({ ...router, ...edit(what) }))
          const diff = diffConfig(parsed(old), parsed(next))
          const names = (wanted: string) => all.filter(({ what }) => what === wanted).map(({ router }) => router.name)
          expect(diff.added.toSorted()).toEqual(names('added').toSorted())
          expect(diff.removed.toSorted()).toEqual(names('removed').toSorted())
          expect(diff.recreated.toSorted()).toEqual(names('recreated').toSorted())
          expect(diff.changed.toSorted()).toEqual(names('changed').toSorted())
          expect(diff.unchanged.toSorted()).toEqual(names('none').toSorted())
        },
      ),
    )
  })
})
