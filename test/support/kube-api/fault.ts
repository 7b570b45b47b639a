/** What an API server does wrong, as orders that a test gives; who obeys is server.ts. */

export type Verb = 'list' | 'watch' | 'get' | 'apply' | 'create' | 'update' | 'delete' | 'other'

export type Fault =
  /** 401, 403, 429, 500, 410, …: a Status as the API gives it. */
  | { readonly kind: 'status'; readonly code: number; readonly retryAfter?: number }
  /** 200 and no JSON. */
  | { readonly kind: 'garbage'; readonly text?: string }
  /** 200 and JSON of another kind than asked for. */
  | { readonly kind: 'wrong'; readonly json: unknown }
  /** Taken and never answered. */
  | { readonly kind: 'silence' }
  /** Answered after so many ms. */
  | { readonly kind: 'late'; readonly ms: number }
  /** The connection is reset. */
  | { readonly kind: 'reset' }
  /** The headers and half of the body, then reset. */
  | { readonly kind: 'half' }

export type FaultOrder = {
  readonly verb: Verb | 'any'
  readonly fault: Fault
  /** Default: until it is taken back. */
  readonly times?: number
}

type Standing = { readonly order: FaultOrder; left: number }

export class Faults {
  readonly #standing: Standing[] = []

  /** Returns how to take it back. */
  add(order: FaultOrder): () => void {
    const standing = { order, left: order.times ?? Number.POSITIVE_INFINITY }
    this.#standing.push(standing)
    return () => {
      standing.left = 0
    }
  }

  clear(): void {
    this.#standing.length = 0
  }

  /** The oldest order that is left for this verb; it counts as obeyed. */
  take(verb: Verb): Fault | undefined {
    const found = this.#standing.find(({ order, left }) => left > 0 && (order.verb === 'any' || order.verb === verb))
    if (found === undefined) return undefined
    found.left--
    return found.order.fault
  }
}
