/**
 * The bytes of cleanup plans, written by hand from the layout in native/guardian/message.h. test/netns shows that the
 * guardian reads them so.
 */
import { expect, test } from 'vitest'
import {
  armMessage,
  LARGEST_MESSAGE,
  logMessage,
  lookMessage,
  readyMessage,
  withdrawMessage,
} from '../../../src/linux/guardian/plan-message.ts'
import { address } from '../../../src/wire/address.ts'
import { millis } from '../../../src/wire/units.ts'

const hex = (data: Uint8Array): string => [...data].map((octet) => octet.toString(16).padStart(2, '0')).join('')

test('a plan with one IPv4 address and a packet of five octets pads the packet to eight', () => {
  const message = armMessage({
    unit: 0x0102,
    name: 'api',
    remove: [{ interfaceIndex: 3, address: address('192.0.2.10'), prefixLength: 32 }],
    packets: [
      {
        family: 'ipv4',
        interfaceIndex: 3,
        source: address('192.0.2.1'),
        datagrams: [{ destination: address('224.0.0.18'), bytes: Uint8Array.of(1, 2, 3, 4, 5) }],
      },
    ],
  })
  expect(hex(message)).toBe(
    [
      '01 01 0201 01000000 01000000', // format, arm, unit, one request, one packet
      '28000000', // a request of 40 octets: RTM_DELADDR as `ip addr del` sends it, sequence 0
      '2800000015000500000000000000000002200000 03000000 08000200c000020a 08000100c000020a',
      '04 00 0000 03000000', // IPv4, interface 3
      'c0000201000000000000000000000000',
      'e0000012000000000000000000000000',
      '05000000 0102030405 000000',
    ]
      .join('')
      .replace(/ /g, ''),
  )
})

test('IPv6 addresses fill sixteen octets, and every datagram of a group is a packet with its hop limit', () => {
  const datagram = { destination: address('ff02::12'), bytes: Uint8Array.of(0xaa, 0xbb, 0xcc, 0xdd) }
  const message = armMessage({
    unit: 7,
    name: 'api6',
    remove: [],
    packets: [
      {
        family: 'ipv6',
        interfaceIndex: 258,
        source: address('fe80::1'),
        datagrams: [datagram, { ...datagram, ttl: 3 }],
      },
    ],
  })
  const packet = '02010000 fe800000000000000000000000000001 ff020000000000000000000000000012 04000000 aabbccdd'
  expect(hex(message)).toBe(`0101 0700 00000000 02000000 06000000${packet} 06030000${packet}`.replace(/ /g, ''))
})

test('the plan of 255 IPv6 addresses to 254 unicast peers fits', () => {
  const group = address('2001:db8::1')
  const bytes = new Uint8Array(8 + 255 * 16)
  const message = armMessage({
    unit: 1,
    name: 'all',
    remove: Array.from({ length: 255 }, () => ({ interfaceIndex: 2, address: group, prefixLength: 128 })),
    packets: [
      {
        family: 'ipv6',
        interfaceIndex: 2,
        source: group,
        datagrams: Array.from({ length: 254 }, () => ({ destination: group, bytes })),
      },
    ],
  })
  expect(message.length).toBeGreaterThan(1_000_000)
  expect(message.length).toBeLessThan(LARGEST_MESSAGE)
})

test('withdraw, look and ready consist of a header', () => {
  expect(hex(withdrawMessage(5))).toBe('010205000000000000000000')
  expect(hex(lookMessage(5))).toBe('010405000000000000000000')
  expect(hex(readyMessage())).toBe('010600000000000000000000')
})

const VIP = { interfaceIndex: 3, address: address('192.0.2.10'), prefixLength: 32 }
const guarded = (lifetime: number | undefined) => ({
  unit: 5,
  name: 'api',
  remove: [VIP],
  packets: [],
  guard: { renew: [{ ...VIP, lifetime }], grace: millis(609.4) },
})
const REMOVAL = '28000000 2800000015000500000000000000000002200000030000000 8000200c000020a08000100c000020a'

test('a guarded plan has its renewals behind the removals, and a third of the lifetime as period', () => {
  const renewal =
    '44000000 440000001400050500000000 00000000 0220000003000000' + // CREATE, REPLACE, ACK, REQUEST
    '08000200c000020a 0800080000020000 08000100c000020a' +
    '14000600 04000000 04000000 0000000000000000' // IFA_CACHEINFO: preferred and valid 4 s
  expect(hex(armMessage(guarded(4), 0x010203))).toBe(
    // one renewal, every 1333 ms, generation, 610 ms of grace
    `01030500 01000000 00000000 01000000 35050000 03020100 62020000 ${REMOVAL} ${renewal}`.replace(/ /g, ''),
  )
})

test('addresses without a lifetime are renewed once, with a period of 0', () => {
  const renewal =
    '44000000 440000001400050500000000 00000000 0220000003000000' +
    '08000200c000020a 0800080000020000 08000100c000020a' +
    '14000600 ffffffff ffffffff 0000000000000000'
  expect(hex(armMessage(guarded(undefined), 1))).toBe(
    `01030500 01000000 00000000 01000000 00000000 01000000 62020000 ${REMOVAL} ${renewal}`.replace(/ /g, ''),
  )
})

test('the shortest lifetime of a unit sets its period, and each address keeps its own lifetime', () => {
  const plan = guarded(4)
  const renew = [9, 3, undefined].map((lifetime) => ({ ...VIP, lifetime }))
  const message = armMessage({ ...plan, guard: { ...plan.guard, renew } }, 1)
  const view = new DataView(message.buffer)
  expect([view.getUint32(12, true), view.getUint32(16, true)], 'renewals, period').toEqual([3, 1000])
  const valid = [0, 1, 2].map((i) => view.getUint32(28 + 44 + 72 * i + 4 + 56, true))
  expect(valid, 's of the three').toEqual([9, 3, 0xffffffff])
})

test('a guarded plan may have nothing to renew', () => {
  const plan = guarded(4)
  expect(hex(armMessage({ ...plan, guard: { ...plan.guard, renew: [] } }, 1))).toBe(
    `01030500 01000000 00000000 00000000 00000000 01000000 62020000 ${REMOVAL}`.replace(/ /g, ''),
  )
})

test('without a word the same plan is sent without a guard', () => {
  expect(hex(armMessage(guarded(4)))).toBe(`01010500 01000000 00000000 ${REMOVAL}`.replace(/ /g, ''))
})

test('a unit beyond 65535 throws', () => {
  expect(() => withdrawMessage(65_536)).toThrow(RangeError)
})

test.each([
  [undefined, 0],
  ['json', 1],
  ['text', 2],
  ['journald', 3],
] as const)('log: the format %s is number %d, in the place of the unit', (format, number) => {
  expect(hex(logMessage(format))).toBe(`01070${number}000000000000000000`)
})
