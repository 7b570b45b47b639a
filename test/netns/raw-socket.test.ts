/**
 * Advertisements through the package raw-socket, beside the addon (linux-sockets.test.ts). The packets on the wire are the same. Facts that
 * the package cannot know are reported as unknown. Each test has a raw-socket end and an addon end.
 */
import { expect, test } from 'vitest'
import { ip } from '../../src/lab/ip.ts'
import { encodeAdvertisement } from '../../src/vrrp/packet.ts'
import { type Address, address, type Family } from '../../src/wire/address.ts'
import { centis } from '../../src/wire/units.ts'
import { describeRawSocket } from '../support/require.ts'
import { until } from './linux-fixture.ts'
import { GROUP, LEFT, open, RIGHT, received, socketContract, twoEnds } from './two-ends.ts'

const VIP: Record<Family, Address> = { ipv4: address('198.51.100.100'), ipv6: address('2001:db8::100') }
const RAW = ['env', 'HOLDFAST_IO=raw-socket']

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** Builds a message whose checksum depends on its destination, as IPv6 demands. */
function advertisement(source: Address, destination: Address): string {
  const addresses = [source.includes(':') ? VIP.ipv6 : VIP.ipv4]
  const advertised = { version: 3, vrid: 51, priority: 100, interval: centis(100), addresses } as const
  return hex(encodeAdvertisement(advertised, { source, destination, checksum: 'pseudo-header' }))
}

const fromRight = (family: Family, targets: readonly Address[]) =>
  targets.map((destination) => ({ destination, bytes: advertisement(RIGHT[family], destination) }))

