/**
 * Interfaces, source addresses, trackers and sockets that appear, disappear and return while the daemon runs, and the
 * faults, priorities and segments that follow.
 */
import { describe, expect, test } from 'vitest'
import { macFromBytes } from '../../../src/wire/mac.ts'
import { FakeWorld, failure, link, PEER, present, ROUTER, type RouterConfig, SELF, VIP, VIP2 } from './fake-world.ts'

const DOWN = 3_500
const OTHER = '192.0.2.11'

function activeWorld(router = ROUTER): FakeWorld {
  const world = new FakeWorld([router]).start()
  world.advance(DOWN + 1)
  expect(world.router().state).toBe('Active')
  world.takeCalls()
  world.sent.length = 0
  return world
}

describe('the interface', () => {
  test('an interface that goes down removes the addresses immediately, and makes the router Backup when it is up', () => {
    const world = activeWorld()
    world.setLink(link(2, 'eth0', { running: false }))
    expect([world.router().state, world.router().faults]).toEqual(['Initialize', ['linkDown']])
    expect([world.installed, world.sent, world.plans.size]).toEqual([[], [], 0])
    world.setLink(link(2, 'eth0'))
    expect(world.router().state).toBe('Backup')
    world.advance(DOWN - 1)
    expect(world.router().state).toBe('Backup')
    world.advance(2)
    expect(world.router().state).toBe('Active')
    expect(world.transitions.slice(-3)).toEqual([
      'api: Active → Initialize: linkDown',
      'api: Initialize → Backup: faultCleared',
      'api: Backup → Active: activeSilent',
    ])
  })

  test('an administratively down interface is down', () => {
    const world = activeWorld()
    world.setLink(link(2, 'eth0', { up: false }))
    expect(world.router().faults).toEqual(['linkDown'])
  })

  test('an interface that returns with another index has a new socket, and the VIP moves there', () => {
    const world = activeWorld()
    world.removeLink(2)
    expect([world.router().faults, world.router().interface]).toEqual([['interfaceMissing'], null])
    expect(world.sockets.filter(({ closed }) => !closed)).toEqual([])
    expect(world.installed).toEqual([])
    world.setLink(link(9, 'eth0', { running: false }))
    expect(world.router().faults).toEqual(['linkDown', 'sourceAddressMissing'])
    world.foreign('add', present(9, `${SELF}/24`))
    world.setLink(link(9, 'eth0'))
    expect(world.router().state).toBe('Backup')
    world.advance(DOWN + 1)
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@9`]])
    expect(world.socket.options.interfaceIndex).toBe(9)
    expect(world.plans.get(0)?.remove.map(({ interfaceIndex }) => interfaceIndex)).toEqual([9])
    // One fault follows the other, without a start in between.
    expect(world.transitions.slice(2)).toEqual([
      // The kernel reports the addresses first.
      'api: Active → Initialize: sourceAddressMissing',
      'api: Initialize → Backup: faultCleared',
      'api: Backup → Active: activeSilent',
    ])
  })

  test('an interface that is missing at the start is a fault until it appears', () => {
    const world = new FakeWorld()
    world.links.delete(2)
    world.addresses = world.addresses.filter(({ interfaceIndex }) => interfaceIndex !== 2)
    world.start()
    expect([world.router().state, world.router().faults]).toEqual(['Initialize', ['interfaceMissing']])
    world.setLink(link(2, 'eth0'))
    world.foreign('add', present(2, `${SELF}/24`))
    expect(world.router().state).toBe('Backup')
  })

  test('an interface with another MAC is announced with the new one', () => {
    const world = activeWorld()
    const other = { ...link(2, 'eth0'), mac: link(7, 'x').mac }
    world.setLink(other)
    world.advance(25)
    expect([world.router().state, world.announced.at(-1)?.mac]).toEqual(['Active', other.mac])
  })

  test('changes of other interfaces are not looked at', () => {
    const world = activeWorld()
    for (let index = 100; index < 200; index++) {
      world.setLink(link(index, `veth${index}`))
      world.foreign('add', present(index, `10.96.0.${index}/32`))
      world.removeLink(index)
    }
    expect(world.calls).toEqual([])
    expect(world.router().state).toBe('Active')
  })
})

describe('the source address', () => {
  test('a source address that disappears and returns is a fault in between', () => {
    const world = activeWorld()
    world.foreign('remove', present(2, `${SELF}/24`))
    expect([world.router().faults, world.installed]).toEqual([['sourceAddressMissing'], []])
    world.foreign('add', present(2, `${SELF}/24`))
    expect(world.router().state).toBe('Backup')
    world.advance(DOWN + 1)
    expect(world.sent.map(({ source }) => source)).toEqual([SELF])
  })

  test('a source address stays although a better one appears (VR-TX-03)', () => {
    const world = activeWorld()
    world.addresses = [present(2, `${OTHER}/24`), ...world.addresses]
    world.notify({ kind: 'addressAdded', present: present(2, `${OTHER}/24`) })
    world.notify({ kind: 'resync' })
    world.settle()
    world.advance(1000)
    expect(world.router().source).toBe(SELF)
    expect(world.sent.map(({ source }) => source)).toEqual([SELF])
  })

  test('a source address that disappears is replaced by another one without a gap', () => {
    const world = activeWorld()
    world.foreign('add', present(2, `${OTHER}/24`))
    world.foreign('remove', present(2, `${SELF}/24`))
    world.advance(1000)
    expect([world.router().state, world.router().source]).toEqual(['Active', OTHER])
    expect([world.sent.map(({ source }) => source), world.socket.options.source]).toEqual([[OTHER], OTHER])
    expect(world.plans.get(0)?.packets[0]?.source).toBe(OTHER)
  })
})

describe('auto', () => {
  const AUTO = { ...ROUTER, interface: 'auto' }

  test('auto stays on its interface when a second one joins the network', () => {
    const world = activeWorld(AUTO)
    world.foreign('add', present(3, '192.0.2.30/24'))
    world.advance(1000)
    expect([world.router().state, world.router().interface]).toEqual(['Active', 'eth0'])
    expect(world.installed).toEqual([`${VIP}/32@2`, '192.0.2.30/24@3'])
  })

  test('auto follows the network to a bridge and takes the VIP along', () => {
    const world = activeWorld(AUTO)
    world.setLink(link(4, 'br0'))
    world.foreign('add', present(4, `${SELF}/24`))
    world.foreign('remove', present(2, `${SELF}/24`))
    world.advance(DOWN + 1000)
    expect([world.router().state, world.router().interface, world.installed]).toEqual([
      'Active',
      'br0',
      [`${VIP}/32@4`],
    ])
    expect(world.plans.get(0)?.remove.map(({ interfaceIndex }) => interfaceIndex)).toEqual([4])
  })
})

describe('a tracked interface', () => {
  test('a tracked interface with a weight is advertised immediately when it goes down and up', () => {
    const world = activeWorld({ ...ROUTER, track: [{ interface: 'eth1', weight: -20 }] })
    world.advance(300)
    world.setLink(link(3, 'eth1', { running: false }))
    expect(
      world.sent.map(({ priority }) => priority),
      'without any time passing',
    ).toEqual([108])
    expect(world.router().priority).toEqual({ base: 128, effective: 108 })
    world.advance(2000)
    world.setLink(link(3, 'eth1'))
    expect(world.sent.at(-1)?.priority).toBe(128)
    expect(world.router().state).toBe('Active')
  })

  test('a tracked interface that is down at the start counts in Skew_Time', () => {
    const world = new FakeWorld([{ ...ROUTER, track: [{ interface: 'eth1', weight: -28 }] }])
    world.links.set(3, link(3, 'eth1', { running: false }))
    world.start()
    expect(world.router().priority.effective).toBe(100)
    expect(world.router().deadlines.activeDownInMs).toBe(3609.4)
  })

  test('a tracked interface without a weight removes the addresses and sends priority 0', () => {
    const world = activeWorld({ ...ROUTER, track: [{ interface: 'eth1' }] })
    world.setLink(link(3, 'eth1', { up: false }))
    expect([world.router().faults, world.installed]).toEqual([['trackedInterfaceDown:eth1'], []])
    expect(world.sent.map(({ priority }) => priority)).toEqual([0])
    world.setLink(link(3, 'eth1'))
    expect(world.router().state).toBe('Backup')
  })

  test('a tracked interface that is deleted is down', () => {
    const world = activeWorld({ ...ROUTER, track: [{ interface: 'eth1' }] })
    world.removeLink(3)
    expect(world.router().faults).toEqual(['trackedInterfaceDown:eth1'])
  })
})

describe('sockets', () => {
  test('two routers on one interface share a socket, and each receives its own VRID', () => {
    const second = { ...ROUTER, name: 'ingress', vrid: 52, addresses: [VIP2] }
    const world = new FakeWorld([ROUTER, second]).start()
    expect(world.sockets.length).toBe(1)
    world.hear(200, { vrid: 52, addresses: [VIP2] })
    expect([world.router('api').counters.received, world.router('ingress').counters.received]).toEqual([0, 1])
    world.advance(DOWN - 100)
    world.hear(200, { vrid: 52, addresses: [VIP2] })
    world.advance(200)
    expect([world.router('api').state, world.router('ingress').state]).toEqual(['Active', 'Backup'])
    expect(world.daemon.snapshot().interfaces.length).toBe(1)
  })

  test('a socket that cannot be opened is a fault, and is tried again every second', () => {
    const world = new FakeWorld()
    world.openFailure = failure('EPERM', 'Cannot open a raw socket: CAP_NET_RAW is missing')
    world.start()
    expect([world.router().state, world.router().faults]).toEqual(['Initialize', ['socketFailed']])
    world.advance(5_500)
    expect(world.router().faults).toEqual(['socketFailed'])
    const told = world.records.filter(({ message }) => message.includes('CAP_NET_RAW'))
    expect(told.length, 'lines in 5.5 s').toBe(1)
    world.openFailure = undefined
    world.advance(1_001)
    expect(world.router().state).toBe('Backup')
    world.advance(DOWN + 1)
    expect(world.router().state).toBe('Active')
  })

  test('a socket through which the kernel refuses to send is counted and logged once', () => {
    const world = activeWorld()
    world.sendFailure = failure('ENOBUFS')
    world.advance(5_000)
    expect([world.router().state, world.router().counters.sendFailures]).toEqual(['Active', { ENOBUFS: 5 }])
    expect(world.records.filter(({ fields }) => fields.code === 'ENOBUFS').length).toBe(1)
    world.sendFailure = undefined
    world.advance(1_000)
    expect(world.sent.length).toBe(1)
  })
})

describe('a unicast router that leaves a fault announces its own address once (VR-UC-08)', () => {
  const unicast = { ...ROUTER, transport: { unicast: { source: SELF, peers: [PEER] } } }
  const recovered = (routers: readonly RouterConfig[]) => {
    const world = new FakeWorld(routers).start()
    expect(world.announced, 'a start is none').toEqual([])
    world.setLink(link(2, 'eth0', { running: false }))
    world.advance(5_000)
    world.setLink(link(2, 'eth0'))
    expect(world.router().state).toBe('Backup')
    world.advance(DOWN - 10)
    return world.announced.map(({ address, mac, at }) => [address, mac, world.now - at])
  }
  const once = [[SELF, link(2, 'eth0').mac, DOWN - 10]]

  test('the own address is announced immediately and once', () => expect(recovered([unicast])).toEqual(once))
  test('two routers of one interface announce the own address together', () => {
    expect(recovered([unicast, { ...unicast, name: 'b', vrid: 52, addresses: [VIP2] }])).toEqual(once)
  })
  test('a multicast router does not announce its own address', () => expect(recovered([ROUTER])).toEqual([]))

  test('the own address is announced after the last of two faults', () => {
    const world = new FakeWorld([{ ...unicast, track: [{ interface: 'eth1' }] }])
    world.setLink(link(2, 'eth0', { running: false }))
    world.setLink(link(3, 'eth1', { running: false }))
    world.start()
    world.setLink(link(2, 'eth0'))
    expect([world.router().faults, world.announced]).toEqual([['trackedInterfaceDown:eth1'], []])
    world.setLink(link(3, 'eth1'))
    expect(world.announced.map(({ address }) => address)).toEqual([SELF])
  })

  test('the own address is announced with a new MAC, and beside the addresses of an owner', () => {
    const world = new FakeWorld([{ ...unicast, priority: 255, addresses: [VIP] }], {
      present: [present(2, `${VIP}/24`)],
    })
    world.start()
    world.setLink(link(2, 'eth0', { running: false }))
    world.announced.length = 0
    const mac = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 0x77))
    world.setLink(link(2, 'eth0', { mac }))
    expect(world.announced.map(({ address, mac: said }) => [address, said])).toEqual([
      [VIP, mac],
      [SELF, mac],
    ])
  })
})
