/**
 * Tests whether this node's own rules let VRRP packets pass, with a packet that does not leave the node. The TTL or hop
 * limit of that packet is 0, so the kernel drops it after its output rules (RFC 1112 §6.1). This file decides that IPv6
 * is tested only if a copy may come back, because otherwise Linux sends a packet with hop limit 0. The packet consists
 * of eight zeros, which is no version of VRRP, so no receiver takes it for an advertisement. Other files decide what
 * the caller does after the test.
 */
import type { Failure } from '../../daemon/ports.ts'
import type { Address, Family } from '../../wire/address.ts'
import { failureFrom, failureOf } from '../failure.ts'
import type { NativeAddon, NativeSocket } from '../native.ts'
import { IPPROTO_VRRP } from './raw-socket.ts'
import { AF, ipSockaddr } from './sockaddr.ts'
import { RETURN, socketFilter } from './socket-filter.ts'
import { bindToDevice, OPTION, setMulticastInterface, setNumber } from './socket-option.ts'

const SOCK_RAW = 3
const NOTHING = socketFilter([RETURN, 0, 0, 0])
const ZEROS = new Uint8Array(8)

export type UnsentOptions = {
  readonly interfaceIndex: number
  readonly interfaceName: string
  readonly family: Family
  readonly source: Address
  readonly group: Address
  /**
   * True if a copy of the packet may come back. The copy reaches every socket of this node that has joined the group,
   * so no other program may have such a socket.
   */
  readonly loop: boolean
}

/** Sends the test packet. The socket must have joined the group on the interface. */
export function sendUnsent(native: NativeAddon, options: UnsentOptions): 'passed' | 'not tried' | Failure {
  const { family, group, interfaceIndex, interfaceName, loop, source } = options
  if (family === 'ipv6' && !loop) return 'not tried'
  const action = `send to ${group} on "${interfaceName}"`
  const v4 = family === 'ipv4'
  let socket: NativeSocket | undefined
  try {
    socket = new native.NativeSocket(v4 ? AF.inet : AF.inet6, SOCK_RAW, IPPROTO_VRRP, 1, 1)
    socket.attachFilter(NOTHING)
    bindToDevice(socket, interfaceName)
    setNumber(socket, v4 ? OPTION.ipMulticastTtl : OPTION.ipv6MulticastHops, 0)
    setNumber(socket, v4 ? OPTION.ipMulticastLoop : OPTION.ipv6MulticastLoop, loop ? 1 : 0)
    if (v4) setMulticastInterface(socket, interfaceIndex)
    else setNumber(socket, OPTION.ipv6MulticastInterface, interfaceIndex)
    socket.bind(ipSockaddr(source, interfaceIndex))
    const result = socket.send([ZEROS], [ipSockaddr(group, interfaceIndex)])?.[0] ?? 0
    return result < 0 ? failureOf(result, { action, syscall: 'sendmmsg' }) : 'passed'
  } catch (error) {
    return failureFrom(error, action)
  } finally {
    socket?.close()
  }
}
