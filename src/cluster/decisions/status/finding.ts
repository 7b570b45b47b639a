/**
 * Converts the state of the cluster's addresses to the conditions Available, Degraded, Progressing and Disabled. This
 * file decides what is degraded (O3: an address without exactly one holder, or a kube-api that does not answer at its
 * address), which reason comes first, and the texts.
 */
import type { Address } from '../../../wire/address.ts'
import type { Service } from '../engine/vrid.ts'
import type { Finding } from './condition.ts'

export type Holding = {
  readonly address: Address
  readonly service: Service
  /** Name of the node that holds the VIP; empty if no node holds it, `undefined` if the holder is not known. */
  readonly node: string | undefined
  /** Hosts besides the holder that answer for the VIP. */
  readonly others: readonly string[]
  /** Name of the node that published this holder; `undefined` if no node did. */
  readonly by: string | undefined
}

/** Outcome of requests to kube-api at the API's address, made as clients make them. */
export type ProbeFinding =
  | { readonly result: 'answers' }
  | { readonly result: 'silent'; readonly address: Address; readonly why: string }
  /** kube-api did not answer, but not often enough in a row to count as unreachable. */
  | { readonly result: 'undecided' }
  /** This node has not asked kube-api yet. The node publishes nothing before its first request. */
  | { readonly result: 'unasked' }

export type Circumstances = {
  readonly probe: ProbeFinding
  /** True if ingressHa is Disabled: no node should hold a VIP of ingress. */
  readonly ingressDisabled: boolean
  /** Text about the change in progress; `undefined` if no change is in progress. */
  readonly progressing: string | undefined
  /** Wishes in the administrator's HostedNetServices object that cannot be fulfilled. */
  readonly refused: readonly Trouble[]
  /** Text about wishes that no program is known to carry out; `undefined` if there are none. */
  readonly notManaged: string | undefined
  /** Text about a load balancer in force that is not the cluster's own. */
  readonly inForce?: string | undefined
}

export type Trouble = {
  readonly reason:
    | 'SpecInvalid'
    | 'SpecUnreadable'
    | 'LoadBalancerRefused'
    | 'CorefileKept'
    // The following reasons are only in ClusterOperator.
    | 'InvalidConfiguration'
    | 'DeployTimedOut'
    | 'DeploymentCrashLooping'
    | 'AccessDenied'
    | 'DefinitionTooOld'
    | 'LoadBalancerNotAnswering'
    | 'OperandsNotRolledOut'
  readonly message: string
}

export const SERVICE_NAMES: Readonly<Record<Service, string>> = { api: 'API', ingress: 'ingress' }

/** Returns the conditions for the state of the addresses. */
export function findingsOf(holdings: readonly Holding[], around: Circumstances): readonly Finding[] {
  const wrong = [
    ...holdings.flatMap((holding) => troubleOf(holding, around)),
    ...probeTrouble(around.probe),
    ...around.refused,
  ]
  return [available(holdings, around), degraded(wrong), progressing(around), NOT_DISABLED]
}

const NOT_DISABLED: Finding = {
  ...{ type: 'Disabled', status: 'False', reason: 'AsExpected' },
  message: 'the nodes of this platform hold the virtual addresses',
}

type Wrong = { readonly reason: string; readonly message: string }

function troubleOf(holding: Holding, { ingressDisabled }: Circumstances): readonly Wrong[] {
  const { address, by, node, others, service } = holding
  const name = `${SERVICE_NAMES[service]} ${address}`
  if (node !== undefined && node !== '' && others.length > 0) {
    const all = [node, ...others].sort()
    return [{ reason: 'SeveralHolders', message: `${name} is held by ${listed(all)}` }]
  }
  if (node !== '' || (service === 'ingress' && ingressDisabled)) return []
  return [{ reason: 'NobodyHolds', message: `${name} has no holder${by === undefined ? '' : `, according to ${by}`}` }]
}

const probeTrouble = (probe: ProbeFinding): readonly Wrong[] =>
  probe.result === 'silent'
    ? [{ reason: 'ApiNotAnswering', message: `kube-api does not answer through ${probe.address}: ${probe.why}` }]
    : []

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

function degraded(wrong: readonly Wrong[]): Finding {
  const [first] = wrong
  if (first === undefined)
    return {
      ...{ type: 'Degraded', status: 'False', reason: 'AsExpected' },
      message: 'each virtual address has one holder',
    }
  return {
    type: 'Degraded',
    status: 'True',
    reason: first.reason,
    message: wrong.map(({ message }) => message).join('; '),
  }
}

/** Returns the condition Available. Without the API, the cluster is not available. */
function available(holdings: readonly Holding[], around: Circumstances): Finding {
  const type = 'Available'
  const held = holdings.map((holding) => heldLine(holding, around)).join('; ')
  const nobody = holdings.some(({ node, service }) => service === 'api' && node === '')
  if (nobody) return { type, status: 'False', reason: 'NobodyHolds', message: held }
  switch (around.probe.result) {
    case 'silent':
      return { type, status: 'False', reason: 'ApiNotAnswering', message: held }
    case 'unasked':
    case 'undecided':
      if (!holdings.some(({ service }) => service === 'api'))
        return { type, status: 'True', reason: 'AsExpected', message: held }
      return { type, status: 'Unknown', reason: 'NotAnsweredYet', message: held }
    case 'answers':
      return { type, status: 'True', reason: 'AsExpected', message: held }
  }
}

function heldLine({ address, node, service }: Holding, { ingressDisabled }: Circumstances): string {
  const name = `${SERVICE_NAMES[service]} ${address}`
  if (service === 'ingress' && ingressDisabled && (node === undefined || node === '')) return `${name} is disabled`
  return node === undefined
    ? `${name}: the holder is not known`
    : node === ''
      ? `${name} has no holder`
      : `${name} is held by ${node}`
}

function progressing({ inForce, notManaged, progressing: what }: Circumstances): Finding {
  const type = 'Progressing'
  const message = [what, inForce, notManaged].filter((text) => text !== undefined).join('; ')
  if (what !== undefined) return { type, status: 'True', reason: 'LoadBalancerSwitch', message }
  const reason = notManaged === undefined ? 'AsExpected' : 'NotManaged'
  return { type, status: 'False', reason, message: message || 'no change is in progress' }
}
