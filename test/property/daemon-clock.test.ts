/**
 * An engine whose guardian has a clock and one without a clock do the same in any history (docs/adr/0086). The same
 * advertisements leave at the same times, and the routers pass the same states. The engines with and without a clock
 * are behind the ports of FakeWorld, in virtual time. No engine stands still in these histories, because the lease may
 * last longer than the deadline of a cleanup plan.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { forAll } from '../support/for-all.ts'
import { FakeWorld, link, ROUTER, VIP, VIP2 } from '../unit/daemon/fake-world.ts'

const RUNS = 200

const GATEWAY = { ...ROUTER, name: 'gateway', vrid: 52, interface: 'eth1', addresses: ['198.51.100.100'] }
const TRACKED = { track: [{ healthcheck: 'web', weight: 50 }] }

type Step =
  | { readonly kind: 'hear'; readonly priority: number; readonly source: string; readonly vrid: 51 | 52 }
  | { readonly kind: 'reload'; readonly priority: number; readonly two: boolean; readonly interval: number }
  | { readonly kind: 'health'; readonly up: boolean }
  | { readonly kind: 'link'; readonly running: boolean }
  | { readonly kind: 'yield'; readonly forMs: number }
  | { readonly kind: 'answer'; readonly address: string }
  | { readonly kind: 'foreign' }
type Timed = { readonly wait: number; readonly step: Step }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('hear' as const),
      priority: fc.constantFrom(0, 1, 100, 128, 178, 200, 255),
      source: fc.constantFrom('192.0.2.5', '192.0.2.20'),
      vrid: fc.constantFrom(51 as const, 52 as const),
    }),
  },
  fc.record({
    kind: fc.constant('reload' as const),
    priority: fc.constantFrom(90, 128, 150),
    two: fc.boolean(),
    interval: fc.constantFrom(100, 1_000),
  }),
  fc.record({ kind: fc.constant('health' as const), up: fc.boolean() }),
  fc.record({ kind: fc.constant('link' as const), running: fc.boolean() }),
  fc.record({ kind: fc.constant('yield' as const), forMs: fc.constantFrom(0, 700, 5_000) }),
  fc.record({ kind: fc.constant('answer' as const), address: fc.constantFrom(VIP, VIP2) }),
  fc.record({ kind: fc.constant('foreign' as const) }),
)
const history = fc.array(fc.record({ wait: fc.oneof(fc.nat(300), fc.nat(5_000)), step }), { maxLength: 25 })

const routersWith = (priority: number, two: boolean, interval: number) => [
  { ...ROUTER, ...TRACKED, priority, addresses: two ? [VIP, VIP2] : [VIP], advertisementInterval: `${interval}ms` },
  { ...GATEWAY, advertisementInterval: `${interval}ms` },
]
const GROUP = { syncGroups: [{ name: 'both', members: ['api', 'gateway'] }] }
const HEALTHCHECKS = [{ name: 'web', tcp: 'localhost:1' }]

function take(world: FakeWorld, each: Step, isGroup: boolean): void {
  switch (each.kind) {
    case 'hear': {
      const { priority, source, vrid } = each
      const on = vrid === 51 ? 'eth0' : 'eth1'
      if (world.sockets.some(({ closed, options }) => !closed && options.interfaceName === on))
        world.hear(priority, { source, vrid, on, addresses: vrid === 51 ? [VIP] : ['198.51.100.100'] })
      return
    }
    case 'reload': {
      const keys = { healthchecks: HEALTHCHECKS, ...(isGroup ? GROUP : {}) }
      return void world.reload(routersWith(each.priority, each.two, each.interval), keys)
    }
    case 'health':
      return world.health('web', each.up ? 'up' : 'down')
    case 'link':
      return world.setLink(link(2, 'eth0', { running: each.running }))
    case 'yield':
      return void world.daemon.yield('api', each.forMs)
    case 'answer':
      return world.answerFor(each.address)
    case 'foreign':
      for (const present of world.addresses.filter(({ address }) => address === VIP)) world.foreign('remove', present)
  }
}

/** A simulated world at the end of a history, and the times of the steps of that history. */
type Life = { readonly world: FakeWorld; readonly stepsAt: readonly number[] }

function live(steps: readonly Timed[], isGroup: boolean, clock: boolean): Life {
  const options = { clock, healthchecks: HEALTHCHECKS, ...(isGroup ? GROUP : {}) }
  const world = new FakeWorld(routersWith(128, false, 1_000), options)
  world.guarded = true
  world.start()
  world.health('web', 'up')
  world.advance(5_000)
  const stepsAt = steps.map(({ wait, step: each }) => {
    world.advance(wait)
    const at = world.now
    take(world, each, isGroup)
    return at
  })
  world.advance(7_000)
  return { world, stepsAt }
}

/** Tolerance in milliseconds: timers of the engine are rounded, those of the clock are not. */
const ROUNDED = 6

const sentFor = ({ sent }: FakeWorld, wanted: number) => sent.filter(({ vrid }) => vrid === wanted)

/**
 * Tells whether a step came so near to an advertisement that rounding decides: before the advertisement in one world,
 * after it in the other.
 */
const isTie = ({ stepsAt, world }: Life): boolean =>
  stepsAt.some((at) => world.sent.some((one) => one.at !== at && Math.abs(one.at - at) <= ROUNDED))

test('an engine with a clock sends the same advertisements as one without it, in any history', () => {
  let rounds = 0
  let ties = 0
  forAll(RUNS, [history, fc.boolean()], (steps, isGroup) => {
    const [own, repeated] = [live(steps, isGroup, false), live(steps, isGroup, true)]
    if (isTie(own) || isTie(repeated)) {
      ties++
      return
    }
    for (const vrid of [51, 52]) {
      const [mine, theirs] = [sentFor(own.world, vrid), sentFor(repeated.world, vrid)]
      expect(theirs.map(({ priority }) => priority)).toEqual(mine.map(({ priority }) => priority))
      for (const [i, { at }] of mine.entries()) expect(Math.abs(at - (theirs[i]?.at ?? 0))).toBeLessThanOrEqual(ROUNDED)
    }
    expect(repeated.world.transitions).toEqual(own.world.transitions)
    expect(repeated.world.installed).toEqual(own.world.installed)
    expect(repeated.world.executed).toEqual(own.world.executed)
    const [mine, theirs] = [own, repeated].map(({ world }) => world.daemon.snapshot().routers)
    expect(theirs?.map(({ counters }) => counters.sent)).toEqual(mine?.map(({ counters }) => counters.sent))
    for (const router of theirs ?? []) rounds += router.clock.rounds
  })
  expect(rounds, 'advertisements of clocks in all histories').toBeGreaterThan(10 * RUNS)
  expect(ties, 'histories that were left out').toBeLessThan(RUNS / 2)
})
