/**
 * Health checks from the report of the thread to the packet: priorities, faults, reload, silence and stop (VR-TRK-01 to
 * VR-TRK-09, docs/adr/0025). The test plays the thread. The healthcheck tests cover how a result is found.
 */
import { describe, expect, test } from 'vitest'
import { millis } from '../../../src/wire/units.ts'
import { report } from '../healthcheck/fake-checks.ts'
import { FakeWorld, PEER, ROUTER, type RouterConfig, SELF, VIP2 } from './fake-world.ts'

const LB = { name: 'lb', tcp: '127.0.0.1:9445' }
const DOWN = 3_500

const tracking = (track: readonly RouterConfig[], healthchecks: readonly RouterConfig[] = [LB], extra = {}) =>
  new FakeWorld([{ ...ROUTER, track, ...extra }], { healthchecks })
const active = (track: readonly RouterConfig[], healthchecks?: readonly RouterConfig[]): FakeWorld => {
  const world = tracking(track, healthchecks).start()
  for (const check of world.checks.specs) world.health(check.name, 'up')
  world.advance(DOWN + 1)
  expect(world.router().state, 'at the start of the test').toBe('Active')
  world.sent.length = 0
  return world
}
const moves = (world: FakeWorld) => world.transitions.filter((line) => line.startsWith('api: '))
const priorities = (world: FakeWorld) => world.sent.map(({ priority }) => priority)

describe('a check with a weight', () => {
  test('a check with a weight adds nothing before its first result, then its weight', () => {
    const world = tracking([{ healthcheck: 'lb', weight: 50 }]).start()
    expect([world.router().state, world.router().priority.effective]).toEqual(['Backup', 128])
    world.health('lb', 'up')
    expect(world.router().priority).toMatchObject({ base: 128, effective: 178 })
    world.health('lb', 'down')
    expect(world.router().priority.effective).toBe(128)
  })

  test('a check that goes down makes an Active advertise immediately', () => {
    const world = active([{ healthcheck: 'lb', weight: 50 }])
    world.advance(300)
    world.sent.length = 0
    world.health('lb', 'down')
    expect(priorities(world)).toEqual([128])
  })

  test('a negative weight counts while its check is down, and a reversed one the other way round', () => {
    const weights = [
      { weight: -20, up: 128, down: 108 },
      { weight: 20, reverse: true, up: 108, down: 128 },
      { weight: -20, reverse: true, up: 128, down: 148 },
    ]
    for (const { up, down, ...weight } of weights) {
      const world = tracking([{ healthcheck: 'lb', ...weight }]).start()
      world.health('lb', 'up')
      expect(world.router().priority.effective, `${JSON.stringify(weight)} up`).toBe(up)
      world.health('lb', 'down')
      expect(world.router().priority.effective, `${JSON.stringify(weight)} down`).toBe(down)
    }
  })

  test('checks and interfaces are one sum, which is clamped at the end', () => {
    const world = tracking([
      { healthcheck: 'lb', weight: 150 },
      { interface: 'eth1', weight: -40 },
    ]).start()
    world.health('lb', 'up')
    expect(world.router().priority.effective).toBe(254)
    world.setLink({ ...linkOf(world, 3), up: false })
    expect(world.router().priority.effective).toBe(238)
  })

  test('a check with a weight does not change an owner (VR-TRK-08)', () => {
    const world = new FakeWorld(
      [{ ...ROUTER, addresses: [SELF], priority: 255, track: [{ healthcheck: 'lb', weight: 50 }] }],
      { healthchecks: [LB] },
    ).start()
    world.health('lb', 'up')
    world.health('lb', 'down')
    expect([world.router().priority.effective, world.router().faults]).toEqual([255, []])
  })
})

const linkOf = (world: FakeWorld, index: number) => {
  const found = world.links.get(index)
  if (found === undefined) throw new Error(`No link ${index}`)
  return found
}

