/**
 * Makes the texts about the load balancer of the API for the agent's conditions. CoreDNS of a node is switched by
 * `holdfast corednsmonitor`, which reports to the agent of its node. HAProxy is switched by the phases that an operator
 * stores. This file decides what the agent says about both. Pure.
 */
import type { Address } from '../../../wire/address.ts'
import type { DnsReport } from '../dns/dns-report.ts'
import type { Migration } from '../operator/migration.ts'
import { type Balancer, IN_A_ROW, toAsk } from './balancer.ts'

export type BalancerNews = {
  /** Text about the change in progress; `undefined` if no change is in progress. */
  readonly progressing: string | undefined
  /** Reason why the wish cannot be fulfilled; `undefined` if there is none. */
  readonly wrong: string | undefined
  /** Text about a change that no program makes; `undefined` if there is none. */
  readonly notManaged: string | undefined
  /** Text about the load balancer in force; `undefined` if it is the cluster's own. */
  readonly inForce: string | undefined
}

export type BalancerSurroundings = {
  /** Report of `holdfast corednsmonitor` on this node; `undefined` if that process does not report here. */
  readonly dns?: DnsReport | undefined
  /** Phase that an operator has stored; `undefined` if no operator has stored one. */
  readonly phase?: Migration | undefined
}

/** Returns the texts about the load balancer for the conditions. */
export function newsOf(state: Balancer, around: BalancerSurroundings = {}): BalancerNews {
  const nothing = { progressing: undefined, wrong: undefined, notManaged: undefined, inForce: undefined }
  const { phase } = around
  const wrong = wrongOf(state)
  if (phase !== undefined) return { ...nothing, wrong, ...byOperator(state, phase) }
  if (state.kind === 'own' || state.kind === 'refused') return { ...nothing, wrong }
  const { place } = state
  const nodes = [namesText(place, around), 'HAProxy stays on the nodes, because the cluster has no operator'].join('; ')
  if (state.kind === 'answers')
    return { ...nothing, notManaged: `kube-api answers at ${place} (${IN_A_ROW} times in a row); ${nodes}` }
  const progressing = `checking kube-api at ${place} until it has answered ${IN_A_ROW} times in a row; ${nodes}`
  return { ...nothing, progressing, wrong }
}

function wrongOf(state: Balancer): string | undefined {
  switch (state.kind) {
    case 'refused':
      return `dns.apiintIpAddress ${JSON.stringify(state.wished)} is refused: ${state.why}`
    case 'asking':
      return state.failed === undefined ? undefined : `kube-api does not answer at ${state.place}: ${state.failed}`
    default:
      return undefined
  }
}

/** Returns the texts where an operator carries a switch through its phases. */
function byOperator(state: Balancer, { apiInt, haproxy, phase }: Migration): Partial<BalancerNews> {
  const leads = apiInt ?? OWN
  if (phase !== 'SelfHosted' && phase !== 'External') {
    const order = haproxy === 'Running' ? 'runs' : 'is stopped'
    return {
      progressing: `the operator switches the load balancer (${phase}): api-int leads to ${leads}, HAProxy ${order}`,
    }
  }
  const wanted = toAsk(state)
  const waits = state.kind !== 'refused' && wanted !== apiInt
  return {
    inForce: phase === 'External' ? `the load balancer of the API is at ${leads}` : undefined,
    notManaged: waits ? `the operator has not begun to switch the load balancer to ${wanted ?? OWN}` : undefined,
  }
}

const OWN = 'the virtual address'

/** Returns the text about `api-int` on this node, where each node decides for itself. */
function namesText(place: Address, { dns }: BalancerSurroundings): string {
  if (dns === undefined) return 'no holdfast corednsmonitor of this node reports where api-int leads'
  return dns.wishes?.apiInt === place ? 'CoreDNS leads api-int there' : 'CoreDNS does not lead api-int there yet'
}
