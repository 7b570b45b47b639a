/** Defines faults of the Kubernetes API's stand-in. A test orders a fault, and server.ts makes it. */

export type Verb = 'list' | 'watch' | 'get' | 'apply' | 'create' | 'update' | 'delete' | 'other'

export type Fault =
  /** The answer is a Status object of the API with this HTTP status: 401, 403, 429, 500, 410, … */
  | { readonly kind: 'status'; readonly code: number; readonly retryAfter?: number }
  /** The answer has the HTTP status 200 and a body that is no JSON. */
  | { readonly kind: 'garbage'; readonly text?: string }
  /** The answer has the HTTP status 200 and JSON of another kind than the request asked for. */
  | { readonly kind: 'wrong'; readonly json: unknown }
  /** The stand-in reads the request and never answers. */
  | { readonly kind: 'silence' }
  /** The answer comes after this many milliseconds. */
  | { readonly kind: 'late'; readonly ms: number }
  /** The connection is reset instead of an answer. */
  | { readonly kind: 'reset' }
  /** The answer ends after the headers and half of the body, by a reset of the connection. */
  | { readonly kind: 'half' }

export type FaultOrder = {
  readonly verb: Verb | 'any'
  readonly fault: Fault
  /** Number of requests that meet the fault; absent: every request until the test withdraws the order. */
  readonly times?: number
}

type ActiveOrder = { readonly order: FaultOrder; left: number }

export class Faults {
  readonly #active: ActiveOrder[] = []

  /** Adds an order for a fault. Returns a function that withdraws the order. */
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

  /**
   * Returns the oldest remaining order for requests with this verb, and counts it as used; `undefined` if there is
   * none.
   */
  take(verb: Verb): Fault | undefined {
    const found = this.#active.find(({ order, left }) => left > 0 && (order.verb === 'any' || order.verb === verb))
    if (found === undefined) return undefined
    found.left--
    return found.order.fault
  }
}