describe('a check without weight', () => {
  test('a check without weight keeps its router in Initialize until its first result (VR-TRK-05)', () => {
    const world = tracking([{ healthcheck: 'lb' }]).start()
    world.advance(DOWN + 1)
    expect(world.router()).toMatchObject({ state: 'Initialize', faults: ['healthcheckUndecided:lb'] })
    expect([world.sent, moves(world)]).toEqual([[], []])
    world.health('lb', 'up')
    expect(moves(world)).toEqual(['api: Initialize → Backup: faultCleared'])
    expect(world.router().deadlines.activeDownInMs, 'a full Active_Down_Interval').toBe(DOWN)
  })

  test('a check without weight that fails first is a fault, and nothing is sent', () => {
    const world = tracking([{ healthcheck: 'lb' }]).start()
    world.health('lb', 'down')
    expect(world.router()).toMatchObject({ state: 'Initialize', faults: ['healthcheckDown:lb'] })
    world.advance(DOWN + 1)
    expect([world.sent, moves(world)]).toEqual([[], []])
    world.health('lb', 'up')
    expect(world.router()).toMatchObject({ state: 'Backup', faults: [] })
  })

  test('an advertisement in Initialize is ignored and counted, and the debug log has the reason', () => {
    const world = tracking([{ healthcheck: 'lb' }]).start()
    world.hear(200)
    world.health('lb', 'down')
    for (let i = 0; i < 3; i++) world.hear(200)
    expect(world.router().counters.refused).toEqual({ initialize: 4 })
    const ignored = world.records.filter(({ message }) => message.includes('ignored'))
    expect(ignored.map(({ level, message }) => [level, message])).toEqual([
      [
        'debug',
        `api: ignored an advertisement of ${PEER}: the router is in Initialize, in fault (healthcheckUndecided:lb)`,
      ],
    ])
    expect(world.router().state).toBe('Initialize')
  })

  test('a check without weight that goes down removes the addresses, then sends priority 0 (VR-TRK-06)', () => {
    const world = active([{ healthcheck: 'lb' }])
    world.health('lb', 'down')
    expect([world.router().faults, world.installed, priorities(world)]).toEqual([['healthcheckDown:lb'], [], [0]])
    expect(world.transitions.at(-1)).toBe('api: Active → Initialize: healthcheckDown:lb')
    world.hear(1)
    world.health('lb', 'up')
    expect(world.router()).toMatchObject({ state: 'Backup', holder: { address: null } })
  })

  test('a reversed check without weight is a fault while it is up', () => {
    const world = active([{ healthcheck: 'lb', weight: 10 }])
    world.reload([{ ...ROUTER, track: [{ healthcheck: 'lb', reverse: true }] }], { healthchecks: [LB] })
    expect(world.router().faults).toEqual(['healthcheckDown:lb'])
  })

  test('a check that ends without a result is not a fault', () => {
    const world = tracking([{ healthcheck: 'lb' }]).start()
    world.health('lb', 'unknown')
    expect(world.router()).toMatchObject({ state: 'Backup', faults: [] })
  })

  test('a check that starts as up needs no report', () => {
    const world = tracking([{ healthcheck: 'lb' }], [{ ...LB, initial: 'up' }]).start()
    expect(world.router()).toMatchObject({ state: 'Backup', faults: [] })
  })

  test('a check without weight applies to an owner (VR-TRK-08)', () => {
    const world = new FakeWorld([{ ...ROUTER, addresses: [SELF], priority: 255, track: [{ healthcheck: 'lb' }] }], {
      healthchecks: [LB],
    }).start()
    expect(world.router().state).toBe('Initialize')
    world.health('lb', 'up')
    expect(world.router().state).toBe('Active')
    world.health('lb', 'down')
    expect(world.router().state).toBe('Initialize')
  })
})

describe('a file of weights (VR-TRK-09)', () => {
  const FILE = { name: 'load', file: '/run/load', content: 'weight' }
  const holding = (world: FakeWorld, weight: number) => world.health('load', 'up', { weight })

  test('a file of weights adds its content times the weight, at most 253', () => {
    const world = tracking([{ healthcheck: 'load', weight: 2 }], [FILE], { priority: 10 }).start()
    const seen = [5, -3, 0, 200].map((content) => {
      holding(world, content)
      return world.router().priority.effective
    })
    expect(seen).toEqual([20, 4, 10, 254])
  })

  test('a file of weights with -254 or less is a fault, until the content changes', () => {
    const world = tracking([{ healthcheck: 'load', weight: 2 }], [FILE]).start()
    holding(world, -127)
    expect(world.router()).toMatchObject({ state: 'Initialize', faults: ['healthcheckDown:load'] })
    holding(world, -126)
    expect(world.router()).toMatchObject({ state: 'Backup', faults: [], priority: { effective: 1 } })
  })

  test('a file of weights without a weight is a fault for any content but 0', () => {
    const world = tracking([{ healthcheck: 'load' }], [FILE]).start()
    holding(world, 0)
    expect(world.router().state).toBe('Backup')
    holding(world, 3)
    expect(world.router().faults).toEqual(['healthcheckDown:load'])
  })
})

