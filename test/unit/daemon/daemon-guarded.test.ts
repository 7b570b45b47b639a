/**
 * The daemon under a guardian that keeps deadlines: what it promises and when, the order of stepping down, and what it
 * does when it finds that the guardian has acted for it (ground rules 3 and 4). The guardian of
 * FakeWorld executes whatever is late, so that a promise that was forgotten is found by the test that waits for it.
 */
import { describe, expect, test } from 'vitest'
import { report } from '../healthcheck/fake-checks.ts'
import { FakeWorld, failure, PEER, present, ROUTER, type RouterConfig, VIP, VIP2 } from './fake-world.ts'

const DOWN = 3_500
const INTERVAL = 1_000

function guardedWorld(
  routers: readonly RouterConfig[] = [ROUTER],
  options: ConstructorParameters<typeof FakeWorld>[1] = {},
): FakeWorld {
  const world = new FakeWorld(routers, options)
  world.guarded = true
  return world.start()
}

function activeWorld(...given: Parameters<typeof guardedWorld>): FakeWorld {
  const world = guardedWorld(...given)
  world.advance(DOWN + 4)
  for (const { name, state } of world.daemon.snapshot().routers)
    expect(state, `${name}: ${world.transitions}`).toBe('Active')
  world.takeCalls()
  return world
}

const deadline = (world: FakeWorld, unit = 0) => (world.deadlines.get(unit) ?? Number.NaN) - world.now
const renewed = (world: FakeWorld, unit = 0) =>
  world.wills.get(unit)?.guard?.renew.map(({ address, lifetime }) => `${address} ${lifetime}`)

describe('the deadline', () => {
  test('from the start of being Active, and three intervals from each advertisement', () => {
    const world = activeWorld()
    const last = world.sent.at(-1)?.at ?? 0
    expect(deadline(world)).toBe(last + 3 * INTERVAL - world.now)
    world.advance(60_000)
    expect(world.sent.length, 'advertisements').toBeGreaterThan(55)
    expect(deadline(world)).toBeGreaterThan(2 * INTERVAL)
    expect(world.executed).toEqual([])
  })

  test('what the kernel did not take was not said', () => {
    const world = activeWorld()
    world.sendFailure = failure('ENOBUFS')
    const before = world.deadlines.get(0)
    world.advance(1_500)
    expect(world.deadlines.get(0)).toBe(before)
    world.sendFailure = undefined
    world.advance(1_000)
    expect(world.deadlines.get(0)).toBeGreaterThan(before ?? 0)
    expect(world.executed).toEqual([])
  })

  test('an unreachable peer was told, as far as anybody can be', () => {
    const world = activeWorld([{ ...ROUTER, transport: { unicast: { peers: [PEER] } } }])
    world.sendFailure = failure('EHOSTUNREACH')
    world.advance(10_000)
    expect([world.executed, world.router().state]).toEqual([[], 'Active'])
  })

  test('a peer that no packet reaches because of a rule was not told: off, after three intervals', () => {
    const world = activeWorld([{ ...ROUTER, transport: { unicast: { peers: [PEER] } } }])
    world.sendFailure = failure('EPERM')
    world.advance(3_100)
    expect(world.executed.map(({ name }) => name)).toEqual(['api'])
  })

  test('no peers at all: nobody to tell', () => {
    const world = activeWorld([{ ...ROUTER, transport: { unicast: { peers: [] } } }])
    world.advance(20_000)
    expect([world.executed, world.router().state]).toEqual([[], 'Active'])
  })

  test('half as long after a demotion, until it is said again', () => {
    const world = activeWorld([{ ...ROUTER, track: [{ interface: 'eth1', weight: 20 }] }])
    world.links.delete(3)
    world.notify({ kind: 'linkGone', index: 3, name: 'eth1' })
    world.settle()
    expect(world.sent.at(-1)).toMatchObject({ priority: 128, at: world.now })
    expect(deadline(world)).toBe(1.5 * INTERVAL)
    world.advance(1_001)
    expect(deadline(world)).toBeGreaterThan(2 * INTERVAL)
  })

  test('of a group: the earliest of its members', () => {
    const world = activeWorld(
      [ROUTER, { ...ROUTER, name: 'fast', vrid: 52, addresses: [VIP2], advertisementInterval: '100ms' }],
      { syncGroups: [{ name: 'both', members: ['api', 'fast'] }] },
    )
    const [unit = -1] = [...world.wills.keys()]
    expect(world.wills.size, 'wills').toBe(1)
    expect(deadline(world, unit)).toBeLessThanOrEqual(300)
    world.advance(5_000)
    expect(world.executed).toEqual([])
  })

  test('Leaving: longer than a Skew_Time, and moved on by an engine that lives', () => {
    const world = activeWorld()
    world.daemon.yield('api', 60_000)
    world.settle()
    expect(world.router().state).toBe('Leaving')
    expect(deadline(world)).toBe(1.5 * INTERVAL)
    world.advance(1_900)
    expect([world.router().state, world.installed, world.executed]).toEqual(['Leaving', [`${VIP}/32@2`], []])
    // Nobody came: Active again, and no moment without the address.
    world.advance(200)
    expect([world.router().state, world.installed, world.executed]).toEqual(['Active', [`${VIP}/32@2`], []])
    world.advance(5_000)
    expect(world.executed).toEqual([])
  })
})

