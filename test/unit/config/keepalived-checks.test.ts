/** What is wrong with a script, a file or a process that keepalived tracks: it is left out or refused, and the message has its place. */
import { describe, expect, test } from 'vitest'
import { formatProblem } from '../../../src/config/problem.ts'
import { read } from '../../support/keepalived-text.ts'

const INSTANCE = `vrrp_instance A {
interface eth0
virtual_router_id 1
virtual_ipaddress {
10.0.0.9
}
TRACKED
}
`

/** All messages about a file with these blocks, and an instance that tracks this. */
function told(blocks: string, tracked: string): string[] {
  const parsed = read(`${blocks}\n${INSTANCE.replace('TRACKED', tracked)}`)
  return ('problems' in parsed ? parsed.problems : parsed.warnings).map(formatProblem)
}

const script = (...lines: readonly string[]) => `vrrp_script s {\n${lines.join('\n')}\n}`
const file = (...lines: readonly string[]) => `track_file f {\n${lines.join('\n')}\n}`
const process = (...lines: readonly string[]) => `vrrp_track_process p {\n${lines.join('\n')}\n}`
const TRUE = 'script "/bin/true"'

describe('a script', () => {
  test.each([
    [
      'a weight that is out of range',
      script(TRUE, 'weight 900'),
      'Cannot use "900" as weight: a whole number from -253 to 253 wanted; 253 is used',
    ],
    ['a weight without a value', script(TRUE, 'weight'), 'weight: a value is required'],
    [
      'a program that is not there',
      script('script "nowhere"'),
      'a program that is there, and quotes that are closed, wanted',
    ],
    ['no program', script('script ""'), 'a program that is there, and quotes that are closed, wanted'],
  ])('%s', (_, blocks, message) => {
    expect(told(blocks, 'track_script {\ns\n}')).toContainEqual(expect.stringContaining(message))
  })

  test('that nobody has written is left out', () => {
    expect(told('', 'track_script {\ns\n}')).toContainEqual(
      expect.stringContaining('Cannot track "s": there is no such'),
    )
  })

  test('without a program is left out where it is tracked', () => {
    expect(told(script('interval 1'), 'track_script {\ns\n}')).toContainEqual(
      expect.stringContaining('Cannot track "s": it cannot be used'),
    )
  })

  test('a list that is no block', () => {
    expect(told(script(TRUE), 'track_script s')).toContainEqual(expect.stringContaining('a block { } wanted'))
  })

  test('an interface with a weight in reverse', () => {
    expect(told('', 'track_interface {\neth1 weight 5 reverse\n}')).toContainEqual(
      expect.stringContaining('interface "eth1" cannot be weighed in reverse'),
    )
  })
})

test.each([
  ['a relative path', file('file f2'), 'an absolute path wanted'],
  [
    'a file that is to be made with a value',
    file('file /f2', 'init_file 5'),
    'the file of "f" is not made with 5 in it',
  ],
  ['a weight that is out of range', file('file /f2', 'weight 300'), 'a whole number from -254 to 254 wanted'],
])('a tracked file: %s', (_, blocks, message) => {
  expect(told(blocks, 'track_file {\nf\n}')).toContainEqual(expect.stringContaining(message))
})

test.each([
  ['parameters', process('process sshd -D'), 'is known by its parameters'],
  ['a quorum of none', process('process sshd', 'quorum 0'), '"p" wants no process at all'],
  ['matched parameters', process('process sshd', 'param_match exact'), '"param_match" of "p" cannot be done'],
])('a tracked process: %s', (_, blocks, message) => {
  expect(told(blocks, 'track_process {\np\n}')).toContainEqual(expect.stringContaining(message))
})
