/** Sync groups against the routers they name: what is refused, what is advised, and what the members then track. */
import { describe, expect, test } from 'vitest'
import { formatProblem } from '../../../src/config/problem.ts'
import { resolveRouters } from '../../../src/config/resolve.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'

const ROUTERS = [
  'name: a, vrid: 1, interface: eth0, addresses: [10.0.0.200], stagger: false',
  'name: b, vrid: 2, interface: eth0, addresses: [10.0.0.201], stagger: false',
  'name: c, vrid: 1, interface: eth0, addresses: ["fd00::1"], stagger: false, firstAddressLinkLocal: false',
]
const file = (groups: readonly string[], routers: readonly string[] = ROUTERS) =>
  `virtualRouters:\n${routers.map((each) => `  - { ${each} }\n`).join('')}syncGroups:\n${groups.map((each) => `  - { ${each} }\n`).join('')}`

function said(groups: readonly string[], routers?: readonly string[]): string[] {
  const parsed = parseConfig(file(groups, routers))
  return ('problems' in parsed ? parsed.problems : parsed.warnings).map(formatProblem)
}

/** Router `at` with more keys. */
const withKeys = (at: number, keys: string) => ROUTERS.map((each, i) => (i === at ? `${each}, ${keys}` : each))

test('a group may have routers of two families on one interface', () => {
  const parsed = parseConfig(
    file(['name: g, members: [a, c], track: [{ interface: eth1, weight: -20 }, { interface: eth2 }]']),
  )
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  expect(parsed.warnings).toEqual([])
  const { routers } = resolveRouters(parsed.config, { interfaces: [] })
  const track = [
    { interface: 'eth1', weight: -20 },
    { interface: 'eth2', weight: 0 },
  ]
  expect(routers.map(({ name, group, track }) => ({ name, group, track }))).toEqual([
    { name: 'a', group: 'g', track },
    { name: 'b', group: undefined, track: [] },
    { name: 'c', group: 'g', track },
  ])
})

describe('refused', () => {
  test.each([
    [
      'an unknown member',
      ['name: g, members: [a, cc]'],
      ['6:29: members of "g": cannot use "cc", expected the name of a virtual router, did you mean "c"?'],
    ],
    [
      'an unknown member unlike any other',
      ['name: g, members: [a, backbone]'],
      ['6:29: members of "g": cannot use "backbone", expected the name of a virtual router'],
    ],
    [
      'a member listed twice',
      ['name: g, members: [a, b, a]'],
      ['6:32: members of "g": cannot use "a" twice (first on line 6), expected each virtual router in one group only'],
    ],
    [
      'a member of two groups',
      ['name: g, members: [a, b]', 'name: h, members: [c, b]'],
      ['7:29: members of "h": cannot use "b" twice (first on line 6), expected each virtual router in one group only'],
    ],
    [
      'a name for two groups',
      ['name: g, members: [a, b]', 'name: g, members: [c]'],
      [
        '7:13: name: cannot use "g" twice (first on line 6), expected another name for each sync group',
        expect.stringContaining('warning: Sync group "g" has one member'),
      ],
    ],
    [
      'an interface tracked twice',
      ['name: g, members: [a, b], track: [{ interface: eth1 }, { interface: eth1 }]'],
      ['6:75: track of "g": cannot use "eth1" twice (first on line 6), expected one entry for each'],
    ],
    [
      'no members',
      ['name: g, members: []'],
      ['6:25: syncGroups[0].members: cannot use an empty list, expected at least one member'],
    ],
    [
      'no list of members',
      ['name: g, members: a'],
      ['6:25: syncGroups[0].members: cannot use "a", expected a list of names of virtual routers'],
    ],
    [
      'no name',
      ['members: [a, b]'],
      [expect.stringContaining('syncGroups[0].name: required, a name of letters, digits, ".", "_" and "-"')],
    ],
    ['a key that is none', ['name: g, members: [a, b], prio: 3'], [expect.stringContaining('unknown key "prio"')]],
  ])('%s', (_, groups, problems) => expect(said(groups)).toEqual(problems))

  test('a tracker of both the group and a member is refused', () => {
    const groups = ['name: g, members: [a, b], track: [{ interface: eth1 }]']
    expect(said(groups, withKeys(0, 'track: [{ interface: eth1, weight: 5 }]'))).toEqual([
      '2:104: track of "a": cannot use "eth1" twice (first on line 6), expected one entry, in the router or in its sync group "g"',
    ])
  })

  test('a member with problems of its own still counts as a known router', () => {
    expect(said(['name: g, members: [a, b]'], withKeys(1, 'priority: 999'))).toEqual([
      '3:93: virtualRouters[1].priority: cannot use 999, expected an integer from 1 to 255',
    ])
  })
})

describe('advised', () => {
  test('a group with one member gives a warning', () => {
    expect(said(['name: g, members: [a]'])).toEqual([
      '6:25: warning: Sync group "g" has one member only, so it has no effect',
    ])
  })

  test.each([
    ['priority: 90', 'priority (100 and 90)'],
    ['preempt: false', 'preempt (true and false)'],
    ['profile: keepalived', 'profile (holdfast and keepalived)'],
  ])('members that differ give a warning: %s (VR-SG-04)', (keys, what) => {
    expect(said(['name: g, members: [a, b]'], withKeys(1, keys))).toEqual([
      `6:25: warning: "a" and "b" of sync group "g" differ in ${what}: the group waits for the slowest of its members`,
    ])
  })

  test('the weight of one member gives a warning and has no effect (VR-SG-04)', () => {
    const routers = withKeys(1, 'track: [{ interface: eth1, weight: 5 }, { interface: eth2 }]')
    const text = file(['name: g, members: [a, b]'], routers)
    expect(said(['name: g, members: [a, b]'], routers)).toEqual([
      '3:118: warning: The weight of "eth1" has no effect in "b", because it is a member of sync group "g": track it in the group, so that all members follow',
    ])
    const parsed = parseConfig(text)
    const resolved = 'config' in parsed ? resolveRouters(parsed.config, { interfaces: [] }).routers : []
    expect(resolved.map(({ track }) => track)).toEqual([[], [{ interface: 'eth2', weight: 0 }], []])
  })

  test('weights of the group on an address owner give a warning (VR-TRK-08)', () => {
    const groups = ['name: g, members: [a, b], track: [{ interface: eth1, weight: 5 }]']
    expect(said(groups, [`${ROUTERS[0]}, priority: 255`, `${ROUTERS[1]}, priority: 255`])).toEqual([
      expect.stringContaining('warning: Weights have no effect on "a"'),
      expect.stringContaining('warning: Weights have no effect on "b"'),
    ])
  })
})

test('a group whose members are all unknown is refused for that alone', () => {
  const problems = said(['name: g, members: [x, y]'])
  expect(problems).toHaveLength(2)
  for (const [i, name] of ['x', 'y'].entries()) expect(problems[i]).toContain(`"${name}"`)
})
