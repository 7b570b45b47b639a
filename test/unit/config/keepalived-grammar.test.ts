// biome-ignore-all lint/suspicious/noTemplateCurlyInString: how keepalived writes its parameters
/**
 * The grammar of keepalived's files: what is a word, a block, a comment, a definition; and what is a mistake, where.
 * Expectations were observed with keepalived 2.2.7 (-t, and its dump), except where a test says that we are stricter.
 */
import { describe, expect, test } from 'vitest'
import { commandWordsOf } from '../../../src/config/keepalived/text/lexer.ts'
import type { Line } from '../../../src/config/keepalived/text/parser.ts'
import { parseKeepalived } from '../../../src/config/keepalived/text/parser.ts'
import { formatProblem } from '../../../src/config/problem.ts'
import { FILE, files, NODE } from '../../support/keepalived-text.ts'

type Tree = readonly (string | readonly [string, Tree])[]

const treeOf = (lines: readonly Line[]): Tree =>
  lines.map(({ words, block }) => {
    const text = words.map((word) => word.text).join(' ')
    return block === undefined ? text : ([text, treeOf(block)] as const)
  })

const parse = (text: string, others: Readonly<Record<string, string>> = {}) =>
  parseKeepalived({ file: FILE, text }, files({ [FILE]: text, ...others }), NODE)

const tree = (text: string, others?: Readonly<Record<string, string>>): Tree => {
  const { lines, problems } = parse(text, others)
  expect(problems.map(formatProblem)).toEqual([])
  return treeOf(lines)
}

const problemsOf = (text: string, others?: Readonly<Record<string, string>>) =>
  parse(text, others).problems.map(formatProblem)

describe('blocks', () => {
  test('a brace is a word of its own, on its own line or not', () => {
    const expected: Tree = [['vrrp_instance A', ['state BACKUP', ['virtual_ipaddress', ['10.0.0.1', '10.0.0.2']]]]]
    expect(tree('vrrp_instance A {\nstate BACKUP\nvirtual_ipaddress {\n10.0.0.1\n10.0.0.2\n}\n}\n')).toEqual(expected)
    expect(tree('vrrp_instance A\n{\n state BACKUP\n virtual_ipaddress { 10.0.0.1\n10.0.0.2 } }')).toEqual(expected)
    expect(tree('vrrp_instance A{state BACKUP\r\nvirtual_ipaddress{10.0.0.1\r\n10.0.0.2}}\r\n')).toEqual(expected)
  })

  test('a brace in quotes is an ordinary character', () => {
    expect(tree('notify "/bin/x {a}" b')).toEqual(['notify /bin/x {a} b'])
  })

  test('the positions of a block are those of its words', () => {
    const [line] = parse('\n  vrrp_instance  A { # yes\n}\n').lines
    expect(line?.words.map(({ text, at }) => `${text} ${at.line}:${at.column}`)).toEqual([
      'vrrp_instance 2:3',
      'A 2:18',
    ])
  })
})

describe('comments and quotes', () => {
  test('both signs begin a comment, but not in quotes or after a backslash', () => {
    expect(tree('a b # c\n! d\ne "f # g ! h" i\nj \\#k\n')).toEqual(['a b', 'e f # g ! h i', 'j #k'])
  })

  test('a definition goes on behind a comment that ends with a backslash', () => {
    expect(tree('$A=b # c\\\nd\nx $A\n')).toEqual(['x b', 'd'])
  })

  test.each([
    ['/bin/sh -c \'exit 0\' "x y"', ['/bin/sh', '-c', 'exit 0', 'x y']],
    ['a\\ b "c\\"d" \'e"f\'', ['a b', 'c"d', 'e"f']],
    ['\\x41\\102\\tz \\cA', ['AB\tz', '\x01']],
    ['ab"c d"ef', ['abc def']],
    ['"" x', ['', 'x']],
  ])('a command is split into words: %s', (text, expected) => {
    expect(commandWordsOf(text)).toEqual(expected)
  })

  test.each(['"a', "'a", 'a\\'])('a command that does not end: %s', (text) => {
    expect(commandWordsOf(text)).toBeUndefined()
  })
})

