/** An incident of a story, as values: find-incidents.ts finds them, headline.ts and story.ts say them. PURE. */
import type { EventOf } from '../events/event.ts'
import type { Cause } from './cause.ts'
import type { Diagnosis } from './diagnosis.ts'
import type { Node, Subject, Told } from './timeline.ts'

export type Phase = { readonly what: string; readonly ms: number; readonly why?: string }

/** From where to where the addresses of a router went: names of nodes, or addresses. */
export type Move = {
  readonly router: string
  readonly group: string | undefined
  readonly addresses: readonly string[]
  readonly from: string | undefined
  readonly to: string | undefined
  /** A third node has heard it; the milliseconds that such a takeover takes at most. */
  readonly heardWithin?: number
}

export type Incident = {
  readonly at: number
  readonly cause: Cause
  /** Where it happened, or who has the address now. */
  readonly node: Node
  /** Undefined: it is about the node as a whole. */
  readonly subject: Subject | undefined
  readonly takeover: (Diagnosis & { readonly event: EventOf<'transition'> }) | undefined
  /** `undefined`: the addresses stayed where they were. */
  readonly move?: Move
  /** By time. */
  readonly steps: readonly Told[]
  readonly phases: readonly Phase[]
  /** For how long two routers were Active. */
  readonly twoOwnersMs?: number
  /** What the first sentence is about, where that is not the last step. */
  readonly about?: Told
  /** Who has sent what did not arrive, as far as his journal is there. */
  readonly sender?: Node | undefined
}
