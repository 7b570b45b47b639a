/**
 * A changing network, beyond daemon-link.test.ts: names and indexes that move to other interfaces, MAC and MTU, two
 * routers that `auto` brings together, and another program that removes an address repeatedly.
 */
import { describe, expect, test } from 'vitest'
import { MOST_RESTORATIONS } from '../../../src/daemon/addresses/restoration-limit.ts'
import { FakeWorld, failure, link, PEER, present, ROUTER, SELF, VIP, VIP2 } from './fake-world.ts'

const DOWN = 3_500
const OPEN = (world: FakeWorld) => world.sockets.filter(({ closed }) => !closed).map(({ options }) => options)

function activeWorld(routers = [ROUTER]): FakeWorld {
  const world = new FakeWorld(routers).start()
  world.advance(DOWN + 1)
  expect(world.router().state).toBe('Active')
  world.takeCalls()
  world.sent.length = 0
  return world
}

describe('the interface', () => {
  test('an interface that is created again before the end of the old one is used by the router', () => {
    const world = activeWorld()
    world.holdNotifications = true
    const gone = world.addresses.filter(({ interfaceIndex }) => interfaceIndex === 2)
    world.links.delete(2)
    world.addresses = [
      ...world.addresses.filter(({ interfaceIndex }) => interfaceIndex !== 2),
      present(9, `${SELF}/24`),
    ]
    world.links.set(9, link(9, 'eth0'))
    // The address first, then the link, and the end of the old one last.
    world.notify({ kind: 'addressAdded', present: present(9, `${SELF}/24`) })
    world.notify({ kind: 'link', link: link(9, 'eth0') })
    for (const each of gone) world.notify({ kind: 'addressRemoved', present: each })
    world.notify({ kind: 'linkGone', index: 2, name: 'eth0' })
    world.holdNotifications = false
    world.settle()
    world.advance(DOWN + 1)
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@9`]])
    expect(OPEN(world).map(({ interfaceIndex }) => interfaceIndex)).toEqual([9])
  })

  test('an interface that is lost and found in one full read is used again', () => {
    const world = activeWorld()
    world.links.delete(2)
    world.links.set(9, link(9, 'eth0'))
    world.addresses = [present(9, `${SELF}/24`), present(3, '198.51.100.10/24')]
    world.notify({ kind: 'resync' })
    // Notifications that were queued before the full read arrive after it.
    world.notify({ kind: 'link', link: link(2, 'eth0', { running: false }) })
    world.notify({ kind: 'linkGone', index: 2, name: 'eth0' })
    world.notify({ kind: 'link', link: link(9, 'eth0') })
    world.settle()
    world.advance(2 * DOWN)
    expect([world.router().state, world.router().faults, world.installed]).toEqual(['Active', [], [`${VIP}/32@9`]])
  })

  test.each(['yield', 'stop'])('a node address that moves during a %s leaves nothing on the old interface', (why) => {
    const world = activeWorld([{ ...ROUTER, interface: 'auto', addresses: [`${VIP}/24`] }])
    if (why === 'yield') world.daemon.yield('api', 60_000)
    else void world.daemon.stop()
    world.foreign('add', present(3, `${SELF}/24`))
    world.foreign('remove', present(2, `${SELF}/24`))
    expect([world.router().state, world.installed], 'it goes on answering').toEqual(['Leaving', [`${VIP}/32@3`]])
    expect([...world.plans.values()].flatMap(({ remove }) => remove.map((each) => each.interfaceIndex))).toEqual([3])
    world.hear(100)
    world.advance(100)
    expect([world.installed, world.plans.size]).toEqual([[], 0])
  })

  test('an interface that goes down and up has its sockets opened and its group joined again', () => {
    const world = activeWorld()
    world.setLink(link(2, 'eth0', { running: false }))
    expect(OPEN(world)).toEqual([])
    world.setLink(link(2, 'eth0'))
    expect(OPEN(world).map(({ group, source }) => [group, source])).toEqual([['224.0.0.18', SELF]])
    expect(world.router().state).toBe('Backup')
    world.hear(200)
    expect(world.router().holder.address, 'hears the group again').toBe(PEER)
  })

  test('a socket that cannot be opened at first is tried again within milliseconds', () => {
    const world = new FakeWorld()
    world.openFailure = failure('EADDRNOTAVAIL')
    world.start()
    world.advance(50)
    expect(world.router().faults).toEqual(['socketFailed'])
    world.openFailure = undefined
    world.advance(100)
    expect(world.router().state).toBe('Backup')
  })

  test('an interface with another MAC is announced immediately if Active, and not if Backup', () => {
    const world = activeWorld()
    world.advance(10_000)
    const before = world.announced.length
    const mac = link(7, 'x').mac
    world.setLink(link(2, 'eth0', { mac }))
    world.advance(300)
    expect(world.announced.slice(before).map((each) => [each.address, each.mac])).toEqual([
      [VIP, mac],
      [VIP, mac],
      [VIP, mac],
    ])
    world.hear(200)
    const asBackup = world.announced.length
    world.setLink(link(2, 'eth0', { mac: link(8, 'x').mac }))
    world.advance(300)
    expect(world.announced.length).toBe(asBackup)
  })

  test('a renamed interface is followed by a router with `interface: auto`', () => {
    const world = activeWorld([{ ...ROUTER, interface: 'auto' }])
    world.setLink(link(2, 'lan0'))
    world.advance(1_000)
    expect([world.router().state, world.router().interface]).toEqual(['Active', 'lan0'])
    expect(world.transitions.length).toBe(2)
  })

  test('a VIP on a new interface is removed before and after its router has a source', () => {
    const world = new FakeWorld()
    world.removeLink(2)
    world.start()
    world.setLink(link(9, 'eth0'))
    world.foreign('add', present(9, `${VIP}/24`))
    expect([world.router().state, world.router().interface, world.installed]).toEqual(['Initialize', null, []])
    // The full read found it; it was never reported.
    world.addresses = [...world.addresses, present(9, `${VIP}/24`)]
    world.notify({ kind: 'resync' })
    world.settle()
    expect([world.router().interface, world.installed]).toEqual([null, []])
    world.foreign('add', present(9, `${SELF}/24`))
    expect([world.router().state, world.installed]).toEqual(['Backup', []])
  })

  test('on the port of a bridge a Backup does not trust the silence, and an Active hands over', () => {
    const world = new FakeWorld().start()
    world.hear(200)
    world.setLink(link(2, 'eth0', { portOf: 'bridge' }))
    world.advance(2 * DOWN)
    expect([world.router().state, world.router().faults, world.installed]).toEqual([
      'Initialize',
      ['interfaceIsPort'],
      [],
    ])
    world.setLink(link(2, 'eth0'))
    expect(world.router().state).toBe('Backup')
    world.advance(DOWN + 1)
    expect(world.router().state).toBe('Active')
    world.setLink(link(2, 'eth0', { portOf: 'bond' }))
    expect([world.router().state, world.installed, world.sent.at(-1)?.priority]).toEqual(['Initialize', [], 0])
  })

  test('a port is not chosen by `auto`, even if its address stays', () => {
    const world = activeWorld([{ ...ROUTER, interface: 'auto' }])
    world.setLink(link(9, 'br-ex'))
    world.addresses = [...world.addresses, present(9, `${SELF}/24`)]
    world.notify({ kind: 'addressAdded', present: present(9, `${SELF}/24`) })
    world.settle()
    world.setLink(link(2, 'eth0', { portOf: 'openvswitch' }))
    expect([world.router().state, world.router().interface, world.installed]).toEqual([
      'Active',
      'br-ex',
      [`${VIP}/32@9`],
    ])
  })

  test('an MTU below the message is a fault with priority 0, until it is large enough', () => {
    const addresses = Array.from({ length: 100 }, (_, i) => `192.0.2.${101 + i}`)
    const world = activeWorld([{ ...ROUTER, addresses }])
    // 20 of the IP header, 8 and 4 for each address.
    world.setLink(link(2, 'eth0', { mtu: 428 }))
    expect(world.router().state).toBe('Active')
    world.setLink(link(2, 'eth0', { mtu: 427 }))
    expect([world.router().state, world.router().faults, world.installed]).toEqual([
      'Initialize',
      ['messageTooLarge'],
      [],
    ])
    expect(world.sent.at(-1)?.priority).toBe(0)
    world.setLink(link(2, 'eth0', { mtu: 1500 }))
    expect(world.router().state).toBe('Backup')
  })
})

describe('the source address', () => {
  test('a tentative source address is not used until it is ready', () => {
    const world = new FakeWorld()
    world.addresses = [{ ...present(2, `${SELF}/24`), tentative: true }]
    world.start()
    expect([world.router().faults, OPEN(world)]).toEqual([['sourceAddressMissing'], []])
    world.addresses = [present(2, `${SELF}/24`)]
    world.notify({ kind: 'addressAdded', present: present(2, `${SELF}/24`) })
    world.settle()
    expect([world.router().state, OPEN(world).length]).toEqual(['Backup', 1])
  })

  test('a source address that is replaced while Active listens for answers at the new one', () => {
    const world = activeWorld()
    world.foreign('add', present(2, '192.0.2.11/24'))
    world.foreign('remove', present(2, `${SELF}/24`))
    expect([world.router().state, world.router().source, world.listening]).toEqual([
      'Active',
      '192.0.2.11',
      ['answers'],
    ])
  })
})

describe('two routers that `auto` brings to one interface with one VRID', () => {
  const first = { ...ROUTER, name: 'first', interface: 'auto' }
  const second = { ...ROUTER, name: 'second', interface: 'auto', addresses: ['198.51.100.100'] }
  const states = (world: FakeWorld) => ['first', 'second'].map((name) => world.router(name).state)
  const faults = (world: FakeWorld) => ['first', 'second'].map((name) => world.router(name).faults)

  test('of two routers with one VRID on one interface the present one stays, and the other one is in fault', () => {
    const world = new FakeWorld([first, second]).start()
    world.advance(DOWN + 1)
    expect(states(world)).toEqual(['Active', 'Active'])
    // The network of `first` moves to eth1, where `second` is.
    world.foreign('add', present(3, '192.0.2.30/24'))
    world.foreign('remove', present(2, `${SELF}/24`))
    expect([states(world), faults(world)]).toEqual([
      ['Initialize', 'Active'],
      [['vridTaken'], []],
    ])
    expect(world.installed).toEqual(['192.0.2.30/24@3', '198.51.100.100/32@3'])
    world.advance(DOWN)
    expect(states(world)).toEqual(['Initialize', 'Active'])
    // When the change is undone, the two routers run again.
    world.foreign('add', present(2, `${SELF}/24`))
    world.foreign('remove', present(3, '192.0.2.30/24'))
    world.advance(DOWN + 1)
    expect([states(world), faults(world)]).toEqual([
      ['Active', 'Active'],
      [[], []],
    ])
  })

  test('of two routers that arrive together on one interface the first of the file runs', () => {
    const world = new FakeWorld([first, second])
    world.addresses = [present(2, `${SELF}/24`), present(2, '198.51.100.10/24')]
    world.start()
    expect([states(world), faults(world)]).toEqual([
      ['Backup', 'Initialize'],
      [[], ['vridTaken']],
    ])
  })
})

describe('another program that removes the address repeatedly', () => {
  function contested(): FakeWorld {
    const world = activeWorld()
    for (let i = 0; i < MOST_RESTORATIONS; i++) world.foreign('remove', present(2, `${VIP}/32`))
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@2`]])
    world.foreign('remove', present(2, `${VIP}/32`))
    return world
  }

  test('repeated removals make the router give up for a second, with an error, and return', () => {
    const world = contested()
    const { state, faults, restorationsPaused, counters } = world.router()
    expect([state, faults, world.installed]).toEqual(['Initialize', ['restorationsPaused'], []])
    expect(restorationsPaused).toEqual({ address: VIP, forMs: 1_000 })
    expect(counters.foreignChanges).toEqual({ removed: MOST_RESTORATIONS + 1 })
    expect(world.sent.at(-1)?.priority).toBe(0)
    expect(world.records.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      `api: ${VIP} was removed more than ${MOST_RESTORATIONS} times in a minute by another program: the router gives its addresses up for a while`,
    ])
    world.advance(1_001)
    expect([world.router().state, world.router().restorationsPaused]).toEqual(['Backup', null])
    world.advance(DOWN)
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@2`]])
  })

  test('repeated removals after a pause cause a longer pause', () => {
    const world = contested()
    world.advance(1_001 + DOWN)
    world.foreign('remove', present(2, `${VIP}/32`))
    expect(world.router().restorationsPaused?.forMs).toBe(2_000)
  })

  test('an address that is added to a Backup is removed each time', () => {
    const world = new FakeWorld().start()
    world.hear(200)
    for (let i = 0; i < 5 * MOST_RESTORATIONS; i++) world.foreign('add', present(2, `${VIP}/32`))
    expect([world.installed, world.router().counters.foreignChanges]).toEqual([[], { added: 5 * MOST_RESTORATIONS }])
    expect(world.router().restorationsPaused).toBeNull()
  })

  test('a foreign change is logged with interface, prefix and flags', () => {
    const world = activeWorld()
    world.foreign('remove', present(2, `${VIP}/32`))
    world.foreign('add', { ...present(3, `${VIP2}/24`), flags: 0x80 })
    world.foreign('add', { ...present(3, `${VIP}/24`), flags: 0x280 })
    const told = world.records.filter(({ fields }) => fields.change !== undefined)
    expect(told.map(({ message }) => message)).toEqual([
      `api: another program removed ${VIP}/32 from "eth0": adding it again`,
      `api: another program added ${VIP}/24 to "eth1": removing it`,
    ])
    expect(told[1]?.fields).toMatchObject({ interface: 'eth1', prefixLength: 24, flags: 'permanent noprefixroute' })
  })
})
