/**
 * Reads frames of an interface as they are on the wire, received and sent (AF_PACKET): before this node's packet filter
 * on the way in, after it on the way out. This file decides which frames are read. The kernel filters the frames,
 * because all traffic would wake the process. A tap takes no packet away, joins no group and answers nothing. Other
 * files decide the meaning of a frame.
 */

import type { Failure } from '../../daemon/ports.ts'
import { uint16 } from '../../wire/bytes.ts'
import { failureFrom, failureOf } from '../failure.ts'
import type { NativeAddon, NativeSocket } from '../native.ts'
import { readMeta } from './meta-record.ts'
import { AF, packetSockaddr } from './sockaddr.ts'
import {
  JUMP_IF_EQUAL,
  LOAD_BYTE,
  LOAD_BYTE_INDEXED,
  LOAD_HALF,
  LOAD_HALF_INDEXED,
  LOAD_INDEX,
  LOAD_WORD,
  RETURN,
  socketFilter,
} from './socket-filter.ts'
import { OPTION, setNumber, setReceiveBuffer } from './socket-option.ts'

const SOCK_RAW = 3
const ETH_P_ALL = 3
const PACKET_OTHERHOST = 3
const PACKET_OUTGOING = 4
const PROMISCUOUS = 1
const MAX_BATCHES = 8
/** The kernel takes the VLAN tag off a frame before a tap gets the frame, and reports the tag beside the frame. */
const VLAN_TAG_PRESENT = 0xfffff030

/**
 * Passes protocol 112, and all packets to VRRP's groups 224.0.0.18 and ff02::12. A frame with a VLAN tag belongs to
 * another interface.
 */
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

/**
 * Passes protocol 112, ARP, Neighbor Solicitations (135) and Advertisements (136) without extension headers. A VLAN tag
 * that is still in the frame moves each offset by 4.
 */
const VRRP_AND_NEIGHBORS = socketFilter(
  [LOAD_INDEX, 0, 0, 0],
  [LOAD_HALF, 0, 0, 12],
  [JUMP_IF_EQUAL, 0, 1, 0x8100],
  [LOAD_INDEX, 0, 0, 4],
  [LOAD_HALF_INDEXED, 0, 0, 12],
  [JUMP_IF_EQUAL, 10, 0, 0x0806],
  [JUMP_IF_EQUAL, 0, 2, 0x0800],
  [LOAD_BYTE_INDEXED, 0, 0, 14 + 9],
  [JUMP_IF_EQUAL, 7, 8, 112],
  [JUMP_IF_EQUAL, 0, 7, 0x86dd],
  [LOAD_BYTE_INDEXED, 0, 0, 14 + 6],
  [JUMP_IF_EQUAL, 4, 0, 112],
  [JUMP_IF_EQUAL, 0, 4, 58],
  [LOAD_BYTE_INDEXED, 0, 0, 14 + 40],
  [JUMP_IF_EQUAL, 1, 0, 135],
  [JUMP_IF_EQUAL, 0, 1, 136],
  [RETURN, 0, 0, 0xffff],
  [RETURN, 0, 0, 0],
)

export type FrameTapOptions = {
  readonly interfaceIndex: number
  readonly interfaceName: string
  /** Receives each whole frame, which is valid during the call only. `at`: CLOCK_REALTIME in ms, 0 = unknown. */
  readonly onFrame: (frame: Uint8Array, outgoing: boolean, at: number) => void
  /** Receives a failure of the tap. ENETDOWN: the interface went down or was deleted. */
  readonly onFailure: (failure: Failure) => void
}

export type FrameTap = { close(): void }

type Kind = {
  readonly filter: Uint8Array
  readonly batch: number
  /** Octets of the longest frame that the tap reads. */
  readonly size: number
  prepare(socket: NativeSocket): void
  /** True if the tap also reads frames between other hosts, which only a promiscuous interface accepts. */
  readonly ofOthers: boolean
}

/** Opens a tap for VRRP frames to or from this node on the interface, without VLAN tags. */
export const openVrrpTap = (native: NativeAddon, options: FrameTapOptions): FrameTap | Failure =>
  openTap(native, options, {
    filter: VRRP,
    batch: 64,
    // Longest frame: IPv6 with 255 addresses: Ethernet 14, IP 40, message 8 + 255 x 16.
    size: 4_200,
    ofOthers: false,
    prepare() {},
  })

/**
 * Opens a tap for VRRP, ARP and Neighbor Discovery, in each VLAN, with the kernel's receive times. The interface is
 * promiscuous while the tap is open, because a network card drops multicast groups that the node has not joined.
 */
export const openLanTap = (native: NativeAddon, options: FrameTapOptions): FrameTap | Failure =>
  openTap(native, options, {
    filter: VRRP_AND_NEIGHBORS,
    batch: 32,
    size: 0xffff,
    ofOthers: true,
    prepare(socket) {
      setReceiveBuffer(socket, 4 * 1024 * 1024)
      setNumber(socket, OPTION.timestampNs, 1)
      setNumber(socket, OPTION.packetAuxiliaryData, 1)
      const member = new Int32Array([options.interfaceIndex, PROMISCUOUS, 0, 0])
      socket.setOption(...OPTION.packetAddMembership, new Uint8Array(member.buffer))
    },
  })

function openTap(
  native: NativeAddon,
  { interfaceIndex, interfaceName, onFailure, onFrame }: FrameTapOptions,
  { batch, filter, ofOthers, prepare, size }: Kind,
): FrameTap | Failure {
  const failed = (errno: number, syscall: string): void =>
    onFailure(failureOf(errno, { action: `listen on "${interfaceName}"`, syscall }))
  let tap: NativeSocket | undefined
  try {
    // Protocol 0, and the filter before bind(): an unbound packet socket receives from every interface as soon as the
    // socket exists.
    const socket = new native.NativeSocket(AF.packet, SOCK_RAW, 0, batch, size)
    tap = socket
    socket.attachFilter(filter)
    prepare(socket)
    socket.bind(packetSockaddr(ETH_P_ALL, interfaceIndex))
    const meta = readMeta(socket, size)
    let open = true
    const drain = (): void => {
      for (let turn = 0; turn < MAX_BATCHES && open; turn++) {
        const count = socket.receive()
        if (count < 0) failed(count, 'recvmmsg')
        for (let i = 0; i < count && open; i++) {
          const type = meta.packetType(i)
          if (type === PACKET_OTHERHOST && !ofOthers) continue
          onFrame(withTag(meta.bytes(i), meta.vlan(i)), type === PACKET_OUTGOING, meta.realtime(i))
        }
        if (count < batch) return
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

/** Returns the frame as on the wire, with the VLAN tag that the kernel took off. */
function withTag(frame: Uint8Array, tag: number): Uint8Array {
  if (tag === 0) return frame
  const whole = new Uint8Array(frame.length + 4)
  whole.set(frame.subarray(0, 12))
  whole.set(uint16(tag >>> 16), 12)
  whole.set(uint16(tag & 0xffff), 14)
  whole.set(frame.subarray(12), 16)
  return whole
}
