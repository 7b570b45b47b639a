/** The short form of `make fuzz`, every input that ever failed, and a test that the oracles notice faults. */
import { describe, expect, test } from 'vitest'
import { fuzz, messageOf } from './fuzz.ts'
import { regressions } from './regressions.ts'
import { octets, type Target } from './target.ts'
import { TARGETS } from './targets.ts'

const SEED = Number(process.env.FUZZ_SEED ?? 1)

describe('no input of the short fuzzing run fails for the target', () => {
  test.each(TARGETS.map((target) => [target.name, target] as const))('%s', (_, target) => {
    const { failures, outcomes } = fuzz(target, { seed: SEED, inputs: target.short })
    expect(failures.map(({ message, small }) => `${message} ${Buffer.from(small).toString('base64')}`)).toEqual([])
    // A target that refuses every input at its first check would have tested nothing.
    expect(outcomes.size).toBeGreaterThan(4)
  })
})

describe('an input that once failed does not fail again', () => {
  test.each(regressions().map(({ target, name, input }) => [`${target}: ${name}`, target, input] as const))(
    '%s',
    (_, name, input) => {
      const target = TARGETS.find((each) => each.name === name)
      if (target === undefined) throw new Error(`there is no target ${name}`)
      expect(messageOf(target, input)).toBeUndefined()
    },
  )
})

test('the fuzzer finds, shrinks and reports a fault once', () => {
  const target: Target = {
    ...{ name: 'example', corpus: () => [octets('some words')], words: [octets('bug')], largest: 100, short: 0 },
    examine(input) {
      if (Buffer.from(input).includes('bug')) throw new Error(`there is a fault in ${input.length} octets`)
      return 'none'
    },
  }
  const { failures } = fuzz(target, { seed: 1, inputs: 2_000 })
  expect(failures.map(({ small }) => Buffer.from(small).toString())).toEqual(['bug'])
  expect(failures[0]?.message).toBe('Error: there is a fault in 3 octets')
})

test('the fuzzer makes the same inputs from the same seed', () => {
  const seen = [1, 1, 2].map((seed) => {
    const inputs: string[] = []
    const target: Target = {
      ...{ name: 'example', corpus: () => [octets('a b c')], words: [octets('word')], largest: 50, short: 0 },
      examine: (input) => String(inputs.push(Buffer.from(input).toString('hex')) > 0),
    }
    fuzz(target, { seed, inputs: 200 })
    return inputs.join()
  })
  expect(seen[0]).toBe(seen[1])
  expect(seen[0]).not.toBe(seen[2])
})
