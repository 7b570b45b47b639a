/**
 * The sockets of the daemon, assembled: daemon/ports.ts on one side, the addon on the other. Decided here: what `io:
 * raw-socket` replaces, which is advertisements and nothing else (the package has neither AF_PACKET nor netlink).
 */
import type { SocketPort } from '../../daemon/ports.ts'
import type { KernelClock } from '../clock.ts'
import type { NativeAddon } from '../native.ts'
import { openNeighborWatch } from '../netlink/neighbor-watch.ts'
import { openFrameSocket } from './packet-socket.ts'
import { openRawAdvertisementSocket } from './raw-socket-backend.ts'
import type { RawSocketPackage } from './raw-socket-package.ts'
import { openAdvertisementSocket } from './vrrp-socket.ts'

/** `raw`: where it is given, advertisements go through the package raw-socket instead of the addon. */
export function openSockets(native: NativeAddon, clock: KernelClock, raw?: RawSocketPackage): SocketPort {
  return {
    openAdvertisementSocket: (options) =>
      raw === undefined
        ? openAdvertisementSocket(native, clock, options)
        : openRawAdvertisementSocket(raw, clock, options),
    openFrameSocket: (options) => openFrameSocket(native, clock, options),
    openNeighborWatch: (options) => openNeighborWatch(native, options),
  }
}