describe('combinations', () => {
  const checks = [
    { name: 'a', tcp: '127.0.0.1:1' },
    { name: 'b', tcp: '127.0.0.1:2' },
    { name: 'both', all: ['a', 'b'] },
    { name: 'either', any: ['a', 'b'] },
  ]

  test('all and any combine known results, and an unknown one decides nothing', () => {
    const world = tracking(
      [
        { healthcheck: 'both', weight: 20 },
        { healthcheck: 'either', weight: 5 },
      ],
      checks,
    ).start()
    const now = () => world.router().priority.effective - 128
    const seen = [now()]
    for (const [name, result] of [
      ['a', 'up'],
      ['b', 'down'],
      ['b', 'up'],
      ['a', 'down'],
      ['b', 'down'],
    ] as const) {
      world.health(name, result)
      seen.push(now())
    }
    expect(seen).toEqual([0, 5, 5, 25, 5, 0])
    expect(
      world.checks.specs.map(({ name }) => name),
      'what is run',
    ).toEqual(['a', 'b'])
  })

  test('a combination without weight makes the router wait until its members decide it', () => {
    const world = tracking([{ healthcheck: 'both' }], checks).start()
    world.health('a', 'up')
    expect(world.router().faults).toEqual(['healthcheckUndecided:both'])
    world.health('b', 'down')
    expect(world.router().faults).toEqual(['healthcheckDown:both'])
  })
})

describe('sync groups', () => {
  const pair = (track: readonly RouterConfig[]) => {
    const routers = [
      { ...ROUTER, name: 'one' },
      { ...ROUTER, name: 'two', vrid: 52, addresses: [VIP2] },
    ]
    const groups = [{ name: 'pair', members: ['one', 'two'], track }]
    return new FakeWorld(routers, { syncGroups: groups, healthchecks: [LB] }).start()
  }

  test('trackers of a group count for every member', () => {
    const world = pair([{ healthcheck: 'lb', weight: 20 }])
    world.health('lb', 'up')
    expect(['one', 'two'].map((name) => world.router(name).priority.effective)).toEqual([148, 148])
  })

  test('a check without weight of a group keeps all members in fault', () => {
    const world = pair([{ healthcheck: 'lb' }])
    const seen = () => ['one', 'two'].map((name) => world.router(name).state)
    expect(seen()).toEqual(['Initialize', 'Initialize'])
    world.health('lb', 'up')
    world.advance(DOWN + 1)
    expect(seen()).toEqual(['Active', 'Active'])
    world.sent.length = 0
    world.health('lb', 'down')
    expect([seen(), world.installed, priorities(world)]).toEqual([['Initialize', 'Initialize'], [], [0, 0]])
    world.health('lb', 'up')
    expect(seen()).toEqual(['Backup', 'Backup'])
  })
})

