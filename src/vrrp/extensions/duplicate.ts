/**
 * Duplicate: decides what an Active does about another host that answers for its addresses (`onDuplicate`). The Active
 * may give its addresses up only if it would lose the election of RFC 9568 §6.4.3. Without this rule both hosts, or the
 * wrong host, could give the addresses up. For this rule the other host must be a router whose advertisements arrive.
 * `duplicate.ts` does not wrap `step`; the daemon calls it. Other files find the other host.
 */
import { type Address, compareAddresses } from '../../wire/address.ts'
import { ownsAddresses, type Parameters } from '../parameters.ts'

export type OnDuplicate = 'announce' | 'yield' | 'alarm'

/**
 * Router that answers with a MAC, from its last advertisement; `undefined` if no advertisement of this host reaches us.
 */
export type DuplicateRouter = { readonly source: Address; readonly priority: number }

/**
 * Returns what an Active does about another host with its addresses. A host that sends no advertisement wins no
 * election. Addresses that are the node's own (priority 255) cannot be given up.
 */
export function answerToDuplicate(
  wanted: OnDuplicate,
  parameters: Parameters,
  router: DuplicateRouter | undefined,
): OnDuplicate {
  if (wanted !== 'yield') return wanted
  if (router === undefined || ownsAddresses(parameters)) return 'announce'
  return outranks(router, parameters) ? 'yield' : 'announce'
}

/** Tells whether the other router wins the election of RFC 9568 §6.4.3: by priority, then by address. */
export function outranks({ source, priority }: DuplicateRouter, parameters: Parameters): boolean {
  if (priority !== parameters.priority) return priority > parameters.priority
  return compareAddresses(source, parameters.primaryAddress) > 0
}
