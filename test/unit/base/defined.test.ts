/** Optional fields without undefined, and the text of what was thrown. */
import { describe, expect, expectTypeOf, test } from 'vitest'
import { type Defined, defined } from '../../../src/base/defined.ts'
import { messageOf } from '../../../src/base/message-of.ts'

describe('defined()', () => {
  test('leaves out fields without a value, and keeps null, 0, false and the empty text', () => {
    const fields = defined({ a: undefined, b: null, c: 0, d: false, e: '' })
    expect(Object.keys(fields)).toEqual(['b', 'c', 'd', 'e'])
    expect(fields).toStrictEqual({ b: null, c: 0, d: false, e: '' })
  })

  test('makes a field optional if its value may be undefined, and leaves the others as they are', () => {
    type Fields = { readonly name: string; readonly label: string | undefined; readonly port?: number }
    expectTypeOf<Defined<Fields>>().toExtend<{ name: string; label?: string; port?: number }>()
    // exactOptionalPropertyTypes: this object takes no undefined.
    const exact: { readonly label?: string } = defined({ label: process.env.NO_SUCH_VARIABLE })
    expect('label' in exact).toBe(false)
  })
})

describe('messageOf()', () => {
  test('is the message of an Error, and the text of everything else', () => {
    expect([messageOf(new TypeError('no such file')), messageOf('text'), messageOf(undefined)]).toEqual([
      'no such file',
      'text',
      'undefined',
    ])
  })
})
