/** Announcements of one segment: their router, time and number, and that none remains after Active (VR-GARP-05). */
import { beforeEach, expect, test } from 'vitest'
import { announcementIn } from '../../../src/arp/probe.ts'
import { Announcer } from '../../../src/daemon/lan/announcer.ts'
import type { SendOutcome } from '../../../src/daemon/ports.ts'
import { type Address, address } from '../../../src/wire/address.ts'
import { type Millis, millis } from '../../../src/wire/units.ts'
import { failure, link } from './fake-world.ts'

let sent: { at: number; address: Address | undefined }[] = []
let now = 0
let outcome: SendOutcome = { ok: true }
let announcer: Announcer
/** Returns false for addresses that the kernel cannot answer for yet. */
const unready = new Set<Address>()
const MAC = link(2, 'eth0').mac

beforeEach(() => {
  sent = []
  now = 0
  outcome = { ok: true }
  unready.clear()
  announcer = new Announcer(
    (frames) =>
      frames.map((frame) => {
        sent.push({ at: now, address: announcementIn(frame)?.address })
        return outcome
      }),
    () => MAC,
    (one) => !unready.has(one),
  )
})

const announced = (name: string, addresses: readonly string[], at: readonly number[] = [0], refresh?: number) => ({
  name,
  family: addresses[0]?.includes(':') === true ? ('ipv6' as const) : ('ipv4' as const),
  addresses: addresses.map(address),
  at: at.map(millis),
  refresh: refresh === undefined ? undefined : millis(refresh),
})

/** Runs the announcer at each of its times, like an alarm that is exactly on time. */
function runUntil(until: number): void {
  for (let next = announcer.nextAt(); next !== undefined && next <= until; next = announcer.nextAt()) {
    now = Math.max(now, next)
    announcer.run(millis(now))
  }
  now = until
}

const times = () => sent.map(({ at }) => at)
const at = (value: number): Millis => millis(value)

test('an announcement is due immediately and is sent by the next run', () => {
  announcer.announce(announced('api', ['192.0.2.100']), 'takeover', at(0))
  expect([sent, announcer.nextAt()]).toEqual([[], 0])
  announcer.run(at(0))
  expect(sent).toEqual([{ at: 0, address: '192.0.2.100' }])
  expect(announcer.nextAt()).toBeUndefined()
})

test('an announcement waits until the kernel can answer for the address, 50 ms at most', () => {
  const vip = address('fd00::100')
  unready.add(vip)
  announcer.announce(announced('api', [vip], [0, 1000]), 'takeover', at(0))
  announcer.run(at(0))
  announcer.run(at(3))
  expect(sent).toEqual([])
  unready.delete(vip)
  now = 4
  announcer.run(at(4))
  expect(times(), 'the kernel has told of it').toEqual([4])
  unready.add(vip)
  runUntil(3000)
  expect(times(), 'it never does').toEqual([4, 1054])
})

test('an announcer follows the plan, then refreshes', () => {
  announcer.announce(announced('api', ['192.0.2.100'], [0, 20, 100], 1000), 'takeover', at(0))
  runUntil(2500)
  expect(times()).toEqual([0, 20, 100, 1100, 2100])
})

test('an announcer announces over a competing Active at 0, 50 and 200 ms, beside the takeover plan', () => {
  announcer.announce(announced('api', ['192.0.2.100'], [0, 500]), 'takeover', at(0))
  runUntil(10)
  announcer.announce(announced('api', ['192.0.2.100']), 'competingActive', at(10))
  runUntil(1000)
  expect(times()).toEqual([0, 10, 60, 210, 500])
})

test('a router that is no longer Active loses its waiting frames, and other routers do not', () => {
  const many = Array.from({ length: 200 }, (_, i) => `10.0.0.${i + 1}`)
  announcer.announce(announced('gone', many, [0, 20]), 'takeover', at(0))
  announcer.announce(announced('stays', ['192.0.2.100'], [0, 20]), 'takeover', at(0))
  runUntil(30)
  sent = []
  announcer.cancel('gone')
  runUntil(5_000)
  expect(sent.map((frame) => frame.address)).toEqual(['192.0.2.100'])
})

test('255 routers that take over announce 256 first frames together, then 2 000 a second', () => {
  for (let i = 0; i < 255; i++) {
    announcer.announce(announced(`r${i}`, [`10.0.${i}.1`, `10.0.${i}.2`]), 'takeover', at(0))
  }
  announcer.run(at(0))
  expect(sent.length).toBe(256)
  runUntil(10_000)
  expect([sent.length, new Set(sent.map((frame) => frame.address)).size]).toEqual([510, 510])
  expect(times().at(-1), 'ms until the last first frame').toBeLessThanOrEqual(128)
})

test('with five frames for each address, each address has its first one before any has its second (docs/adr/0055)', () => {
  const vips = Array.from({ length: 104 }, (_, i) => `10.0.0.${i + 1}`)
  for (const vip of vips) announcer.announce(announced(vip, [vip], [0, 0, 0, 0, 0]), 'takeover', millis(0))
  runUntil(0)
  expect(sent.slice(0, vips.length).map(({ address: one }) => one)).toEqual(vips.map(address))
  expect(sent, 'frames at once').toHaveLength(256)
  runUntil(1_000)
  for (const vip of vips) expect(sent.filter((one) => one.address === address(vip))).toHaveLength(5)
})

test('an announcer counts frames by kind, and those that the kernel refused', () => {
  announcer.announce(announced('six', ['2001:db8::100']), 'takeover', at(0))
  announcer.announce(announced('four', ['192.0.2.100']), 'takeover', at(0))
  announcer.run(at(0))
  outcome = { ok: false, failure: failure('ENETDOWN') }
  announcer.announce(announced('four', ['192.0.2.100']), 'takeover', at(0))
  announcer.run(at(0))
  expect(announcer.sent.toJSON()).toEqual({ neighborAdvertisement: 1, gratuitousArp: 1, failed: 1 })
})
