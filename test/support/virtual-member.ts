/**
 * One virtual router of a node of the virtual LAN, and the addresses that it has. The only router of a node has an
 * empty name. It holds state and does not step: a group's members move together (virtual-node.ts).
 */
import type { Parameters } from '../../src/vrrp/parameters.ts'
import { INITIAL_STATE, nextDeadline, type State } from '../../src/vrrp/state.ts'
import { type Address, address, type Family } from '../../src/wire/address.ts'
import type { Millis } from '../../src/wire/units.ts'

/** A virtual router of every node; with several, they are a sync group. */
export type MemberSpec = {
  readonly name: string
  readonly family: Family
  readonly wire: string
  /** Its addresses descend where the others' ascend, so ties are decided the other way. */
  readonly reversed?: boolean
}

export const ALONE: readonly MemberSpec[] = [{ name: '', family: 'ipv4', wire: 'lan' }]

export class VirtualMember {
  readonly name: string
  readonly wire: string
  parameters: Parameters
  state: State = INITIAL_STATE
  readonly installed = new Set<Address>()
  /** Whether the router can send: it cannot on a wire whose loss its node has noticed. */
  canSend = true
  /** Packets were lost because the queue was full. */
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
