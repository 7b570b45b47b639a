/**
 * Tests two Actives and other hosts with the VIP, in status, journal and log: their names, since when, and not longer
 * than they last.
 */
import { describe, expect, test } from 'vitest'
import { formatStatus } from '../../../src/cli/status/status.ts'
import { samplesOf } from '../../../src/http/metrics/samples.ts'
import { FakeWorld, PEER, SELF } from './fake-world.ts'

const THIRD = '192.0.2.30'
const status = (world: FakeWorld) => formatStatus(world.daemon.snapshot())

/** A Backup that receives the advertisements of these routers in turn. */
function hearing(world: FakeWorld, seconds: number, ...routers: readonly (readonly [string, number])[]): FakeWorld {
  for (let beat = 0; beat < seconds; beat++) {
    for (const [source, priority] of routers) world.hear(priority, { source })
    world.advance(1_000)
  }
  return world
}

describe('a third node that hears two Actives', () => {
  const both = [
    [PEER, 200],
    [THIRD, 190],
  ] as const

  test('a third node names the other Active, first in the status and as a metric', () => {
    const world = hearing(new FakeWorld().start(), 5, ...both)
    expect(world.router()).toMatchObject({
      holder: { address: PEER },
      otherActives: [{ address: THIRD, priority: 190, forMs: 5_000 }],
    })
    expect(status(world)).toMatch(/^api: 2 ROUTERS ADVERTISE AS ACTIVE: /)
    expect(status(world)).toContain(`\n  TWO ACTIVES: ${THIRD} (priority 190) also advertises, for 5 s\n`)
    const gauge = () =>
      samplesOf(world.daemon.snapshot(), '1').find(({ name }) => name === 'holdfast_vrrp_other_actives')?.value
    expect(gauge()).toBe(1)
    hearing(world, 4, [PEER, 200])
    expect([world.router().otherActives, gauge(), status(world).includes('ADVERTISE AS ACTIVE')]).toEqual([
      [],
      0,
      false,
    ])
  })

  test.each([
    ['with a release', 0],
    ['in silence', undefined],
    ['after one more advertisement', 90],
  ])('an ordinary move is not two Actives: the former Active is gone %s', (_, last) => {
    const world = hearing(new FakeWorld().start(), 5, [PEER, 200])
    world.hear(210, { source: THIRD })
    if (last !== undefined) world.hear(last, { source: PEER })
    expect(world.router().otherActives).toEqual([])
    for (let beat = 0; beat < 6; beat++) {
      hearing(world, 1, [THIRD, 210])
      expect(world.router().otherActives).toEqual([])
    }
  })
})

test('an Active names a router of lower priority that goes on advertising', () => {
  const world = new FakeWorld().start()
  world.advance(3_501)
  expect(world.router().state).toBe('Active')
  hearing(world, 4, [PEER, 90])
  expect(world.router()).toMatchObject({ state: 'Active', otherActives: [{ address: PEER, priority: 90 }] })
})

describe('two Actives in journal and log', () => {
  const events = (world: FakeWorld) =>
    world.recorder.chronicle.read().events.flatMap((event) => (event.kind === 'twoActives' ? [event] : []))
  const lines = (world: FakeWorld) =>
    world.records
      .filter(({ message }) => /Active(:| again)/.test(message))
      .map(({ level, message }) => `${level} ${message}`)
  const both = [
    [PEER, 200],
    [THIRD, 190],
  ] as const

  test('a third node logs begin and end once, with the routers and the duration', () => {
    const world = hearing(new FakeWorld().start(), 20, ...both)
    expect(events(world)).toMatchObject([
      {
        router: 'api',
        present: true,
        actives: [
          { peer: PEER, priority: 200 },
          { peer: THIRD, priority: 190 },
        ],
        forMs: 1_000,
      },
    ])
    hearing(world, 5, [PEER, 200])
    const ended = events(world).slice(1)
    expect(ended).toMatchObject([{ present: false, actives: [{ peer: PEER }, { peer: THIRD }] }])
    expect(ended[0]?.forMs, 'up to the last advertisement of the second one').toBe(19_000)
    expect(lines(world)).toEqual([
      `warn api: 2 routers advertise as Active: ${PEER} (priority 200) and ${THIRD} (priority 190); ${THIRD} does not receive, or not accept, the advertisements of ${PEER}`,
      expect.stringMatching(
        /^info api: only one router is Active again; after 19000 ms with 192\.0\.2\.20 \(priority 200\) and/,
      ),
    ])
  })

  test('an Active names itself beside the router that does not receive its advertisements', () => {
    const world = new FakeWorld().start()
    world.advance(3_501)
    hearing(world, 4, [PEER, 90])
    expect(events(world)).toMatchObject([{ present: true, actives: [{ peer: SELF }, { peer: PEER, priority: 90 }] }])
    // Silence ends it as well, because an Active has turns of its own.
    world.advance(10_000)
    expect(events(world).slice(1)).toMatchObject([{ present: false }])
  })

  test('an ordinary move is not recorded', () => {
    const world = hearing(new FakeWorld().start(), 5, [PEER, 200])
    world.hear(0, { source: PEER })
    hearing(world, 6, [THIRD, 210])
    hearing(world, 6, [PEER, 220])
    expect([events(world), lines(world)]).toEqual([[], []])
  })

  test('a takeover from a lower Active that advertises once more is not recorded', () => {
    const world = hearing(new FakeWorld().start(), 4, [PEER, 90])
    expect(world.router().state).toBe('Active')
    world.hear(90, { source: PEER })
    world.advance(10_000)
    expect(events(world)).toEqual([])
  })

  test('changing routers cause a limited number of lines, and the last one is true', () => {
    const world = hearing(new FakeWorld().start(), 3, [PEER, 200])
    for (let i = 0; i < 600; i++) {
      world.hear(200, { source: PEER })
      for (const last of [31, 32, 33]) if ((i + last) % 7 < 4) world.hear(100, { source: `192.0.2.${last}` })
      world.advance(250)
    }
    expect(events(world).length).toBeLessThanOrEqual(20 + 151)
    hearing(world, 30, [PEER, 200])
    expect(events(world).at(-1)).toMatchObject({ present: false })
  })
})
