/**
 * A sync group in the daemon: two members on two interfaces take over, lose, fail and leave in one turn. The two
 * members have one cleanup plan (VR-SG-01 to VR-SG-06; docs/architecture.md, Processes and threads). sync-group.test.ts
 * has the decisions.
 */
import { describe, expect, test } from 'vitest'
import { gratuitousArp } from '../../../src/arp/gratuitous-arp.ts'
import { address } from '../../../src/wire/address.ts'
import { FakeWorld, failure, link, PEER, ROUTER, VIP } from './fake-world.ts'

const DOWN = 3_500
const OUTSIDE = '198.51.100.100'
const INGRESS = { name: 'ingress', vrid: 52, interface: 'eth1', addresses: [OUTSIDE], priority: 128 }
const PAIR = { syncGroups: [{ name: 'pair', members: ['api', 'ingress'] }] }
const AT_INGRESS = { vrid: 52, addresses: [OUTSIDE], on: 'eth1' }
const AT_API = { on: 'eth0' }

function pair(): FakeWorld {
  return new FakeWorld([ROUTER, INGRESS], PAIR).start()
}

function activePair(): FakeWorld {
  const world = pair()
  world.advance(DOWN + 1)
  expect(states(world)).toEqual(['Active', 'Active'])
  world.takeCalls()
  world.sent.length = 0
  world.batches.length = 0
  return world
}

const states = (world: FakeWorld) => [world.router('api').state, world.router('ingress').state]
const acts = (world: FakeWorld) => world.takeCalls().filter((call) => !/^(network\.)?drain/.test(call))

describe('a takeover', () => {
  test('a takeover of a group in one turn has one plan, advertisements, one call for addresses, then announcements', () => {
    const world = pair()
    world.takeCalls()
    world.batches.length = 0
    world.advance(DOWN + 1)
    expect(acts(world)).toEqual([
      'arm pair',
      'advertise eth0 vrid 51 priority 128',
      'advertise eth1 vrid 52 priority 128',
      `add ${VIP}/32@2`,
      `add ${OUTSIDE}/32@3`,
      `announce eth0 ${VIP}`,
      `announce eth1 ${OUTSIDE}`,
    ])
    expect(world.batches.filter((batch) => batch.startsWith('apply'))).toEqual(['apply 2'])
  })

  test('a takeover of a group waits for its last member, and nothing is sent before', () => {
    const world = pair()
    world.advance(1_000)
    world.hear(200, AT_INGRESS)
    world.advance(DOWN - 500)
    expect([states(world), world.sent, world.installed]).toEqual([['Backup', 'Backup'], [], []])
    world.advance(501)
    expect(states(world)).toEqual(['Active', 'Active'])
  })

  test('the cleanup plan of a group removes the addresses of both and sends priority 0 on both interfaces', () => {
    const world = activePair()
    expect([...world.plans.keys()]).toHaveLength(1)
    const [plan] = world.plans.values()
    expect(plan?.name).toBe('pair')
    expect(plan?.remove.map(({ address: a, interfaceIndex }) => `${a}@${interfaceIndex}`)).toEqual([
      `${VIP}@2`,
      `${OUTSIDE}@3`,
    ])
    expect(plan?.packets.map(({ interfaceIndex, datagrams }) => [interfaceIndex, datagrams[0]?.bytes[2]])).toEqual([
      [2, 0],
      [3, 0],
    ])
  })
})

describe('losing', () => {
  test('a loss on one interface removes the addresses of both, and only the loser advertises', () => {
    const world = activePair()
    world.hear(200, AT_INGRESS)
    expect(acts(world)).toEqual([
      `remove ${VIP}/32@2`,
      `remove ${OUTSIDE}/32@3`,
      'advertise eth1 vrid 52 priority 128',
      'withdraw pair',
    ])
    expect([states(world), world.installed]).toEqual([['Backup', 'Backup'], []])
  })

  test('a group that loses in the turn of a priority change withdraws its plan', () => {
    const tracks = { name: 'pair', members: ['ingress', 'api'], track: [{ interface: 'lan0', weight: -20 }] }
    const world = new FakeWorld([ROUTER, INGRESS], { syncGroups: [tracks] }).start()
    world.advance(2 * DOWN)
    expect(states(world)).toEqual(['Active', 'Active'])
    // One event changes both: the interface of one member is gone, and the tracker of both is down.
    world.setLink(link(2, 'lan0'))
    expect([states(world), world.plans.size], `${world.takeCalls()}`).toEqual([['Initialize', 'Initialize'], 0])
  })

  test('an address that cannot be removed keeps the plan of the group until it is gone', () => {
    const world = activePair()
    world.addressFailures.set(`remove ${VIP}`, failure('ETIMEDOUT'))
    world.hear(200, AT_INGRESS)
    const [plan] = world.plans.values()
    expect(plan?.remove.map((wanted) => wanted.address)).toEqual([VIP])
    expect(plan?.packets, 'a Backup has nothing to release').toEqual([])
    world.addressFailures.clear()
    world.advance(1_000)
    expect([world.plans.size, world.installed]).toEqual([0, []])
  })
})

