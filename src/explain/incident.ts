/** The type of an incident. `find-incidents.ts` finds incidents; headline.ts and story.ts describe them. PURE. */
import type { EventOf } from '../events/event.ts'
import type { Cause } from './cause.ts'
import type { Diagnosis } from './diagnosis.ts'
import type { Entry, Node, Subject } from './timeline.ts'

export type Phase = { readonly what: string; readonly ms: number; readonly why?: string }

/** Move of a router's addresses. `from` and `to` are names of nodes, or addresses. */
export type Move = {
  readonly router: string
  readonly group: string | undefined
  readonly addresses: readonly string[]
  readonly from: string | undefined
  readonly to: string | undefined
  /** Longest possible duration of the takeover in milliseconds; absent unless only a third node received the change. */
  readonly heardWithin?: number
}

export type Incident = {
  readonly at: number
  readonly cause: Cause
  /** Node on which the incident happened. If a VIP moved, this node is the new holder. */
  readonly node: Node
  /** Virtual router of the incident; `undefined` if the incident concerns the whole node. */
  readonly subject: Subject | undefined
  readonly takeover: (Diagnosis & { readonly event: EventOf<'transition'> }) | undefined
  /** Move of the VIPs to another node; absent if the VIPs did not move. */
  readonly move?: Move
  /** Events of the incident, ordered by time. */
  readonly steps: readonly Entry[]
  readonly phases: readonly Phase[]
  /** Time in which two routers were Active, in milliseconds. */
  readonly twoHoldersMs?: number
  /** Event that the first sentence about the incident describes; absent: the last step. */
  readonly about?: Entry
  /** Node whose advertisements did not arrive. `undefined` if the journal of that node is missing. */
  readonly sender?: Node | undefined
}