test('a yield that nobody wanted, and what it advertises then is not taken: nobody says for it that it lives', () => {
  const world = activeWorld()
  world.daemon.yield('api', 60_000)
  world.settle()
  world.sendFailure = failure('EPERM')
  world.advance(2_100)
  expect(world.router().state).toBe('Active')
  world.advance(3_000)
  expect(world.executed.map(({ name }) => name)).toEqual(['api'])
})

describe('lifetime', () => {
  test('of the configuration: Active_Down_Interval in whole seconds, in the kernel and in the will', () => {
    const world = activeWorld()
    expect(renewed(world)).toEqual([`${VIP} 4`])
    expect(world.lifetimes.get(VIP)).toBe(4)
    expect(world.router().lifetimeSeconds).toBe(4)
  })

  test('two seconds at least', () => {
    const world = guardedWorld([{ ...ROUTER, advertisementInterval: '10ms' }])
    world.advance(100)
    expect([renewed(world), world.lifetimes.get(VIP)]).toEqual([[`${VIP} 2`], 2])
  })

  test('off: neither', () => {
    const world = activeWorld([{ ...ROUTER, lifetime: 'off' }])
    expect([renewed(world), world.lifetimes.get(VIP), world.router().lifetimeSeconds]).toEqual([[], undefined, null])
  })

  test('without shared memory: neither, because nobody would renew', () => {
    const world = new FakeWorld().start()
    world.advance(DOWN + 1)
    expect([world.wills.get(0)?.guard, world.lifetimes.get(VIP), world.router().lifetimeSeconds]).toEqual([
      undefined,
      undefined,
      null,
    ])
  })

  test('changed by a reload: another will, and nobody is taken off or told anything', () => {
    const world = activeWorld()
    const announced = world.announced.length
    const find = () => world.addresses.find(({ address }) => address === VIP)
    // As the kernel tells of it.
    world.tellFlags(VIP, { permanent: false, flags: 0x200 })
    world.reload([{ ...ROUTER, lifetime: 'off' }])
    expect(renewed(world), 'once, to live for ever').toEqual([`${VIP} undefined`])
    world.tellFlags(VIP, { permanent: true, flags: 0x280 })
    world.reload([ROUTER])
    expect(renewed(world)).toEqual([`${VIP} 4`])
    expect(find()).toBeDefined()
    expect(world.takeCalls().filter((call) => /^(add|remove|step|withdraw)/.test(call))).toEqual([])
    expect([world.announced.length, world.router().counters.foreignChanges]).toEqual([announced, {}])
  })

  test('somebody gives an end to an address that is to have none: the guardian takes it away', () => {
    const world = activeWorld([{ ...ROUTER, lifetime: 'off' }])
    world.tellFlags(VIP, { permanent: false, flags: 0x200 })
    expect(renewed(world)).toEqual([`${VIP} undefined`])
    expect(world.takeCalls().filter((call) => /^(add|remove)/.test(call))).toEqual([])
  })

  test('a renewal that the kernel tells of costs nothing and means nothing', () => {
    const world = activeWorld()
    world.tellFlags(VIP, { permanent: false, flags: 0x200 })
    world.takeCalls()
    const { announced, batches } = world
    const before = [announced.length, batches.length, world.wills.get(0)]
    for (let i = 0; i < 255; i++) world.tellFlags(VIP, { permanent: false, flags: 0x200 })
    expect([announced.length, batches.length, world.wills.get(0)]).toEqual(before)
    expect([world.takeCalls(), world.router().counters.foreignChanges]).toEqual([[], {}])
  })
})

