/**
 * Sends and receives ARP or Neighbor Discovery as Ethernet frames (AF_PACKET). This file decides which frames may wake
 * the engine: ARP, or Neighbor Advertisements, of other hosts. A tap that is bound to one EtherType selects these
 * frames. A tap for all EtherTypes would have to filter each packet of a busy node. Other files decide the meaning of a
 * frame.
 */
import type { Failure, FrameSocket, FrameSocketOptions, Hears, SendOutcome } from '../../daemon/ports.ts'
import type { Address, Family } from '../../wire/address.ts'
import { millis } from '../../wire/units.ts'
import type { KernelClock } from '../clock.ts'
import { failureFrom, failureOf } from '../failure.ts'
import type { NativeAddon, NativeSocket } from '../native.ts'
import { readMeta } from './meta-record.ts'
import { clockOffset, type DrainMark, receiveTime } from './receive-time.ts'
import { AF, packetSockaddr } from './sockaddr.ts'
import { JUMP_IF_EQUAL, JUMP_IF_SET, LOAD_BYTE, LOAD_HALF, RETURN, socketFilter } from './socket-filter.ts'
import { OPTION, setNumber } from './socket-option.ts'

const SOCK_RAW = 3
const ETH_P_ARP = 0x0806
const ETH_P_IPV6 = 0x86dd
const PACKET_OUTGOING = 4
const BATCH = 64
/**
 * Octets of the buffer for one frame. An ARP frame has at most 60, and a Neighbor Advertisement with its options fits
 * as well.
 */
const SIZE = 256
/** Batches of frames per wake-up: an ARP storm must not delay the advertisements. */
const MAX_BATCHES = 4

/**
 * Passes Neighbor Advertisements. Ethernet 14 + IPv6 40: next header 58 (ICMPv6), type 136 (RFC 4861 §4.4; such packets
 * have no extension headers in practice).
 */
const NEIGHBOR_ADVERTISEMENT = socketFilter(
  [LOAD_BYTE, 0, 0, 14 + 6],
  [JUMP_IF_EQUAL, 0, 3, 58],
  [LOAD_BYTE, 0, 0, 14 + 40],
  [JUMP_IF_EQUAL, 0, 1, 136],
  [RETURN, 0, 0, 0xffff],
  [RETURN, 0, 0, 0],
)

/** Passes Neighbor Advertisements with flag S: answers to a solicitation. */
const NEIGHBOR_ANSWER = socketFilter(
  [LOAD_BYTE, 0, 0, 14 + 6],
  [JUMP_IF_EQUAL, 0, 5, 58],
  [LOAD_BYTE, 0, 0, 14 + 40],
  [JUMP_IF_EQUAL, 0, 3, 136],
  [LOAD_BYTE, 0, 0, 14 + 40 + 4],
  [JUMP_IF_SET, 0, 1, 0x40],
  [RETURN, 0, 0, 0xffff],
  [RETURN, 0, 0, 0],
)

/** Passes ARP replies. Ethernet 14, then the operation 6 octets into ARP (RFC 826). */
const ARP_REPLY = socketFilter(
  [LOAD_HALF, 0, 0, 14 + 6],
  [JUMP_IF_EQUAL, 0, 1, 2],
  [RETURN, 0, 0, 0xffff],
  [RETURN, 0, 0, 0],
)

/** Octets of an answer without padding: Ethernet 14 and ARP 28, or Ethernet 14, IPv6 40, ICMPv6 24 and a MAC option 8. */
const ANSWER_SIZE: Readonly<Record<Family, number>> = { ipv4: 42, ipv6: 86 }
/** Number of hosts whose answers are expected (native/addon/expected.c). Answers of further hosts wake the engine. */
const MOST_EXPECTED = 32

/**
 * Expects the answers of some hosts. An answer in IPv6 is the same if the kernel has asked for the address of the host.
 * An answer to the kernel also shows that the host is there.
 */
function expectations(
  tap: NativeSocket,
  family: Family,
): Required<Pick<FrameSocket, 'expect' | 'answeredAt' | 'expectNothing'>> {
  const size = ANSWER_SIZE[family]
  const etherType = etherTypeFor(family)
  const hosts: Address[] = []
  return {
    expect(from, answer, within) {
      if (answer.length < size || etherTypeOf(answer) !== etherType) return
      if (!hosts.includes(from)) hosts.push(from)
      const number = hosts.indexOf(from)
      if (number < MOST_EXPECTED) tap.expect(number, answer.subarray(0, size), within)
    },
    answeredAt(from) {
      const number = hosts.indexOf(from)
      return number < 0 || number >= MOST_EXPECTED ? undefined : millis(tap.expectedAt(number))
    },
    expectNothing() {
      hosts.length = 0
      tap.expectNothing()
    },
  }
}

