/**
 * The bytes of orders for the guardian's clock, written by hand from the layout in native/guardian/message.h. test/netns
 * shows that the guardian reads them so.
 */
import { expect, test } from 'vitest'
import type { ClockOrder } from '../../../src/daemon/ports.ts'
import { clockMessage, forgetMessage } from '../../../src/linux/guardian/clock-message.ts'
import { address } from '../../../src/wire/address.ts'
import { millis } from '../../../src/wire/units.ts'

const hex = (data: Uint8Array): string => [...data].map((octet) => octet.toString(16).padStart(2, '0')).join('')
const joined = (...parts: readonly string[]): string => parts.join('').replace(/ /g, '')

const ORDER: ClockOrder = {
  slot: 0x0203,
  unit: 0x0405,
  family: 'ipv4',
  vrid: 51,
  interfaceIndex: 7,
  source: address('192.0.2.1'),
  period: millis(10.5),
  first: millis(4_294_967.296),
  advance: millis(0.65625),
  sentAt: millis(4_294_000),
  records: [],
}

test('an order with a frame and a datagram keeps their sequence, and pads both to a multiple of four octets', () => {
  const frame = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 8, 6, 0xff)
  const datagram = { destination: address('224.0.0.18'), bytes: Uint8Array.of(0x31, 51, 1), ttl: 3 }
  const message = clockMessage(
    {
      ...ORDER,
      records: [
        { frame, every: 258 },
        { datagram, every: 1 },
      ],
    },
    0x070809,
  )
  expect(hex(message)).toBe(
    joined(
      '01 08 0302 02000000 00000000', // format, clock, slot, two records
      '09080700 05040000 07000000', // generation, unit, interface
      '04 33 0000', // IPv4, VRID 51
      'a037a00000000000', // 10 500 000 ns
      '00000000e8030000', // the first round at 1000 * 2^32 ns
      '7a030a0000000000', // up to 656 250 ns earlier
      'c0000201000000000000000000000000',
      '02 00 0201 0f000000 0102030405060708090a0b0c 0806 ff 00',
      '01 00 0100 04 03 0000 07000000 c0000201000000000000000000000000 e0000012000000000000000000000000',
      '03000000 313301 00',
    ),
  )
})

test('an IPv6 order fills sixteen octets of each address, and a hop limit of 0 stands for 255', () => {
  const datagram = { destination: address('ff02::12'), bytes: Uint8Array.of(0xaa, 0xbb, 0xcc, 0xdd) }
  const message = clockMessage(
    { ...ORDER, family: 'ipv6', source: address('fe80::1'), records: [{ datagram, every: 1 }] },
    1,
  )
  expect(hex(message.subarray(24, 28))).toBe('06330000')
  expect(hex(message.subarray(52))).toBe(
    joined(
      'fe800000000000000000000000000001',
      '01 00 0100 06 00 0000 07000000 fe800000000000000000000000000001 ff020000000000000000000000000012',
      '04000000 aabbccdd',
    ),
  )
})

test('forgetting a slot is a header with its number', () => {
  expect(hex(forgetMessage(16_383))).toBe('0109ff3f0000000000000000')
})

test.each([-1, 1.5, 16_384])('slot %s is refused', (slot) => {
  expect(() => forgetMessage(slot)).toThrow(RangeError)
})
