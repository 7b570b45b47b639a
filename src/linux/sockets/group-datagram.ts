/**
 * Sends UDP to a multicast group on one interface, and receives from it. This file decides that the interface index
 * chooses the interface for sending and receiving, and several processes may listen together. No datagram is routed
 * (TTL 1), and our own datagrams do not come back. Other files decide the content of a datagram.
 */
import type { Failure } from '../../daemon/ports.ts'
import { type Address, type Family, familyOf } from '../../wire/address.ts'
import { failureFrom, failureOf } from '../failure.ts'
import type { NativeAddon, NativeSocket } from '../native.ts'
import { readMeta } from './meta-record.ts'
import { AF, addressOfSockaddr, ipSockaddr } from './sockaddr.ts'
import { bindToDevice, joinGroup, OPTION, setMulticastInterface, setNumber } from './socket-option.ts'

const SOCK_DGRAM = 2
const BATCH = 32
const SIZE = 1_500
/** Offset of the port in sockaddr_in and sockaddr_in6. The port is in network order. */
const PORT = 2

export type GroupSocketOptions = {
  readonly interfaceIndex: number
  readonly interfaceName: string
  readonly group: Address
  readonly port: number
  /** Receives each datagram, whose bytes are valid during the call only. */
  readonly onDatagram: (bytes: Uint8Array, from: Address) => void
}
export type GroupSocket = { send(bytes: Uint8Array): Failure | undefined; close(): void }

export function openGroupSocket(native: NativeAddon, options: GroupSocketOptions): GroupSocket | Failure {
  const { group, interfaceIndex, interfaceName, onDatagram, port } = options
  const family: Family = familyOf(group)
  const v4 = family === 'ipv4'
  const target = ipSockaddr(group, interfaceIndex)
  new DataView(target.buffer).setUint16(PORT, port)
  let opened: NativeSocket | undefined
  try {
    const socket = new native.NativeSocket(v4 ? AF.inet : AF.inet6, SOCK_DGRAM, 0, BATCH, SIZE)
    opened = socket
    setNumber(socket, OPTION.reuseAddress, 1)
    bindToDevice(socket, interfaceName)
    setNumber(socket, v4 ? OPTION.ipMulticastTtl : OPTION.ipv6MulticastHops, 1)
    setNumber(socket, v4 ? OPTION.ipMulticastLoop : OPTION.ipv6MulticastLoop, 0)
    if (v4) setMulticastInterface(socket, interfaceIndex)
    else setNumber(socket, OPTION.ipv6MulticastInterface, interfaceIndex)
    socket.bind(target)
    joinGroup(socket, group, interfaceIndex)
    const meta = readMeta(socket, SIZE)
    let open = true
    const drain = (): void => {
      const count = socket.receive()
      for (let i = 0; i < count && open; i++) {
        const from = addressOfSockaddr(meta.source(i))
        if (from !== undefined) onDatagram(meta.bytes(i), from)
      }
    }
    socket.start(drain, () => {})
    return {
      send(bytes) {
        const result = socket.send([bytes], [target])?.[0] ?? 0
        if (result >= 0) return undefined
        return failureOf(result, { action: `send to ${group} on "${interfaceName}"`, syscall: 'sendmmsg' })
      },
      close() {
        open = false
        socket.close()
      },
    }
  } catch (error) {
    opened?.close()
    return failureFrom(error, `join ${group} on "${interfaceName}"`)
  }
}
