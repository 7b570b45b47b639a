/** Two Actives and other hosts with the VIP in the status: who, since when, and no longer than it lasts. */
import { describe, expect, test } from 'vitest'
import { formatStatus } from '../../../src/cli/status/status.ts'
import { samplesOf } from '../../../src/http/metrics/samples.ts'
import { FakeWorld, PEER } from './fake-world.ts'

const THIRD = '192.0.2.30'
const status = (world: FakeWorld) => formatStatus(world.daemon.snapshot())

/** A Backup that hears these routers advertise in turn. */
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

  test('names the other one, first in the status and as a metric, until it is over', () => {
    const world = hearing(new FakeWorld().start(), 5, ...both)
    expect(world.router()).toMatchObject({
      owner: { address: PEER },
      otherActives: [{ address: THIRD, priority: 190, forMs: 5_000 }],
    })
    expect(status(world)).toMatch(/^api: 2 ROUTERS ADVERTISE AS ACTIVE: /)
    expect(status(world)).toContain(`\n  TWO ACTIVES: ${THIRD} (priority 190) advertises as well, for 5 s\n`)
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
  ])('does not take an ordinary move for it: the former Active goes %s', (_, last) => {
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
