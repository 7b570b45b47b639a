/**
 * Whether kube-api answers where an administrator wants it to be reached (`spec.dns.apiintIpAddress`). Decided here: which
 * address is refused, how often kube-api has to answer there, and what is said of it. holdfast switches nothing: the virtual
 * addresses are the same in every state, and HAProxy and CoreDNS are not its own.
 */
import { type Address, familyOf, isLinkLocal, isMulticast, parseAddress } from '../../../wire/address.ts'

export type Balancer =
  /** The API's own address is wanted. */
  | { readonly kind: 'own' }
  /** The wanted address cannot be one. */
  | { readonly kind: 'refused'; readonly wished: string; readonly why: string }
  /** `answers`: in a row so far; `failed`: why the last question had no answer. */
  | { readonly kind: 'asking'; readonly place: Address; readonly answers: number; readonly failed: string | undefined }
  /** `failures`: in a row since then. */
  | { readonly kind: 'answers'; readonly place: Address; readonly failures: number }

export type Wish = {
  readonly apiintIpAddress: string | undefined
  readonly apiVips: readonly Address[]
  readonly taken: readonly Address[]
}

export type BalancerEvent =
  | { readonly kind: 'wished'; readonly wish: Wish }
  /** kube-api was asked at `place`; undefined: it answered. */
  | { readonly kind: 'asked'; readonly place: Address; readonly failed: string | undefined }

/** A server that answers once may be one that restarts; one that is silent once may be busy. */
const IN_A_ROW = 3

export const FIRST_BALANCER: Balancer = { kind: 'own' }

export function stepBalancer(state: Balancer, event: BalancerEvent): Balancer {
  return event.kind === 'wished' ? wished(state, event.wish) : asked(state, event)
}

/** Returns the address to ask for readyz; `undefined`: none. */
export const toAsk = (state: Balancer): Address | undefined => ('place' in state ? state.place : undefined)

function wished(state: Balancer, wish: Wish): Balancer {
  const place = placeOf(wish)
  if (place === undefined) return FIRST_BALANCER
  if (typeof place === 'object') return { kind: 'refused', wished: wish.apiintIpAddress ?? '', why: place.why }
  return toAsk(state) === place ? state : { kind: 'asking', place, answers: 0, failed: undefined }
}

function asked(state: Balancer, { failed, place }: Extract<BalancerEvent, { kind: 'asked' }>): Balancer {
  // An answer to a question of an earlier wish.
  if (toAsk(state) !== place) return state
  if (state.kind === 'answers') {
    const failures = failed === undefined ? 0 : state.failures + 1
    return failures < IN_A_ROW ? { ...state, failures } : { kind: 'asking', place, answers: 0, failed }
  }
  const answers = failed === undefined && state.kind === 'asking' ? state.answers + 1 : 0
  return answers < IN_A_ROW ? { kind: 'asking', place, answers, failed } : { kind: 'answers', place, failures: 0 }
}

/** `undefined`: the API's own address. */
function placeOf({ apiintIpAddress, apiVips, taken }: Wish): Address | { readonly why: string } | undefined {
  if (apiintIpAddress === undefined) return undefined
  const address = parseAddress(apiintIpAddress)
  if (address === undefined) return { why: 'it is no IP address' }
  if (apiVips.includes(address)) return undefined
  const families = new Set(apiVips.map(familyOf))
  if (families.size > 0 && !families.has(familyOf(address)))
    return { why: `it is ${familyOf(address)}, and the API has ${[...families].join(' and ')}` }
  if (isMulticast(address) || isLinkLocal(address) || isNobodys(address)) return { why: 'no load balancer can have it' }
  if (taken.includes(address)) return { why: 'it is a node, or an address of ingress' }
  return address
}

const isNobodys = (address: Address): boolean =>
  /^(0|127|169\.254|2[4-5]\d)\./.test(address) || address === '::' || address === '::1'

/** `notManaged`: what others have to act on. */
export type BalancerNews = {
  readonly progressing: string | undefined
  readonly wrong: string | undefined
  readonly notManaged: string | undefined
}

const NOT_SWITCHED = 'holdfast does not switch HAProxy or CoreDNS'

/** For conditions. */
export function newsOf(state: Balancer): BalancerNews {
  const nothing = { progressing: undefined, wrong: undefined, notManaged: undefined }
  switch (state.kind) {
    case 'own':
      return nothing
    case 'refused':
      return { ...nothing, wrong: `dns.apiintIpAddress ${JSON.stringify(state.wished)} is refused: ${state.why}` }
    case 'asking': {
      const { answers, failed, place } = state
      return {
        ...nothing,
        progressing: `asking kube-api at ${place} (${answers} of ${IN_A_ROW} answers in a row); ${NOT_SWITCHED}`,
        wrong: failed === undefined ? undefined : `kube-api does not answer at ${place}: ${failed}`,
      }
    }
    case 'answers':
      return {
        ...nothing,
        notManaged: `kube-api answers at ${state.place} (${IN_A_ROW} times in a row); ${NOT_SWITCHED}`,
      }
  }
}