describe('stepping down', () => {
  const order = (world: FakeWorld) =>
    world.takeCalls().filter((call) => /^(step|remove|withdraw|advertise|arm)/.test(call))

  test('a better one is heard', () => {
    const world = activeWorld()
    world.hear(200)
    expect(order(world)).toEqual([
      'step down api',
      `remove ${VIP}/32@2`,
      'advertise eth0 vrid 51 priority 128',
      'withdraw api',
    ])
  })

  test('a fault', () => {
    const world = activeWorld()
    world.setLink({ ...(world.links.get(2) ?? expect.fail('eth0')), running: false })
    expect(order(world)).toEqual(['step down api', `remove ${VIP}/32@2`, 'withdraw api'])
  })

  test('a successor: the last of its addresses, and before that a shorter will', () => {
    const world = activeWorld([{ ...ROUTER, addresses: [VIP, VIP2] }])
    void world.daemon.stop()
    // Past the second release.
    world.advance(3)
    world.takeCalls()
    world.claim(VIP2)
    world.advance(6)
    expect(order(world)).toEqual(['arm api', `remove ${VIP2}/32@2`])
    expect(renewed(world)).toEqual([`${VIP} 4`])
    world.claim(VIP)
    world.hear(100)
    world.advance(30)
    expect(order(world)).toEqual(['step down api', `remove ${VIP}/32@2`, 'withdraw api'])
  })

  test('a renewal that was under way: taken off once more, also when nobody says that it came', () => {
    const world = activeWorld()
    world.busy = true
    world.hear(200)
    world.busy = false
    world.takeCalls()
    // The kernel has it, and its notification was lost.
    world.addresses = [...world.addresses, present(2, `${VIP}/32`)]
    world.advance(51)
    expect(order(world)).toEqual([`remove ${VIP}/32@2`])
    expect(world.installed).toEqual([])
  })

  test('and when somebody does say so, it is nobody else', () => {
    const world = activeWorld()
    world.busy = true
    world.hear(200)
    world.busy = false
    world.foreign('add', present(2, `${VIP}/32`))
    expect([world.installed, world.router().counters.foreignChanges]).toEqual([[], {}])
  })

  test('reload takes a router out: it leaves as any other', () => {
    const other = { ...ROUTER, name: 'other', vrid: 52, addresses: [VIP2] }
    const world = activeWorld([ROUTER, other])
    world.reload([ROUTER])
    world.hear(100, { vrid: 52, addresses: [VIP2] })
    world.advance(50)
    expect(order(world)).toEqual([
      'advertise eth0 vrid 52 priority 0',
      'step down other',
      `remove ${VIP2}/32@2`,
      'withdraw other',
    ])
  })
})

