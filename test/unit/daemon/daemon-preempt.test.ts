/**
 * Preemption from the configuration to the packet: preempt, preemptDelay, the address owner, and an effective priority
 * that a tracker changes. The fsm tests have the rules.
 */
import { describe, expect, test } from 'vitest'
import { formatStatus } from '../../../src/cli/status/status.ts'
import { FakeWorld, link, PEER, ROUTER, type RouterConfig, SELF } from './fake-world.ts'

const DOWN = 3_500

/** Lets the peer advertise every second. Returns the states after each advertisement. */
function besidePeer(world: FakeWorld, priority: number, seconds: number): Set<string> {
  const seen = new Set<string>()
  for (let i = 0; i < seconds; i++) {
    world.hear(priority)
    seen.add(world.router().state)
    world.advance(1_000)
    seen.add(world.router().state)
  }
  return seen
}

const following = (extra: RouterConfig): FakeWorld => new FakeWorld([{ ...ROUTER, ...extra }]).start()
const priorities = (world: FakeWorld) => world.sent.map(({ priority }) => priority)

describe('preempt', () => {
  test('preempt: true replaces a lower Active after Active_Down_Interval', () => {
    const world = following({ preempt: true })
    expect([...besidePeer(world, 100, 5)]).toEqual(['Backup', 'Active'])
    expect(world.transitions.at(-1)).toBe('api: Backup → Active: lowerPriorityActive')
  })

  test('preempt: false follows a lower Active until it is silent', () => {
    const world = following({ preempt: false })
    expect([...besidePeer(world, 100, 30)]).toEqual(['Backup'])
    expect(world.router().heldBack, 'why it does not').toBe('preempt')
    expect([world.sent, world.router().holder.address]).toEqual([[], PEER])
    world.advance(DOWN)
    expect(world.transitions.at(-1)).toBe('api: Backup → Active: activeSilent')
  })

  test('preempt: false does not keep an Active from giving way to a higher priority', () => {
    const world = following({ preempt: false })
    world.advance(DOWN + 1)
    world.hear(200)
    expect([world.router().state, world.installed]).toEqual(['Backup', []])
  })
})

describe('a Backup that does not preempt names the setting', () => {
  test('margin', () => {
    const world = following({ margin: 50 })
    besidePeer(world, 100, 5)
    expect([world.router().state, world.router().heldBack]).toEqual(['Backup', 'margin'])
    expect(formatStatus(world.daemon.snapshot())).toContain(
      'NOT PREEMPTING the Active (priority 100): the difference of priorities is not above margin',
    )
  })

  test('no setting is named if the other router is better, or no Active is known', () => {
    const world = following({ preempt: false })
    expect(world.router().heldBack).toBeNull()
    besidePeer(world, 200, 2)
    expect(world.router().heldBack).toBeNull()
  })
})

describe('preemptDelay', () => {
  test('preemptDelay follows a lower Active until the delay is over, then replaces it', () => {
    const world = following({ preemptDelay: '20s' })
    expect([...besidePeer(world, 100, 20)]).toEqual(['Backup'])
    expect(world.router().heldBack, 'why it does not').toBe('preemptDelay')
    expect(world.router().deadlines.preemptInMs, 'until it may').toBeLessThanOrEqual(1_000)
    expect([...besidePeer(world, 100, 6)]).toEqual(['Backup', 'Active'])
  })

  test('preemptDelay does not delay a takeover after silence or a release', () => {
    const silent = following({ preemptDelay: '20s' })
    besidePeer(silent, 100, 2)
    silent.advance(DOWN)
    expect(silent.router().state).toBe('Active')
    const released = following({ preemptDelay: '20s' })
    besidePeer(released, 100, 2)
    released.hear(0)
    released.advance(501)
    expect(released.transitions.at(-1)).toBe('api: Backup → Active: activeReleased')
  })
})

