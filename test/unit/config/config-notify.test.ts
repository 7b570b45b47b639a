/** The key `notify:` of routers and groups: what it means, and what can be said wrong about it. */
import { expect, test } from 'vitest'
import type { ParsedConfig } from '../../../src/config/configuration.ts'
import { diffConfig } from '../../../src/config/diff.ts'
import { formatProblem } from '../../../src/config/problem.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'

const HEAD = 'virtualRouters:\n  - { name: a, vrid: 1, interface: eth0, addresses: [10.0.0.1]'

const parse = (notify: string, group = ''): ParsedConfig =>
  parseConfig(`${HEAD}, notify: ${notify} }\nsyncGroups:\n  - { name: g, members: [a], notify: ${group || notify} }\n`)
const said = (notify: string) => {
  const parsed = parse(notify)
  const problems = 'problems' in parsed ? parsed.problems : []
  return problems.filter(({ path }) => path.startsWith('virtualRouters')).map(({ message }) => message)
}

test('notify programs have arguments, a user and a time limit of 30 s', () => {
  const parsed = parse(
    '{ active: [/bin/true, -x], change: [/bin/true] }',
    '{ stop: [/bin/true], user: 12, timeout: 2s }',
  )
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  const { syncGroups, virtualRouters } = parsed.config
  expect(virtualRouters[0]?.notify).toEqual({ active: ['/bin/true', '-x'], change: ['/bin/true'], timeout: 30_000 })
  expect(syncGroups[0]?.notify).toEqual({ stop: ['/bin/true'], user: '12', timeout: 2_000 })
})

test.each([
  [
    '/bin/true',
    'virtualRouters[0].notify: cannot use this value, expected a mapping with at least one of active, backup, fault, stop and change',
  ],
  [
    '{ user: nobody }',
    'virtualRouters[0].notify: cannot use this value, expected a mapping with at least one of active, backup, fault, stop and change',
  ],
  [
    '{ active: /bin/true }',
    'virtualRouters[0].notify.active: cannot use this value, expected a list: a program with its absolute path, then its arguments',
  ],
  [
    '{ active: [] }',
    'virtualRouters[0].notify.active: cannot use this value, expected a list: a program with its absolute path, then its arguments',
  ],
  [
    '{ active: [sh, -c, "password"] }',
    'virtualRouters[0].notify.active: cannot use this value, expected a list: a program with its absolute path, then its arguments',
  ],
  [
    '{ active: [/bin/true], timeout: 5 }',
    'virtualRouters[0].notify.timeout: cannot use this value, expected a duration from 100ms to 600s, with its unit: 5s or 5ms',
  ],
  [
    '{ master: [/bin/true] }',
    'unknown key in virtualRouters[0].notify: known keys are active, backup, fault, stop, change, user, capabilities, unsafe, timeout',
  ],
])('%s', (notify, message) => {
  expect(said(notify)).toContain(message)
})

test('another notify program changes the router, or the group that has it', () => {
  const config = (notify: string, group = '') => {
    const parsed = parse(notify, group)
    if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
    return parsed.config
  }
  const before = config('{ stop: [/bin/true] }')
  expect(diffConfig(before, config('{ stop: [/bin/true], timeout: 30s }'))).toMatchObject({ unchanged: ['a'] })
  const kept = config('{ stop: [/bin/true], capabilities: keep }')
  expect(diffConfig(before, kept)).toMatchObject({ changed: ['a'], groupsChanged: true })
  const none = config('{ stop: [/bin/true], capabilities: none }')
  expect(diffConfig(before, none), 'none says nothing new').toMatchObject({ unchanged: ['a'], groupsChanged: false })
  expect(diffConfig(before, config('{ stop: [/bin/false] }'))).toMatchObject({ changed: ['a'], groupsChanged: true })
  expect(diffConfig(before, config('{ stop: [/bin/true] }', '{ fault: [/bin/true] }'))).toMatchObject({
    unchanged: ['a'],
    groupsChanged: true,
  })
})

test('a webhook takes the name that an event had in 0.1', () => {
  const parsed = parseConfig(
    `notify: { webhook: { url: "http://127.0.0.1:9/", events: [duplicateOwner, stopped] } }\n${HEAD} }\n`,
  )
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  expect(parsed.config.notify?.webhook?.events).toEqual(['duplicateHolder', 'stopped'])
})
