/**
 * Sends and receives advertisements with the package `raw-socket` (io: raw-socket), behind the same port as the addon's
 * sockets. This file decides that each direction has its own socket, that whole IP packets are sent, and the list of
 * functions that this socket lacks (LIMITS, logged at start). This file does not know VRRP, except that its checksum
 * covers the pseudo-header: in IPv6 only the checksum shows a packet's destination.
 */
import type {
  AdvertisementSocket,
  AdvertisementSocketOptions,
  Clock,
  Datagram,
  Failure,
  ReceivedPacket,
  SendOutcome,
} from '../../daemon/ports.ts'
import { type Address, address, addressFromBytes, type Family, parseAddress } from '../../wire/address.ts'
import { checksumHolds, pseudoHeaderSum, wordSum } from '../../wire/checksum.ts'
import { millis } from '../../wire/units.ts'
import { ERRNO, failureFrom, failureOf } from '../failure.ts'
import { ipPacket } from './ip-packet.ts'
import {
  BATCH,
  IPPROTO_VRRP,
  joinLate,
  type Progress,
  RECEIVE_BUFFER,
  SIZE,
  VRRP_SOCKET_PRIORITY,
} from './raw-socket.ts'
import { openPackageSocket, type PackageSocket, type RawSocketPackage } from './raw-socket-package.ts'
import {
  bindToDevice,
  joinGroup,
  OPTION,
  setMulticastInterface,
  setNumber,
  setNumberIfKnown,
  setReceiveBuffer,
} from './socket-option.ts'

/**
 * Functions that the daemon lacks with this socket. The list is logged at every start, because the operator chose this
 * socket and can undo that.
 */
export const LIMITS: readonly string[] = [
  'no kernel receive time: after a stall a deadline starts when the packet is read, so a takeover may come later by the stall',
  'IPv6: the hop limit is unknown; where 255 is asked for, only packets from link-local addresses count',
  'IPv6: the destination is unknown; it is taken to be the one for which the checksum holds',
  'the source address is written into the packet: the kernel does not refuse an address that this node has lost',
  'one system call for each packet, in and out: in a flood on a busy machine it falls behind sooner, and a Backup may take over',
  'child processes inherit the sockets (no close-on-exec)',
]

/** VRRP's IPv6 group (RFC 9568 §5.1.2.2). */
const VRRP_GROUP = address('ff02::12')
/** Numbers of the package `raw-socket` for address families: 1 is IPv4, 2 is IPv6. */
const ADDRESS_FAMILY: Record<Family, number> = { ipv4: 1, ipv6: 2 }

export function openRawAdvertisementSocket(
  raw: RawSocketPackage,
  clock: Clock,
  options: AdvertisementSocketOptions,
): AdvertisementSocket | Failure {
  let action = 'open a raw socket'
  let socket: PackageSocket | undefined
  try {
    socket = openPackageSocket(raw, ADDRESS_FAMILY[options.family], IPPROTO_VRRP)
    prepare(socket, options, (next) => {
      action = next
    })
    return new PackageAdvertisementSocket(socket, clock, options)
  } catch (error) {
    socket?.close()
    return failureFrom(error, action)
  }
}

function prepare(
  socket: PackageSocket,
  { family, group, interfaceIndex, interfaceName }: AdvertisementSocketOptions,
  progress: Progress,
): void {
  progress(`bind a raw socket to "${interfaceName}"`)
  bindToDevice(socket, interfaceName)
  // Drops packets that came between socket() and SO_BINDTODEVICE, from any interface. No field of a packet shows the
  // interface on which it arrived.
  const buffer = new Uint8Array(1)
  while (socket.receive(buffer) >= 0);
  progress(`prepare a raw socket on "${interfaceName}"`)
  setReceiveBuffer(socket, RECEIVE_BUFFER)
  if (family === 'ipv4') {
    setNumber(socket, OPTION.ipHeaderIncluded, 1)
    setNumber(socket, OPTION.ipMulticastAll, 0)
    setNumber(socket, OPTION.ipMulticastLoop, 0)
    setMulticastInterface(socket, interfaceIndex)
  } else {
    setNumber(socket, OPTION.ipv6HeaderIncluded, 1)
    setNumberIfKnown(socket, OPTION.ipv6MulticastAll, 0)
    setNumber(socket, OPTION.ipv6MulticastLoop, 0)
    setNumber(socket, OPTION.ipv6MulticastInterface, interfaceIndex)
  }
  setNumber(socket, OPTION.priority, VRRP_SOCKET_PRIORITY)
  if (group !== undefined) {
    progress(`join ${group} on "${interfaceName}"`)
    joinGroup(socket, group, interfaceIndex)
  }
}

