/**
 * Duplicate: what an Active does about another host that answers for its addresses (`onDuplicate`). It may give them up only if
 * it would lose by RFC 9568 §6.4.3, or both would go, or the wrong one. To know that, the other host has to be a router
 * whose advertisement was heard. No wrapper of `step`: the daemon asks. Refuses to know how the host was found.
 */
import { type Address, compareAddresses } from '../../wire/address.ts'
import { ownsAddresses, type Parameters } from '../parameters.ts'

export type OnDuplicate = 'announce' | 'yield' | 'alarm'

/** The router behind the MAC, as last heard; `undefined` if no advertisement of it reaches us. */
export type DuplicateRouter = { readonly source: Address; readonly priority: number }

/** A host that sends no advertisement wins no election, and addresses that are the node's own (255) cannot be given up. */
export function answerToDuplicate(
  wanted: OnDuplicate,
  parameters: Parameters,
  rival: DuplicateRouter | undefined,
): OnDuplicate {
  if (wanted !== 'yield') return wanted
  if (rival === undefined || ownsAddresses(parameters)) return 'announce'
  return outranks(rival, parameters) ? 'yield' : 'announce'
}

/** Whether the router wins by RFC 9568 §6.4.3: by priority, then by address. */
export function outranks({ source, priority }: DuplicateRouter, parameters: Parameters): boolean {
  if (priority !== parameters.priority) return priority > parameters.priority
  return compareAddresses(source, parameters.primaryAddress) > 0
}