describe('executed', () => {
  test('a sleep of less than a stall, and the guardian was faster: the removal is not foreign; asked, and back', () => {
    const world = activeWorld()
    world.execute()
    world.takeCalls()
    world.settle()
    expect(world.router().state).toBe('Returning')
    expect(world.takeCalls().filter((call) => call.startsWith('add'))).toEqual([])
    expect(world.router().counters.foreignChanges).toEqual({})
    world.advance(21)
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@2`]])
    expect(world.router().counters.cleanupPlansExecuted).toBe(1)
    expect(world.transitions.slice(-2)).toEqual([
      'api: Active → Returning: willExecuted',
      'api: Returning → Active: nobodyElse',
    ])
    expect(world.records.filter(({ message }) => message.includes('the guardian took the addresses off'))).toHaveLength(
      1,
    )
    world.advance(10_000)
    expect(world.executed).toHaveLength(1)
  })

  test('frozen for longer than its deadline: executed by the guardian, and as long as it was late is told', () => {
    const world = activeWorld()
    world.stall(5_000)
    expect(world.executed).toMatchObject([{ name: 'api' }])
    expect(world.router().reason).toBe('willExecuted')
    const told = world.records.find(({ message }) => message.includes('the guardian took the addresses off'))
    expect(told?.fields).toMatchObject({ ago: expect.any(Number), silent: expect.any(Number) })
    expect(Number(told?.fields.silent)).toBeGreaterThanOrEqual(5_000)
    expect(Number(told?.fields.silent) - Number(told?.fields.ago), 'ms, of its deadline').toBe(3_000)
  })

  test.each(['advertisement', 'address'] as const)(
    'held up in the middle of a turn, before its %s: told as silent for as long as it was, not until the turn began',
    (before) => {
      const world = activeWorld()
      const spokeAt = world.sent.at(-1)?.at ?? Number.NaN
      const held = () => {
        world.now = spokeAt + 3 * INTERVAL
        world.onApply = undefined
        world.onSend = undefined
        world.execute()
      }
      if (before === 'advertisement') world.onSend = held
      else {
        world.onApply = held
        world.advance(100)
        world.foreign('remove', present(2, `${VIP}/32`))
      }
      world.advance(INTERVAL)
      const told = world.records.filter(({ message }) => message.includes('the guardian took the addresses off'))
      expect(told.map(({ fields }) => [fields.silent, fields.ago])).toEqual([[3 * INTERVAL, 0]])
    },
  )

  test('held up between its question and its advertisement: it advertises nothing, asks, and is back', () => {
    const world = activeWorld()
    const before = world.sent.length
    world.onAsk = () => {
      world.onAsk = undefined
      world.execute()
    }
    for (let ms = 0; ms < INTERVAL && world.executed.length === 0; ms++) world.advance(1)
    expect([world.executed.length, world.router().state]).toEqual([1, 'Returning'])
    expect(world.sent.slice(before)).toEqual([])
    world.advance(21)
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@2`]])
    expect(world.sent.slice(before).map(({ priority }) => priority)).toEqual([128])
  })

  test('in the middle of a takeover: what was added is taken back', () => {
    const world = guardedWorld()
    world.onApply = () => world.execute()
    world.advance(DOWN + 1)
    world.onApply = undefined
    expect(world.installed).toEqual([])
    expect(world.router().state).toBe('Returning')
    world.advance(50)
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@2`]])
  })

  test('while it yields: it waits on for a successor, without the address', () => {
    const world = activeWorld()
    world.daemon.yield('api', 60_000)
    world.settle()
    world.execute()
    world.settle()
    expect([world.router().state, world.installed]).toEqual(['Leaving', []])
    world.hear(100)
    world.advance(30)
    expect(world.router().state).toBe('Backup')
  })

  test('while it yields and nobody comes: Active again, with a will', () => {
    const world = activeWorld()
    world.daemon.yield('api', 60_000)
    world.settle()
    world.execute()
    world.settle()
    world.advance(2_100)
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@2`]])
    expect(deadline(world)).toBeGreaterThan(0)
    world.advance(10_000)
    expect(world.executed).toHaveLength(1)
  })

  test('a guardian that is held up while it executes: nothing is installed before it is done', () => {
    const world = activeWorld()
    world.busy = true
    world.execute()
    world.settle()
    world.advance(100)
    expect([world.router().state, world.installed]).toEqual(['Returning', []])
    const said = world.sent.length
    world.advance(100)
    expect(world.sent.length, 'advertisements without addresses').toBe(said)
    world.busy = false
    world.advance(30)
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@2`]])
  })

  test('a group: all members, told once', () => {
    const world = activeWorld([ROUTER, { ...ROUTER, name: 'web', vrid: 52, addresses: [VIP2] }], {
      syncGroups: [{ name: 'both', members: ['api', 'web'] }],
    })
    const [unit = -1] = [...world.wills.keys()]
    world.execute(unit)
    world.settle()
    const states = () => world.daemon.snapshot().routers.map(({ state }) => state)
    expect(states()).toEqual(['Returning', 'Returning'])
    world.advance(50)
    expect(states()).toEqual(['Active', 'Active'])
    expect(world.installed).toEqual([`${VIP}/32@2`, `${VIP2}/32@2`])
  })

  test('an owner: Active at once, and armed again', () => {
    const world = guardedWorld([{ ...ROUTER, priority: 255 }], { present: [present(2, `${VIP}/24`)] })
    world.advance(10)
    expect([world.router().state, renewed(world)]).toEqual(['Active', []])
    world.stall(4_000)
    expect([world.executed.length, world.router().state, world.installed]).toEqual([1, 'Active', [`${VIP}/24@2`]])
    // The guardian looks at once, and the advertisement is still to be sent.
    expect(world.wills.get(0)?.guard?.absentAt, 'as armed').toBe(world.now + 3 * INTERVAL)
    world.advance(10_000)
    expect([world.executed.length, world.router().state]).toEqual([1, 'Active'])
    expect(deadline(world)).toBeGreaterThan(0)
  })

  test('an owner whose link comes back while the guardian is held up: Active, and armed when that is over', () => {
    const world = guardedWorld([{ ...ROUTER, priority: 255 }], { present: [present(2, `${VIP}/24`)] })
    world.advance(10)
    world.busy = true
    world.execute()
    const eth0 = world.links.get(2) ?? expect.fail('eth0')
    world.setLink({ ...eth0, running: false })
    expect(world.router().state).toBe('Initialize')
    world.setLink({ ...eth0, running: true })
    expect(world.router().state).toBe('Active')
    world.busy = false
    world.advance(1_100)
    expect([world.router().state, world.executed.length]).toEqual(['Active', 1])
    expect(deadline(world)).toBeGreaterThan(0)
  })

  test('somebody else is there by then: Backup, and nothing was said', () => {
    const world = activeWorld()
    world.holdPackets = true
    world.now += 4_000
    world.queueAdvertisement(100)
    const said = world.sent.length
    world.stall(100)
    world.holdPackets = false
    world.settle()
    expect([world.executed.length, world.router().state, world.sent.length]).toEqual([1, 'Backup', said])
  })
})

describe('a reload makes a group of running routers', () => {
  const WEB = { ...ROUTER, name: 'web', vrid: 52, addresses: [VIP2] }
  const both = { syncGroups: [{ name: 'both', members: ['api', 'web'] }] }
  const states = (world: FakeWorld) => world.daemon.snapshot().routers.map(({ state }) => state)
  const installed = [`${VIP}/32@2`, `${VIP2}/32@2`]

  test('while the guardian renews the will of before: no address goes', () => {
    const world = activeWorld([ROUTER, WEB])
    world.beginRenewal()
    world.reload([ROUTER, WEB], both)
    expect([states(world), world.installed]).toEqual([['Active', 'Active'], installed])
    expect(world.router().counters.foreignChanges).toEqual({})
    expect(world.takeCalls().filter((call) => /^(add|remove|announce)/.test(call))).toEqual([])
    world.advance(10_000)
    expect([[...world.wills.values()].map(({ name }) => name), world.executed]).toEqual([['both'], []])
  })

  test('and the guardian executes the will of before just then: nothing is put back before somebody was asked', () => {
    const world = activeWorld([ROUTER, WEB])
    world.onArm = ({ name }) => {
      if (name === 'both') world.execute()
    }
    world.reload([ROUTER, WEB], both)
    world.onArm = undefined
    expect([states(world), world.installed]).toEqual([['Returning', 'Returning'], []])
    expect(world.router().counters).toMatchObject({ cleanupPlansExecuted: 1, foreignChanges: {} })
    expect(world.takeCalls().filter((call) => call.startsWith('add'))).toEqual([])
    world.advance(50)
    expect([states(world), world.installed]).toEqual([['Active', 'Active'], installed])
    world.advance(10_000)
    expect(world.executed).toHaveLength(1)
  })
})

describe('the machine was suspended', () => {
  test('longer than three intervals: Returning, although no monotonic time has passed', () => {
    const world = activeWorld()
    world.asleep += 60_000
    world.advance(1_000)
    expect(world.transitions.slice(-2)).toEqual([
      'api: Active → Returning: stalled',
      'api: Returning → Active: nobodyElse',
    ])
  })

  test('noticed before the next advertisement of a long interval', () => {
    const world = guardedWorld([{ ...ROUTER, advertisementInterval: '20s' }])
    world.advance(75_000)
    expect(world.router().state).toBe('Active')
    world.asleep += 600_000
    world.advance(300)
    expect(world.transitions.slice(-2)).toEqual([
      'api: Active → Returning: stalled',
      'api: Returning → Active: nobodyElse',
    ])
  })

  test('and a beat of the health checks is what it hears first: no less', () => {
    const healthchecks = [{ name: 'lb', tcp: '127.0.0.1:9445' }]
    const track = [{ healthcheck: 'lb', weight: 50 }]
    const world = guardedWorld([{ ...ROUTER, advertisementInterval: '20s', track }], { healthchecks })
    world.health('lb', 'up')
    world.advance(75_000)
    world.health('lb', 'up')
    expect(world.router().state).toBe('Active')
    world.asleep += 600_000
    world.checks.tell({ kind: 'checkBeat', reports: [report('lb', 'up', world.now)] })
    world.advance(300)
    expect(world.transitions.slice(-2)).toEqual([
      'api: Active → Returning: stalled',
      'api: Returning → Active: nobodyElse',
    ])
  })

  test('for a moment: nothing', () => {
    const world = activeWorld()
    world.asleep += 900
    world.advance(1_000)
    expect(world.router().state).toBe('Active')
  })
})

describe('the guardian', () => {
  test('is gone: the daemon leaves, is not asked again, and puts nothing back', () => {
    const world = activeWorld()
    world.guardianIsGone = true
    world.advance(260)
    expect([world.router().state, world.forsaken]).toEqual(['Leaving', 1])
    world.foreign('remove', present(2, `${VIP}/32`))
    world.advance(1_000)
    expect(world.installed, 'what the kernel has dropped').toEqual([])
    world.advance(2_000)
    expect([world.router().state, world.forsaken]).toEqual(['Initialize', 1])
    expect(world.records.filter(({ message }) => message.startsWith('The guardian is gone'))).toHaveLength(1)
  })

  test('was gone before the daemon had started: nobody is started by a daemon that leaves', () => {
    const world = new FakeWorld([{ ...ROUTER, advertisementInterval: '10ms' }])
    world.guarded = true
    world.guardianIsGone = true
    world.start()
    expect([world.router().state, world.forsaken]).toEqual(['Initialize', 1])
    world.advance(1_000)
    expect([world.router().state, world.installed]).toEqual(['Initialize', []])
  })

  test('is looked at every 250 ms at least, by a daemon that is awake for an advertisement anyway', () => {
    const world = activeWorld([{ ...ROUTER, advertisementInterval: '100ms' }])
    world.advance(1_000)
    const [beats, sent] = [world.beats.length, world.sent.length]
    world.advance(3_000)
    const [looks, turns] = [world.beats.slice(beats), world.sent.slice(sent).map(({ at }) => at)]
    const gaps = looks.slice(1).map((at, i) => at - (looks[i] ?? 0))
    expect(Math.max(...gaps), 'ms between two looks').toBeLessThanOrEqual(250)
    expect(gaps.length, 'looks in 3 s').toBeGreaterThan(10)
    expect(
      looks.filter((at) => !turns.includes(at)),
      'looks for which the daemon woke up',
    ).toEqual([])
  })

  test('is looked at by an alarm of its own where nothing else wakes the daemon', () => {
    const world = new FakeWorld([{ ...ROUTER, advertisementInterval: '10s' }])
    world.guarded = true
    world.start()
    const beats = world.beats.length
    world.advance(5_000)
    const looks = world.beats.slice(beats)
    expect(Math.max(...looks.slice(1).map((at, i) => at - (looks[i] ?? 0)))).toBeLessThanOrEqual(250)
    expect(looks.length, 'looks in 5 s').toBeGreaterThanOrEqual(19)
  })

  test('is silent: the daemon waits for half of the shortest lifetime', () => {
    const world = activeWorld()
    world.guardianStoppedAt = world.now
    world.advance(1_900)
    expect([world.router().state, world.forsaken]).toEqual(['Active', 0])
    world.advance(500)
    expect([world.router().state, world.forsaken]).toEqual(['Leaving', 1])
  })

  describe('that is heard', () => {
    const heardWorld = (router: Partial<typeof ROUTER> & { advertisementInterval: string }) => {
      const world = new FakeWorld([{ ...ROUTER, ...router }])
      world.guarded = true
      world.guardianIsHeard = true
      return world.start()
    }

    test('at 1 s: no look wakes the daemon', () => {
      const world = heardWorld({ advertisementInterval: '1s' })
      // The announcements are over, and the rounds of the radar have come together with the advertisements.
      world.advance(DOWN + 15_000)
      const [beats, sent] = [world.beats.length, world.sent.length]
      world.advance(20_000)
      const [looks, turns] = [world.beats.slice(beats), world.sent.slice(sent).map(({ at }) => at)]
      expect(turns.length, 'advertisements in 20 s').toBeGreaterThanOrEqual(19)
      expect(
        looks.filter((at) => !turns.includes(at)),
        'looks for which the daemon woke up',
      ).toEqual([])
      expect(looks.length, 'looks in 20 s').toBeGreaterThanOrEqual(19)
    })

    test('at 1 s, as Backup: nor does one wake it beside what it hears', () => {
      const world = heardWorld({ advertisementInterval: '1s' })
      const heardAt: number[] = []
      for (let second = 0; second < 10; second++) {
        world.hear(200)
        heardAt.push(world.now)
        world.advance(1_000)
      }
      expect(world.router().state).toBe('Backup')
      expect(
        world.beats.filter((at) => at > (heardAt[0] ?? 0) && !heardAt.includes(at)),
        'looks for which the daemon woke up',
      ).toEqual([])
    })

    test('at 10 s: we beat every 1.5 s at least', () => {
      const world = heardWorld({ advertisementInterval: '10s' })
      const beats = world.beats.length
      world.advance(30_000)
      const looks = world.beats.slice(beats)
      expect(Math.max(...looks.slice(1).map((at, i) => at - (looks[i] ?? 0)))).toBeLessThanOrEqual(1_501)
    })

    test('its end is acted upon at once', () => {
      const world = heardWorld({ advertisementInterval: '1s' })
      world.advance(DOWN + 1_000)
      world.guardianIsGone = true
      world.guardianCalls()
      expect([world.router().state, world.forsaken]).toEqual(['Leaving', 1])
    })

    test.each(['100ms', '1s', '10s'])('its silence, at %s: half of the lifetime, a beat, and no more', (interval) => {
      const world = heardWorld({ advertisementInterval: interval })
      world.advance(50_000)
      expect(world.router().state).toBe('Active')
      const patience = { '100ms': 1_000, '1s': 2_000, '10s': 17_500 }[interval] ?? Number.NaN
      world.guardianStoppedAt = world.now
      world.advance(patience)
      expect([world.router().state, world.forsaken], `after ${patience} ms`).toEqual(['Active', 0])
      world.advance(255)
      expect([world.router().state, world.forsaken], `${patience + 255} ms`).toEqual(['Leaving', 1])
    })

    test('kept by the kernel in a change of addresses: it has 10 s, and one log line', () => {
      const world = heardWorld({ advertisementInterval: '100ms' })
      world.advance(50_000)
      const kept = () => world.records.filter(({ message }) => message.startsWith('The kernel has kept the guardian'))
      for (const ms of [1_300, 9_900]) {
        world.guardianStoppedAt = world.now
        world.guardianIsChanging = true
        world.advance(ms)
        expect([world.router().state, world.forsaken], `kept for ${ms} ms`).toEqual(['Active', 0])
        world.guardianStoppedAt = undefined
        world.guardianIsChanging = false
        world.advance(5_000)
      }
      expect(kept().map(({ level }) => level)).toEqual(['warn', 'warn'])
      world.guardianStoppedAt = world.now
      world.guardianIsChanging = true
      world.advance(10_500)
      expect(world.forsaken, 'kept for longer').toBe(1)
    })

    test('frozen together with the daemon, and thawed a moment before the look: it is given time to beat', () => {
      const world = heardWorld({ advertisementInterval: '10s' })
      world.advance(50_000)
      for (const frozen of [900, 1_100, 1_240, 1_400, 15_000, 16_200, 16_300, 60_000]) {
        world.guardianStoppedAt = world.now
        world.now += frozen
        world.advance(100)
        world.guardianStoppedAt = undefined
        world.advance(7_000)
        expect(world.forsaken, `frozen for ${frozen} ms`).toBe(0)
      }
    })

    test('calls after a suspension: noticed at once', () => {
      const world = heardWorld({ advertisementInterval: '20s' })
      world.advance(75_000)
      expect(world.router().state).toBe('Active')
      world.asleep += 600_000
      world.guardianCalls()
      world.advance(25)
      expect(world.transitions.slice(-2)).toEqual([
        'api: Active → Returning: stalled',
        'api: Returning → Active: nobodyElse',
      ])
    })
  })

  test('was frozen together with the daemon: it is given time to beat', () => {
    const world = activeWorld([{ ...ROUTER, priority: 128 }])
    world.guardianStoppedAt = world.now
    world.now += 60_000
    world.advance(1)
    world.guardianStoppedAt = undefined
    world.advance(5_000)
    expect(world.forsaken).toBe(0)
    expect(world.router().state).toBe('Active')
  })

  test('was never there: the daemon runs', () => {
    const world = new FakeWorld().start()
    world.advance(DOWN + 10_000)
    expect([world.router().state, world.forsaken]).toEqual(['Active', 0])
  })
})
