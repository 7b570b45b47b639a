/** Settings of a file about taking part: a router with a `fault`, a file without routers, `startAs`. */
import { describe, expect, test } from 'vitest'
import { FakeWorld, PEER, ROUTER, SELF } from './fake-world.ts'

const DOWN = 3_500
const WHY = 'keepalived.conf:12: use_vmac is not supported'

describe('a router with a fault of its own', () => {
  test('a router with a configured fault takes no part, names the reason, and starts after a reload clears it', () => {
    const world = new FakeWorld([{ ...ROUTER, fault: WHY }]).start()
    world.advance(3 * DOWN)
    expect([world.sent, world.installed]).toEqual([[], []])
    expect(world.router()).toMatchObject({ state: 'Initialize', faults: ['configured'], configuredFault: WHY })
    expect(
      world.records.some(({ message }) => message.includes(WHY)),
      'the words are in the log',
    ).toBe(true)
    expect(world.reload([ROUTER])).toMatchObject({ ok: true, changes: [{ router: 'api', change: 'changed' }] })
    expect(world.router()).toMatchObject({ state: 'Backup', faults: [], configuredFault: null })
    world.advance(DOWN + 1)
    expect(world.router().state).toBe('Active')
  })

  test('a configured fault makes an Active remove its addresses, then send priority 0', () => {
    const world = new FakeWorld([ROUTER]).start()
    world.advance(DOWN + 1)
    world.sent.length = 0
    world.reload([{ ...ROUTER, fault: WHY }])
    expect(world.router()).toMatchObject({ state: 'Initialize', reason: 'configured' })
    expect(world.installed).toEqual([])
    expect(world.sent.map(({ priority }) => priority)).toEqual([0])
  })

  test('another text of the configured fault moves nothing', () => {
    const world = new FakeWorld([{ ...ROUTER, fault: WHY }]).start()
    world.reload([{ ...ROUTER, fault: 'new switches' }])
    expect(world.router()).toMatchObject({ state: 'Initialize', configuredFault: 'new switches' })
  })
})

describe('no virtual router at all', () => {
  test('a daemon without routers runs, starts those of a reload, removes them again, and stops', async () => {
    const world = new FakeWorld([]).start()
    world.advance(10_000)
    expect(world.reload([ROUTER])).toMatchObject({ ok: true })
    world.advance(DOWN + 1)
    expect(world.router().state).toBe('Active')
    expect(world.reload([])).toMatchObject({ ok: true, changes: [{ router: 'api', change: 'removed' }] })
    world.advance(DOWN)
    expect([world.installed, world.daemon.snapshot().routers]).toEqual([[], []])
    await world.daemon.stop()
  })
})

describe('startAs: active', () => {
  test('startAs: active waits a full Active_Down_Interval like any other router (VR-CFG-03)', () => {
    const world = new FakeWorld([{ ...ROUTER, startAs: 'active' }]).start()
    world.advance(DOWN - 1)
    expect([world.router().state, world.sent]).toEqual(['Backup', []])
    world.advance(2)
    expect(world.router().state).toBe('Active')
    expect(world.sent[0]).toMatchObject({ source: SELF, priority: 128 })
  })

  test.each([{ preempt: false }, { preemptDelay: '300s' }])(
    'startAs: active preempts in spite of %j (VR-PRE-01, VR-PRE-03)',
    (keys) => {
      const states = (startAs: string) => {
        const world = new FakeWorld([{ ...ROUTER, ...keys, startAs }]).start()
        for (let i = 0; i < 8; i++) {
          world.advance(1_000)
          world.hear(100, { source: PEER })
        }
        return world.router().state
      }
      expect([states('backup'), states('active')]).toEqual(['Backup', 'Active'])
    },
  )
})
