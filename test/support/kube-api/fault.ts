/** Faults of an API server, as orders that a test gives and server.ts carries out. */

export type Verb = 'list' | 'watch' | 'get' | 'apply' | 'create' | 'update' | 'delete' | 'other'

export type Fault =
  /** 401, 403, 429, 500, 410, …: a Status object as the API returns it. */
  | { readonly kind: 'status'; readonly code: number; readonly retryAfter?: number }
  /** Status 200 and a body that is no JSON. */
  | { readonly kind: 'garbage'; readonly text?: string }
  /** Status 200 and JSON of another kind than the request asked for. */
  | { readonly kind: 'wrong'; readonly json: unknown }
  /** The request is read and never answered. */
  | { readonly kind: 'silence' }
  /** The answer comes after this many ms. */
  | { readonly kind: 'late'; readonly ms: number }
  /** The connection is reset. */
  | { readonly kind: 'reset' }
  /** The headers and half of the body, then a reset. */
  | { readonly kind: 'half' }

export type FaultOrder = {
  readonly verb: Verb | 'any'
  readonly fault: Fault
  /** Number of requests; by default until the order is withdrawn. */
  readonly times?: number
}

type ActiveOrder = { readonly order: FaultOrder; left: number }

export class Faults {
  readonly #active: ActiveOrder[] = []

  /** Adds an order; returns a function that withdraws it. */
  add(order: FaultOrder): () => void {
    const active = { order, left: order.times ?? Number.POSITIVE_INFINITY }
    this.#active.push(active)
    return () => {
      active.left = 0
    }
  }

  clear(): void {
    this.#active.length = 0
  }

  /** Returns the oldest order that is left for this verb, and counts it as carried out. */
  take(verb: Verb): Fault | undefined {
    const found = this.#active.find(({ order, left }) => left > 0 && (order.verb === 'any' || order.verb === verb))
    if (found === undefined) return undefined
    found.left--
    return found.order.fault
  }
}
