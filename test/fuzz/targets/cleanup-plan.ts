/**
 * The cleanup plan on its way to the guardian. For every plan of the engine, the message follows the rules at the top
 * of native/guardian/message.h, by a second reading of them. The message contains exactly the wanted plan. An input
 * makes the plan; native/fuzz tests the guardian with other octets.
 */
import type { CleanupPlan, Renewal, WantedAddress } from '../../../src/daemon/ports.ts'
import {
  armMessage,
  LARGEST_MESSAGE,
  lookMessage,
  managerMessage,
  withdrawMessage,
} from '../../../src/linux/guardian/plan-message.ts'
import { parseMessages } from '../../../src/linux/netlink/message.ts'
import { addressFromBytes, type Family, familyOf } from '../../../src/wire/address.ts'
import { millis } from '../../../src/wire/units.ts'
import { must, octets, same, type Target } from '../target.ts'

export const CLEANUP_PLAN: Target = {
  name: 'cleanup-plan',
  corpus: () => [
    new Uint8Array(64),
    Uint8Array.from({ length: 200 }, (_, i) => i),
    Uint8Array.from({ length: 600 }, (_, i) => (i * 37) % 256),
    octets('READY=1\nSTATUS=what it does'),
  ],
  words: [Uint8Array.of(0), Uint8Array.of(255), Uint8Array.of(1, 1), Uint8Array.of(4, 4, 4, 4)],
  largest: 800,
  short: 20_000,
  examine(input) {
    const draw = drawing(input)
    const { generation, plan } = wished(draw)
    const message = armMessage(plan, generation)
    must(message.length <= LARGEST_MESSAGE, 'The message is too long', () => message.length)
    const read = readPlan(message)
    const guarded = generation !== 0 && plan.guard !== undefined
    const renew = guarded ? (plan.guard?.renew ?? []) : []
    must(read.unit === plan.unit && read.guarded === guarded, 'It is of another unit or kind', () => [read, plan])
    must(same(read.remove, plan.remove.map(named)), 'Other addresses are removed', () => [read.remove, plan.remove])
    must(same(read.renew, renew.map(named)), 'Other addresses are renewed', () => [read.renew, renew])
    if (guarded) must(read.generation === generation, 'It is of another generation')
    const wanted = plan.packets.flatMap(({ datagrams, family, interfaceIndex, source }) =>
      datagrams.map(({ bytes, destination, ttl = 0 }) => [
        family,
        ttl,
        interfaceIndex,
        source,
        destination,
        [...bytes],
      ]),
    )
    must(same(read.packets, wanted), 'Other packets are sent', () => [read.packets, wanted])
    for (const [kind, short] of [
      [2, withdrawMessage(plan.unit)],
      [4, lookMessage(plan.unit)],
    ] as const)
      must(same([...short], [1, kind, plan.unit & 0xff, plan.unit >> 8, ...new Uint8Array(8)]), 'It is no such order')
    const words = String.fromCharCode(...input.subarray(0, 40))
    must(Buffer.from(managerMessage(words).subarray(12)).toString('utf8') === words, 'Other words are told')
    return `${guarded} ${Math.min(3, plan.remove.length)} ${Math.min(3, renew.length)} ${Math.min(3, wanted.length)}`
  },
}

/** Returns the address of a request. A renewal must not name a label, which would be a second request. */
const named = ({ address, interfaceIndex, prefixLength }: WantedAddress) => [address, interfaceIndex, prefixLength]

/** Reads the octets as choices; behind their end there are only zeros. */
function drawing(input: Uint8Array) {
  let at = 0
  const octet = () => input[at++] ?? 0
  return {
    octet,
    word: () => octet() * 256 + octet(),
    some: (count: number) => Uint8Array.from({ length: count }, octet),
  }
}
type Draw = ReturnType<typeof drawing>

