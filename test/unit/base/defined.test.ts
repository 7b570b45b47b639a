import { expect, expectTypeOf, test } from 'vitest'
import { defined } from '../../../src/base/defined.ts'

const text = (value: string | undefined) => value

test('a field that is undefined is not there', () => {
  const fields = defined({ a: text(undefined), b: text('b') })
  expect(Object.keys(fields)).toEqual(['b'])
})

test('a field that is empty, zero, false or null is there', () => {
  expect(defined({ a: '', b: 0, c: false, d: null })).toEqual({ a: '', b: 0, c: false, d: null })
})

test('the type says which fields may be missing', () => {
  const { a, b } = defined({ a: text('a'), b: 1 })
  expectTypeOf(b).toEqualTypeOf<number>()
  expectTypeOf(a).toEqualTypeOf<string | undefined>()
  const target: { readonly a?: string } = defined({ a: text(undefined) })
  expect(target).toEqual({})
})