describe('a thread that says nothing', () => {
  const beat = (world: FakeWorld) => world.checks.tell({ kind: 'checkBeat', reports: [report('lb', 'up', world.now)] })

  test('the last result counts for unknownAfter, then `hold` changes nothing and the check is named', () => {
    const world = active([{ healthcheck: 'lb', weight: 50 }])
    world.advance(20_000)
    expect(world.router().priority.effective).toBe(178)
    expect(world.records.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^healthcheck lb: no result for \d+ s, still counted as up; raises api by 50$/),
    )
  })

  test('`fail` counts a check without results as failed', () => {
    const world = active([{ healthcheck: 'lb', weight: 50 }], [{ ...LB, onUnknown: 'fail', unknownAfter: '6s' }])
    world.advance(6_000 - DOWN - 2)
    expect(world.router().priority.effective).toBe(178)
    world.advance(2)
    expect(world.router().priority.effective).toBe(128)
    beat(world)
    expect(world.router().priority.effective, 'when it speaks again').toBe(178)
  })

  test('a report without changes extends a result', () => {
    const world = active([{ healthcheck: 'lb', weight: 50 }], [{ ...LB, onUnknown: 'fail', unknownAfter: '5s' }])
    const before = moves(world).length
    for (let i = 0; i < 20; i++) {
      beat(world)
      world.advance(1_000)
    }
    expect([world.router().priority.effective, moves(world).length]).toEqual([178, before])
  })

  test('an engine that slept reads waiting results first', () => {
    const world = active([{ healthcheck: 'lb', weight: 50 }], [{ ...LB, onUnknown: 'fail', unknownAfter: '5s' }])
    world.stall(30_000)
    expect(world.router().priority.effective, 'before it has read anything').toBe(178)
    beat(world)
    world.advance(500)
    expect(world.router().priority.effective).toBe(178)
    world.stall(30_000)
    world.advance(200)
    expect(world.router().priority.effective, 'there was nothing to read').toBe(128)
  })

  test('checks of a lost thread are set again with their last results', () => {
    const world = active([{ healthcheck: 'lb', weight: 50 }])
    world.checks.tell({ kind: 'checksLost' })
    expect(world.checks.orders).toEqual(['set lb', 'set lb'])
    expect(world.checks.formerly).toMatchObject([{ check: 'lb', result: 'up' }])
    // The new thread has no results yet, and ends none.
    world.health('lb', 'undecided', { last: undefined })
    expect(world.router().priority.effective).toBe(178)
  })
})

describe('reload', () => {
  const router = (track: readonly RouterConfig[]) => [{ ...ROUTER, track }]

  test('a check that is no longer tracked ends its fault', () => {
    const world = tracking([{ healthcheck: 'lb' }]).start()
    world.health('lb', 'down')
    world.reload(router([]), { healthchecks: [LB] })
    expect(world.router()).toMatchObject({ state: 'Backup', faults: [] })
  })

  test('a known result counts immediately for a new tracker', () => {
    const world = tracking([], [LB]).start()
    world.health('lb', 'up')
    world.reload(router([{ healthcheck: 'lb', weight: 50 }]), { healthchecks: [LB] })
    expect(world.router().priority.effective).toBe(178)
    expect(world.checks.orders, 'the thread is not told of what it knows').toEqual(['set lb'])
  })

  test('a changed check is set again with its last result', () => {
    const world = active([{ healthcheck: 'lb', weight: 50 }])
    world.reload(router([{ healthcheck: 'lb', weight: 50 }]), { healthchecks: [{ ...LB, interval: '2s' }] })
    expect([world.router().priority.effective, world.router().state, world.checks.orders.length]).toEqual([
      178,
      'Active',
      2,
    ])
    expect(world.checks.formerly).toMatchObject([{ check: 'lb', result: 'up' }])
  })

  test('a renamed check keeps its result, and no lower priority is advertised', () => {
    const world = active([{ healthcheck: 'lb', weight: 50 }])
    world.reload(router([{ healthcheck: 'balancer', weight: 50 }]), { healthchecks: [{ ...LB, name: 'balancer' }] })
    expect(world.router().priority.effective).toBe(178)
    expect(world.checks.formerly).toMatchObject([{ check: 'balancer', result: 'up' }])
    world.advance(3_000)
    expect(new Set(priorities(world))).toEqual(new Set([178]))
  })

  const OTHER = { name: 'other', tcp: '127.0.0.1:1' }
  const replaced = () => {
    const world = active([{ healthcheck: 'lb', weight: 50 }])
    world.reload(router([{ healthcheck: 'other', weight: 40 }]), { healthchecks: [OTHER] })
    return world
  }

  test.each([
    ['up', 168],
    ['down', 128],
    ['unknown', 128],
  ] as const)('a replaced check counts until the new one has a result: %s', (result, priority) => {
    const world = replaced()
    expect([world.router().priority.effective, world.router().state]).toEqual([178, 'Active'])
    expect(world.router().tracking.parts, 'the sum that is shown').toMatchObject([
      { name: 'lb', adds: 50 },
      { name: 'other', adds: 0 },
    ])
    world.advance(2_000)
    expect(new Set(priorities(world)), 'nothing smaller is told meanwhile').toEqual(new Set([178]))
    world.health('other', result)
    expect([world.router().priority.effective, world.router().tracking.parts.length]).toEqual([priority, 1])
  })

  test('a replaced check counts until the new one, without any result, counts as unknown', () => {
    const world = replaced()
    world.advance(3_000)
    expect(world.router().priority.effective).toBe(178)
    world.advance(30_000)
    expect(world.router().priority.effective).toBe(128)
  })

  test('several replaced checks change in one moment, and the others count in the meantime', () => {
    const checks = ['a', 'b', 'c'].map((name, i) => ({ name, tcp: `127.0.0.1:${10 + i}` }))
    const world = active(
      checks.map(({ name }) => ({ healthcheck: name, weight: 20 })),
      checks,
    )
    const next = ['x', 'y'].map((name, i) => ({ name, tcp: `127.0.0.1:${20 + i}` }))
    world.reload(router(['x', 'y', 'c'].map((name) => ({ healthcheck: name, weight: 20 }))), {
      healthchecks: [...next, ...checks.slice(2)],
    })
    const seen = [world.router().priority.effective]
    for (const [name, result] of [
      ['x', 'up'],
      ['c', 'down'],
      ['y', 'up'],
    ] as const) {
      world.health(name, result)
      seen.push(world.router().priority.effective)
    }
    expect(seen).toEqual([188, 188, 168, 168])
  })

  test('a new check without weight does not stop a running router before its first failure', () => {
    const world = active([])
    world.reload(router([{ healthcheck: 'lb' }]), { healthchecks: [LB] })
    expect([world.router().state, world.router().faults, priorities(world)]).toEqual(['Active', [], []])
    world.health('lb', 'down')
    expect(world.router()).toMatchObject({ state: 'Initialize', faults: ['healthcheckDown:lb'] })
  })
})

