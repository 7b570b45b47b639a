/**
 * Asks the kernel whether this node would accept an IPv4 packet of a source on an interface (RTM_GETROUTE with an
 * incoming interface, as `ip route get … from … iif …`). By this question every table and rule of policy routing
 * counts, as for a real packet. This file decides which errors mean that the packet is refused. This file does not know
 * the reason of a refusal, nor why the caller asks.
 */
import { type Address, addressBytes } from '../wire/address.ts'
import type { KernelClock } from './clock.ts'
import { ERRNO } from './failure.ts'
import type { NativeAddon } from './native.ts'
import { NLM_F_ACK, request, words } from './netlink/frame.ts'
import { openRequestSocket } from './netlink/socket.ts'

const RTM_GETROUTE = 26
const AF_INET = 2
const RTA_DST = 1
const RTA_SRC = 2
const RTA_IIF = 3
/**
 * Errors that mean a refusal by the reverse path filter. Linux 6.13 and later answer EINVAL for every packet that they
 * would not accept.
 */
const REFUSALS = new Set([ERRNO.EXDEV, ERRNO.EINVAL])

export type IncomingPacket = {
  readonly source: Address
  /** Destination of the packet: an address of this node, or a multicast group that it has joined on the interface. */
  readonly destination: Address
  readonly interfaceIndex: number
}

export type ReversePath = {
  /** Tells whether this node's reverse path filter drops the packet; `undefined` if the kernel gave no answer. */
  refuses(packet: IncomingPacket): boolean | undefined
  close(): void
}

export function openReversePath(native: NativeAddon, clock: KernelClock): ReversePath {
  const socket = openRequestSocket(native, clock)
  return {
    refuses(packet) {
      const [errno = ERRNO.ETIMEDOUT] = socket.ask([(sequence) => routeRequest(packet, sequence)])
      if (errno === 0) return false
      return REFUSALS.has(errno) ? true : undefined
    },
    close: () => socket.close(),
  }
}

function routeRequest({ destination, interfaceIndex, source }: IncomingPacket, sequence: number): Uint8Array {
  // struct rtmsg: family, both prefix lengths, and nine octets that a request leaves empty.
  const fixed = Uint8Array.of(AF_INET, 32, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0)
  return request(RTM_GETROUTE, NLM_F_ACK, sequence, fixed, [
    { type: RTA_DST, value: addressBytes(destination) },
    { type: RTA_SRC, value: addressBytes(source) },
    { type: RTA_IIF, value: words(interfaceIndex) },
  ])
}
