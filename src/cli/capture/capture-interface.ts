/**
 * The interfaces that `holdfast capture` can listen on. Decides which one is meant when none is named: a node's uplink
 * has an address, the veths of its containers have none. Refuses to know what is listened for.
 */
import type { NetworkPort } from '../../daemon/ports.ts'
import { isLinkLocal } from '../../wire/address.ts'

export type CaptureInterface = {
  readonly index: number
  readonly name: string
  readonly up: boolean
  /** It has an address of a network, and is not the loopback. */
  readonly addressed: boolean
}

const LOOPBACK_MAC = '00:00:00:00:00:00'

/** Empty when the kernel gave no complete list; the next look may have one. */
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
