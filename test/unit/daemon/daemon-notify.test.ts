/**
 * Which changes of state are notified, when, and with which arguments: as keepalived 2.2.7 was observed to do it
 * (docs/notify.md; VR-NTF-01 to VR-NTF-08). notify-lane.test.ts tests how a program runs.
 */
import { describe, expect, test } from 'vitest'
import { LONGEST_LAST_WORD } from '../../../src/daemon/telemetry/notices.ts'
import { FakeWorld, link, present, ROUTER, VIP } from './fake-world.ts'

const DOWN = 3_500
const NOTIFY = {
  active: ['/n/active', 'a b'],
  backup: ['/n/backup'],
  fault: ['/n/fault'],
  stop: ['/n/stop'],
  change: ['/n/change', '-v'],
}
const CHANGE = { change: ['/n/change'] }
const INGRESS = { name: 'ingress', vrid: 52, interface: 'eth1', addresses: ['198.51.100.100'], priority: 128 }

const told = (world: FakeWorld) => world.notices.take()
const down = (world: FakeWorld, index = 2) =>
  world.setLink(link(index, index === 2 ? 'eth0' : 'eth1', { running: false }))
const up = (world: FakeWorld, index = 2) => world.setLink(link(index, index === 2 ? 'eth0' : 'eth1'))

async function isSettled(promise: Promise<void>): Promise<boolean> {
  let settled = false
  void promise.then(() => {
    settled = true
  })
  for (let i = 0; i < 20; i++) await Promise.resolve()
  return settled
}

