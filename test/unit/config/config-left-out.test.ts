/** Configurations without certain programs: no name of them remains, and everything else stays. */
import { expect, test } from 'vitest'
import { withoutPrograms } from '../../../src/config/left-out.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'

const TEXT = `version: 1
healthchecks:
  - { name: s, exec: [/bin/s], unsafe: skip }
  - { name: outer, any: [lone, f] }
  - { name: lone, all: [s] }
  - { name: both, all: [s, f] }
  - { name: f, file: /f }
virtualRouters:
  - name: a
    vrid: 1
    interface: eth0
    addresses: [10.0.0.1]
    track: [{ healthcheck: s, weight: 5 }, { healthcheck: lone, weight: 6 }, { healthcheck: both, weight: 7 }, { interface: s }]
    notify: { active: [/bin/n], change: [/bin/n], unsafe: skip }
  - { name: b, vrid: 2, interface: eth0, addresses: [10.0.0.2], notify: { active: [/bin/n] } }
syncGroups:
  - { name: a, members: [b], track: [{ healthcheck: s }, { healthcheck: outer }], notify: { active: [/bin/n] } }
`

function parse(text: string) {
  const parsed = parseConfig(text)
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems))
  return parsed.config
}

test('a removed check is removed from its trackers and combinations, and a combination without members is removed', () => {
  const config = parse(TEXT)
  const { healthchecks, syncGroups, virtualRouters } = withoutPrograms(config, [{ kind: 'healthcheck', name: 's' }])
  expect(healthchecks).toEqual([
    { kind: 'combination', name: 'outer', mode: 'any', members: ['f'] },
    { kind: 'combination', name: 'both', mode: 'all', members: ['f'] },
    config.healthchecks[4],
  ])
  expect(virtualRouters[0]?.track).toEqual([
    { healthcheck: 'both', weight: 7, reverse: false },
    { interface: 's', weight: 0 },
  ])
  expect(syncGroups[0]?.track).toEqual([{ healthcheck: 'outer', weight: 0, reverse: false }])
  expect(virtualRouters[0]?.notify).toEqual(config.virtualRouters[0]?.notify)
})

test('a removed notify program leaves the others, and a group may have the name of a router', () => {
  const config = parse(TEXT)
  const of = (section: 'virtualRouters' | 'syncGroups', event: 'active' | 'change') =>
    ({ kind: 'notify', section, name: 'a', event }) as const
  const one = withoutPrograms(config, [of('virtualRouters', 'active')])
  expect(one.virtualRouters[0]?.notify).toMatchObject({ active: undefined, change: ['/bin/n'] })
  expect([one.virtualRouters[1], one.syncGroups]).toEqual([config.virtualRouters[1], config.syncGroups])
  const both = withoutPrograms(config, [of('virtualRouters', 'active'), of('virtualRouters', 'change')])
  expect(both.virtualRouters[0]?.notify).toBeUndefined()
  const group = withoutPrograms(config, [of('syncGroups', 'active')])
  expect([group.syncGroups[0]?.notify, group.virtualRouters]).toEqual([undefined, config.virtualRouters])
})

test('a configuration without programs to remove is returned unchanged', () => {
  const config = parse(TEXT)
  expect(withoutPrograms(config, [])).toBe(config)
})
