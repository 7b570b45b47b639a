/**
 * The shape of an accident: what has to be so before it, how it is done to three routers, how long to look and what the
 * timers of RFC 9568 alone make of it. Decides the words that all families of accidents share. Refuses to know which
 * accidents there are (scenario.ts) and how the LAN is watched (observation.ts).
 */
import {
  activeDownIntervalMs,
  type Daemon,
  type DaemonKind,
  type RouterPlan,
  skewTimeMs,
} from '../../src/lab/daemons/daemon.ts'
import type { LabView } from '../../src/lab/lab.ts'
import type { Turn } from './company.ts'
import type { Family, Measurement, Observation } from './observation.ts'

/** Preempting, multicast. */
export const PRIORITIES = [200, 150, 100] as const
/** Of unicast routers that know each other. */
export const EQUAL = 100

/** Who runs on r1, and who on the others: a group in the middle of a migration is a case of its own. */
export const LINE_UPS = {
  holdfast: ['holdfast', 'holdfast'],
  keepalived: ['keepalived', 'keepalived'],
  frr: ['frr', 'frr'],
  'holdfast+keepalived': ['holdfast', 'keepalived'],
  'keepalived+holdfast': ['keepalived', 'holdfast'],
} as const satisfies Record<string, readonly [DaemonKind, DaemonKind]>
export type LineUp = keyof typeof LINE_UPS

export type Cell = {
  readonly scenario: string
  readonly intervalMs: number
  readonly lineUp: LineUp
  readonly family: Family
}

/** What only some scenarios count: `takeovers` of routers that had no reason, ms until the `lastAnswer` of 255. */
export type Figures = Readonly<Record<string, number>>
export type Run = Measurement & { readonly figures?: Figures }
export type Outcome = Run | { readonly unsupported: string }

/** Milliseconds, or a number of takeovers: what the protocol alone makes of the figure that is `of` interest here. */
export type Theory = {
  readonly of: 'moved' | 'outage' | 'takeovers' | 'lastAnswer'
  readonly from: number
  readonly to: number
}

/** A lab in which r1 is Active, the client is answered by it, and nothing has happened yet. */
export type Stage = {
  readonly cell: Cell
  readonly lab: LabView
  /** Of r1, r2, r3. */
  readonly daemons: readonly Daemon[]
  readonly observation: Observation
  /** The daemon of that position, started once more with the plan that it had. */
  restart(position: number): Daemon
  plan(position: number): RouterPlan
}

export type Group = {
  /** Three unicast routers with one priority; the first to come is Active. */
  readonly equal?: boolean
  /** The routers relay what is not for them, as a Kubernetes node does. */
  readonly forward?: boolean
  /** The client asks anew before each probe. */
  readonly freshNeighbour?: boolean
  readonly realtime?: boolean
}

/** When it happened (monotonicMs()); what goes on while the window is open may count what the client does not see. */
export type Struck = number | { readonly at: number; readonly meanwhile: Promise<Figures | undefined> }

type Common = {
  readonly name: string
  readonly title: string
  /** Why it cannot be done to this cell; undefined: it can. */
  readonly unsupported?: (cell: Cell) => string | undefined
  readonly theory: (cell: Cell) => Theory
  /** How long to look, from the accident on. */
  readonly windowMs: (cell: Cell) => number
  /** It disturbs, or is disturbed by, others at the same time: so many at most, and only of those that say the same. */
  readonly company?: Company
}

export type Company = { readonly kind: string; readonly most: number }
/** Whoever minds nobody. */
export const ANY: Company = { kind: 'any', most: Number.POSITIVE_INFINITY }

export type Accident = Common & {
  readonly group?: Group
  /** Who answers the client when it happens; absent: r1, or with `prepare` whoever does. */
  readonly before?: string
  /** What has to have happened before; nothing of it is measured. */
  readonly prepare?: (stage: Stage) => Promise<void>
  readonly strike: (stage: Stage) => Struck | Promise<Struck>
}

/** An accident to other routers than those three. */
export type Special = Common & { readonly measure: (cell: Cell, turn: Turn) => Promise<Run> }

export const kindsOf = ({ lineUp }: Cell): readonly DaemonKind[] => LINE_UPS[lineUp]

/** Of the router that follows r1. */
export const downMs = ({ intervalMs }: Cell, priority: number = PRIORITIES[1]): number =>
  activeDownIntervalMs(priority, intervalMs)
export const skewMs = ({ intervalMs }: Cell, priority: number = PRIORITIES[1]): number =>
  skewTimeMs(priority, intervalMs)

/** The Active falls silent: its last advertisement was up to an interval ago. */
export const silence = (cell: Cell, priority?: number): Theory => {
  const to = downMs(cell, priority)
  return { of: 'moved', from: to - cell.intervalMs, to }
}
/** The Active says that it goes: priority 0 is heard, Skew_Time passes. */
export const farewell = (cell: Cell): Theory => ({ of: 'moved', from: skewMs(cell), to: skewMs(cell) })
/** Nothing in the protocol takes the address from the client. */
export const nothing = (): Theory => ({ of: 'outage', from: 0, to: 0 })

/** A second accident may follow the first: duels, late announcements, a respawned daemon that wants it back. */
export const afterMove = (cell: Cell, more = 1_500): number => 3 * downMs(cell, PRIORITIES[2]) + more

export const only =
  (kinds: readonly DaemonKind[], reason: string) =>
  (cell: Cell): string | undefined =>
    kindsOf(cell).every((kind) => kinds.includes(kind)) ? undefined : reason
