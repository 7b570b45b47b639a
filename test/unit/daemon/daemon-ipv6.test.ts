/** An IPv6 router in the daemon: its source, its questions, and when it announces and receives announcements. */
import { describe, expect, test } from 'vitest'
import { neighborAdvertisement } from '../../../src/arp/neighbor-advertisement.ts'
import { address } from '../../../src/wire/address.ts'
import { macBytes, macFromBytes } from '../../../src/wire/mac.ts'
import { FakeWorld, GROUP6, link, present, ROUTER, type RouterConfig, SELF } from './fake-world.ts'

const DOWN = 3_500
const OWN = 'fe80::10'
const PEER6 = 'fe80::20'
const VIP6 = 'fd00::100'
const OTHER_MAC = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 0x99))
const ROUTER6: RouterConfig = { ...ROUTER, addresses: [VIP6] }

function world6(routers: readonly RouterConfig[] = [ROUTER6]): FakeWorld {
  return new FakeWorld(routers, { present: [present(2, `${OWN}/64`)] }).start()
}

function activeWorld(extra: RouterConfig = {}): FakeWorld {
  const world = world6([{ ...ROUTER6, ...extra }])
  world.advance(DOWN + 1)
  expect([world.router().state, world.installed.includes(`${VIP6}/128@2`)]).toEqual(['Active', true])
  return world
}

/** Answer of another host's kernel to us alone. S in place of R changes the sum of the message by 0x4000. */
function answerOf(mac: typeof OTHER_MAC): Uint8Array {
  const frame = neighborAdvertisement({ address: address(VIP6), mac })
  frame.set(macBytes(link(2, 'eth0').mac))
  frame[58] = 0x60
  const sum = ((frame[56] ?? 0) << 8) | (frame[57] ?? 0)
  const fixed = (sum + 0x4000) % 0xffff
  frame.set([fixed >> 8, fixed & 0xff], 56)
  return frame
}

test('an IPv6 router sends from the link-local address to the group', () => {
  const world = activeWorld()
  const { source, group, family } = world.socket.options
  expect([source, group, family]).toEqual([OWN, GROUP6, 'ipv6'])
  expect(world.sent[0]).toMatchObject({ source: OWN, destination: GROUP6, vrid: 51 })
  world.hear(200, { source: PEER6, addresses: [VIP6] })
  expect([world.router().state, world.router().holder.address]).toEqual(['Backup', PEER6])
  expect(world.installed).not.toContain(`${VIP6}/128@2`)
})

test('an IPv6 router waits while the link-local address is tentative', () => {
  const tentative = { ...present(2, `${OWN}/64`), tentative: true }
  const world = new FakeWorld([ROUTER6], { present: [tentative] }).start()
  expect(world.router().faults).toEqual(['sourceAddressMissing'])
  world.addresses = world.addresses.map((each) => ({ ...each, tentative: false }))
  world.notify({ kind: 'addressAdded', present: present(2, `${OWN}/64`) })
  world.settle()
  expect(world.router().state).toBe('Backup')
})

describe('announcements', () => {
  test('an IPv6 address is announced when the kernel reports it, and can answer for it', () => {
    const world = world6()
    world.holdNotifications = true
    world.advance(DOWN + 1)
    expect([world.router().state, world.announced]).toEqual(['Active', []])
    world.advance(10)
    expect(world.announced).toEqual([])
    const at = world.now
    world.takeCalls()
    world.holdNotifications = false
    world.settle()
    expect(world.calls, 'after the kernel has finished what it told').toEqual(['settle 2', `announce eth0 ${VIP6}`])
    expect(world.announced.map((each) => [each.at, each.address])).toEqual([[at, VIP6]])
    world.advance(2_100)
    expect(world.announced.map((each) => each.at - at)).toEqual([0, 1_000, 2_000])
  })

  test('an IPv6 address is announced after 50 ms without a report of the kernel', () => {
    const world = world6()
    world.holdNotifications = true
    world.advance(DOWN + 1)
    world.dropNotifications()
    world.advance(51)
    expect(world.announced.length).toBe(1)
  })
})

test('an IPv6 Active asks the holders of the address before and after every periodic advertisement', () => {
  const world = activeWorld({ radar: false })
  world.advance(3_000)
  expect(world.asked.map((each) => [each.address, each.to])).toEqual(Array(6).fill([VIP6, '33:33:ff:00:01:00']))
})

test('duplicate address detection asks from the link-local address, even if advertisements have another source', () => {
  const transport = { unicast: { source: 'fd00::10', peers: ['fd00::20'] } }
  const own = [present(2, `${OWN}/64`), present(2, 'fd00::10/64')]
  const router = { ...ROUTER6, addresses: ['fe80::51', VIP6], transport, probeRivals: false, stagger: false }
  const world = new FakeWorld([router], { present: own }).start()
  world.advance(DOWN + 5_000)
  expect(world.router().source).toBe('fd00::10')
  expect(new Set(world.asked.map(({ address: asked, from }) => `${asked} from ${from}`))).toEqual(
    new Set([`fe80::51 from ${OWN}`, `${VIP6} from ${OWN}`]),
  )
})

test('an answer to us is a competing host, and an announcement of another host is not', () => {
  // An answer right after a question of duplicate address detection belongs to it.
  const world = activeWorld({ radar: false })
  world.advance(10_000)
  const before = world.announced.length
  world.hearAnnouncement(neighborAdvertisement({ address: address(VIP6), mac: OTHER_MAC }))
  expect([world.router().counters.competingAnswers, world.announced.length]).toEqual([0, before])
  world.hearAnnouncement(answerOf(OTHER_MAC))
  expect([world.router().counters.competingAnswers, world.announced.length]).toEqual([1, before + 1])
  expect(world.router().state).toBe('Active')
})

test('a router in Leaving removes an IPv6 address 5 ms after the successor’s first announcement', () => {
  const world = activeWorld()
  void world.daemon.stop()
  expect(world.listening).toEqual(['claims'])
  world.hear(100, { source: PEER6, addresses: [VIP6] })
  world.hearAnnouncement(neighborAdvertisement({ address: address(VIP6), mac: OTHER_MAC }))
  world.advance(4)
  expect(world.installed).toContain(`${VIP6}/128@2`)
  world.advance(2)
  expect(world.installed).not.toContain(`${VIP6}/128@2`)
})

test('both families may use one VRID on one interface', () => {
  const world = world6([ROUTER, { ...ROUTER6, name: 'api6' }])
  expect(world.sockets.map(({ options }) => [options.family, options.source])).toEqual([
    ['ipv4', SELF],
    ['ipv6', OWN],
  ])
  world.advance(DOWN + 1)
  expect([world.router('api').state, world.router('api6').state]).toEqual(['Active', 'Active'])
  world.foreign('remove', present(2, `${OWN}/64`))
  expect([world.router('api').state, world.router('api6').faults]).toEqual(['Active', ['sourceAddressMissing']])
})

test('a unicast router that leaves a fault announces its own address (VR-UC-08)', () => {
  const world = world6([{ ...ROUTER6, transport: { unicast: { source: OWN, peers: [PEER6] } } }])
  world.setLink(link(2, 'eth0', { running: false }))
  world.setLink(link(2, 'eth0'))
  expect(world.router().state).toBe('Backup')
  expect(world.announced.map(({ address: said, mac }) => [said, mac])).toEqual([[OWN, link(2, 'eth0').mac]])
})
