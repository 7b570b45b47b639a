/**
 * Socket options by name: the numbers of asm-generic/socket.h, linux/in.h, in6.h, if_packet.h and netlink.h (the same
 * on x64 and arm64), and the layout of their values. Other files decide which socket needs which option.
 */
import type { Address } from '../../wire/address.ts'
import { addressBytes } from '../../wire/address.ts'
import type { NativeSocket } from '../native.ts'

/**
 * A socket whose options can be set: the addon's socket, or another object that takes options as setsockopt(2) does.
 */
type Target = Pick<NativeSocket, 'setOption'>

type Option = readonly [level: number, name: number]

export const OPTION = {
  reuseAddress: [1, 2],
  receiveBuffer: [1, 8],
  priority: [1, 12],
  bindToDevice: [1, 25],
  receiveBufferForce: [1, 33],
  timestampNs: [1, 35],
  overflowCount: [1, 40],
  ipTos: [0, 1],
  ipTtl: [0, 2],
  ipHeaderIncluded: [0, 3],
  ipPacketInfo: [0, 8],
  ipReceiveTtl: [0, 12],
  ipMulticastInterface: [0, 32],
  ipMulticastTtl: [0, 33],
  ipMulticastLoop: [0, 34],
  ipJoinGroup: [0, 35],
  ipMulticastAll: [0, 49],
  ipv6UnicastHops: [41, 16],
  ipv6MulticastInterface: [41, 17],
  ipv6MulticastHops: [41, 18],
  ipv6MulticastLoop: [41, 19],
  ipv6JoinGroup: [41, 20],
  ipv6MulticastAll: [41, 29],
  ipv6HeaderIncluded: [41, 36],
  ipv6ReceivePacketInfo: [41, 49],
  ipv6ReceiveHopLimit: [41, 51],
  ipv6TrafficClass: [41, 67],
  packetAddMembership: [263, 1],
  packetAuxiliaryData: [263, 8],
  netlinkCapAck: [270, 10],
} as const satisfies Record<string, Option>

const int32 = (value: number): Uint8Array => new Uint8Array(Int32Array.of(value).buffer)

export function setNumber(socket: Target, [level, name]: Option, value: number): void {
  socket.setOption(level, name, int32(value))
}

/** Sets an option that an older kernel may lack and that holdfast does not require. */
export function setNumberIfKnown(socket: Target, option: Option, value: number): void {
  try {
    setNumber(socket, option, value)
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ENOPROTOOPT') throw error
  }
}

/**
 * Sets the size of the receive buffer. Without CAP_NET_ADMIN the kernel allows net.core.rmem_max at most, and uses that
 * size.
 */
export function setReceiveBuffer(socket: Target, bytes: number): void {
  try {
    setNumber(socket, OPTION.receiveBufferForce, bytes)
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'EPERM') throw error
    setNumber(socket, OPTION.receiveBuffer, bytes)
  }
}

export function bindToDevice(socket: Target, interfaceName: string): void {
  const [level, name] = OPTION.bindToDevice
  socket.setOption(
    level,
    name,
    Uint8Array.from([...interfaceName, '\0'], (char) => char.charCodeAt(0)),
  )
}

/**
 * Joins a multicast group on an interface index (ip_mreqn, ipv6_mreq). Without an index, the routing table would choose
 * the interface.
 */
export function joinGroup(socket: Target, group: Address, interfaceIndex: number): void {
  const octets = addressBytes(group)
  if (octets.length === 16) {
    socket.setOption(...OPTION.ipv6JoinGroup, Uint8Array.of(...octets, ...int32(interfaceIndex)))
  } else {
    socket.setOption(...OPTION.ipJoinGroup, Uint8Array.of(...octets, 0, 0, 0, 0, ...int32(interfaceIndex)))
  }
}

export function setMulticastInterface(socket: Target, interfaceIndex: number): void {
  socket.setOption(...OPTION.ipMulticastInterface, Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, ...int32(interfaceIndex)))
}
