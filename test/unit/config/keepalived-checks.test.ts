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

/** Returns all messages about a keepalived file with the given blocks, and with a vrrp_instance that tracks `tracked`. */
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
      'weight: cannot use "900", expected an integer from -253 to 253; 253 is used',
    ],
    ['a weight without a value', script(TRUE, 'weight'), 'weight: a value is required'],
    ['a program that is not there', script('script "nowhere"'), 'expected a program that exists, with closed quotes'],
    ['no program', script('script ""'), 'expected a program that exists, with closed quotes'],
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
      expect.stringContaining('Cannot track "s": its definition has an error'),
    )
  })

  test('a list that is no block', () => {
    expect(told(script(TRUE), 'track_script s')).toContainEqual(expect.stringContaining('expected a block { }'))
  })

  test('an interface with a weight in reverse', () => {
    expect(told('', 'track_interface {\neth1 weight 5 reverse\n}')).toContainEqual(
      expect.stringContaining('interface "eth1" cannot have "reverse"'),
    )
  })
})

test.each([
  ['a relative path', file('file f2'), 'expected an absolute path'],
  [
    'a file that is to be made with a value',
    file('file /f2', 'init_file 5'),
    'holdfast does not create the file of "f" with the value 5',
  ],
  ['a weight that is out of range', file('file /f2', 'weight 300'), 'expected an integer from -254 to 254'],
])('a tracked file: %s', (_, blocks, message) => {
  expect(told(blocks, 'track_file {\nf\n}')).toContainEqual(expect.stringContaining(message))
})

test.each([
  ['parameters', process('process sshd -D'), '"p" selects a process by its parameters'],
  ['a quorum of none', process('process sshd', 'quorum 0'), '"p" has quorum 0'],
  ['matched parameters', process('process sshd', 'param_match exact'), '"param_match" of "p" is not supported'],
])('a tracked process: %s', (_, blocks, message) => {
  expect(told(blocks, 'track_process {\np\n}')).toContainEqual(expect.stringContaining(message))
})
