/**
 * What an Active does about another host that answers for its addresses (`onDuplicate`). To give them up is right only
 * for the one that would lose by RFC 9568 §6.4.3, or both would go, or the wrong one; and to know that, the other has to
 * be a router whose advertisement was heard. How it was found out, and what an order costs, is not known here.
 */
import { type Address, compareAddresses } from '../../wire/address.ts'
import { ownsAddresses, type Parameters } from '../parameters.ts'

export type OnDuplicate = 'announce' | 'yield' | 'alarm'

/** The router behind the MAC, as last heard; undefined: whoever it is, it speaks no VRRP that reaches us. */
export type DuplicateRival = { readonly source: Address; readonly priority: number }

/** Who speaks no VRRP wins no election, and addresses that are the node's own (255) cannot be given up. */
export function answerToDuplicate(
  wanted: OnDuplicate,
  parameters: Parameters,
  rival: DuplicateRival | undefined,
): OnDuplicate {
  if (wanted !== 'yield') return wanted
  if (rival === undefined || ownsAddresses(parameters)) return 'announce'
  return outranks(rival, parameters) ? 'yield' : 'announce'
}

/** RFC 9568 §6.4.3: by priority, then by address. */
export function outranks({ source, priority }: DuplicateRival, parameters: Parameters): boolean {
  if (priority !== parameters.priority) return priority > parameters.priority
  return compareAddresses(source, parameters.primaryAddress) > 0
}
