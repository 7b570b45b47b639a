/** Protocol 112 between two namespaces: packets that leave and arrive, and errors. */
import { expect, test } from 'vitest'
import { ip } from '../../src/lab/ip.ts'
import { address } from '../../src/wire/address.ts'
import { describeNetns } from '../support/require.ts'
import type { AgentPacket } from './linux-fixture.ts'
import { GROUP, LEFT, open, RIGHT, received, socketContract, twoEnds } from './two-ends.ts'

const BYTES = '31330102030405060708090a'

describeNetns('the advertisement socket of src/linux', () => {
  const ends = twoEnds()
  socketContract(ends, { wrap: [], sends: 'sendmmsg' })

  /** Returns the VRRP message of a packet; in IPv4 the message follows the IP header. */
  const messageOf = ({ family, bytes }: AgentPacket): string =>
    family === 'ipv4' ? bytes.slice(2 * 4 * (Number.parseInt(bytes.slice(1, 2), 16) & 15)) : bytes

  test.each(['ipv4', 'ipv6'] as const)(
    '%s: multicast from one to the other, not back to the sender',
    async (family) => {
      const { there, left, right } = ends
      const sender = await open(left, family, LEFT[family], GROUP[family])
      const receiver = await open(right, family, RIGHT[family], GROUP[family])
      const before = await left.call('now')
      expect(await left.call('send', sender, [{ destination: GROUP[family], bytes: BYTES }])).toEqual([{ ok: true }])
      const after = await left.call('now')
      const { kept } = await received(right, receiver)
      const [packet] = kept
      expect(kept).toMatchObject([{ family, source: LEFT[family], destination: GROUP[family], ttl: 255 }])
      if (packet === undefined) return
      expect(messageOf(packet)).toBe(BYTES)
      if (family === 'ipv4') expect(packet.bytes.slice(2, 4), 'type of service').toBe('c0')
      // The two namespaces share CLOCK_MONOTONIC: the kernel's receive time lies between the times before and after
      // sending.
      expect(packet.receivedAt).toBeGreaterThanOrEqual(before)
      expect(packet.receivedAt).toBeLessThanOrEqual(after + 1)
      expect((await left.call('drain', sender, 4)).packets, 'our own packet came back').toBe(0)
      const groups = ip(there, 'maddr show dev eth0')
      expect(groups).toContain(GROUP[family])
      await left.call('closeAdvert', sender)
      await right.call('closeAdvert', receiver)
      expect(ip(there, 'maddr show dev eth0')).not.toContain(GROUP[family])
    },
  )

  test.each(['ipv4', 'ipv6'] as const)(
    '%s unicast leaves with TTL 255 and reaches a receiver without a group',
    async (family) => {
      const { left, right } = ends
      const sender = await open(left, family, LEFT[family])
      const receiver = await open(right, family, RIGHT[family])
      const outcomes = await left.call('send', sender, [
        { destination: GROUP[family], bytes: 'ff' },
        { destination: RIGHT[family], bytes: BYTES },
      ])
      expect(outcomes).toEqual([{ ok: true }, { ok: true }])
      const { kept } = await received(right, receiver)
      expect(kept).toMatchObject([{ source: LEFT[family], destination: RIGHT[family], ttl: 255 }])
      expect(kept.map(messageOf)).toEqual([BYTES])
    },
  )

  test('a socket does not receive packets of another interface', async () => {
    const { here, there, left, right } = ends
    ip(here, `link add eth1 type veth peer name eth1 netns ${there}`)
    for (const name of [here, there]) ip(name, 'link set eth1 up')
    ip(here, 'addr add 203.0.113.1/24 dev eth1')
    ip(there, 'addr add 203.0.113.2/24 dev eth1')
    const index = (await left.call('links')).find(({ name }) => name === 'eth1')?.index ?? 0
    const other = await left.open({
      interfaceIndex: index,
      interfaceName: 'eth1',
      family: 'ipv4',
      source: address('203.0.113.1'),
    })
    const receiver = await open(right, 'ipv4', RIGHT.ipv4, GROUP.ipv4)
    const sender = await open(left, 'ipv4', LEFT.ipv4, GROUP.ipv4)
    await left.call('send', other, [
      { destination: GROUP.ipv4, bytes: 'aa' },
      { destination: address('203.0.113.2'), bytes: 'aa' },
    ])
    await left.call('send', sender, [{ destination: GROUP.ipv4, bytes: BYTES }])
    const { kept } = await received(right, receiver)
    expect(kept.map(messageOf)).toEqual([BYTES])
    ip(here, 'link del eth1')
  })

  test('a packet that waited in the queue keeps its receive time', async () => {
    const { left, right } = ends
    const sender = await open(left, 'ipv4', LEFT.ipv4, GROUP.ipv4)
    const receiver = await open(right, 'ipv4', RIGHT.ipv4, GROUP.ipv4)
    const blocked = right.call('block', 300)
    await new Promise((resolve) => setTimeout(resolve, 50))
    await left.call('send', sender, [{ destination: GROUP.ipv4, bytes: BYTES }])
    const sentAt = await left.call('now')
    await blocked
    const { kept, now } = await received(right, receiver)
    expect(now - (kept[0]?.receivedAt ?? 0), 'ms that the packet waited in the queue').toBeGreaterThan(150)
    expect(kept[0]?.receivedAt).toBeLessThanOrEqual(sentAt)
  })

  test('a deleted interface causes errors and no further events, and a socket on the new interface works', async () => {
    const { here, there, left } = ends
    ip(here, `link add eth2 index 21 type veth peer name eth2 netns ${there}`)
    ip(here, 'link set eth2 up')
    ip(here, 'addr add 192.0.2.1/24 dev eth2')
    const options = { interfaceName: 'eth2', family: 'ipv4', source: address('192.0.2.1'), group: GROUP.ipv4 } as const
    const socket = await left.open({ ...options, interfaceIndex: 21 })
    ip(here, 'link del eth2')
    const [outcome] = await left.call('send', socket, [{ destination: GROUP.ipv4, bytes: BYTES }])
    expect(outcome).toMatchObject({ ok: false, failure: { retryable: true } })
    await left.call('closeAdvert', socket)

    expect(await left.call('openAdvert', { ...options, interfaceIndex: 21 })).toMatchObject({
      failure: {
        code: 'ENODEV',
        message: 'Cannot bind a raw socket to "eth2": interface does not exist',
        retryable: true,
      },
    })
    ip(here, `link add eth2 index 22 type veth peer name eth2 netns ${there}`)
    ip(here, 'link set eth2 up')
    ip(there, 'link set eth2 up')
    expect(await left.call('openAdvert', { ...options, interfaceIndex: 22 })).toMatchObject({
      failure: {
        code: 'EADDRNOTAVAIL',
        message: 'Cannot send from 192.0.2.1 on "eth2": the source address is not on this node',
        retryable: true,
      },
    })
    ip(here, 'addr add 192.0.2.1/24 dev eth2')
    const again = await left.open({ ...options, interfaceIndex: 22 })
    expect(await left.call('send', again, [{ destination: GROUP.ipv4, bytes: BYTES }])).toEqual([{ ok: true }])
    ip(here, 'link del eth2')
  })

  test('in a flood of 100 000 packets, each packet is delivered or counted as lost, and memory does not grow', async () => {
    const { left, right } = ends
    const sender = await open(left, 'ipv4', LEFT.ipv4, GROUP.ipv4)
    const receiver = await open(right, 'ipv4', RIGHT.ipv4, GROUP.ipv4)
    const drainAll = async (): Promise<{ packets: number; lost: number }> => {
      const sum = { packets: 0, lost: 0 }
      for (;;) {
        const { packets, lost, empty } = await right.call('drain', receiver, 4, 0)
        sum.packets += packets
        sum.lost += lost
        if (empty) return sum
      }
    }
    /** Sends more packets than the queue holds, so that some packets must be lost. */
    const burst = async (): Promise<{ packets: number; lost: number }> => {
      const sent = await left.call('flood', sender, GROUP.ipv4, 20_000, BYTES)
      expect(sent).toBe(20_000)
      const first = await drainAll()
      // The kernel reports its losses with the next packet that fits into the queue.
      await left.call('send', sender, [{ destination: GROUP.ipv4, bytes: BYTES }])
      const { packets, lost } = await drainAll()
      return { packets: first.packets + packets, lost: first.lost + lost }
    }
    const warm = await burst()
    expect(warm.packets + warm.lost, `packets of the first burst: ${warm.packets} delivered, ${warm.lost} lost`).toBe(
      20_001,
    )
    expect(warm.lost, 'packets of the first burst that were lost').toBeGreaterThan(0)
    const before = await right.call('memory')
    for (let i = 0; i < 4; i++) {
      const { packets, lost } = await burst()
      expect(packets + lost, `packets of burst ${i}: ${packets} delivered, ${lost} lost`).toBe(20_001)
    }
    const growth = (await right.call('memory')) - before
    expect(growth, `growth of the memory in octets over all bursts`).toBeLessThan(16 * 1024 * 1024)
  })

  test('an oversized packet is delivered cut, and the next packet is delivered whole', async () => {
    const { left, right } = ends
    const sender = await open(left, 'ipv4', LEFT.ipv4, GROUP.ipv4)
    const receiver = await open(right, 'ipv4', RIGHT.ipv4, GROUP.ipv4)
    await left.call('send', sender, [
      { destination: GROUP.ipv4, bytes: '31'.repeat(4000) },
      { destination: GROUP.ipv4, bytes: BYTES },
    ])
    const { kept } = await received(right, receiver, 2)
    expect(kept.map(({ bytes }) => bytes.length / 2)).toEqual([1500, 20 + BYTES.length / 2])
  })
})