const EVERYTHING = socketFilter([RETURN, 0, 0, 0xffff])
const NOTHING = socketFilter([RETURN, 0, 0, 0])

const FILTERS: Readonly<Record<Family, Readonly<Record<Hears, Uint8Array>>>> = {
  ipv4: { nothing: NOTHING, answers: ARP_REPLY, claims: EVERYTHING },
  ipv6: { nothing: NOTHING, answers: NEIGHBOR_ANSWER, claims: NEIGHBOR_ADVERTISEMENT },
}

/**
 * Protocol 0, and the filter before bind(): an unbound packet socket receives from every interface as soon as the
 * socket exists.
 */
function openTap(
  native: NativeAddon,
  { family, hears, interfaceIndex }: Pick<FrameSocketOptions, 'family' | 'hears' | 'interfaceIndex'>,
): NativeSocket {
  const socket = new native.NativeSocket(AF.packet, SOCK_RAW, 0, BATCH, SIZE)
  try {
    socket.attachFilter(FILTERS[family][hears])
    setNumber(socket, OPTION.timestampNs, 1)
    // A packet socket bound to protocol 0 sends and receives nothing.
    socket.bind(packetSockaddr(hears === 'nothing' ? 0 : etherTypeFor(family), interfaceIndex))
    return socket
  } catch (error) {
    socket.close()
    throw error
  }
}

function listen(
  tap: NativeSocket,
  clock: KernelClock,
  { interfaceName, onFailure, onFrame }: FrameSocketOptions,
  isOpen: () => boolean,
): void {
  const meta = readMeta(tap, SIZE)
  const opened = clock.pair()
  let mark: DrainMark = { offset: clockOffset(opened), emptyAt: opened.monotonic }
  const failed = (errno: number, syscall: string): void =>
    onFailure(failureOf(errno, { action: `receive frames on "${interfaceName}"`, syscall }))

  function drain(): void {
    // A callback may close this socket while it is drained.
    for (let batch = 0; batch < MAX_BATCHES && isOpen(); batch++) {
      const clocks = clock.pair()
      const count = tap.receive()
      const ended = clock.now()
      if (count < 0) failed(count, 'recvmmsg')
      const last = mark
      if (count >= 0 && count < BATCH) mark = { offset: clockOffset(clocks), emptyAt: clocks.monotonic }
      for (let i = 0; i < count && isOpen(); i++) {
        if (meta.packetType(i) === PACKET_OUTGOING) continue
        onFrame?.(meta.bytes(i), receiveTime(meta.realtime(i), clocks, last, ended))
      }
      if (count < BATCH) return
    }
  }
  tap.start(drain, (errno) => failed(errno, 'poll'))
}

const etherTypeFor = (family: Family): number => (family === 'ipv6' ? ETH_P_IPV6 : ETH_P_ARP)
const etherTypeOf = (frame: Uint8Array): number => ((frame[12] ?? 0) << 8) | (frame[13] ?? 0)

const SENT: SendOutcome = { ok: true }

export function openFrameSocket(
  native: NativeAddon,
  clock: KernelClock,
  options: FrameSocketOptions,
): FrameSocket | Failure {
  const { interfaceIndex, interfaceName, hears } = options
  let tap: NativeSocket | undefined
  let open = true
  try {
    tap = openTap(native, options)
    const sender = tap
    const known = new Map<number, Uint8Array>()
    const addressed = (etherType: number): Uint8Array => {
      const sockaddr = known.get(etherType) ?? packetSockaddr(etherType, interfaceIndex)
      known.set(etherType, sockaddr)
      return sockaddr
    }
    if (hears !== 'nothing') listen(tap, clock, options, () => open)
    return {
      send(frames) {
        // The EtherType is also given beside the frame, because queues and packet filters on the way out read that
        // field and not the octets.
        const addresses = frames.map((frame) => addressed(etherTypeOf(frame)))
        const results = sender.send(frames, addresses)
        if (results === undefined) return frames.map(() => SENT)
        return frames.map((_, i) => {
          const result = results[i] ?? 0
          if (result >= 0) return SENT
          const action = `send a frame on "${interfaceName}"`
          return { ok: false, failure: failureOf(result, { action, syscall: 'sendmmsg' }) }
        })
      },
      ...expectations(sender, options.family),
      hear: (wanted) => sender.attachFilter(FILTERS[options.family][wanted]),
      close() {
        open = false
        sender.close()
      },
    }
  } catch (error) {
    tap?.close()
    return failureFrom(error, `open a packet socket on "${interfaceName}"`)
  }
}