describe('one router', () => {
  test('each state of a router is notified, its own program first', async () => {
    const world = new FakeWorld([{ ...ROUTER, notify: NOTIFY }]).start()
    expect(told(world)).toEqual(['/n/backup', '/n/change -v INSTANCE api BACKUP 128'])
    world.advance(DOWN + 1)
    expect(told(world)).toEqual(['/n/active a b', '/n/change -v INSTANCE api MASTER 128'])
    down(world)
    expect(told(world)).toEqual(['/n/fault', '/n/change -v INSTANCE api FAULT 128'])
    up(world)
    expect(told(world)).toEqual(['/n/backup', '/n/change -v INSTANCE api BACKUP 128'])
    world.hear(200)
    world.advance(500)
    expect(told(world), 'nothing has changed').toEqual([])
    void world.daemon.stop()
    world.advance(1)
    expect(told(world)).toEqual(['/n/stop', '/n/change -v INSTANCE api STOP 128'])
  })

  test('only configured events are posted', () => {
    const world = new FakeWorld([
      { ...ROUTER, notify: { active: ['/n/active'], user: 'nobody', timeout: '2s' } },
    ]).start()
    expect(world.notices.posted).toEqual([])
    world.advance(DOWN + 1)
    expect(world.notices.posted).toMatchObject([
      {
        lane: 'router api',
        timeout: 2_000,
        isLast: false,
        runs: [{ index: 0, number: undefined }],
        set: { user: 'nobody', environment: {}, spare: true },
      },
    ])
    const silent = new FakeWorld().start()
    silent.advance(DOWN + 1)
    expect([silent.notices.posted, silent.notices.lanes, silent.daemon.snapshot().notifications]).toEqual([[], [], []])
  })

  test('a notification comes after advertisement, address and announcement (VR-NTF-08)', () => {
    const world = new FakeWorld([{ ...ROUTER, notify: CHANGE }]).start()
    const before: string[][] = []
    const post = world.notices.post.bind(world.notices)
    world.takeCalls()
    world.notices.post = (notification) => {
      before.push(world.takeCalls().filter((call) => /^(advertise|add|announce)/.test(call)))
      post(notification)
    }
    world.advance(DOWN + 1)
    expect(before).toEqual([['advertise eth0 vrid 51 priority 128', `add ${VIP}/32@2`, `announce eth0 ${VIP}`]])
  })

  test('a router that starts in fault is notified, and one that waits for a first result is not', () => {
    const faulty = new FakeWorld([{ ...ROUTER, notify: CHANGE }])
    faulty.links.set(2, link(2, 'eth0', { running: false }))
    faulty.start()
    expect(told(faulty)).toEqual(['/n/change INSTANCE api FAULT 128'])
    const tracking = { ...ROUTER, notify: CHANGE, track: [{ healthcheck: 'lb' }] }
    const checked = new FakeWorld([tracking], { healthchecks: [{ name: 'lb', tcp: '[::1]:1' }] }).start()
    expect(told(checked)).toEqual([])
    checked.health('lb', 'down')
    expect(told(checked)).toEqual(['/n/change INSTANCE api FAULT 128'])
    checked.health('lb', 'up')
    expect(told(checked)).toEqual(['/n/change INSTANCE api BACKUP 128'])
  })

  test('a notification has the effective priority', () => {
    const notify = CHANGE
    const world = new FakeWorld([{ ...ROUTER, notify, track: [{ interface: 'eth1', weight: -20 }] }])
    world.links.set(3, link(3, 'eth1', { running: false }))
    world.start()
    expect(told(world)).toEqual(['/n/change INSTANCE api BACKUP 108'])
  })

  /** Contents of the file in time order; keepalived 2.2.7 was observed to notify so (weight 1, priority 128). */
  const FILES: readonly (readonly [string, readonly number[], readonly string[]])[] = [
    ['that held 0 before', [0, -254, 0], ['FAULT 128', 'BACKUP 128']],
    ['that added 5 before', [5, -254, -5], ['FAULT 133', 'BACKUP 123']],
    ['that took 30 off before', [-30, -300, 10], ['FAULT 98', 'BACKUP 138']],
    ['that begins there', [-254, 3], ['FAULT 128', 'BACKUP 131']],
  ]
  test.each(FILES)(
    'a file at -254 or less, %s: FAULT has the priority in force before (VR-TRK-09)',
    (_, [first, ...rest], lines) => {
      const load = { name: 'load', file: '/run/load', content: 'weight' }
      const track = [{ healthcheck: 'load', weight: 1 }]
      const world = new FakeWorld([{ ...ROUTER, notify: CHANGE, track }], { healthchecks: [load] })
      world.start()
      world.health('load', 'up', { weight: first })
      const atStart = told(world)
      for (const weight of rest) world.health('load', 'up', { weight })
      expect([...atStart, ...told(world)].slice(-2)).toEqual(lines.map((line) => `/n/change INSTANCE api ${line}`))
    },
  )

  test('an owner is notified as Active, without Backup before (VR-NTF-03)', () => {
    const options = { present: [present(2, `${VIP}/24`)] }
    const world = new FakeWorld([{ ...ROUTER, priority: 255, notify: CHANGE }], options).start()
    expect(told(world)).toEqual(['/n/change INSTANCE api MASTER 255'])
  })

  test('a yield is notified at its end, not while it waits for a successor', () => {
    const world = new FakeWorld([{ ...ROUTER, notify: CHANGE }]).start()
    world.advance(DOWN + 1)
    told(world)
    world.daemon.yield('api', 60_000)
    world.settle()
    expect([world.router().state, told(world)]).toEqual(['Leaving', []])
    world.hear(100)
    world.advance(3_000)
    expect([world.router().state, told(world)]).toEqual(['Backup', ['/n/change INSTANCE api BACKUP 1']])
  })

  test('an absence without a change of state is not notified', () => {
    const world = new FakeWorld([{ ...ROUTER, notify: CHANGE }])
    world.guarded = true
    world.start()
    world.advance(DOWN + 1)
    told(world)
    world.execute()
    world.advance(1)
    expect(world.transitions.join()).toContain('Returning')
    world.advance(2_000)
    expect([world.router().state, told(world)]).toEqual(['Active', []])
  })
})

