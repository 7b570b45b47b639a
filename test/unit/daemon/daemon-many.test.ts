/**
 * 255 virtual routers of one interface that do the same in one turn. The number of system calls is that of the
 * segments, not of the routers, and the order inside one router stays (docs/architecture.md, Announcements).
 */
import { describe, expect, test, vi } from 'vitest'
import { FakeWorld, failure, type RouterConfig } from './fake-world.ts'

const DOWN = 3_500
const COUNT = 255
const vipOf = (vrid: number) => `192.0.2.${vrid}`
/** 192.0.2.10 is the node's own. */
const ROUTERS: readonly RouterConfig[] = Array.from({ length: COUNT }, (_, i) => ({
  name: `r${i + 1}`,
  vrid: i + 1,
  interface: 'eth0',
  addresses: [i + 1 === 10 ? '192.0.3.10' : vipOf(i + 1)],
  priority: 128,
}))

function started(): FakeWorld {
  const world = new FakeWorld(ROUTERS).start()
  world.batches.length = 0
  world.takeCalls()
  return world
}

/** Returns the kinds in the order of their first occurrence, with their numbers. */
function stretches(calls: readonly string[]): string[] {
  const found: { kind: string; count: number }[] = []
  for (const call of calls) {
    const [kind = ''] = call.split(' ')
    const last = found.at(-1)
    if (last?.kind === kind) last.count++
    else found.push({ kind, count: 1 })
  }
  return found.map(({ kind, count }) => `${count} × ${kind}`)
}

describe('255 routers in one turn', () => {
  test('255 routers take over with one send, one address call and one batch of announcements', () => {
    const world = started()
    world.advance(DOWN)
    expect(world.batches).toEqual(['send eth0 255', 'apply 255', 'frames eth0 255'])
    expect(stretches(world.takeCalls().filter((call) => !call.includes('drain')))).toEqual([
      '255 × arm',
      '255 × advertise',
      '255 × add',
      '255 × announce',
    ])
    expect([world.installed.length, world.plans.size]).toEqual([COUNT, COUNT])
  })

  test('255 routers log nothing before all their first announcements are sent', () => {
    const world = new FakeWorld(ROUTERS.map((router) => ({ ...router, notify: { active: ['/n/active'] } }))).start()
    world.takeCalls()
    world.watchTellings()
    world.advance(DOWN)
    expect(stretches(world.takeCalls().filter((call) => !call.includes('drain')))).toEqual([
      '255 × arm',
      '255 × advertise',
      '255 × add',
      '255 × announce',
      '255 × notify',
      '255 × log',
    ])
  })

  test('255 routers write the journal after all first announcements, each in order', () => {
    const world = started()
    const { chronicle } = world.recorder
    const record = chronicle.record.bind(chronicle)
    vi.spyOn(chronicle, 'record').mockImplementation((event) => {
      if (event.kind === 'transition' || event.kind === 'announced') world.calls.push(`${event.kind} ${event.router}`)
      record(event)
    })
    world.advance(DOWN)
    const calls = world.takeCalls()
    expect(stretches(calls.slice(calls.findIndex((call) => call.startsWith('announce '))))).toEqual([
      '255 × announce',
      '255 × transition',
      '255 × announced',
    ])
  })

  test('255 routers that lose in one drain have one removal, then one send, then the plans', () => {
    const world = started()
    world.advance(DOWN)
    world.takeCalls()
    world.batches.length = 0
    for (let vrid = 1; vrid <= COUNT; vrid++) {
      world.queueAdvertisement(200, { vrid, addresses: [vrid === 10 ? '192.0.3.10' : vipOf(vrid)] })
    }
    world.settle()
    expect(world.batches).toEqual(['apply 255', 'send eth0 255'])
    expect(stretches(world.takeCalls())).toEqual(['1 × drain', '255 × remove', '255 × advertise', '255 × withdraw'])
    expect([world.installed, world.plans.size]).toEqual([[], 0])
  })

  test('255 routers leave with one send of 255 releases', () => {
    const world = started()
    world.advance(DOWN)
    world.batches.length = 0
    world.sent.length = 0
    void world.daemon.stop()
    expect([world.batches, new Set(world.sent.map(({ priority }) => priority))]).toEqual([
      ['send eth0 255'],
      new Set([0]),
    ])
  })

  test('255 routers on a lost link have one removal', () => {
    const world = started()
    world.advance(DOWN)
    world.batches.length = 0
    world.removeLink(2)
    expect(world.batches).toEqual(['apply 255'])
    expect(world.plans.size).toBe(0)
  })

  test('one of 255 routers that cannot install its address fails alone', () => {
    const world = started()
    world.addressFailures.set(`add ${vipOf(77)}`, failure('EPERM'))
    world.advance(DOWN + 12)
    expect(world.router('r77').faults).toEqual(['addressInstallFailed'])
    expect([world.installed.length, world.plans.size, world.router('r78').state]).toEqual([
      COUNT - 1,
      COUNT - 1,
      'Active',
    ])
    expect(world.sent.filter(({ priority }) => priority === 0).map(({ vrid }) => vrid)).toEqual([77])
  })
})