describe('a fault of one member', () => {
  test('a fault of one member removes the addresses of both, sends priority 0 where it can, and names the member', () => {
    const world = activePair()
    world.setLink(link(3, 'eth1', { running: false }))
    expect(world.sent.map(({ vrid, priority }) => [vrid, priority])).toEqual([[51, 0]])
    expect([states(world), world.installed, world.plans.size]).toEqual([['Initialize', 'Initialize'], [], 0])
    expect([world.router('api').faults, world.router('ingress').faults]).toEqual([['syncGroup:ingress'], ['linkDown']])
  })

  test('a group without both interfaces sends nothing', () => {
    const world = activePair()
    world.holdNotifications = true
    world.setLink(link(2, 'eth0', { running: false }))
    world.setLink(link(3, 'eth1', { running: false }))
    world.holdNotifications = false
    world.advance(0)
    expect(states(world)).toEqual(['Initialize', 'Initialize'])
    expect(world.router('ingress').faults).toContain('linkDown')
    world.advance(30_000)
    expect(world.installed).toEqual([])
  })

  test('a cleared fault makes both members Backup, then Active together', () => {
    const world = activePair()
    world.setLink(link(3, 'eth1', { running: false }))
    world.advance(5_000)
    world.setLink(link(3, 'eth1'))
    expect([states(world), world.router('api').faults]).toEqual([['Backup', 'Backup'], []])
    world.advance(DOWN + 1)
    expect([states(world), world.installed.length, world.plans.size]).toEqual([['Active', 'Active'], 2, 1])
  })

  test('an address that cannot be installed puts the group in fault, and none of its addresses stays', () => {
    const world = pair()
    world.addressFailures.set(`add ${OUTSIDE}`, failure('EPERM'))
    world.advance(DOWN + 20)
    expect([states(world), world.installed, world.plans.size]).toEqual([['Initialize', 'Initialize'], [], 0])
    expect([world.router('api').faults, world.router('ingress').faults]).toEqual([
      ['syncGroup:ingress'],
      ['addressInstallFailed'],
    ])
  })
})

describe('leaving', () => {
  test('stop() and yield apply to both members: one turn, and one plan that shrinks', async () => {
    const world = activePair()
    const stopped = world.daemon.stop()
    expect([states(world), world.sent.map(({ vrid, priority }) => [vrid, priority])]).toEqual([
      ['Leaving', 'Leaving'],
      [
        [51, 0],
        [52, 0],
      ],
    ])
    world.advance(10)
    world.hear(100, AT_API)
    world.advance(25)
    expect([states(world), world.installed]).toEqual([['Initialize', 'Leaving'], [`${OUTSIDE}/32@3`]])
    const [plan] = world.plans.values()
    expect(plan?.remove.map((wanted) => wanted.address)).toEqual([OUTSIDE])
    world.hear(100, AT_INGRESS)
    world.advance(25)
    await stopped
    expect([states(world), world.installed, world.plans.size]).toEqual([['Initialize', 'Initialize'], [], 0])
  })

  test('a yield of one member is a yield of all', () => {
    const world = activePair()
    expect(world.daemon.yield('pair', 60_000)).toBe(undefined)
    expect(states(world)).toEqual(['Leaving', 'Leaving'])
    world.advance(600)
    world.hear(100, AT_API)
    world.hear(100, AT_INGRESS)
    world.hearAnnouncement(gratuitousArp({ address: address(VIP), mac: link(66, 'peer').mac }))
    world.advance(25)
    expect([states(world), world.router('api').priority.effective, world.router('ingress').priority.effective]).toEqual(
      [['Backup', 'Backup'], 1, 1],
    )
    // A changed end of the yield applies to all members, too.
    expect(world.daemon.yield('ingress', 1_000)).toBe(undefined)
    world.advance(900)
    expect(world.router('api').yieldingUntil).not.toBe(null)
    world.advance(101)
    expect([world.router('api').yieldingUntil, world.router('ingress').yieldingUntil]).toEqual([null, null])
    expect(states(world)).toEqual(['Backup', 'Backup'])
    expect(world.daemon.yield('ingress', 60_000)?.message).toBe(`api is Backup here; run yield on the Active, ${PEER}`)
  })
})

test('status and log name the group', () => {
  const world = activePair()
  expect([world.router('api').group, world.daemon.snapshot().groups]).toEqual([
    'pair',
    [{ name: 'pair', members: ['api', 'ingress'] }],
  ])
  expect(world.transitions.slice(-2)).toEqual([
    'api (pair): Backup → Active: activeSilent',
    'ingress (pair): Backup → Active: activeSilent',
  ])
  expect(world.records.filter(({ fields }) => fields.to === 'Active').map(({ fields }) => fields.group)).toEqual([
    'pair',
    'pair',
  ])
})

test('routers outside of the group are not affected', () => {
  const third = { ...ROUTER, name: 'other', vrid: 53, addresses: ['192.0.2.103'] }
  const world = new FakeWorld([ROUTER, INGRESS, third], PAIR).start()
  world.advance(DOWN + 1)
  world.hear(200, AT_INGRESS)
  expect([...states(world), world.router('other').state]).toEqual(['Backup', 'Backup', 'Active'])
  expect([world.router('other').group, world.plans.size]).toEqual([null, 1])
})
