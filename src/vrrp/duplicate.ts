/**
 * What an Active does about another host that answers for its addresses (`onDuplicate`). To give them up is right only
 * for the one that would lose by RFC 9568 §6.4.3, or both would go, or the wrong one; and to know that, the other has to
 * be a router whose advertisement was heard. How it was found out, and what an order costs, is not known here.
 */
import { type Address, compareAddresses } from '../wire/address.ts'
import { isOwner, type Parameters } from './parameters.ts'

export type OnDuplicate = 'announce' | 'yield' | 'alarm'

/** The router behind the MAC, as last heard; undefined: whoever it is, it speaks no VRRP that reaches us. */
export type DuplicateRival = { readonly source: Address; readonly priority: number }

/** `alarm` is what is left when nothing may be done: it is told in every case. */
export function answerToDuplicate(
  wanted: OnDuplicate,
  parameters: Parameters,
  rival: DuplicateRival | undefined,
): OnDuplicate {
  if (wanted !== 'yield') return wanted
  if (rival === undefined || isOwner(parameters)) return 'alarm'
  const { primaryAddress, priority } = parameters
  const above = rival.priority > priority
  const tied = rival.priority === priority && compareAddresses(rival.source, primaryAddress) > 0
  return above || tied ? 'yield' : 'announce'
}
