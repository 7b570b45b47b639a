/**
 * What is found of the cluster's addresses, in Kubernetes' words: Available, Degraded, Progressing, Disabled. Decided here:
 * what counts as degraded (O3: not exactly one holder of each address, or kube-api silent behind it), which of several
 * reasons is the one in front, and what the sentences say. Refuses to know who publishes it and since when it is so.
 */
import type { Address } from '../../../wire/address.ts'
import type { Service } from '../engine/vrid.ts'
import type { Finding } from './condition.ts'

export type Holding = {
  readonly address: Address
  readonly service: Service
  /** Empty: nobody; undefined: nobody says. */
  readonly node: string | undefined
  /** Who else answers for it. */
  readonly others: readonly string[]
  /** Whose word that is. */
  readonly by: string | undefined
}

/** kube-api behind the API's addresses, asked as clients do. */
export type ProbeFinding =
  | { readonly verdict: 'answers' }
  | { readonly verdict: 'silent'; readonly address: Address; readonly why: string }
  /** It did not answer, and not often enough to be silent. */
  | { readonly verdict: 'undecided' }
  /** This node has not asked yet: it does not publish before it has. */
  | { readonly verdict: 'unasked' }

export type Circumstances = {
  readonly probe: ProbeFinding
  /** ingressHa: nobody is to hold its addresses. */
  readonly ingressDisabled: boolean
  /** What is under way; undefined: nothing. */
  readonly progressing: string | undefined
  /** What is wished and not done. */
  readonly refused: readonly Trouble[]
  /** What is wished of somebody else. */
  readonly notManaged: string | undefined
}

export type Trouble = {
  readonly reason: 'SpecInvalid' | 'SpecUnreadable' | 'LoadBalancerRefused'
  readonly message: string
}

export const SERVICE_NAMES: Readonly<Record<Service, string>> = { api: 'API', ingress: 'ingress' }

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
  message: 'this platform has virtual addresses of its own',
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
  return [{ reason: 'NobodyHolds', message: `${name} is held by nobody, says ${by ?? 'nobody'}` }]
}

const probeTrouble = (probe: ProbeFinding): readonly Wrong[] =>
  probe.verdict === 'silent'
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

/** The API is what the cluster is unavailable without. */
function available(holdings: readonly Holding[], around: Circumstances): Finding {
  const type = 'Available'
  const held = holdings.map((holding) => heldLine(holding, around)).join('; ')
  const nobody = holdings.some(({ node, service }) => service === 'api' && node === '')
  if (nobody) return { type, status: 'False', reason: 'NobodyHolds', message: held }
  switch (around.probe.verdict) {
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
    ? `${name}: nobody says who holds it`
    : `${name} is held by ${node === '' ? 'nobody' : node}`
}

function progressing({ notManaged, progressing: what }: Circumstances): Finding {
  const type = 'Progressing'
  const also = notManaged === undefined ? [] : [notManaged]
  if (what !== undefined)
    return { type, status: 'True', reason: 'LoadBalancerSwitch', message: [what, ...also].join('; ') }
  return notManaged === undefined
    ? { type, status: 'False', reason: 'AsExpected', message: 'nothing is under way' }
    : { type, status: 'False', reason: 'NotManaged', message: notManaged }
}
