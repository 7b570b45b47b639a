/** Patterns of include, as in glob(3) with GLOB_BRACE. */
import { describe, expect, test } from 'vitest'
import { alternatives, matcherOf } from '../../../src/config/keepalived/text/glob.ts'

describe('braces', () => {
  test.each([
    ['a.conf', ['a.conf']],
    ['{a,b{c,d}}.conf', ['a.conf', 'bc.conf', 'bd.conf']],
    ['{foo/{,cat,dog},bar}', ['foo/', 'foo/cat', 'foo/dog', 'bar']],
    ['a{}b{', ['a{}b{']],
  ])('%s', (pattern, expected) => {
    expect(alternatives(pattern)).toEqual(expected)
  })
})

describe('wildcards', () => {
  test.each([
    ['*.conf', 'a.conf', true],
    ['*.conf', '.a.conf', false],
    ['.*', '.a', true],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[z-a]x', 'zx', false],
    ['a.c', 'abc', false],
    ['a(b)+$', 'a(b)+$', true],
  ])('%s and %s: %s', (pattern, name, expected) => {
    expect(matcherOf(pattern)(name)).toBe(expected)
  })
})