describeRawSocket('raw-socket beside the addon', () => {
  const ends = twoEnds(RAW)
  socketContract(ends, { wrap: RAW, sends: 'sendto' })

  test.each(['ipv4', 'ipv6'] as const)(
    '%s: a packet that raw-socket sends to the group equals the packet of the addon',
    async (family) => {
      const { here, left, right } = ends
      const sender = await open(left, family, LEFT[family], GROUP[family])
      const receiver = await open(right, family, RIGHT[family], GROUP[family])
      const bytes = advertisement(LEFT[family], GROUP[family])
      expect(await left.call('send', sender, [{ destination: GROUP[family], bytes }])).toEqual([{ ok: true }])
      const [packet] = (await received(right, receiver)).kept
      expect(packet).toMatchObject({ family, source: LEFT[family], destination: GROUP[family], ttl: 255 })
      expect(packet?.bytes.endsWith(bytes), `${packet?.bytes} ends with ${bytes}`).toBe(true)
      if (family === 'ipv4') expect(packet?.bytes.slice(2, 4), 'type of service').toBe('c0')
      expect((await left.call('drain', sender, 4)).packets, 'our own packet came back').toBe(0)
      await left.call('closeAdvert', sender)
      await right.call('closeAdvert', receiver)
      expect(ip(here, 'maddr show dev eth0'), 'groups of eth0 after the socket was closed').not.toContain(GROUP[family])
    },
  )

  test.each(['ipv4', 'ipv6'] as const)(
    '%s: raw-socket receives packets to the group and to the host, and distinguishes them',
    async (family) => {
      const { left, right } = ends
      const receiver = await open(left, family, LEFT[family], GROUP[family])
      const sender = await open(right, family, RIGHT[family], GROUP[family])
      const woken = left.readable
      const targets = [GROUP[family], LEFT[family]]
      const datagrams = fromRight(family, targets)
      expect(await right.call('send', sender, datagrams)).toEqual([{ ok: true }, { ok: true }])
      const { kept } = await received(left, receiver, 2)
      const ttl = family === 'ipv4' ? { ttl: 255 } : {}
      expect(kept).toMatchObject(targets.map((destination) => ({ family, source: RIGHT[family], destination, ...ttl })))
      if (family === 'ipv6') expect(kept.map((packet) => packet.ttl)).toEqual([undefined, undefined])
      await until(
        'it was woken',
        () => left.readable,
        (times) => times > woken,
      )
    },
  )

  test.each(['ipv4', 'ipv6'] as const)(
    '%s: a packet to a group that only another process has joined is not reported as a packet to the host',
    async (family) => {
      const { left, right } = ends
      const receiver = await open(left, family, LEFT[family])
      // Another process of this node has joined the group. IP_MULTICAST_ALL would deliver the packet to every socket.
      const joined = await open(left, family, LEFT[family], GROUP[family])
      const sender = await open(right, family, RIGHT[family])
      const targets = [GROUP[family], LEFT[family]]
      const datagrams = fromRight(family, targets)
      await right.call('send', sender, datagrams)
      expect((await received(left, joined, 2)).kept.length).toBe(2)
      // An IPv6 raw socket receives the packet anyway. Such a packet must not count as a packet to this host.
      const heard = family === 'ipv4' ? [LEFT.ipv4] : targets
      expect((await received(left, receiver)).kept.map(({ destination }) => destination)).toEqual(heard)
    },
  )

  test.each(['ipv4', 'ipv6'] as const)(
    '%s: a socket that was opened for one host can join the group later',
    async (family) => {
      const { here, left, right } = ends
      const group = GROUP[family]
      const ours = await open(left, family, LEFT[family])
      const theirs = await open(right, family, RIGHT[family], group)
      const targets = [group, LEFT[family]]
      const datagrams = fromRight(family, targets)
      const heard = async (count: number) =>
        (await received(left, ours, count)).kept.map(({ destination }) => destination)
      await right.call('send', theirs, datagrams)
      expect(await heard(1), 'destinations of the packets before the socket joined the group').toEqual([LEFT[family]])

      expect(await left.call('join', ours, group)).toBe('joined')
      expect(ip(here, 'maddr show dev eth0')).toContain(group)
      await right.call('send', theirs, datagrams)
      expect(await heard(2), 'destinations of the packets after the socket joined the group').toEqual(targets)
      // No checksum shows the destination of this packet. From now on the group is the likely destination.
      await right.call('send', theirs, [{ destination: group, bytes: '31330100' }])
      expect(await heard(1), 'destination of a packet with a wrong checksum').toEqual([group])

      const bytes = advertisement(LEFT[family], group)
      expect(await left.call('send', ours, [{ destination: group, bytes }])).toEqual([{ ok: true }])
      const [packet] = (await received(right, theirs)).kept
      expect(packet).toMatchObject({ source: LEFT[family], destination: group, ttl: 255 })
      expect((await left.call('drain', ours, 4)).packets, 'our own packet came back').toBe(0)
      await left.call('closeAdvert', ours)
      await right.call('closeAdvert', theirs)
      expect(ip(here, 'maddr show dev eth0'), 'groups of eth0 after the socket was closed').not.toContain(group)
    },
  )

  test('the receive time of a packet that waited is the time at which it is read', async () => {
    const { left, right } = ends
    const receiver = await open(left, 'ipv4', LEFT.ipv4, GROUP.ipv4)
    const sender = await open(right, 'ipv4', RIGHT.ipv4, GROUP.ipv4)
    const blocked = left.call('block', 200)
    await new Promise((resolve) => setTimeout(resolve, 50))
    const bytes = advertisement(RIGHT.ipv4, GROUP.ipv4)
    await right.call('send', sender, [{ destination: GROUP.ipv4, bytes }])
    const sentAt = await right.call('now')
    await blocked
    const [packet] = (await received(left, receiver)).kept
    expect(packet?.receivedAt ?? 0, 'receive time of the packet, which must not be before its sending').toBeGreaterThan(
      sentAt,
    )
  })

  test('a deleted interface causes failures as values, and a socket on the new interface works', async () => {
    const { here, there, left } = ends
    const add = (index: string) => {
      ip(here, `link add eth2 index ${index} type veth peer name eth2 netns ${there}`)
      ip(there, 'link set eth2 up')
      ip(here, 'link set eth2 up')
      ip(here, 'addr add 192.0.2.1/24 dev eth2')
    }
    add('21')
    const options = { interfaceName: 'eth2', family: 'ipv4', source: address('192.0.2.1'), group: GROUP.ipv4 } as const
    const socket = await left.open({ ...options, interfaceIndex: 21 })
    ip(here, 'link del eth2')
    const datagram = { destination: GROUP.ipv4, bytes: '3133' }
    const [outcome] = await left.call('send', socket, [datagram])
    expect(outcome).toMatchObject({ ok: false, failure: { retryable: true } })
    expect(await left.call('join', socket, GROUP.ipv4)).toMatchObject({
      code: 'ENODEV',
      message: 'Cannot join 224.0.0.18 on "eth2": interface does not exist',
    })
    await left.call('closeAdvert', socket)
    expect(await left.call('send', socket, [datagram]), 'closed for good').toMatchObject([
      { ok: false, failure: { code: 'EBADF' } },
    ])
    expect(await left.call('openAdvert', { ...options, interfaceIndex: 21 })).toMatchObject({
      failure: { code: 'ENODEV', message: 'Cannot bind a raw socket to "eth2": interface does not exist' },
    })
    add('22')
    const again = await left.open({ ...options, interfaceIndex: 22 })
    expect(await left.call('send', again, [datagram])).toEqual([{ ok: true }])
    ip(here, 'link del eth2')
  })

  test('in a flood each packet is delivered or counted as lost, and memory does not grow', async () => {
    const { left, right } = ends
    const receiver = await open(left, 'ipv4', LEFT.ipv4, GROUP.ipv4)
    const sender = await open(right, 'ipv4', RIGHT.ipv4, GROUP.ipv4)
    const burst = async (): Promise<{ packets: number; lost: number }> => {
      const sum = { packets: 0, lost: 0 }
      expect(await right.call('flood', sender, GROUP.ipv4, 20_000, '313301')).toBe(20_000)
      for (;;) {
        const { packets, lost, empty } = await left.call('drain', receiver, 4, 0)
        sum.packets += packets
        sum.lost += lost
        if (empty) return sum
      }
    }
    const first = await burst()
    expect(
      first.packets + first.lost,
      `packets of the first burst: ${first.packets} delivered, ${first.lost} lost`,
    ).toBe(20_000)
    expect(first.lost, 'lost packets of a burst that is larger than the queue').toBeGreaterThan(0)
    const before = await left.call('memory')
    for (let i = 0; i < 3; i++) {
      const { packets, lost } = await burst()
      expect(packets + lost, `packets of burst ${i}: ${packets} delivered, ${lost} lost`).toBe(20_000)
    }
    const growth = (await left.call('memory')) - before
    expect(growth, `growth of the memory in octets over all bursts`).toBeLessThan(16 * 1024 * 1024)
  })
})
