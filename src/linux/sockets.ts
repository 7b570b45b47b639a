/** The sockets of the daemon, assembled: daemon/ports.ts on one side, the addon on the other. No decisions here. */
import type { SocketPort } from '../daemon/ports.ts'
import type { KernelClock } from './clock.ts'
import type { NativeAddon } from './native.ts'
import { openFrameSocket } from './packet-socket.ts'
import { openAdvertisementSocket } from './vrrp-socket.ts'

export function openSockets(native: NativeAddon, clock: KernelClock): SocketPort {
  return {
    openAdvertisementSocket: (options) => openAdvertisementSocket(native, clock, options),
    openFrameSocket: (options) => openFrameSocket(native, clock, options),
  }
}
