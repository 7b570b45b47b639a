/**
 * rtnetlink bytes against the kernel's and iproute2's own. Provenance of the golden bytes: a fresh network namespace
 * (kernel 6.18, iproute2 6.1) with `ip link add eth0 address 02:00:00:00:00:01 mtu 1400 type veth peer name p0`.
 * Requests: `strace -e trace=sendmsg -e write=3 ip addr add|del …`, sequence number as ip chose it.
 * Notifications and answers: read from an AF_NETLINK socket bound to the groups 0x111 (neighbors: 0x004) while ip did its
 * work.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addAddressRequest,
  addressesRequest,
  linkRequest,
  parseMessages,
  removeAddressRequest,
  renewAddressRequest,
} from '../../../src/linux/netlink/message.ts'
import { address, addressFromBytes } from '../../../src/wire/address.ts'
import { forAll } from '../../support/for-all.ts'

/** `n*00` stands for n zero octets (interface statistics are long). */
function bytes(text: string): Uint8Array {
  const plain = text.replace(/(\d+)\*00/g, (_, count: string) => '00'.repeat(Number(count))).replace(/\s+/g, '')
  return Uint8Array.from(plain.match(/../g) ?? [], (octet) => Number.parseInt(octet, 16))
}

const hex = (data: Uint8Array): string => [...data].map((octet) => octet.toString(16).padStart(2, '0')).join('')
const messagesOf = (data: Uint8Array) => parseMessages(data).map(({ message }) => message)

const QUIET = { tentative: false, deprecated: false, permanent: true }
const VIP4 = { interfaceIndex: 3, address: address('192.0.2.10'), prefixLength: 32 }
const VIP6 = { interfaceIndex: 3, address: address('2001:db8::10'), prefixLength: 128 }
const SEQUENCE = 0x6b0199b1

describe('requests equal those of iproute2', () => {
  test('ip addr add 192.0.2.10/32 dev eth0 noprefixroute', () => {
    expect(hex(addAddressRequest(VIP4, SEQUENCE))).toBe(
      '3000000014000506b199016b0000000002200000030000000800 0200c000020a080008000002000008000100c000020a'.replace(
        ' ',
        '',
      ),
    )
  })

  test('ip addr add 2001:db8::10/128 dev eth0 nodad noprefixroute preferred_lft 0', () => {
    expect(hex(addAddressRequest(VIP6, SEQUENCE))).toBe(
      '5c00000014000506b199016b000000000a80000003000000' +
        '1400020020010db8000000000000000000000010' +
        '0800080002020000' +
        '1400010020010db8000000000000000000000010' +
        '1400060000000000ffffffff0000000000000000',
    )
  })

  test('ip addr del 192.0.2.10/32 dev eth0', () => {
    expect(hex(removeAddressRequest(VIP4, SEQUENCE))).toBe(
      '2800000015000500b199016b00000000022000000300000008000200c000020a08000100c000020a',
    )
  })

  test('ip addr del 2001:db8::10/128 dev eth0', () => {
    expect(hex(removeAddressRequest(VIP6, SEQUENCE))).toBe(
      '4000000015000500b199016b000000000a80000003000000' +
        '1400020020010db8000000000000000000000010' +
        '1400010020010db8000000000000000000000010',
    )
  })

  test('a request carries the given lifetime, for IPv4 too', () => {
    const request = hex(addAddressRequest(VIP4, SEQUENCE, 4))
    expect(request.endsWith('1400060004000000040000000000000000000000')).toBe(true)
  })

  test('ip addr replace … valid_lft 4 differs by REPLACE only, with preferred lifetime 0 for IPv6', () => {
    const flags = (data: Uint8Array) => hex(data).slice(12, 16)
    const rest = (data: Uint8Array) => hex(data).slice(16)
    for (const vip of [VIP4, VIP6]) {
      const [added, renewed] = [addAddressRequest(vip, SEQUENCE, 4), renewAddressRequest(vip, SEQUENCE, 4)]
      expect([flags(added), flags(renewed), rest(renewed)]).toEqual(['0506', '0505', rest(added)])
    }
    expect(hex(renewAddressRequest(VIP6, SEQUENCE, 4)).endsWith('1400060000000000040000000000000000000000')).toBe(true)
    // The end of a lifetime has to be explicit: without the attribute IPv4 would keep its lifetime.
    expect(hex(renewAddressRequest(VIP4, SEQUENCE)).endsWith('14000600ffffffffffffffff0000000000000000')).toBe(true)
  })

  test('a link is requested by index, all links and all addresses by a dump', () => {
    expect(hex(linkRequest(SEQUENCE, 3))).toBe(
      '2800000012000100b199016b000000000000000003000000000000000000000008001d0008000000',
    )
    expect(hex(linkRequest(SEQUENCE)).slice(8, 16)).toBe('12000103')
    expect(hex(addressesRequest(SEQUENCE)).slice(8, 16)).toBe('16000103')
  })
})