describe('a sync group', () => {
  const pair = () => [ROUTER, INGRESS].map((router) => ({ ...router, notify: CHANGE }))
  const groups = [{ name: 'pair', members: ['api', 'ingress'], notify: { ...CHANGE, active: ['/n/group'] } }]

  test('a group is notified after its members, once, with priority 0 (VR-NTF-04)', async () => {
    const world = new FakeWorld(pair(), { syncGroups: groups }).start()
    expect(told(world)).toEqual([
      '/n/change INSTANCE api BACKUP 128',
      '/n/change INSTANCE ingress BACKUP 128',
      '/n/change GROUP pair BACKUP 0',
    ])
    world.advance(DOWN + 1)
    expect(told(world)).toEqual([
      '/n/change INSTANCE api MASTER 128',
      '/n/change INSTANCE ingress MASTER 128',
      '/n/group',
      '/n/change GROUP pair MASTER 0',
    ])
    down(world)
    expect(told(world).sort()).toEqual([
      '/n/change GROUP pair FAULT 0',
      '/n/change INSTANCE api FAULT 128',
      '/n/change INSTANCE ingress FAULT 128',
    ])
    up(world)
    expect(told(world).sort()).toEqual([
      '/n/change GROUP pair BACKUP 0',
      '/n/change INSTANCE api BACKUP 128',
      '/n/change INSTANCE ingress BACKUP 128',
    ])
    void world.daemon.stop()
    world.advance(1)
    expect(told(world)).toEqual([
      '/n/change INSTANCE api STOP 128',
      '/n/change INSTANCE ingress STOP 128',
      '/n/change GROUP pair STOP 0',
    ])
  })

  test('a group is notified even if its members have no programs', () => {
    const world = new FakeWorld([ROUTER, INGRESS], { syncGroups: groups }).start()
    world.advance(DOWN + 1)
    expect(told(world)).toEqual(['/n/change GROUP pair BACKUP 0', '/n/group', '/n/change GROUP pair MASTER 0'])
  })
})

describe('a reload', () => {
  test('a reload of the same file notifies nothing, and other programs run at the next change', () => {
    const world = new FakeWorld([{ ...ROUTER, notify: CHANGE }]).start()
    world.advance(DOWN + 1)
    told(world)
    world.reload([{ ...ROUTER, notify: CHANGE }])
    expect(told(world)).toEqual([])
    const other = { change: ['/n/other'] }
    expect(world.reload([{ ...ROUTER, notify: other }])).toMatchObject({
      changes: [{ router: 'api', change: 'changed' }],
    })
    expect([told(world), world.router().state]).toEqual([[], 'Active'])
    expect(world.notices.lanes.map(({ set }) => set.programs[0]?.argv[0])).toEqual(['/n/other'])
    down(world)
    expect(told(world)).toEqual(['/n/other INSTANCE api FAULT 128'])
  })

  test('a removed router is notified as FAULT to the general program alone, at its end (VR-NTF-06)', () => {
    const world = new FakeWorld([{ ...ROUTER, notify: NOTIFY }, INGRESS]).start()
    world.advance(DOWN + 1)
    told(world)
    world.reload([INGRESS])
    expect(world.installed, 'a successor is waited for').toContain(`${VIP}/32@2`)
    expect(told(world)).toEqual([])
    world.advance(3_000)
    expect(told(world)).toEqual(['/n/change -v INSTANCE api FAULT 128'])
    world.reload([{ ...ROUTER, notify: NOTIFY }, INGRESS])
    expect(told(world), 'one of the same name is another one').toEqual([
      '/n/backup',
      '/n/change -v INSTANCE api BACKUP 128',
    ])
  })

  test('a replaced router is notified as removed and as new', () => {
    const world = new FakeWorld([{ ...ROUTER, notify: CHANGE }]).start()
    told(world)
    world.reload([{ ...ROUTER, vrid: 77, notify: CHANGE }])
    world.advance(1)
    expect(told(world)).toEqual(['/n/change INSTANCE api FAULT 128', '/n/change INSTANCE api BACKUP 128'])
  })
})

