/**
 * VRRP on an interface as it is on the wire, both ways, before the filters of this node on the way in and behind them on the
 * way out (AF_PACKET). Decided here: which frames; a tap for everything would be woken by all traffic, so the kernel filters.
 * It takes nothing away from anybody, joins no group and answers nothing. Refused here: what the frames say.
 */

import type { Failure } from '../daemon/ports.ts'
import { failureFrom, failureOf } from './failure.ts'
import { readMeta } from './meta-record.ts'
import type { NativeAddon, NativeSocket } from './native.ts'
import { AF, packetSockaddr } from './sockaddr.ts'
import { JUMP_IF_EQUAL, LOAD_BYTE, LOAD_HALF, LOAD_WORD, RETURN, socketFilter } from './socket-filter.ts'

const SOCK_RAW = 3
const ETH_P_ALL = 3
const PACKET_OTHERHOST = 3
const PACKET_OUTGOING = 4
const BATCH = 64
/** IPv6 with 255 addresses: Ethernet 14, IP 40, message 8 + 255 x 16. */
const SIZE = 4_200
const MAX_BATCHES = 8
/** The kernel takes the tag of a VLAN off before a tap sees the frame, and says so beside it: it is another interface's. */
const VLAN_TAG_PRESENT = 0xfffff030

/** Protocol 112, and whatever goes to VRRP's groups 224.0.0.18 and ff02::12. */
const VRRP = socketFilter(
  [LOAD_WORD, 0, 0, VLAN_TAG_PRESENT],
  [JUMP_IF_EQUAL, 0, 14, 0],
  [LOAD_HALF, 0, 0, 12],
  [JUMP_IF_EQUAL, 0, 4, 0x0800],
  [LOAD_BYTE, 0, 0, 14 + 9],
  [JUMP_IF_EQUAL, 9, 0, 112],
  [LOAD_WORD, 0, 0, 14 + 16],
  [JUMP_IF_EQUAL, 7, 8, 0xe0000012],
  [JUMP_IF_EQUAL, 0, 7, 0x86dd],
  [LOAD_BYTE, 0, 0, 14 + 6],
  [JUMP_IF_EQUAL, 4, 0, 112],
  [LOAD_WORD, 0, 0, 14 + 24],
  [JUMP_IF_EQUAL, 0, 3, 0xff020000],
  [LOAD_WORD, 0, 0, 14 + 36],
  [JUMP_IF_EQUAL, 0, 1, 0x12],
  [RETURN, 0, 0, 0xffff],
  [RETURN, 0, 0, 0],
)

export type VrrpTapOptions = {
  readonly interfaceIndex: number
  readonly interfaceName: string
  /** Whole, and valid during the call only. */
  readonly onFrame: (frame: Uint8Array, outgoing: boolean) => void
  readonly onFailure: (failure: Failure) => void
}

export function openVrrpTap(native: NativeAddon, options: VrrpTapOptions): { close(): void } | Failure {
  const { interfaceIndex, interfaceName, onFailure, onFrame } = options
  const failed = (errno: number, syscall: string): void =>
    onFailure(failureOf(errno, { action: `listen on "${interfaceName}"`, syscall }))
  let tap: NativeSocket | undefined
  try {
    const socket = new native.NativeSocket(AF.packet, SOCK_RAW, 0, BATCH, SIZE)
    tap = socket
    socket.attachFilter(VRRP)
    socket.bind(packetSockaddr(ETH_P_ALL, interfaceIndex))
    const meta = readMeta(socket, SIZE)
    let open = true
    const drain = (): void => {
      for (let batch = 0; batch < MAX_BATCHES && open; batch++) {
        const count = socket.receive()
        if (count < 0) failed(count, 'recvmmsg')
        for (let i = 0; i < count && open; i++) {
          const type = meta.packetType(i)
          if (type !== PACKET_OTHERHOST) onFrame(meta.bytes(i), type === PACKET_OUTGOING)
        }
        if (count < BATCH) return
      }
    }
    socket.start(drain, (errno) => failed(errno, 'poll'))
    return {
      close() {
        open = false
        socket.close()
      },
    }
  } catch (error) {
    tap?.close()
    return failureFrom(error, `listen on "${interfaceName}"`)
  }
}