describe('conditions', () => {
  test('@name holds on the node of that name, and @^name on all others', () => {
    expect(tree('@node1 priority 100\n@node2 priority 50\n@^node1 a\n@^node2 b\n@node1\n')).toEqual([
      'priority 100',
      'b',
    ])
  })
})

describe('definitions', () => {
  test('a name is replaced before a blank or in braces, and unknown names stay', () => {
    expect(tree('$A=10.0.0\n$B=x y\nv ${A}.1 $B\nw $A.1 $C "${C}"\n')).toEqual(['v 10.0.0.1 x y', 'w $A.1 $C ${C}'])
  })

  test('a value is replaced when it is used', () => {
    expect(tree('$BASE=10.2.${SUB}\n$SUB=0\na ${BASE}.1\n$SUB=10\na ${BASE}.1')).toEqual(['a 10.2.0.1', 'a 10.2.10.1'])
  })

  test('a definition of several lines may have definitions and conditions', () => {
    const text =
      '$I= \\\n vrrp_instance V${N} { \\\n  $P=1${N} \\\n  @node1 priority $P \\\n  @node2 priority 9 \\\n }\n\n$N=0\n$I\n$N=1\n$I\n'
    expect(tree(text)).toEqual([
      ['vrrp_instance V0', ['priority 10']],
      ['vrrp_instance V1', ['priority 11']],
    ])
  })

  test('lines of a definition keep their own positions', () => {
    const [line] = parse('$I= \\\n a b \\\n   c d\n\n\n$I\n').lines.slice(1)
    expect(line?.at).toEqual({ file: FILE, line: 3, column: 4 })
  })

  test('predefined names have their values', () => {
    expect(tree('a ${_PWD}/x ${_INSTANCE} ${_RANDOM} ${_RANDOM 1 3} ${_HASH} ${_BANG}')).toEqual([
      'a /etc/keepalived/x node1 16384 2 # !',
    ])
  })

  test('sequences and lists repeat a line', () => {
    expect(tree('~SEQ(N, 0, 3) a 10.0.${N}.1')).toEqual(['a 10.0.0.1', 'a 10.0.1.1', 'a 10.0.2.1', 'a 10.0.3.1'])
    expect(tree('~SEQx(N, 0x90, 0x10, 0xb0) a ${N}')).toEqual(['a 90', 'a a0', 'a b0'])
    expect(tree('~SEQ(N,3,-2,0) ~SEQ(M,2) a ${N}.${M}')).toEqual(['a 3.1', 'a 3.2', 'a 1.1', 'a 1.2'])
    expect(tree('~LST({A, B}, {10,1},{20,4}) ~LST(C,x,y) a ${A}.${B}.${C}')).toEqual([
      'a 10.1.x',
      'a 10.1.y',
      'a 20.4.x',
      'a 20.4.y',
    ])
  })

  test('a sequence repeats a definition of several lines', () => {
    expect(tree('$V= \\\nv A${N} { \\\nb ${N} \\\n}\n\n~SEQ(N,1,2) $V\n')).toEqual([
      ['v A1', ['b 1']],
      ['v A2', ['b 2']],
    ])
  })
})

describe('includes', () => {
  test('a relative include starts in the folder of the including file, and its lines replace the include', () => {
    const others = {
      '/etc/keepalived/conf.d/a.conf': 'include b.conf',
      '/etc/keepalived/conf.d/b.conf': 'state BACKUP',
    }
    expect(tree('vrrp_instance A {\ninclude conf.d/a.conf\n}', others)).toEqual([['vrrp_instance A', ['state BACKUP']]])
  })

  test('a problem in an included file names that file', () => {
    expect(problemsOf('include b.conf', { '/etc/keepalived/b.conf': 'a\n}' })).toEqual([
      '/etc/keepalived/b.conf:2:1: Cannot read this "}": no block is open',
    ])
  })

  test('a wildcard without a match is a warning, unless a match is required', () => {
    expect(problemsOf('include conf.d/*')).toEqual([
      `${FILE}:1:9: warning: include "conf.d/*" matches no file: nothing is included`,
    ])
    const missing = `${FILE}:1:10: Cannot include "conf.d/*": there is no such file`
    expect(problemsOf('includea conf.d/*')).toEqual([missing])
    expect(problemsOf('includew conf.d/*')).toEqual([missing])
    expect(problemsOf('include_check wildcard_match\ninclude conf.d/*')).toHaveLength(1)
    expect(problemsOf('includea conf.d/*\ninclude_check +readable\nincludea conf.d/*')).toHaveLength(2)
  })
})

