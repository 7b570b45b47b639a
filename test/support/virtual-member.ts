/**
 * Represents one virtual router of a node on the virtual LAN, with its addresses. If a node has only one router, its
 * name is empty. This file stores the router's state and does not run its state machine: all members of a sync group
 * move together (virtual-node.ts).
 */
import type { Parameters } from '../../src/vrrp/parameters.ts'
import { INITIAL_STATE, nextDeadline, type State } from '../../src/vrrp/state.ts'
import { type Address, address, type Family } from '../../src/wire/address.ts'
import type { Millis } from '../../src/wire/units.ts'

/** A virtual router that every node has. If there are several, they form a sync group. */
export type MemberSpec = {
  readonly name: string
  readonly family: Family
  readonly wire: string
  /**
   * True if the nodes' addresses for this router descend while those of the other routers ascend. Between equal
   * priorities, another node then wins.
   */
  readonly reversed?: boolean
}

export const ALONE: readonly MemberSpec[] = [{ name: '', family: 'ipv4', wire: 'lan' }]

export class VirtualMember {
  readonly name: string
  readonly wire: string
  parameters: Parameters
  state: State = INITIAL_STATE
  readonly installed = new Set<Address>()
  /** False while the router's node has noticed the loss of carrier of its wire, so that the router cannot send. */
  canSend = true
  /** True if packets for the router were lost because the receive queue was full. */
  lost = false
  overslept = false

  constructor(name: string, wire: string, parameters: Parameters) {
    this.name = name
    this.wire = wire
    this.parameters = parameters
  }

  get due(): Millis | undefined {
    return nextDeadline(this.state)
  }
}

export function ownAddress({ family, reversed = false }: MemberSpec, host: number): Address {
  const last = reversed ? 255 - host : host
  return address(family === 'ipv4' ? `192.0.2.${last}` : `fe80::${last.toString(16)}`)
}

export function virtualAddresses({ family }: MemberSpec, index: number): readonly Address[] {
  const last = index + 1
  return family === 'ipv4'
    ? [address(`198.51.100.${last}`)]
    : [address(`fe80::64:${last}`), address(`2001:db8::64:${last}`)]
}
