/**
 * Reports the kernel's changes to its neighbour table for one interface and family (RTNLGRP_NEIGH). This file decides
 * that a filter in the kernel drops changes of other interfaces, because a node may have thousands of neighbours there.
 * A queue overrun is reported as an overrun. Other files decide which neighbour matters, and what a reachable neighbour
 * means.
 */
import type { Failure, NeighborWatch, NeighborWatchOptions } from '../../daemon/ports.ts'
import { ERRNO, failureFrom, failureOf } from '../failure.ts'
import type { NativeAddon } from '../native.ts'
import { netlinkSockaddr } from '../sockets/sockaddr.ts'
import { JUMP_IF_EQUAL, LOAD_BYTE, LOAD_HALF, LOAD_WORD, RETURN, socketFilter } from '../sockets/socket-filter.ts'
import { openSocket } from './socket.ts'

/** RTMGRP_NEIGH. */
const GROUP = 0x004
const BATCH = 16
/**
 * Octets of the buffer for one netlink message. A message has about 100, and each notification is a datagram of its
 * own.
 */
const SIZE = 1024
/** Batches of messages per wake-up. The remaining messages wake the event loop again, after the advertisements. */
const MAX_BATCHES = 4

/** Offsets in host order. struct nlmsghdr: type at 4. struct ndmsg after it: family at 16, interface index at 20. */
function onlyOf({ family, interfaceIndex }: NeighborWatchOptions): Uint8Array {
  const index = new DataView(new ArrayBuffer(4))
  index.setUint32(0, interfaceIndex, true)
  return socketFilter(
    [LOAD_HALF, 0, 0, 4],
    // RTM_NEWNEIGH and RTM_DELNEIGH, little endian.
    [JUMP_IF_EQUAL, 1, 0, 0x1c00],
    [JUMP_IF_EQUAL, 0, 5, 0x1d00],
    [LOAD_BYTE, 0, 0, 16],
    [JUMP_IF_EQUAL, 0, 3, family === 'ipv6' ? 10 : 2],
    [LOAD_WORD, 0, 0, 20],
    [JUMP_IF_EQUAL, 0, 1, index.getUint32(0, false)],
    [RETURN, 0, 0, 0xffff],
    [RETURN, 0, 0, 0],
  )
}

export function openNeighborWatch(native: NativeAddon, options: NeighborWatchOptions): NeighborWatch | Failure {
  const { interfaceName, onNeighbor, onLost, onFailure } = options
  const action = `watch the neighbors on "${interfaceName}"`
  let close = (): void => {}
  try {
    const { socket, receive } = openSocket(native, BATCH, SIZE)
    let open = true
    close = () => {
      open = false
      socket.close()
    }
    socket.attachFilter(onlyOf(options))
    socket.bind(netlinkSockaddr(GROUP))
    // A callback may close this socket while it is drained.
    const drain = (): void => {
      for (let batch = 0; batch < MAX_BATCHES && open; batch++) {
        const { count, envelopes } = receive()
        if (count === -ERRNO.ENOBUFS) onLost()
        else if (count < 0) onFailure(failureOf(count, { action, syscall: 'recvmmsg' }))
        for (let i = 0; i < count && open; i++) {
          const parsed = envelopes(i)
          if (parsed === undefined) onLost()
          for (const { message } of parsed ?? [])
            if (open && message.kind === 'neighbor') onNeighbor(message.address, message.resolution)
        }
        if (count < BATCH) return
      }
    }
    socket.start(drain, (errno) => {
      if (errno === ERRNO.ENOBUFS) onLost()
      else onFailure(failureOf(errno, { action, syscall: 'poll' }))
    })
    return { close }
  } catch (error) {
    close()
    return failureFrom(error, action)
  }
}
