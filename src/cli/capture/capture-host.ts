/**
 * The machine on which `holdfast capture` listens: its interfaces, and frames from one of them. This file decides which
 * interfaces are offered without -i. A node's uplink has an address; the veth interfaces of its containers have none.
 */
import type { Failure, NetworkPort } from '../../daemon/ports.ts'
import { openClock } from '../../linux/clock.ts'
import { loadNative } from '../../linux/native.ts'
import { openNetwork } from '../../linux/network.ts'
import { type FrameTap, type FrameTapOptions, openLanTap } from '../../linux/sockets/frame-tap.ts'
import { isLinkLocal } from '../../wire/address.ts'

export type CaptureInterface = {
  readonly index: number
  readonly name: string
  readonly up: boolean
  /** True if the interface has an address in a network and is not the loopback interface. */
  readonly addressed: boolean
}

/** Interfaces of this machine, in this network namespace. */
export type CaptureHost = {
  look(): readonly CaptureInterface[]
  openTap(options: FrameTapOptions): FrameTap | Failure
}

const LOOPBACK_MAC = '00:00:00:00:00:00'

/** Returns the interfaces. Empty if the kernel gave no complete list; the next call may succeed. */
export function captureInterfaces(network: Pick<NetworkPort, 'links' | 'addresses'>): readonly CaptureInterface[] {
  const addresses = network.addresses() ?? []
  return (network.links() ?? []).map(({ index, mac, name, up }) => ({
    index,
    name,
    up,
    addressed:
      mac !== LOOPBACK_MAC &&
      addresses.some(({ address, interfaceIndex }) => interfaceIndex === index && !isLinkLocal(address)),
  }))
}

/** Opens interfaces and frames of this network namespace. Throws Error if the kernel refuses. */
export function openCaptureHost(): { readonly host: CaptureHost; readonly close: () => void } {
  const native = loadNative()
  const network = openNetwork(native, openClock(native))
  const host: CaptureHost = {
    look: () => captureInterfaces(network),
    openTap: (options) => openLanTap(native, options),
  }
  return { host, close: () => network.close() }
}