describe('stop', () => {
  test('stop() ends the checks immediately and ignores their results', async () => {
    const world = active([{ healthcheck: 'lb' }], [{ ...LB, onUnknown: 'fail', unknownAfter: '4s' }])
    const stopped = world.daemon.stop()
    expect([world.checks.orders.at(-1), world.router().state]).toEqual(['stop', 'Leaving'])
    world.health('lb', 'down')
    world.advance(1_000)
    expect(world.router().state, 'a check may not cut Leaving short').toBe('Leaving')
    world.advance(10_000)
    await stopped
    expect(world.router().state).toBe('Initialize')
  })

  test('stop() waits a second for checks that do not end', async () => {
    const world = tracking([{ healthcheck: 'lb' }]).start()
    world.checks.hangs = true
    let ended = false
    const stopped = world.daemon.stop().then(() => {
      ended = true
    })
    world.advance(999)
    await Promise.resolve()
    expect(ended).toBe(false)
    world.advance(1)
    await stopped
  })
})

test('a result changes only routers that track the check', () => {
  const others = Array.from({ length: 20 }, (_, i) => ({
    ...ROUTER,
    name: `other-${i}`,
    vrid: 100 + i,
    addresses: [`192.0.2.${110 + i}`],
  }))
  const world = new FakeWorld([{ ...ROUTER, track: [{ healthcheck: 'lb', weight: 50 }] }, ...others], {
    healthchecks: [LB],
  }).start()
  world.health('lb', 'up')
  world.advance(DOWN + 1)
  world.sent.length = 0
  world.advance(millis(10))
  world.sent.length = 0
  world.health('lb', 'down')
  expect(world.sent.map(({ vrid, priority }) => [vrid, priority])).toEqual([[51, 128]])
})

test('an unstable check causes a limited number of lines, and the last one is true', () => {
  const world = tracking([{ healthcheck: 'lb', weight: 50 }, { healthcheck: 'never' }], [LB, { ...LB, name: 'never' }])
  world.start()
  world.health('never', 'down')
  for (let i = 0; i < 400; i++) {
    world.health('lb', i % 2 === 0 ? 'up' : 'down')
    world.advance(20)
  }
  world.health('lb', 'up')
  const lines = () => world.records.filter(({ message }) => message.includes('effective priority'))
  expect(lines().length, 'in 8 s').toBeLessThanOrEqual(20 + 8)
  world.health('never', 'up')
  world.advance(5_000)
  expect(lines().at(-1)?.fields.priority, 'told last').toBe(world.router().priority.effective)
})