class PackageAdvertisementSocket implements AdvertisementSocket {
  readonly #socket: PackageSocket
  readonly #clock: Clock
  readonly #options: AdvertisementSocketOptions
  readonly #buffer: Uint8Array
  #group: Address | undefined
  #dropped = 0
  #isDraining = false
  #isClosed = false

  constructor(socket: PackageSocket, clock: Clock, options: AdvertisementSocketOptions) {
    this.#socket = socket
    this.#clock = clock
    this.#options = options
    this.#buffer = new Uint8Array(SIZE[options.family])
    this.#group = options.group
    socket.start(options.onReadable, (errno) => this.#failed(errno, 'poll'))
  }

  drain(
    maxBatches: number,
    deliver: (packet: ReceivedPacket) => void,
    until = millis(Number.POSITIVE_INFINITY),
  ): ReturnType<AdvertisementSocket['drain']> {
    if (this.#isDraining) throw new Error('Cannot drain an advertisement socket while it delivers')
    let packets = 0
    let empty = this.#isClosed
    let now = this.#clock.now()
    this.#isDraining = true
    try {
      for (let read = 0; read < maxBatches * BATCH && !empty && !this.#isClosed; read++) {
        if (read % BATCH === 0) {
          now = this.#clock.now()
          if (read > 0 && now >= until) break
        }
        const length = this.#socket.receive(this.#buffer)
        if (length === -ERRNO.EAGAIN) {
          empty = true
        } else if (length < 0) {
          this.#failed(length, 'recvfrom')
          break
        } else {
          const packet = this.#packetOf(length, now)
          if (packet === undefined) continue
          packets++
          deliver(packet)
        }
      }
    } finally {
      this.#isDraining = false
    }
    return { packets, empty, lost: this.#isClosed ? 0 : this.#lostSince() }
  }

  send(datagrams: readonly Datagram[]): readonly SendOutcome[] {
    const { interfaceName, source } = this.#options
    return datagrams.map(({ destination, bytes: message, ttl }): SendOutcome => {
      const packet = ipPacket({ source, destination, protocol: IPPROTO_VRRP, message, ttl })
      const result = this.#socket.send(packet, destination)
      if (result >= 0) return { ok: true }
      const action = `send to ${destination} on "${interfaceName}"`
      return { ok: false, failure: failureOf(result, { action, syscall: 'sendto' }) }
    })
  }

  join(wanted: Address): Failure | undefined {
    const failure = joinLate(this.#socket, wanted, this.#options)
    if (failure === undefined) this.#group = wanted
    return failure
  }

  close(): void {
    this.#isClosed = true
    this.#socket.close()
  }

  #failed(errno: number, syscall: string): void {
    const { interfaceName, onFailure } = this.#options
    onFailure(failureOf(errno, { action: `receive on "${interfaceName}"`, syscall }))
  }

  #packetOf(length: number, receivedAt: ReceivedPacket['receivedAt']): ReceivedPacket | undefined {
    const { family } = this.#options
    const bytes = this.#buffer.subarray(0, length)
    if (family === 'ipv4') {
      if (length < 20) return undefined
      const source = addressFromBytes(bytes.subarray(12, 16))
      return { family, source, destination: addressFromBytes(bytes.subarray(16, 20)), ttl: bytes[8], bytes, receivedAt }
    }
    const source = parseAddress(this.#socket.source)
    if (source === undefined) return undefined
    return { family, source, destination: this.#vouchedFor(bytes, source), ttl: undefined, bytes, receivedAt }
  }

  /**
   * Returns the destination address for which the checksum of the message is right. If there is none, the packet is
   * broken, and the receive checks report that for the likely address.
   */
  #vouchedFor(message: Uint8Array, source: Address): Address {
    const { source: own } = this.#options
    const sum = wordSum(message)
    const likely = this.#group ?? own
    // An IPv6 raw socket receives every multicast group that any program of this node has joined, whatever
    // IPV6_MULTICAST_ALL says.
    const holds = (to: Address) => checksumHolds(sum + pseudoHeaderSum(source, to, IPPROTO_VRRP, message.length))
    return [likely, own, VRRP_GROUP].find(holds) ?? likely
  }

  #lostSince(): number {
    const drops = this.#socket.drops()
    const lost = (drops - this.#dropped) >>> 0
    this.#dropped = drops
    return lost
  }
}