describe('a process that has just begun', () => {
  const cold = (extra: RouterConfig = {}): FakeWorld =>
    new FakeWorld([{ ...ROUTER, advertisementInterval: '10ms', ...extra }], { cold: true }).start()
  /** Lets the peer advertise every 10 ms. Returns the milliseconds after which the router was Active. */
  function activeAfter(world: FakeWorld, priority: number, ms: number, interval = 10): number | undefined {
    for (let at = 0; at < ms; at += interval) {
      world.hear(priority, { interval })
      world.advance(interval)
      if (world.router().state === 'Active') return at + interval
    }
    return undefined
  }

  test('a new process does not preempt a healthy Active until it is warm, at 10 ms', () => {
    const world = cold()
    expect(activeAfter(world, 100, 1_500)).toBeUndefined()
    expect(world.router().heldBack, 'why it does not').toBe('preemptDelay')
    world.daemon.warm()
    // Active_Down_Interval is 35 ms, counted from the last followed advertisement 10 ms before.
    expect(activeAfter(world, 100, 100)).toBe(30)
    expect(world.transitions.at(-1)).toBe('api: Backup → Active: lowerPriorityActive')
  })

  test('a new process does not delay preemption for ever', () => {
    const world = cold()
    expect(activeAfter(world, 100, 3_000)).toBe(2_040)
  })

  test('a new process takes over after silence and after a release', () => {
    const lone = cold()
    lone.advance(36)
    expect(lone.transitions.at(-1)).toBe('api: Backup → Active: activeSilent')
    const silent = cold()
    activeAfter(silent, 100, 200)
    silent.advance(36)
    expect(silent.transitions.at(-1)).toBe('api: Backup → Active: activeSilent')
    const released = cold()
    activeAfter(released, 100, 200)
    released.hear(0, { interval: 10 })
    released.advance(6)
    expect(released.transitions.at(-1)).toBe('api: Backup → Active: activeReleased')
  })

  test('a new process waits for a longer configured delay', () => {
    const world = cold({ preemptDelay: '1s' })
    activeAfter(world, 100, 300)
    world.daemon.warm()
    expect(activeAfter(world, 100, 2_000), 'ms after the first 300').toBe(740)
    const longer = cold({ preemptDelay: '10s' })
    longer.daemon.warm()
    expect(activeAfter(longer, 100, 9_000)).toBeUndefined()
  })

  test('a new process adopts a reloaded delay', () => {
    const world = cold()
    activeAfter(world, 100, 200)
    const next = { ...ROUTER, advertisementInterval: '10ms', preemptDelay: '1s' }
    world.reload([next])
    world.daemon.warm()
    expect(activeAfter(world, 100, 2_000), 'ms after the first 200').toBe(840)
  })

  test('a new process does not delay preemption at 100 ms, where three intervals are longer than its pauses', () => {
    const world = cold({ advertisementInterval: '100ms' })
    expect(activeAfter(world, 100, 1_000, 100)).toBe(400)
  })

  test('a router that is Active or leaving does not change when the process is warm', () => {
    const world = cold()
    world.advance(36)
    const sent = world.sent.length
    world.daemon.warm()
    expect([world.router().state, world.sent.length - sent]).toEqual(['Active', 0])
    void world.daemon.stop()
    world.daemon.warm()
    world.advance(300)
    expect(world.router().state).toBe('Initialize')
  })
})

describe('the effective priority at run time', () => {
  const tracked = { ...ROUTER, track: [{ interface: 'eth1', weight: -50 }] }
  const setUplink = (world: FakeWorld, running: boolean) => world.setLink(link(3, 'eth1', { running }))

  test('a lower priority of an Active is advertised immediately, beside its grid, and the better router takes over', () => {
    const world = new FakeWorld([tracked]).start()
    world.advance(DOWN + 1)
    world.sent.length = 0
    setUplink(world, false)
    expect([world.router().priority, priorities(world)]).toEqual([{ base: 128, effective: 78 }, [78]])
    world.hear(100)
    expect([world.router().state, world.router().reason]).toEqual(['Backup', 'higherPriorityHeard'])
  })

  test('a priority that rises again makes the former Active take over again', () => {
    const world = new FakeWorld([tracked]).start()
    setUplink(world, false)
    expect([...besidePeer(world, 100, 10)]).toEqual(['Backup'])
    setUplink(world, true)
    expect(world.router().priority.effective).toBe(128)
    expect([...besidePeer(world, 100, 5)]).toEqual(['Backup', 'Active'])
    expect(priorities(world).at(-1)).toBe(128)
  })

  test('an unstable priority causes at most one extra advertisement an interval', () => {
    const world = new FakeWorld([tracked]).start()
    world.advance(DOWN + 1)
    world.sent.length = 0
    for (let i = 0; i < 20; i++) {
      setUplink(world, i % 2 === 1)
      world.advance(10)
    }
    expect(priorities(world).length, 'in 200 ms').toBeLessThanOrEqual(2)
  })
})

describe('the owner (255)', () => {
  const owner = { ...ROUTER, addresses: [SELF], priority: 255 }

  test('an owner takes over at its start whatever preempt is, and gives way to no lower router', () => {
    const world = new FakeWorld([{ ...owner, preempt: false }])
    world.start()
    expect([world.router().state, priorities(world)]).toEqual(['Active', [255]])
    world.hear(254, { addresses: [SELF] })
    expect(world.router().state).toBe('Active')
  })

  test('an owner stops immediately with one release, and its address stays on the node', async () => {
    const world = new FakeWorld([owner]).start()
    world.sent.length = 0
    await world.daemon.stop()
    expect([world.router().state, priorities(world)]).toEqual(['Initialize', [0]])
    expect(world.calls.filter((call) => /^(add|remove)/.test(call))).toEqual([])
    expect(world.addresses.some(({ address }) => address === SELF)).toBe(true)
  })
})
