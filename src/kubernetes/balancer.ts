/**
 * Whether the API is balanced by the cluster or by somebody outside (`spec.dns.apiintIpAddress`), as a state machine with
 * time as an argument. Decided here: what is refused, that nothing changes before kube-api has answered at the new place,
 * and that the old place is to stay for a grace period. It changes nothing itself: holdfast's part, the virtual addresses,
 * is the same in every state, and HAProxy and CoreDNS are somebody else's.
 */
import { type Address, familyOf, isLinkLocal, isMulticast, parseAddress } from '../wire/address.ts'

/** Where the API is reached: `undefined` = the cluster's own virtual address. */
export type Place = Address | undefined

export type Balancer = {
  /** In force. */
  readonly at: Place
  readonly phase:
    | { readonly kind: 'done' }
    /** No change: what is wished cannot be one. */
    | { readonly kind: 'refused'; readonly wished: string; readonly why: string }
    /** No change yet: kube-api has not answered there often enough. `failed`: why not, of the last question. */
    | { readonly kind: 'pending'; readonly to: Place; readonly answers: number; readonly failed: string | undefined }
    /** In force, and the place before is to stay until then. */
    | { readonly kind: 'draining'; readonly from: Place; readonly until: number }
}

export type Wish = {
  readonly apiintIpAddress: string | undefined
  readonly apiVips: readonly Address[]
  readonly taken: readonly Address[]
}

export type BalancerEvent =
  | { readonly kind: 'wished'; readonly wish: Wish }
  /** kube-api was asked at `place`; undefined: it answered. */
  | { readonly kind: 'asked'; readonly place: Place; readonly failed: string | undefined }
  | { readonly kind: 'time' }

/** In a row, a question each few seconds: one that answers once is being restarted, or is somebody else. */
const ANSWERS = 3
/** Milliseconds in which clients learn of the new place. */
export const GRACE = 300_000

export const FIRST_BALANCER: Balancer = { at: undefined, phase: { kind: 'done' } }

export function stepBalancer(state: Balancer, event: BalancerEvent, now: number): Balancer {
  switch (event.kind) {
    case 'wished':
      return wished(state, event.wish)
    case 'asked':
      return asked(state, event, now)
    case 'time':
      return state.phase.kind === 'draining' && now >= state.phase.until
        ? { at: state.at, phase: { kind: 'done' } }
        : state
  }
}

/** Whom to ask for readyz; nothing: nobody. */
export function toAsk({ phase }: Balancer): { readonly place: Place } | undefined {
  return phase.kind === 'pending' ? { place: phase.to } : undefined
}

function wished(state: Balancer, wish: Wish): Balancer {
  const place = placeOf(wish)
  if (typeof place === 'object') {
    return { at: state.at, phase: { kind: 'refused', wished: wish.apiintIpAddress ?? '', why: place.why } }
  }
  const { at, phase } = state
  if (place === at) return phase.kind === 'draining' ? state : { at, phase: { kind: 'done' } }
  if (phase.kind === 'pending' && phase.to === place) return state
  return { at, phase: { kind: 'pending', to: place, answers: 0, failed: undefined } }
}

function asked(state: Balancer, { failed, place }: Extract<BalancerEvent, { kind: 'asked' }>, now: number): Balancer {
  const { at, phase } = state
  // An answer to a question of an earlier wish.
  if (phase.kind !== 'pending' || phase.to !== place) return state
  if (failed !== undefined) return { at, phase: { ...phase, answers: 0, failed } }
  const answers = phase.answers + 1
  if (answers < ANSWERS) return { at, phase: { ...phase, answers, failed: undefined } }
  return { at: place, phase: { kind: 'draining', from: at, until: now + GRACE } }
}

function placeOf({ apiintIpAddress, apiVips, taken }: Wish): Place | { readonly why: string } {
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

const called = (place: Place): string => place ?? "the API's own address"

export type BalancerNews = { readonly progressing: string | undefined; readonly wrong: string | undefined }

/** For conditions. */
export function newsOf({ at, phase }: Balancer): BalancerNews {
  switch (phase.kind) {
    case 'done':
      return { progressing: undefined, wrong: undefined }
    case 'refused':
      return {
        progressing: undefined,
        wrong: `dns.apiintIpAddress ${JSON.stringify(phase.wished)} is refused: ${phase.why}; the API stays at ${called(at)}`,
      }
    case 'pending': {
      const wait = `the API is to be at ${called(phase.to)}, and stays at ${called(at)} until kube-api has answered there`
      return {
        progressing: wait,
        wrong:
          phase.failed === undefined
            ? undefined
            : `kube-api does not answer at ${called(phase.to)}: ${phase.failed}; the API stays at ${called(at)}`,
      }
    }
    case 'draining':
      return {
        progressing: `the API is at ${called(at)}; ${called(phase.from)} has to answer for another grace period`,
        wrong: undefined,
      }
  }
}
