/**
 * Packets of protocol 112 that say the same as an earlier one (docs/adr/0087): which are only noted by the addon, and
 * which are delivered. Each packet passes a real socket.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { ip } from '../../src/lab/ip.ts'
import { type Address, address, type Family } from '../../src/wire/address.ts'
import { describeNetns } from '../support/require.ts'
import { type AgentPacket, type AgentRepetition, until } from './linux-fixture.ts'
import { GROUP, LEFT, open, RIGHT, received, twoEnds } from './two-ends.ts'

const VRID = 0x33
/** Version 3, VRID 0x33, priority 200, one address. */
const SAME = '3133c8010064f00dc6336464'
const OTHER_PRIORITY = '3133c7010064f00dc6336464'
const OTHER_VRID = '3134c8010064f00dc6336464'
const LONG = 60_000

describeNetns('repeated packets', () => {
  const ends = twoEnds()

  async function watched(family: Family, limits: Partial<AgentRepetition> = {}) {
    const { left, right } = ends
    const sender = await open(left, family, LEFT[family])
    const receiver = await open(right, family, RIGHT[family], GROUP[family])
    onTestFinished(async () => {
      await left.call('closeAdvert', sender)
      await right.call('closeAdvert', receiver)
    })
    const send = (bytes: string, from = sender, ttl?: number, destination: Address = GROUP[family]) =>
      left.call('send', from, [{ destination, bytes, ...(ttl === undefined ? {} : { ttl }) }])
    await send(SAME)
    const [first] = (await received(right, receiver)).kept
    if (first === undefined) throw new Error('No packet')
    const order = { ...first, vrid: VRID, heardAt: first.receivedAt, within: LONG, delay: LONG, bounds: [5, 100] }
    const watch = () => right.call('watchRepeated', receiver, { ...order, ...limits })
    expect(await watch()).toBe(true)
    const before = await right.call('wakeUps')
    const noted = async () => (await right.call('readRepeated', receiver, VRID)) ?? undefined
    const delivered = async () => (await right.call('drain', receiver, 32)).kept.map(messageOf)
    const wakeUps = async () => (await right.call('wakeUps')) - before
    return { first, sender, receiver, send, noted, delivered, watch, wakeUps }
  }

  const messageOf = ({ bytes, family }: AgentPacket): string => (family === 'ipv4' ? bytes.slice(40) : bytes)

  test.each(['ipv4', 'ipv6'] as const)('%s: repetitions are counted and never delivered', async (family) => {
    const { delivered, first, noted, send, wakeUps } = await watched(family)
    for (let i = 0; i < 3; i++) {
      await sleep(20)
      await send(SAME)
    }
    let count = 0
    const all = { cells: [0, 0, 0], heardAt: first.receivedAt as number, sum: 0 }
    await until(
      'three repetitions',
      async () => {
        const read = await noted()
        count += read?.count ?? 0
        all.sum += read?.sum ?? 0
        all.heardAt = read?.heardAt ?? 0
        all.cells = all.cells.map((cell, i) => cell + (read?.cells[i] ?? 0))
        return count
      },
      (seen) => seen === 3,
    )
    expect(all.sum).toBeCloseTo(all.heardAt - first.receivedAt, 3)
    expect(all.cells.reduce((sum, cell) => sum + cell, 0)).toBe(3)
    expect(all.cells[0], 'gaps of at most 5 ms').toBe(0)
    expect(await delivered()).toEqual([])
    expect(await wakeUps()).toBe(0)
  })

  test('a packet that differs in one octet, the TTL, the source or the destination is delivered and does not count', async () => {
    const { here, left } = ends
    const { delivered, noted, send } = await watched('ipv4')
    ip(here, 'addr add 198.51.100.77/24 dev eth0')
    const other = await open(left, 'ipv4', address('198.51.100.77'))
    onTestFinished(async () => {
      await left.call('closeAdvert', other)
      ip(here, 'addr del 198.51.100.77/24 dev eth0')
    })
    const octets = Buffer.from(SAME, 'hex')
    const changed = [...octets.keys()].map((i) => {
      const copy = Buffer.from(octets)
      copy.writeUInt8(octets.readUInt8(i) ^ 1, i)
      return copy.toString('hex')
    })
    const longer = `${SAME}00`
    const shorter = SAME.slice(0, -2)
    for (const bytes of [...changed, longer, shorter]) await send(bytes)
    await send(SAME, undefined, 254)
    await send(SAME, undefined, undefined, RIGHT.ipv4)
    await send(SAME, other)
    const seen: string[] = []
    await until(
      'all packets',
      async () => seen.push(...(await delivered())),
      (count) => count >= changed.length + 5,
    )
    expect(seen).toEqual([...changed, longer, shorter, SAME, SAME, SAME])
    expect(await noted()).toMatchObject({ count: 0 })
  })

  test('after news of the same VRID, a packet keeps its place in the queue', async () => {
    const { right } = ends
    const { delivered, noted, send, wakeUps } = await watched('ipv4')
    const blocked = right.call('block', 300)
    await sleep(50)
    for (const bytes of [SAME, OTHER_VRID, SAME, OTHER_PRIORITY, SAME]) await send(bytes)
    await blocked
    await until('a wake-up', wakeUps, (count) => count > 0)
    // The packets before the news are noted, those after it are delivered behind it.
    expect(await noted()).toMatchObject({ count: 2 })
    expect(await delivered()).toEqual([OTHER_VRID, OTHER_PRIORITY, SAME])
  })

  test('a packet after a long gap or after the end of the watch is delivered', async () => {
    const { delivered, noted, receiver, send } = await watched('ipv4', { within: 100 })
    await sleep(150)
    await send(SAME)
    const seen: string[] = []
    const all = (count: number) =>
      until(
        `${count} packets`,
        async () => seen.push(...(await delivered())),
        (length) => length === count,
      )
    await all(1)
    expect(await noted()).toMatchObject({ count: 0 })
    await ends.right.call('endRepeated', receiver, VRID)
    await send(SAME)
    await all(2)
    expect(await noted()).toBeUndefined()
  })

  test('a packet after the time limit of the watch is delivered', async () => {
    const { delivered, first, noted, send } = await watched('ipv4', { until: (await ends.right.call('now')) + 200 })
    expect(first.receivedAt).toBeGreaterThan(0)
    await sleep(300)
    await send(SAME)
    await until('the packet', delivered, (seen) => seen.length === 1)
    expect(await noted()).toMatchObject({ count: 0 })
  })

  test('the deadline is counted from the last repetition, and is reported once', async () => {
    const { right } = ends
    const { noted, send, wakeUps } = await watched('ipv4', { delay: 400 })
    const { length } = right.overdue
    for (let i = 0; i < 8; i++) {
      await sleep(100)
      await send(SAME)
    }
    const [overdueAt] = await until(
      'the report',
      () => right.overdue.slice(length),
      (all) => all.length > 0,
    )
    const read = await noted()
    expect(read?.count).toBe(8)
    expect(overdueAt ?? 0).toBeGreaterThanOrEqual((read?.heardAt ?? 0) + 400)
    await sleep(600)
    expect(right.overdue.length - length).toBe(1)
    expect(await wakeUps()).toBe(0)
  })

  test.each(['ipv4', 'ipv6'] as const)(
    '%s: after a calm time repetitions do not wake the process, and a packet that differs does, in its place',
    async (family) => {
      const { right } = ends
      const { delivered, noted, send, wakeUps } = await watched(family)
      const repeat = async (count: number) => {
        for (let i = 0; i < count; i++) {
          await send(SAME)
          await sleep(5)
        }
      }
      await repeat(20)
      const before = await right.call('sleeps')
      await repeat(60)
      expect((await right.call('sleeps')) - before, 'sleeps of the process during 60 packets').toBeLessThan(30)
      expect(await wakeUps()).toBe(0)
      for (const bytes of [SAME, OTHER_PRIORITY, SAME]) await send(bytes)
      await until('a wake-up', wakeUps, (count) => count > 0)
      expect(await noted()).toMatchObject({ count: 81 })
      const seen: string[] = []
      await until(
        'both packets',
        async () => seen.push(...(await delivered())),
        (count) => count >= 2,
      )
      expect(seen).toEqual([OTHER_PRIORITY, SAME])
    },
  )

  test("a blocked event loop loses no repetition, and their deadline is counted from the kernel's time", async () => {
    const { right } = ends
    const { delivered, noted, send } = await watched('ipv4', { delay: 20_000 })
    const blocked = right.call('block', 1_000)
    const before = await ends.left.call('now')
    for (let i = 0; i < 14; i++) await send(SAME)
    const after = await ends.left.call('now')
    await blocked
    expect(await delivered()).toEqual([])
    const read = await noted()
    expect(read?.count).toBe(14)
    expect(read?.heardAt).toBeGreaterThanOrEqual(before)
    expect(read?.heardAt).toBeLessThanOrEqual(after + 1)
  })

  test('a flood of nearly identical packets neither stops the watch nor counts as repetitions', async () => {
    const { left, right } = ends
    const { delivered, noted, receiver, send, sender } = await watched('ipv4')
    const flooded = await left.call('flood', sender, GROUP.ipv4, 20_000, OTHER_PRIORITY)
    expect(flooded).toBeGreaterThan(10_000)
    await until(
      'an empty queue',
      () => right.call('drain', receiver, 32, 0),
      ({ empty, packets }) => empty && packets === 0,
    )
    expect(await noted()).toMatchObject({ count: 0 })
    await send(SAME)
    // The first packet after an overflow is delivered, so that the engine learns of the lost packets.
    await sleep(50)
    await delivered()
    await send(SAME)
    await until('a repetition', noted, (read) => read !== undefined && read.count > 0)
    expect(await delivered()).toEqual([])
  })
})
