/**
 * The sockets of the daemon: implements the port of daemon/ports.ts with the addon. This file decides that the setting
 * `io: raw-socket` replaces the advertisement sockets only, because the package has neither AF_PACKET nor netlink.
 */
import type { SocketPort } from '../../daemon/ports.ts'
import type { KernelClock } from '../clock.ts'
import type { NativeAddon } from '../native.ts'
import { openNeighborWatch } from '../netlink/neighbor-watch.ts'
import { openFrameSocket } from './packet-socket.ts'
import { openRawAdvertisementSocket } from './raw-socket-backend.ts'
import type { RawSocketPackage } from './raw-socket-package.ts'
import { ReadSockets } from './read-sockets.ts'
import { openAdvertisementSocket } from './vrrp-socket.ts'

/** Opens the sockets. With `raw`, advertisements use the package raw-socket instead of the addon. */
export function openSockets(
  native: NativeAddon,
  clock: KernelClock,
  raw?: RawSocketPackage,
  read = new ReadSockets(),
): SocketPort {
  return {
    openAdvertisementSocket: (options) =>
      raw === undefined
        ? openAdvertisementSocket(native, clock, options, read)
        : openRawAdvertisementSocket(raw, clock, options),
    openFrameSocket: (options) => openFrameSocket(native, clock, options),
    openNeighborWatch: (options) => openNeighborWatch(native, options),
  }
}