describe('bad input: a problem with its place, and nothing is read', () => {
  test.each<readonly [string, string, Readonly<Record<string, string>>, string]>([
    ['a NUL', 'a\nb \0c', {}, '2:3: Cannot read the file: it contains a NUL character, so it is not a text file'],
    ['an unclosed block', 'a {\n b {\n }\n', {}, '1:3: Cannot find the "}" of this block: "a" is not closed'],
    ['a brace too many', 'a {\n}\n }', {}, '3:2: Cannot read this "}": no block is open'],
    ['a brace without keyword', 'a {\n}\n{', {}, '3:1: Cannot read this "{": no keyword before it'],
    ['an unclosed quote', 'a b\nc "d e', {}, '2:3: Cannot read the line: this quote is not closed on the same line'],
    // keepalived goes on without it; then a router that it holds would be gone without a word.
    ['a missing file', 'include b.conf', {}, '1:9: Cannot include "b.conf": there is no such file'],
    [
      'a loop',
      'include b.conf',
      { '/etc/keepalived/b.conf': 'a\ninclude keepalived.conf' },
      `CUT/etc/keepalived/b.conf:2:9: Cannot include "${FILE}": this file includes itself`,
    ],
    [
      'a line that goes on',
      'a \\\nb',
      {},
      '1:3: Cannot continue this line in the next one: only definitions ($NAME=...) may have several lines',
    ],
    [
      'a definition of itself',
      '$A=x ${A}\nb $A',
      {},
      '2:1: Cannot replace "$A": the definition contains itself or is too long',
    ],
    [
      'a sequence without end',
      '~SEQ(A,1,0,5) b',
      {},
      '1:1: Cannot expand ~SEQ: expected a step that leads from 1 to 5',
    ],
    [
      'a sequence too long',
      '~SEQ(A,1,100000) b',
      {},
      '1:1: Cannot expand ~SEQ: the line would be repeated 100000 times, the limit is 65536',
    ],
  ])('%s', (_, text, others, expected) => {
    const full = expected.startsWith('CUT') ? expected.slice(3) : `${FILE}:${expected}`
    expect(problemsOf(text, others)).toEqual([full])
  })

  test('a huge file is refused', () => {
    const [first] = problemsOf('a\n'.repeat(150_000))
    expect(first).toBe(
      `${FILE}:100001:1: Cannot read the file: with its includes it has more than 100000 lines or 4 MiB`,
    )
  })

  test('nested sequences are refused when they become too long', () => {
    const text = '~SEQ(A,1,1000) ~SEQ(B,1,1000) a ${A} ${B}'
    expect(problemsOf(text)).toHaveLength(1)
  })

  test('endless blocks and includes are refused', () => {
    expect(problemsOf('a {'.repeat(5000))).toHaveLength(1)
    const deep = Object.fromEntries(
      Array.from({ length: 100 }, (_, i) => [`/etc/keepalived/${i}.conf`, `include ${i + 1}.conf`]),
    )
    expect(problemsOf('include 0.conf', deep)).toHaveLength(1)
  })
})

test('a line that begins with ~ is repeated only with SEQ or LST, and needs its arguments then', () => {
  expect(tree('~word x\n')).toEqual(['~word x'])
  expect(problemsOf('~SEQ x\n')).toEqual([
    expect.stringContaining('Cannot expand ~SEQ: expected ~SEQ(NAME, start, step, end)'),
  ])
})

test('include_check with a sign makes a pattern without files an error, and a warning again', () => {
  const pattern = 'include nowhere*\n'
  const [error = ''] = problemsOf(`include_check +wildcard_match\n${pattern}`)
  expect(error).toContain('nowhere*')
  expect(error).not.toContain('warning')
  const turned = problemsOf(`include_check +wildcard_match\ninclude_check -wildcard_match\n${pattern}`)
  expect(turned).toEqual([expect.stringContaining('warning: include "nowhere*" matches no file')])
})