describe('messages of the kernel', () => {
  test('a link that came up is read among statistics and queue disciplines', () => {
    const notification = bytes(`
      d805000010 13*00 010003000000431001000000000009000300657468300000000008000d00e80300000500100006000000
      050011000000000005004300000000000800040078050000080032004400000008003300ffff000008001b000000000008001e0000000000
      08003d000000000008001f000200000008002800ffff0000080029000000010008003a000000010008003f000000010008004000000001
      0008003b00f8ff070008003c00ffff0000080042000000000008002000020000000500210001000000080023000200000008002f00010000
      0008003000010000000600440000000000060045000000000005002700000000000a00010002000000000100000a000200ffffffffffff00
      00cc0017 201*00 640007 97*00 0c002b0005000200000000001000120009000100766574680000000008000500020000000c0006006e
      6f71756575650030031a008c000200880001 13*00 010000000100000001000000010000000000000001 71*00 10270000e803 18*00
      01000000a0020a00080001000000008014000500ffff0000c8f10100bcad0000e8030000f40002000000000040000000780500000100000
      0010000000100000001000000ffffffffa00f0000e803000000000000803a0900805101000300000058020000100000000000000001000000
      010000000100000060ea 26*00 01 11*00 10270000e803000001 11*00 01 11*00 01 19*00 80ee36 9*00 01 24*00
      04000000000000ffff0000ffffffff01 15*00 3401030026 303*00 3c00060007 55*00 140007 17*00 050008000000000024000e
      33*00 04003e8004004180`)
    expect(notification.length).toBe(1496)
    expect(messagesOf(notification)).toEqual([
      {
        kind: 'link',
        link: { index: 3, name: 'eth0', mac: '02:00:00:00:00:01', mtu: 1400, up: true, running: true },
      },
    ])
  })

  test('a link that became a port of a bridge is read from attributes 1, 3, 4, 10 and 18', () => {
    const notification = bytes(`
      b401000010000000000000000000000000000100030000004310010000000000090003006574683000000000080004007805000008000a00
      040000000a00010002000000000100006c0112000900010076657468000000000b0004006272696467650000500105000500010000000000
      06000200200000000800030002000000050004000000000005000500000000000500060000000000050007000000000005001c0000000000
      0500080001000000050009000100000005001b000100000005001e000100000005000a000000000005000c00000000000c000d0080000000
      000000000c000e00800000000000000006000f00018000000600100000000000060011000180000006001200010000000500130000000000
      050014000000000005001d000000000006001f00000000000500200000000000050023000000000005002400000000000500210000000000
      0500270000000000050028000000000005002b00000000000c00150000000000000000000c00160000000000000000000c00170000000000
      00000000050019000100000008002500000200000800260000000000080029000000000008002a0000000000`)
    expect(messagesOf(notification)).toMatchObject([{ kind: 'link', link: { name: 'eth0', portOf: 'bridge' } }])
  })

  test('a deleted link is read', () => {
    const notification = bytes(`
      ac020000110000000000000000000000000001000300000002100000ffffffff09000300657468300000000008000d00e803000005001000
      02000000050011000000000005004300000000000800040078050000080032004400000008003300ffff000008001b000000000008001e00
      0000000008003d000000000008001f000200000008002800ffff0000080029000000010008003a000000010008003f0000000100080040
      000000010008003b00f8ff070008003c00ffff00000800420000000000080020000200000005002100000000000800230003000000
      08002f000100000008003000020000000600440000000000060045000000000005002700000000000a00010002000000000100000a000200
      ffffffffffff0000cc0017000000000000000000030000000000000000000000000000004a01 174*00
      640007000000000003000000000000004a01 82*00 0c002b000500020000000000100012000900010076657468000000000800050000000
      000090006006e6f6f700000000004001a0024000e 33*00 04003e8004004180`)
    expect(notification.length).toBe(684)
    expect(messagesOf(notification)).toEqual([{ kind: 'linkGone', index: 3, name: 'eth0' }])
  })

  test('a port that left its bridge (DELLINK of family AF_BRIDGE) is not a deleted link', () => {
    const notification = bytes(
      '5400000011000000000000000000000007000100020000004310010000000000070003007030000008000a0004000000' +
        '08000400dc05000005001000060000000a000100d6fbff79574400000800050003000000',
    )
    expect(messagesOf(notification)).toEqual([{ kind: 'other', type: 17 }])
  })

  test('a VIP, a point-to-point address and a tentative address are read', () => {
    const added = bytes(
      '5000000014000000be9a016b69180000022080000300000008000100c000020a08000200c000020a0900030065746830' +
        '00000000080008008002000014000600ffffffffffffffffcef10100cef10100',
    )
    const peer = bytes(
      '5000000014000000be9a016b6b180000022080000300000008000100c000021508000200c00002140900030065746830' +
        '00000000080008008000000014000600ffffffffffffffffd3f10100d3f10100',
    )
    const vip6 = bytes(
      '480000001400000000000000000000000a80a200030000001400010020010db80000000000000000000000101400060000000000' +
        'ffffffffd8f10100d8f1010008000800a2020000',
    )
    const tentative = bytes(
      '480000001400000000000000000000000a40c000030000001400010020010db800000000000000000000001114000600ffffffff' +
        'ffffffffdef10100def1010008000800c0000000',
    )
    expect([added, peer, vip6, tentative].flatMap(messagesOf)).toEqual([
      { kind: 'address', present: { ...VIP4, ...QUIET, flags: 0x280, label: 'eth0' } },
      { kind: 'address', present: { ...VIP4, address: '192.0.2.20', ...QUIET, flags: 0x80, label: 'eth0' } },
      { kind: 'address', present: { ...VIP6, tentative: false, deprecated: true, permanent: true, flags: 0x2a2 } },
      {
        kind: 'address',
        present: {
          ...VIP6,
          address: '2001:db8::11',
          prefixLength: 64,
          tentative: true,
          deprecated: false,
          permanent: true,
          flags: 0xc0,
        },
      },
    ])
  })

  test('a removed address is read', () => {
    const removed = bytes(
      '5000000015000000be9a016b71180000022080000300000008000100c000020a08000200c000020a0900030065746830' +
        '00000000080008008002000014000600ffffffffffffffffcef10100cef10100',
    )
    expect(messagesOf(removed)).toEqual([
      { kind: 'addressGone', present: { ...VIP4, ...QUIET, flags: 0x280, label: 'eth0' } },
    ])
  })

  test('an ACK and an EEXIST with an explanation are read', () => {
    const ack = bytes('2400000002000001b199016b00120000000000003000000014000506b199016b00000000')
    const exists = bytes(
      '6800000002000002b199016b0b120000efffffff3000000014000506b199016b000000000220000003000000' +
        '08000200c000020a080008000002000008000100c000020a' +
        '23000100697076343a204164647265737320616c72656164792061737369676e65640000',
    )
    expect([...parseMessages(ack), ...parseMessages(exists)]).toEqual([
      { sequence: SEQUENCE, interrupted: false, message: { kind: 'ack', errno: 0 } },
      { sequence: SEQUENCE, interrupted: false, message: { kind: 'ack', errno: 17 } },
    ])
  })

  test('several messages in one datagram are read, and an interrupted dump is marked', () => {
    const done = '1400000003001200070000000000000000000000'
    const [first, second, ...rest] = parseMessages(bytes(`1000000004000000090000000000000 0${done}`))
    expect(first).toEqual({ sequence: 9, interrupted: false, message: { kind: 'overrun' } })
    expect(second).toEqual({ sequence: 7, interrupted: true, message: { kind: 'done', errno: 0 } })
    expect(rest).toEqual([])
  })
})

