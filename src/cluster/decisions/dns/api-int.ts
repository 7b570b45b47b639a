/**
 * Decides to which address `api-int` leads. A new address counts only after kube-api has answered there three times
 * (status/balancer.ts). An address in force stays while the administrator's wish is the same or not known. For this
 * reason neither a restart of this process nor a silent load balancer moves the clients of the API. Pure.
 */
import type { Address } from '../../../wire/address.ts'
import type { Balancer } from '../status/balancer.ts'

/** Returns the address in force after news of the load balancer; `undefined`: the VIP. */
export function apiIntAfter(inForce: Address | undefined, balancer: Balancer): Address | undefined {
  switch (balancer.kind) {
    case 'own':
      return undefined
    case 'answers':
      return balancer.place
    // A wish that cannot be fulfilled changes nothing.
    case 'refused':
    case 'asking':
      return inForce
  }
}

/**
 * Returns the address in force after an operator has stored the phase of a switch, with `stored` as address of
 * `api-int`. Nodes may write that field, and only administrators write the spec. For this reason a new address counts
 * only if the spec has it, and kube-api has answered at this address. An address in force stays, whatever the spec has:
 * the operator decides when it is left.
 */
export function apiIntByOperator(
  inForce: Address | undefined,
  stored: Address | undefined,
  balancer: Balancer,
): Address | undefined {
  if (stored === undefined || stored === inForce) return stored
  return balancer.kind === 'answers' && balancer.place === stored ? stored : inForce
}

/** Returns the address of an external load balancer in a Corefile; `undefined` if the Corefile has the VIPs only. */
export const externalIn = (answers: readonly Address[], vips: readonly Address[]): Address | undefined =>
  answers.find((address) => !vips.includes(address))
