/**
 * What the guardian does when this engine is gone (design.md §2): addresses off, then priority 0. Computed when a
 * router becomes Active; an owner's (255) addresses are the node's own and are in no will.
 */
import type { Parameters } from '../vrrp/parameters.ts'
import type { Datagram, LastWill, WantedAddress } from './ports.ts'

export function lastWillOf(
  spec: { readonly name: string; readonly unit: number },
  parameters: Parameters,
  interfaceIndex: number,
  remove: readonly WantedAddress[],
  release: readonly Datagram[],
): LastWill {
  const { family, primaryAddress: source } = parameters
  return {
    unit: spec.unit,
    name: spec.name,
    remove,
    packets: release.length === 0 ? [] : [{ family, interfaceIndex, source, datagrams: release }],
  }
}