function wished(draw: Draw): { readonly plan: CleanupPlan; readonly generation: number } {
  const flags = draw.octet()
  const addressOf = (family: Family) => addressFromBytes(draw.some(family === 'ipv4' ? 4 : 16))
  const family = (): Family => (draw.octet() % 2 === 0 ? 'ipv4' : 'ipv6')
  const address = (): WantedAddress => {
    const value = addressOf(family())
    const prefixLength = draw.octet() % (familyOf(value) === 'ipv4' ? 33 : 129)
    return { address: value, prefixLength, interfaceIndex: draw.word() + 1 }
  }
  const several = <T>(most: number, make: () => T): readonly T[] => Array.from({ length: draw.octet() % most }, make)
  const renewal = (): Renewal => ({ ...address(), lifetime: draw.octet() < 64 ? undefined : draw.word() + 1 })
  return {
    generation: flags % 4 === 0 ? 0 : draw.word() + 1,
    plan: {
      unit: draw.word(),
      name: 'w',
      remove: several(6, address),
      ...(flags < 128 ? {} : { guard: { renew: several(6, renewal), grace: millis(draw.word() / 16) } }),
      packets: several(4, () => {
        const spoken = family()
        return {
          family: spoken,
          interfaceIndex: draw.word(),
          source: addressOf(spoken),
          datagrams: several(4, () => ({
            destination: addressOf(spoken),
            // The guardian refuses a message without octets, and the engine sends none.
            bytes: draw.some((draw.octet() % 60) + 1),
            ...(draw.octet() < 128 ? {} : { ttl: draw.octet() }),
          })),
        }
      }),
    },
  }
}

/** Checks a message as the guardian does (check_will), then returns its content. */
function readPlan(message: Uint8Array) {
  const bytes = Buffer.from(message)
  const [kind, requests, packets] = [bytes[1], bytes.readUInt32LE(4), bytes.readUInt32LE(8)]
  must(bytes[0] === 1 && (kind === 1 || kind === 3), 'It is no plan')
  const guarded = kind === 3
  const renewals = guarded ? bytes.readUInt32LE(12) : 0
  let at = guarded ? 28 : 12
  const field = (length: number): Buffer => {
    must(length > 0 && at + length <= bytes.length, 'A field reaches past the message')
    const value = bytes.subarray(at, at + length)
    at += Math.ceil(length / 4) * 4
    must(
      bytes.subarray(at - (Math.ceil(length / 4) * 4 - length), at).every((octet) => octet === 0),
      'Padding is not zero',
    )
    return value
  }
  const all = Array.from({ length: requests + renewals }, () => {
    const one = field(field(4).readUInt32LE(0))
    must(one.readUInt32LE(0) === one.length, 'A request is no netlink message')
    const [envelope, ...others] = parseMessages(one)
    must(envelope !== undefined && others.length === 0, 'A request is several messages')
    const { message: said } = envelope
    must(said.kind === 'address' || said.kind === 'addressGone', 'A request is of another kind', () => said)
    return { kind: said.kind, what: named(said.present) }
  })
  must(
    all.every(({ kind: said }, i) => said === (i < requests ? 'addressGone' : 'address')),
    'A request does something else',
  )
  const datagrams = Array.from({ length: packets }, () => {
    const head = field(44)
    must(head[0] === 4 || head[0] === 6, 'A packet has no family')
    const size = head[0] === 4 ? 4 : 16
    const [source, destination] = [8, 24].map((from) =>
      addressFromBytes(new Uint8Array(head.subarray(from, from + size))),
    )
    const family: Family = head[0] === 4 ? 'ipv4' : 'ipv6'
    return [family, head[1], head.readUInt32LE(4), source, destination, [...field(head.readUInt32LE(40))]]
  })
  must(at === bytes.length, 'Octets are left over')
  return {
    unit: bytes.readUInt16LE(2),
    guarded,
    generation: guarded ? bytes.readUInt32LE(20) : 0,
    remove: all.slice(0, requests).map(({ what }) => what),
    renew: all.slice(requests).map(({ what }) => what),
    packets: datagrams,
  }
}
