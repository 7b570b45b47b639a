/** The events that the engine records, each with its cause: the chains that `holdfast explain` follows. */
import { describe, expect, test } from 'vitest'
import { MOST_KEPT } from '../../../src/daemon/telemetry/chronicle.ts'
import type { JournalEvent } from '../../../src/events/event.ts'
import { eventPageSchema } from '../../../src/events/event-page.ts'
import { FakeWorld, link, PEER, present, ROUTER, type RouterConfig, VIP, type WorldOptions } from './fake-world.ts'

const DOWN = 3_500

const page = (world: FakeWorld) => world.recorder.chronicle.read()
const events = (world: FakeWorld): readonly JournalEvent[] => page(world).events

/** Returns the kinds of events from this one back to the first cause. */
function chain(world: FakeWorld, last: JournalEvent | undefined): readonly string[] {
  if (last === undefined) return []
  const cause = events(world).find(({ seq }) => seq === last.because)
  return [last.kind, ...chain(world, cause)]
}

const lastOf = (world: FakeWorld, kind: JournalEvent['kind']) => events(world).findLast((event) => event.kind === kind)

function activeWorld(router: RouterConfig = ROUTER, options: WorldOptions = {}) {
  const world = new FakeWorld([router], options).start()
  world.advance(DOWN + 1)
  expect(world.router().state).toBe('Active')
  return world
}

function backupWorld() {
  const world = new FakeWorld().start()
  world.hear(200)
  return world
}