describe('the end', () => {
  test('the end waits for the last notification, after the addresses are removed', async () => {
    const world = new FakeWorld([{ ...ROUTER, notify: CHANGE }]).start()
    world.advance(DOWN + 1)
    for (const each of world.notices.posted) world.notices.end(each)
    told(world)
    const stopped = world.daemon.stop()
    world.advance(1)
    expect([told(world), world.installed]).toEqual([[], [`${VIP}/32@2`]])
    world.advance(2_500)
    expect([told(world), world.installed]).toEqual([['/n/change INSTANCE api STOP 128'], []])
    expect(world.notices.posted.at(-1)?.isLast).toBe(true)
    expect([await isSettled(stopped), world.notices.stopped]).toEqual([false, false])
    for (const each of world.notices.posted.slice(-1)) world.notices.end(each)
    expect([await isSettled(stopped), world.notices.stopped]).toEqual([true, true])
  })

  test('the end does not wait for a program that hangs', async () => {
    const world = new FakeWorld([{ ...ROUTER, notify: CHANGE }]).start()
    const stopped = world.daemon.stop()
    expect(await isSettled(stopped)).toBe(false)
    world.advance(LONGEST_LAST_WORD - 1)
    expect(await isSettled(stopped)).toBe(false)
    world.advance(1)
    expect([await isSettled(stopped), world.notices.stopped]).toEqual([true, true])
    expect(world.records.at(-1)?.message).toBe(
      'Shutdown continues without 2 notifications, which took longer than 5000 ms',
    )
  })

  test('a router in fault is notified of STOP as well', () => {
    const world = new FakeWorld([{ ...ROUTER, notify: CHANGE }]).start()
    down(world)
    told(world)
    void world.daemon.stop()
    expect(told(world)).toEqual(['/n/change INSTANCE api STOP 128'])
  })
})

describe('the result of a notification', () => {
  test('the result of a notification is in log, status and metrics', () => {
    const world = new FakeWorld([{ ...ROUTER, notify: CHANGE }]).start()
    const account = () => world.daemon.snapshot().notifications[0]
    expect(account()).toMatchObject({ kind: 'router', name: 'api', waiting: 1, runs: {}, last: null })
    const [first] = world.notices.posted
    if (first === undefined) throw new Error('nothing was posted')
    world.notices.end(first, 'exitStatus', '/n/change ended with 3: no')
    expect(account()).toMatchObject({
      waiting: 0,
      runs: { exitStatus: 1 },
      last: { event: 'backup', ok: false, reason: 'exitStatus', detail: '/n/change ended with 3: no', latencyMs: 12 },
    })
    expect(world.records.at(-1)).toMatchObject({
      level: 'warn',
      message: 'api: notify backup: /n/change ended with 3: no',
      fields: { router: 'api', notification: 'backup', result: 'exitStatus', latencyMs: 12 },
    })
    world.advance(DOWN + 1)
    const [, second] = world.notices.posted
    if (second === undefined) throw new Error('nothing more was posted')
    world.notices.tell({ kind: 'postedAgain', ids: [second.id] })
    expect(world.records.at(-1)?.message).toContain('posted again to the new thread: api active')
    world.notices.tell({ kind: 'superseded', id: second.id })
    expect(account()?.runs).toEqual({ exitStatus: 1, postedAgain: 1, superseded: 1 })
  })

  test('an unstable router causes a limited number of lines about notifications', () => {
    const world = new FakeWorld([{ ...ROUTER, notify: CHANGE }]).start()
    for (let i = 0; i < 100; i++) {
      down(world)
      up(world)
    }
    for (const each of world.notices.posted) world.notices.end(each)
    const lines = world.records.filter(({ message }) => message.includes('notify'))
    expect(lines.length).toBe(20)
    expect(world.daemon.snapshot().notifications[0]?.runs).toEqual({ ok: 201 })
  })
})
