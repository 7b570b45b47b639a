/**
 * The daemon with a guardian that checks deadlines: the deadlines that it sets, the order of stepping down, and its
 * return after an execution (ground rules 3 and 4). The guardian of FakeWorld executes every plan that is late. With
 * this guardian, a test that waits for a forgotten deadline finds it.
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
  world.plans.get(unit)?.guard?.renew.map(({ address, lifetime }) => `${address} ${lifetime}`)

describe('the deadline', () => {
  test('the deadline is three intervals after becoming Active and after each advertisement', () => {
    const world = activeWorld()
    const last = world.sent.at(-1)?.at ?? 0
    expect(deadline(world)).toBe(last + 3 * INTERVAL - world.now)
    world.advance(60_000)
    expect(world.sent.length, 'advertisements').toBeGreaterThan(55)
    expect(deadline(world)).toBeGreaterThan(2 * INTERVAL)
    expect(world.executed).toEqual([])
  })

  test('a packet that the kernel refused does not extend the deadline', () => {
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

  test('an unreachable peer counts as informed', () => {
    const world = activeWorld([{ ...ROUTER, transport: { unicast: { peers: [PEER] } } }])
    world.sendFailure = failure('EHOSTUNREACH')
    world.advance(10_000)
    expect([world.executed, world.router().state]).toEqual([[], 'Active'])
  })

  test('a peer behind a packet filter does not count as informed, and the addresses are removed after three intervals', () => {
    const world = activeWorld([{ ...ROUTER, transport: { unicast: { peers: [PEER] } } }])
    world.sendFailure = failure('EPERM')
    world.advance(3_100)
    expect(world.executed.map(({ name }) => name)).toEqual(['api'])
  })

  test('without peers an advertisement counts as sent', () => {
    const world = activeWorld([{ ...ROUTER, transport: { unicast: { peers: [] } } }])
    world.advance(20_000)
    expect([world.executed, world.router().state]).toEqual([[], 'Active'])
  })

  test('after a demotion the deadline is half as long until the next advertisement', () => {
    const world = activeWorld([{ ...ROUTER, track: [{ interface: 'eth1', weight: 20 }] }])
    world.links.delete(3)
    world.notify({ kind: 'linkGone', index: 3, name: 'eth1' })
    world.settle()
    expect(world.sent.at(-1)).toMatchObject({ priority: 128, at: world.now })
    expect(deadline(world)).toBe(1.5 * INTERVAL)
    world.advance(1_001)
    expect(deadline(world)).toBeGreaterThan(2 * INTERVAL)
  })

  test('a group has the earliest deadline of its members', () => {
    const world = activeWorld(
      [ROUTER, { ...ROUTER, name: 'fast', vrid: 52, addresses: [VIP2], advertisementInterval: '100ms' }],
      { syncGroups: [{ name: 'both', members: ['api', 'fast'] }] },
    )
    const [unit = -1] = [...world.plans.keys()]
    expect(world.plans.size, 'plans').toBe(1)
    expect(deadline(world, unit)).toBeLessThanOrEqual(300)
    world.advance(5_000)
    expect(world.executed).toEqual([])
  })

  test('in Leaving the deadline is longer than Skew_Time, and a living engine extends it', () => {
    const world = activeWorld()
    world.daemon.yield('api', 60_000)
    world.settle()
    expect(world.router().state).toBe('Leaving')
    expect(deadline(world)).toBe(1.5 * INTERVAL)
    world.advance(1_900)
    expect([world.router().state, world.installed, world.executed]).toEqual(['Leaving', [`${VIP}/32@2`], []])
    // No successor came: Active again, and the address was there all the time.
    world.advance(200)
    expect([world.router().state, world.installed, world.executed]).toEqual(['Active', [`${VIP}/32@2`], []])
    world.advance(5_000)
    expect(world.executed).toEqual([])
  })
})

test('a yield without a successor whose advertisements are not sent does not extend the deadline', () => {
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
  test('the lifetime is Active_Down_Interval in whole seconds, in the kernel and in the plan', () => {
    const world = activeWorld()
    expect(renewed(world)).toEqual([`${VIP} 4`])
    expect(world.lifetimes.get(VIP)).toBe(4)
    expect(world.router().lifetimeSeconds).toBe(4)
  })

  test('the lifetime is at least two seconds', () => {
    const world = guardedWorld([{ ...ROUTER, advertisementInterval: '10ms' }])
    world.advance(100)
    expect([renewed(world), world.lifetimes.get(VIP)]).toEqual([[`${VIP} 2`], 2])
  })

  test('lifetime: off has no lifetime in the kernel or in the plan', () => {
    const world = activeWorld([{ ...ROUTER, lifetime: 'off' }])
    expect([renewed(world), world.lifetimes.get(VIP), world.router().lifetimeSeconds]).toEqual([[], undefined, null])
  })

  test('without shared memory addresses have no lifetime, because no guardian would renew them', () => {
    const world = new FakeWorld().start()
    world.advance(DOWN + 1)
    expect([world.plans.get(0)?.guard, world.lifetimes.get(VIP), world.router().lifetimeSeconds]).toEqual([
      undefined,
      undefined,
      null,
    ])
  })

  test('a reloaded lifetime changes the plan, without removing or announcing an address', () => {
    const world = activeWorld()
    const announced = world.announced.length
    const find = () => world.addresses.find(({ address }) => address === VIP)
    // Reports the change as the kernel does.
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

  test('a lifetime that another program sets is removed by the guardian', () => {
    const world = activeWorld([{ ...ROUTER, lifetime: 'off' }])
    world.tellFlags(VIP, { permanent: false, flags: 0x200 })
    expect(renewed(world)).toEqual([`${VIP} undefined`])
    expect(world.takeCalls().filter((call) => /^(add|remove)/.test(call))).toEqual([])
  })

  test('a renewal that the kernel reports is ignored', () => {
    const world = activeWorld()
    world.tellFlags(VIP, { permanent: false, flags: 0x200 })
    world.takeCalls()
    const { announced, batches } = world
    const before = [announced.length, batches.length, world.plans.get(0)]
    for (let i = 0; i < 255; i++) world.tellFlags(VIP, { permanent: false, flags: 0x200 })
    expect([announced.length, batches.length, world.plans.get(0)]).toEqual(before)
    expect([world.takeCalls(), world.router().counters.foreignChanges]).toEqual([[], {}])
  })
})

describe('stepping down', () => {
  const order = (world: FakeWorld) =>
    world.takeCalls().filter((call) => /^(step|remove|withdraw|advertise|arm)/.test(call))

  test('a router that receives a higher priority steps down from the plan', () => {
    const world = activeWorld()
    world.hear(200)
    expect(order(world)).toEqual([
      'step down api',
      `remove ${VIP}/32@2`,
      'advertise eth0 vrid 51 priority 128',
      'withdraw api',
    ])
  })

  test('a router in fault steps down from the plan', () => {
    const world = activeWorld()
    world.setLink({ ...(world.links.get(2) ?? expect.fail('eth0')), running: false })
    expect(order(world)).toEqual(['step down api', `remove ${VIP}/32@2`, 'withdraw api'])
  })

  test('a router with a successor steps down after its last address, with a smaller plan before', () => {
    const world = activeWorld([{ ...ROUTER, addresses: [VIP, VIP2] }])
    void world.daemon.stop()
    // After the second release.
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

  test('a renewal under way causes a second removal, even without a notification', () => {
    const world = activeWorld()
    world.busy = true
    world.hear(200)
    world.busy = false
    world.takeCalls()
    // The kernel has the address, and its notification was lost.
    world.addresses = [...world.addresses, present(2, `${VIP}/32`)]
    world.advance(51)
    expect(order(world)).toEqual([`remove ${VIP}/32@2`])
    expect(world.installed).toEqual([])
  })

  test('a notification of that renewal is not a foreign change', () => {
    const world = activeWorld()
    world.busy = true
    world.hear(200)
    world.busy = false
    world.foreign('add', present(2, `${VIP}/32`))
    expect([world.installed, world.router().counters.foreignChanges]).toEqual([[], {}])
  })

  test('a router that a reload removes steps down as any other', () => {
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
  test('an execution during a short sleep is not a foreign removal: the router asks and returns', () => {
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
    expect(world.records.filter(({ message }) => message.includes('the guardian removed the addresses'))).toHaveLength(
      1,
    )
    world.advance(10_000)
    expect(world.executed).toHaveLength(1)
  })

  test('an engine that was frozen past its deadline finds its plan executed, and logs its delay', () => {
    const world = activeWorld()
    world.stall(5_000)
    expect(world.executed).toMatchObject([{ name: 'api' }])
    expect(world.router().reason).toBe('willExecuted')
    const told = world.records.find(({ message }) => message.includes('the guardian removed the addresses'))
    expect(told?.fields).toMatchObject({ ago: expect.any(Number), silent: expect.any(Number) })
    expect(Number(told?.fields.silent)).toBeGreaterThanOrEqual(5_000)
    expect(Number(told?.fields.silent) - Number(told?.fields.ago), 'ms, of its deadline').toBe(3_000)
  })

  test.each(['advertisement', 'address'] as const)(
    'an engine that was delayed before its %s logs the whole time without advertisements',
    (before) => {
      const world = activeWorld()
      const advertisedAt = world.sent.at(-1)?.at ?? Number.NaN
      const held = () => {
        world.now = advertisedAt + 3 * INTERVAL
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
      const told = world.records.filter(({ message }) => message.includes('the guardian removed the addresses'))
      expect(told.map(({ fields }) => [fields.silent, fields.ago])).toEqual([[3 * INTERVAL, 0]])
    },
  )

  test('an engine that was delayed before its advertisement does not send it, asks, and returns', () => {
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

  test('an execution during a takeover removes the added addresses again', () => {
    const world = guardedWorld()
    world.onApply = () => world.execute()
    world.advance(DOWN + 1)
    world.onApply = undefined
    expect(world.installed).toEqual([])
    expect(world.router().state).toBe('Returning')
    world.advance(50)
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@2`]])
  })

  test('an execution during a yield leaves the router waiting for a successor, without the address', () => {
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

  test('a yield without a successor after an execution ends in Active with a plan', () => {
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

  test('while the guardian is delayed in an execution, nothing is installed', () => {
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

  test('an execution is posted once to all members of a group', () => {
    const world = activeWorld([ROUTER, { ...ROUTER, name: 'web', vrid: 52, addresses: [VIP2] }], {
      syncGroups: [{ name: 'both', members: ['api', 'web'] }],
    })
    const [unit = -1] = [...world.plans.keys()]
    world.execute(unit)
    world.settle()
    const states = () => world.daemon.snapshot().routers.map(({ state }) => state)
    expect(states()).toEqual(['Returning', 'Returning'])
    world.advance(50)
    expect(states()).toEqual(['Active', 'Active'])
    expect(world.installed).toEqual([`${VIP}/32@2`, `${VIP2}/32@2`])
  })

  test('an owner is Active immediately after an execution, and armed again', () => {
    const world = guardedWorld([{ ...ROUTER, priority: 255 }], { present: [present(2, `${VIP}/24`)] })
    world.advance(10)
    expect([world.router().state, renewed(world)]).toEqual(['Active', []])
    world.stall(4_000)
    expect([world.executed.length, world.router().state, world.installed]).toEqual([1, 'Active', [`${VIP}/24@2`]])
    // The guardian looks immediately, and the advertisement is still to be sent.
    expect(world.plans.get(0)?.guard?.absentAt, 'as armed').toBe(world.now + 3 * INTERVAL)
    world.advance(10_000)
    expect([world.executed.length, world.router().state]).toEqual([1, 'Active'])
    expect(deadline(world)).toBeGreaterThan(0)
  })

  test('an owner whose link returns while the guardian is delayed is Active, and armed afterwards', () => {
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

  test('a router that finds another Active after an execution becomes Backup and sends nothing', () => {
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

  test('a renewal of the former plan does not remove an address of the new group', () => {
    const world = activeWorld([ROUTER, WEB])
    world.beginRenewal()
    world.reload([ROUTER, WEB], both)
    expect([states(world), world.installed]).toEqual([['Active', 'Active'], installed])
    expect(world.router().counters.foreignChanges).toEqual({})
    expect(world.takeCalls().filter((call) => /^(add|remove|announce)/.test(call))).toEqual([])
    world.advance(10_000)
    expect([[...world.plans.values()].map(({ name }) => name), world.executed]).toEqual([['both'], []])
  })

  test('an execution of the former plan makes the new group ask before it installs', () => {
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
  test('a suspension longer than three intervals leads to Returning, although no monotonic time has passed', () => {
    const world = activeWorld()
    world.asleep += 60_000
    world.advance(1_000)
    expect(world.transitions.slice(-2)).toEqual([
      'api: Active → Returning: stalled',
      'api: Returning → Active: nobodyElse',
    ])
  })

  test('a suspension is noticed before the next advertisement of a long interval', () => {
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

  test('a suspension is noticed by a report of the health checks as well', () => {
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

  test('a short suspension changes nothing', () => {
    const world = activeWorld()
    world.asleep += 900
    world.advance(1_000)
    expect(world.router().state).toBe('Active')
  })
})

describe('the guardian', () => {
  test('a dead guardian makes the daemon stop, once, without installing anything', () => {
    const world = activeWorld()
    world.guardianIsGone = true
    world.advance(260)
    expect([world.router().state, world.guardianLosses]).toEqual(['Leaving', 1])
    world.foreign('remove', present(2, `${VIP}/32`))
    world.advance(1_000)
    expect(world.installed, 'what the kernel has dropped').toEqual([])
    world.advance(2_000)
    expect([world.router().state, world.guardianLosses]).toEqual(['Initialize', 1])
    expect(world.records.filter(({ message }) => message.startsWith('Guardian died'))).toHaveLength(1)
  })

  test('a guardian that died before the start makes the daemon stop without starting a router', () => {
    const world = new FakeWorld([{ ...ROUTER, advertisementInterval: '10ms' }])
    world.guarded = true
    world.guardianIsGone = true
    world.start()
    expect([world.router().state, world.guardianLosses]).toEqual(['Initialize', 1])
    world.advance(1_000)
    expect([world.router().state, world.installed]).toEqual(['Initialize', []])
  })

  test('a daemon that advertises anyway looks at its guardian at least every 250 ms', () => {
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

  test('a daemon without other wake-ups looks at its guardian by an alarm', () => {
    const world = new FakeWorld([{ ...ROUTER, advertisementInterval: '10s' }])
    world.guarded = true
    world.start()
    const beats = world.beats.length
    world.advance(5_000)
    const looks = world.beats.slice(beats)
    expect(Math.max(...looks.slice(1).map((at, i) => at - (looks[i] ?? 0)))).toBeLessThanOrEqual(250)
    expect(looks.length, 'looks in 5 s').toBeGreaterThanOrEqual(19)
  })

  test('a silent guardian is given half of the shortest lifetime', () => {
    const world = activeWorld()
    world.guardianStoppedAt = world.now
    world.advance(1_900)
    expect([world.router().state, world.guardianLosses]).toEqual(['Active', 0])
    world.advance(500)
    expect([world.router().state, world.guardianLosses]).toEqual(['Leaving', 1])
  })

  describe('that is heard', () => {
    const heardWorld = (router: Partial<typeof ROUTER> & { advertisementInterval: string }) => {
      const world = new FakeWorld([{ ...ROUTER, ...router }])
      world.guarded = true
      world.guardianIsHeard = true
      return world.start()
    }

    test('at 1 s an Active is not woken for its guardian', () => {
      const world = heardWorld({ advertisementInterval: '1s' })
      // The announcements are over, and the rounds of duplicate address detection coincide with the advertisements.
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

    test('at 1 s a Backup is not woken for its guardian', () => {
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

    test('at 10 s the engine sends a beat at least every 1.5 s', () => {
      const world = heardWorld({ advertisementInterval: '10s' })
      const beats = world.beats.length
      world.advance(30_000)
      const looks = world.beats.slice(beats)
      expect(Math.max(...looks.slice(1).map((at, i) => at - (looks[i] ?? 0)))).toBeLessThanOrEqual(1_501)
    })

    test('the death of a guardian has an immediate effect', () => {
      const world = heardWorld({ advertisementInterval: '1s' })
      world.advance(DOWN + 1_000)
      world.guardianIsGone = true
      world.guardianCalls()
      expect([world.router().state, world.guardianLosses]).toEqual(['Leaving', 1])
    })

    test.each(['100ms', '1s', '10s'])('a silent guardian at %s has half of the lifetime and one beat', (interval) => {
      const world = heardWorld({ advertisementInterval: interval })
      world.advance(50_000)
      expect(world.router().state).toBe('Active')
      const patience = { '100ms': 1_000, '1s': 2_000, '10s': 17_500 }[interval] ?? Number.NaN
      world.guardianStoppedAt = world.now
      world.advance(patience)
      expect([world.router().state, world.guardianLosses], `after ${patience} ms`).toEqual(['Active', 0])
      world.advance(255)
      expect([world.router().state, world.guardianLosses], `${patience + 255} ms`).toEqual(['Leaving', 1])
    })

    test('a guardian that waits for the kernel has 10 s, and causes one log line', () => {
      const world = heardWorld({ advertisementInterval: '100ms' })
      world.advance(50_000)
      const kept = () => world.records.filter(({ message }) => message.startsWith('Guardian has waited'))
      for (const ms of [1_300, 9_900]) {
        world.guardianStoppedAt = world.now
        world.guardianIsChanging = true
        world.advance(ms)
        expect([world.router().state, world.guardianLosses], `kept for ${ms} ms`).toEqual(['Active', 0])
        world.guardianStoppedAt = undefined
        world.guardianIsChanging = false
        world.advance(5_000)
      }
      expect(kept().map(({ level }) => level)).toEqual(['warn', 'warn'])
      world.guardianStoppedAt = world.now
      world.guardianIsChanging = true
      world.advance(10_500)
      expect(world.guardianLosses, 'kept for longer').toBe(1)
    })

    test('a guardian that was frozen with the daemon and thawed before the look has time to send a beat', () => {
      const world = heardWorld({ advertisementInterval: '10s' })
      world.advance(50_000)
      for (const frozen of [900, 1_100, 1_240, 1_400, 15_000, 16_200, 16_300, 60_000]) {
        world.guardianStoppedAt = world.now
        world.now += frozen
        world.advance(100)
        world.guardianStoppedAt = undefined
        world.advance(7_000)
        expect(world.guardianLosses, `frozen for ${frozen} ms`).toBe(0)
      }
    })

    test('a call of the guardian after a suspension is noticed immediately', () => {
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

  test('a guardian that was frozen with the daemon has time to send a beat', () => {
    const world = activeWorld([{ ...ROUTER, priority: 128 }])
    world.guardianStoppedAt = world.now
    world.now += 60_000
    world.advance(1)
    world.guardianStoppedAt = undefined
    world.advance(5_000)
    expect(world.guardianLosses).toBe(0)
    expect(world.router().state).toBe('Active')
  })

  test('a daemon without a guardian runs', () => {
    const world = new FakeWorld().start()
    world.advance(DOWN + 10_000)
    expect([world.router().state, world.guardianLosses]).toEqual(['Active', 0])
  })
})
