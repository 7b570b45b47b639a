/**
 * Opens the two raw sockets of an interface and family. This file decides the IP header of a VRRP packet (RFC 9568
 * §5.1: TTL or hop limit 255, source, group), and which metadata the kernel reports for each received packet. This file
 * does not know VRRP, nor the use of the sockets.
 */
import type { AdvertisementSocketOptions, Failure } from '../../daemon/ports.ts'
import type { Address } from '../../wire/address.ts'
import { failureFrom } from '../failure.ts'
import type { NativeAddon, NativeSocket } from '../native.ts'
import { AF, ipSockaddr } from './sockaddr.ts'
import {
  bindToDevice,
  joinGroup,
  OPTION,
  setMulticastInterface,
  setNumber,
  setNumberIfKnown,
  setReceiveBuffer,
} from './socket-option.ts'

const SOCK_RAW = 3
export const IPPROTO_VRRP = 112
/**
 * Packets in one batch of a drain (daemon/ports.ts). A batch is small, because the engine checks the time between two
 * batches (ADR 0003).
 */
export const BATCH = 128
/**
 * Octets of the buffer for the largest packet: 255 addresses with header and trailer. IPv4 packets include their IP
 * header, IPv6 packets do not.
 */
export const SIZE = { ipv4: 1500, ipv6: 4200 } as const
/**
 * Octets of the receive buffer (ground rule 2: a waiting packet counts). A default buffer holds 256 advertisements, and
 * a full buffer drops the newest packets.
 */
export const RECEIVE_BUFFER = 4 * 1024 * 1024
const TTL = 255
/** Traffic class CS6, internetwork control (VR-TX-07). */
const TRAFFIC_CLASS = 0xc0
/** Socket priority TC_PRIO_INTERACTIVE, the first band of a default queue. A higher priority needs CAP_NET_ADMIN. */
export const VRRP_SOCKET_PRIORITY = 6
/** BPF_RET | BPF_K, 0: a socket with this filter queues no packet. */
const DROP_ALL = Uint8Array.of(0x06, 0, 0, 0, 0, 0, 0, 0)

/** Called before each system call that can fail, so that an error names the failed action. */
export type Progress = (action: string) => void

/** Makes the socket a member of the multicast group. Returns the reason if that fails. */
export function joinLate(
  socket: Parameters<typeof joinGroup>[0],
  group: Address,
  { interfaceIndex, interfaceName }: AdvertisementSocketOptions,
): Failure | undefined {
  try {
    joinGroup(socket, group, interfaceIndex)
    return undefined
  } catch (error) {
    return failureFrom(error, `join ${group} on "${interfaceName}"`)
  }
}

export function openReceiver(
  native: NativeAddon,
  options: AdvertisementSocketOptions,
  progress: Progress,
): NativeSocket {
  const { family, group, interfaceIndex, interfaceName } = options
  const v4 = family === 'ipv4'
  progress('open a raw socket')
  const socket = new native.NativeSocket(v4 ? AF.inet : AF.inet6, SOCK_RAW, IPPROTO_VRRP, BATCH, SIZE[family])
  try {
    progress(`bind a raw socket to "${interfaceName}"`)
    bindToDevice(socket, interfaceName)
    progress(`prepare a raw socket on "${interfaceName}"`)
    setReceiveBuffer(socket, RECEIVE_BUFFER)
    setNumber(socket, OPTION.timestampNs, 1)
    setNumber(socket, OPTION.overflowCount, 1)
    setNumber(socket, v4 ? OPTION.ipPacketInfo : OPTION.ipv6ReceivePacketInfo, 1)
    setNumber(socket, v4 ? OPTION.ipReceiveTtl : OPTION.ipv6ReceiveHopLimit, 1)
    // The socket receives only its own multicast group, not every group that some process of this node has joined.
    if (v4) setNumber(socket, OPTION.ipMulticastAll, 0)
    else setNumberIfKnown(socket, OPTION.ipv6MulticastAll, 0)
    if (group !== undefined) {
      progress(`join ${group} on "${interfaceName}"`)
      joinGroup(socket, group, interfaceIndex)
    }
    return socket
  } catch (error) {
    socket.close()
    throw error
  }
}

/**
 * Opens a second receiving socket, of which only the event counts that a packet arrives. It receives every multicast
 * group, because a needless event is harmless. No packet passes its filter until the addon has replaced the filter.
 */
export function openNewsSocket(
  native: Pick<NativeAddon, 'NativeSocket'>,
  { family, interfaceName }: Pick<AdvertisementSocketOptions, 'family' | 'interfaceName'>,
): NativeSocket {
  const socket = new native.NativeSocket(family === 'ipv4' ? AF.inet : AF.inet6, SOCK_RAW, IPPROTO_VRRP, 1, 1)
  try {
    socket.attachFilter(DROP_ALL)
    bindToDevice(socket, interfaceName)
    return socket
  } catch (error) {
    socket.close()
    throw error
  }
}

/**
 * Opens a separate socket for sending. If the receiving socket were bound to the source, the kernel would compare the
 * source with the destination of received packets and drop multicast. IPV6_CHECKSUM stays off, because the message
 * contains the checksum (RFC 9568 §5.2.8).
 */
export function openSender(
  native: NativeAddon,
  options: AdvertisementSocketOptions,
  progress: Progress,
  ttl = TTL,
): NativeSocket {
  const { family, interfaceIndex, interfaceName, source } = options
  const v4 = family === 'ipv4'
  progress('open a raw socket')
  const socket = new native.NativeSocket(v4 ? AF.inet : AF.inet6, SOCK_RAW, IPPROTO_VRRP, 1, 1)
  try {
    socket.attachFilter(DROP_ALL)
    progress(`bind a raw socket to "${interfaceName}"`)
    bindToDevice(socket, interfaceName)
    progress(`prepare a raw socket on "${interfaceName}"`)
    if (v4) {
      setNumber(socket, OPTION.ipTtl, ttl)
      setNumber(socket, OPTION.ipTos, TRAFFIC_CLASS)
      setNumber(socket, OPTION.ipMulticastTtl, TTL)
      setNumber(socket, OPTION.ipMulticastLoop, 0)
      setMulticastInterface(socket, interfaceIndex)
    } else {
      setNumber(socket, OPTION.ipv6UnicastHops, ttl)
      setNumber(socket, OPTION.ipv6TrafficClass, TRAFFIC_CLASS)
      setNumber(socket, OPTION.ipv6MulticastHops, TTL)
      setNumber(socket, OPTION.ipv6MulticastLoop, 0)
      setNumber(socket, OPTION.ipv6MulticastInterface, interfaceIndex)
    }
    // The socket priority is set after IP_TOS, which sets a priority of its own.
    setNumber(socket, OPTION.priority, VRRP_SOCKET_PRIORITY)
    progress(`send from ${source} on "${interfaceName}"`)
    socket.bind(ipSockaddr(source, interfaceIndex))
    return socket
  } catch (error) {
    socket.close()
    throw error
  }
}
