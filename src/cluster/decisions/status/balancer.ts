/**
 * Tests whether kube-api answers at the address of the administrator's load balancer (`spec.dns.apiintIpAddress`). This
 * file decides which address is refused, and how many answers are needed. The virtual addresses stay the same in every
 * state. The texts for the conditions are in balancer-news.ts.
 */
import { type Address, familyOf, isLinkLocal, isMulticast, parseAddress } from '../../../wire/address.ts'

export type Balancer =
  /** State: the API's own virtual address is wanted. */
  | { readonly kind: 'own' }
  /** State: the wanted address of the load balancer is not possible. */
  | { readonly kind: 'refused'; readonly wished: string; readonly why: string }
  /** `answers`: answers in a row so far; `failed`: reason why the last failed request had no answer. */
  | { readonly kind: 'asking'; readonly place: Address; readonly answers: number; readonly failed: string | undefined }
  /** `failures`: failed requests in a row since the last answer. */
  | { readonly kind: 'answers'; readonly place: Address; readonly failures: number }

export type Wish = {
  readonly apiintIpAddress: string | undefined
  readonly apiVips: readonly Address[]
  readonly taken: readonly Address[]
}

export type BalancerEvent =
  | { readonly kind: 'wished'; readonly wish: Wish }
  /** kube-api was asked at the address `place`; `failed` is `undefined` if kube-api answered. */
  | { readonly kind: 'asked'; readonly place: Address; readonly failed: string | undefined }

/**
 * Number of equal outcomes in a row that are needed. A server that answers once may be restarting, and a server that
 * fails once may be busy.
 */
export const IN_A_ROW = 3

export const FIRST_BALANCER: Balancer = { kind: 'own' }

/** Returns the state of the load balancer's address after an event. */
export function stepBalancer(state: Balancer, event: BalancerEvent): Balancer {
  return event.kind === 'wished' ? wished(state, event.wish) : asked(state, event)
}

/** Returns the address at which kube-api's readyz is asked; `undefined` if no load balancer is wanted. */
export const toAsk = (state: Balancer): Address | undefined => ('place' in state ? state.place : undefined)

function wished(state: Balancer, wish: Wish): Balancer {
  const place = placeOf(wish)
  if (place === undefined) return FIRST_BALANCER
  if (typeof place === 'object') return { kind: 'refused', wished: wish.apiintIpAddress ?? '', why: place.why }
  return toAsk(state) === place ? state : { kind: 'asking', place, answers: 0, failed: undefined }
}

function asked(state: Balancer, { failed, place }: Extract<BalancerEvent, { kind: 'asked' }>): Balancer {
  // The answer belongs to an address that was wanted earlier.
  if (toAsk(state) !== place) return state
  if (state.kind === 'answers') {
    const failures = failed === undefined ? 0 : state.failures + 1
    return failures < IN_A_ROW ? { ...state, failures } : { kind: 'asking', place, answers: 0, failed }
  }
  const answers = failed === undefined && state.kind === 'asking' ? state.answers + 1 : 0
  if (answers >= IN_A_ROW) return { kind: 'answers', place, failures: 0 }
  // A single answer between failures is no recovery: a load balancer with one dead server gives both in turn.
  return { kind: 'asking', place, answers, failed: failed ?? (state.kind === 'asking' ? state.failed : undefined) }
}

/**
 * Returns the wanted address of the load balancer, the reason why that address is refused, or `undefined` for the API's
 * own address.
 */
function placeOf({ apiintIpAddress, apiVips, taken }: Wish): Address | { readonly why: string } | undefined {
  if (apiintIpAddress === undefined) return undefined
  const address = parseAddress(apiintIpAddress)
  if (address === undefined) return { why: 'expected an IP address' }
  if (apiVips.includes(address)) return undefined
  const families = new Set(apiVips.map(familyOf))
  if (families.size > 0 && !families.has(familyOf(address)))
    return { why: `it is ${familyOf(address)}, but the addresses of the API are ${[...families].join(' and ')}` }
  if (isMulticast(address) || isLinkLocal(address) || isNobodys(address))
    return { why: 'a load balancer cannot have this address' }
  if (taken.includes(address)) return { why: 'it is the address of a node or of ingress' }
  return address
}

const isNobodys = (address: Address): boolean =>
  /^(0|127|169\.254|2[4-5]\d)\./.test(address) || address === '::' || address === '::1'