describe('neighbour messages', () => {
  const neighbor = (text: string, resolution: string) => ({
    ...{ kind: 'neighbor', interfaceIndex: 3, address: address(text), resolution },
  })

  test.each([
    [
      'reachable',
      '4c0000001c000000000000006845000002000000030000000200000108000100c00002140a000200020000000020000008000400000000001400030000000000000000000000000002000000',
      'resolved',
    ],
    [
      'probe',
      '4c0000001c000000000000008045000002000000030000001000000108000100c00002140a00020002000000002000000800040000000000140003001e0000001e0000000000000002000000',
      'probed',
    ],
    [
      'failed',
      '400000001c00000000000000a845000002000000030000002000000108000100c00002140800040001000000140003003c0000003c0000000000000001000000',
      'unresolved',
    ],
    [
      'stale',
      '4c0000001c00000000000000d145000002000000030000000400000108000100c00002140a0002000200000000200000080004000100000014000300701700005b0000000000000001000000',
      'resolved',
    ],
    [
      'del',
      '400000001d000000000000000000000002000000030000002000000108000100c00002140800040001000000140003008e170000790000001e00000000000000',
      'unresolved',
    ],
  ])('ip neigh … 192.0.2.20 … %s', (_, text, resolution) => {
    expect(messagesOf(bytes(text))).toEqual([neighbor('192.0.2.20', resolution)])
  })

  test('ip -6 neigh replace 2001:db8::20 … nud stale', () => {
    const text =
      '580000001c00000000000000144600000a00000003000000040000011400010020010db8000000000000000000000020' +
      '0a000200020000000020000008000400000000001400030070170000000000000000000001000000'
    expect(messagesOf(bytes(text))).toEqual([neighbor('2001:db8::20', 'resolved')])
  })

  test('bridge fdb add is no neighbour message', () => {
    const text = '280000001c00000000000000000000000700000002000000c00002000a0002000200000000300000'
    expect(messagesOf(bytes(text))).toEqual([{ kind: 'other', type: 28 }])
  })

  test.each([
    ['without a body', '140000001c00000000000000000000000200 0000'],
    ['without an address', '1c0000001c000000000000000000000002000000030000000200000 1'],
    [
      'of IPv4 with 16 octets',
      '300000001c000000000000000000000002000000030000000200000114000100 20010db8000000000000000000000020',
    ],
  ])('a neighbour %s is malformed', (_, text) => {
    expect(messagesOf(bytes(text))).toEqual([{ kind: 'malformed' }])
  })
})