describe('the journal of the engine', () => {
  test('a takeover records the followed Active, the silence, and the announcement', () => {
    const world = backupWorld()
    world.advance(DOWN + 1_000)
    expect(events(world)).toMatchObject([
      { kind: 'transition', from: 'Initialize', to: 'Backup', reason: 'startup' },
      { kind: 'peerHeard', peer: PEER, priority: 200, news: 'active' },
      { kind: 'transition', from: 'Backup', to: 'Active', reason: 'activeSilent', addresses: [VIP], interval: 1_000 },
      { kind: 'announced', router: 'api', addresses: 1, because: 3 },
    ])
    const { heard } = lastOf(world, 'transition') as Extract<JournalEvent, { kind: 'transition' }>
    expect(heard).toMatchObject({ peer: PEER, priority: 200 })
    expect(heard?.agoMs, 'ms without an advertisement').toBeGreaterThan(3_000)
    const told = page(world)
    expect(eventPageSchema.parse(told)).toEqual(told)
  })

  test('a release is recorded as the cause of the takeover, and a second one is not recorded', () => {
    const world = backupWorld()
    world.hear(0)
    world.hear(0)
    world.advance(2_000)
    expect(events(world).filter(({ kind }) => kind === 'peerHeard')).toHaveLength(2)
    expect(chain(world, lastOf(world, 'transition'))).toEqual(['transition', 'peerHeard'])
    expect(lastOf(world, 'peerHeard')).toMatchObject({ news: 'released', priority: 0 })
  })

  test('a configuration that an agent hands over is recorded once, however often it is handed over', () => {
    const world = activeWorld()
    const next = world.config({ virtualRouters: [{ ...ROUTER, preempt: false }] })
    for (const again of [false, true]) world.daemon.reload(next, undefined, { by: 'agent', revision: '7', again })
    expect(events(world).filter(({ kind }) => kind === 'reloaded')).toMatchObject([{ by: 'agent', revision: '7' }])
  })

  test('a changed priority of the Active is recorded, and the same one again is not', () => {
    const world = backupWorld()
    for (const priority of [200, 150, 150, 220]) world.hear(priority)
    expect(events(world).slice(1)).toMatchObject([
      { news: 'active', priority: 200 },
      { news: 'lowered', priority: 150, previous: { priority: 200 } },
      { news: 'raised', priority: 220, previous: { priority: 150 } },
    ])
  })

  test('a competing Active is recorded', () => {
    const world = activeWorld()
    world.hear(100)
    world.advance(500)
    world.hear(100)
    expect(events(world).filter(({ kind }) => kind === 'peerHeard')).toMatchObject([{ news: 'rival', priority: 100 }])
  })

  test('a failed check records the check, the priority, and nothing else', () => {
    const healthchecks = [{ name: 'web', tcp: '127.0.0.1:80' }]
    const track = [{ healthcheck: 'web', weight: 50 }]
    const world = activeWorld({ ...ROUTER, track }, { healthchecks })
    world.health('web', 'up')
    world.health('web', 'down')
    const priority = lastOf(world, 'priorityChanged')
    expect(priority).toMatchObject({ from: 178, to: 128, why: 'tracking', active: true })
    expect(chain(world, priority)).toEqual(['priorityChanged', 'checkChanged'])
  })

  test('a lost link records the link, the fault and the transition', () => {
    const world = activeWorld()
    world.setLink(link(2, 'eth0', { running: false }))
    expect(chain(world, lastOf(world, 'transition'))).toEqual(['transition', 'faultChanged', 'linkChanged'])
    expect(lastOf(world, 'linkChanged')).toMatchObject({ interface: 'eth0', exists: true, up: true, carrier: false })
  })

  test('a removal by another program is recorded at a limited rate', () => {
    const world = activeWorld()
    for (let i = 0; i < 100; i++) {
      world.foreign('remove', present(2, `${VIP}/32`))
      world.advance(1)
    }
    const changes = events(world).filter(({ kind }) => kind === 'foreignChange')
    expect(changes[0]).toMatchObject({ address: VIP, interface: 'eth0', change: 'removed', answer: 'addedAgain' })
    expect(changes.length, 'of 100').toBeLessThanOrEqual(20)
  })

  test('a yield and its end are recorded', () => {
    const world = activeWorld()
    expect(world.daemon.yield('api', 60_000)).toBeUndefined()
    expect(chain(world, lastOf(world, 'transition'))).toEqual(['transition', 'yieldOrdered'])
    expect(lastOf(world, 'priorityChanged')).toMatchObject({ from: 128, to: 1, why: 'yield' })
    world.advance(20_000)
    expect(
      events(world)
        .filter(({ kind }) => kind === 'transition')
        .at(-1),
    ).toMatchObject({ reason: 'noSuccessor' })
    expect(chain(world, lastOf(world, 'transition'))).toEqual(['transition', 'transition', 'yieldOrdered'])
  })

  test('a reload with another priority is recorded', () => {
    const world = activeWorld()
    world.reload([{ ...ROUTER, priority: 90 }])
    expect(lastOf(world, 'priorityChanged')).toMatchObject({ from: 128, to: 90, why: 'reload', active: true })
    expect(chain(world, lastOf(world, 'priorityChanged'))).toEqual(['priorityChanged', 'reloaded'])
  })

  test('an engine that hangs while it is Active is recorded', () => {
    const world = activeWorld()
    world.stall(10_000)
    expect(
      chain(
        world,
        events(world).find((event) => event.kind === 'transition' && event.to === 'Returning'),
      ),
    ).toEqual(['transition', 'absence'])
  })

  test('discarded packets are one event for each reason in 10 s', () => {
    const world = backupWorld()
    for (let i = 0; i < 500; i++) world.queue(Uint8Array.of(1, 2, 3))
    world.settle()
    expect(events(world).filter(({ kind }) => kind === 'packetsDiscarded')).toMatchObject([
      { interface: 'eth0', count: 1 },
    ])
  })

  test('a neighbour that changes its priority with every packet causes a limited number of events', () => {
    const world = backupWorld()
    for (let i = 0; i < 2_000; i++) world.hear(150 + (i % 2))
    const heard = events(world).filter(({ kind }) => kind === 'peerHeard')
    expect(heard.length, 'of 2000').toBeLessThanOrEqual(21)
    world.advance(1_000)
    world.hear(140)
    expect(lastOf(world, 'peerHeard')).toMatchObject({ priority: 140, suppressed: expect.any(Number) })
    expect(page(world).events.length).toBeLessThan(MOST_KEPT)
  })
})