describe('hostile bytes', () => {
  test.each([
    ['a header that is cut', '30000000140005'],
    ['a length shorter than a header', '0f000000140005060000000000000000'],
    ['a length beyond the datagram', 'ff000000140005060000000000000000'],
    ['the largest length', 'ffffffff140005060000000000000000'],
    ['an address without a body', '14000000140000000000000000000000 02200000'],
    ['an address without attributes', '1800000014000000000000000000000002200000 03000000'],
    [
      'an IPv4 address of 16 octets',
      '2c00000014000000000000000000000002200000030000001400010020010db80000000000000000 00000010',
    ],
    ['an attribute longer than its message', '2000000014000000000000000000000002200000030000004000020 0c000020a'],
    ['an attribute shorter than its own head', '2000000014000000000000000000000002200000030000000300020 0c000020a'],
    ['an error without a number', '10000000020000000000000000000000'],
  ])('%s is malformed', (_, text) => {
    expect(messagesOf(bytes(text))).toEqual([{ kind: 'malformed' }])
  })

  test('parseMessages returns for any bytes', () => {
    forAll(100, [fc.uint8Array({ maxLength: 300 })], (data) => Array.isArray(parseMessages(data)))
  })

  test('parseMessages returns for any damage of a valid message', () => {
    const valid = addAddressRequest(VIP6, 1)
    const damage = fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { maxLength: 6 })
    forAll(2000, [damage, fc.nat(valid.length)], (changes, length) => {
      const data = valid.slice(0, length)
      for (const [at, value] of changes) if (at < length) data[at] = value
      return Array.isArray(parseMessages(data))
    })
  })
})

test('a label is sent with its final zero, and only for IPv4', () => {
  const asked = (host: string, prefixLength: number) =>
    Buffer.from(addAddressRequest({ interfaceIndex: 2, address: address(host), prefixLength, label: 'vip' }, 1))
  const attribute = Buffer.from([8, 0, 3, 0, 0x76, 0x69, 0x70, 0])
  expect(asked('192.0.2.1', 32).includes(attribute)).toBe(true)
  expect(asked('2001:db8::1', 128).includes('vip')).toBe(false)
})

test('a parsed request equals the notification that the kernel would send', () => {
  const octets = fc.oneof(
    fc.uint8Array({ minLength: 4, maxLength: 4 }),
    fc.uint8Array({ minLength: 16, maxLength: 16 }),
  )
  forAll(100, [octets, fc.nat(128), fc.nat(0xffffffff), fc.nat(0xffffffff)], (octet, prefixLength, index, sequence) => {
    const wanted = { interfaceIndex: index, address: addressFromBytes(octet), prefixLength }
    const alone = prefixLength === 8 * octet.length ? 0x200 : 0
    const present = { ...wanted, ...QUIET, permanent: false, flags: alone | (octet.length === 4 ? 0 : 0x2) }
    expect(parseMessages(addAddressRequest(wanted, sequence))).toEqual([
      { sequence, interrupted: false, message: { kind: 'address', present } },
    ])
    expect(parseMessages(removeAddressRequest(wanted, sequence))).toEqual([
      { sequence, interrupted: false, message: { kind: 'addressGone', present: { ...present, flags: 0 } } },
    ])
  })
})
