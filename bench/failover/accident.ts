/**
 * The shape of an accident: its preconditions, how it is done to three routers, how long to observe, and what the
 * timers of RFC 9568 alone predict. This file decides the types that all families of accidents share. This file does
 * not know which accidents exist (scenario.ts), nor how the LAN is observed (observation.ts).
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

/** Priorities of three preempting multicast routers. */
export const PRIORITIES = [200, 150, 100] as const
/** Priority of unicast routers that know each other. */
export const EQUAL = 100

/** Daemons on r1 and on the others. A group in the middle of a migration is a case of its own. */
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

/** Figures of some scenarios only: `takeovers` without a reason, and ms until the `lastAnswer` of 255. */
export type Figures = Readonly<Record<string, number>>
export type Run = Measurement & { readonly figures?: Figures }
export type Outcome = Run | { readonly unsupported: string }

/** Prediction of the protocol alone for the figure `of`: milliseconds, or a number of takeovers. */
export type Theory = {
  readonly of: 'moved' | 'outage' | 'takeovers' | 'lastAnswer'
  readonly from: number
  readonly to: number
}

/** A lab in which r1 is Active and answers the client, before the accident. */
export type Stage = {
  readonly cell: Cell
  readonly lab: LabView
  /** Daemons of r1, r2, r3. */
  readonly daemons: readonly Daemon[]
  readonly observation: Observation
  /** Starts the daemon of that position again with the same plan. */
  restart(position: number): Daemon
  plan(position: number): RouterPlan
}

export type Group = {
  /** Three unicast routers with one priority. The first that comes is Active. */
  readonly equal?: boolean
  /** True if routers forward foreign packets, as a Kubernetes node does. */
  readonly forward?: boolean
  /** True if the client resolves the address again before each probe. */
  readonly freshNeighbour?: boolean
  readonly realtime?: boolean
}

/**
 * Time of the accident (monotonicMs()). `meanwhile`: figures that the client does not see, counted while the window is
 * open.
 */
export type Struck = number | { readonly at: number; readonly meanwhile: Promise<Figures | undefined> }

type Common = {
  readonly name: string
  readonly title: string
  /** Returns why it cannot be done to this cell; `undefined` if it can. */
  readonly unsupported?: (cell: Cell) => string | undefined
  readonly theory: (cell: Cell) => Theory
  /** Returns how long to observe, from the accident on. */
  readonly windowMs: (cell: Cell) => number
  /** Limit for runs at the same time: this many at most, and only runs with the same limit. */
  readonly company?: Company
}

export type Company = { readonly kind: string; readonly most: number }
/** Runs that disturb no other and are not disturbed. */
export const ANY: Company = { kind: 'any', most: Number.POSITIVE_INFINITY }

export type Accident = Common & {
  readonly group?: Group
  /** Node that answers the client before the accident. If absent, r1, or with `prepare` whichever node answers. */
  readonly before?: string
  /** Steps before the accident, which are not measured. */
  readonly prepare?: (stage: Stage) => Promise<void>
  readonly strike: (stage: Stage) => Struck | Promise<Struck>
}

/** An accident of other routers than those three. */
export type Special = Common & { readonly measure: (cell: Cell, turn: Turn) => Promise<Run> }

export const kindsOf = ({ lineUp }: Cell): readonly DaemonKind[] => LINE_UPS[lineUp]

/** Returns Active_Down_Interval of the router that follows r1. */
export const downMs = ({ intervalMs }: Cell, priority: number = PRIORITIES[1]): number =>
  activeDownIntervalMs(priority, intervalMs)
export const skewMs = ({ intervalMs }: Cell, priority: number = PRIORITIES[1]): number =>
  skewTimeMs(priority, intervalMs)

/** The Active falls silent. Its last advertisement was up to an interval ago. */
export const silence = (cell: Cell, priority?: number): Theory => {
  const to = downMs(cell, priority)
  return { of: 'moved', from: to - cell.intervalMs, to }
}
/** The Active announces its end: priority 0 arrives, and Skew_Time passes. */
export const farewell = (cell: Cell): Theory => ({ of: 'moved', from: skewMs(cell), to: skewMs(cell) })
/** The protocol predicts no outage. */
export const nothing = (): Theory => ({ of: 'outage', from: 0, to: 0 })

/**
 * A second accident may follow the first: contests, late announcements, a restarted daemon that takes the address back.
 */
export const afterMove = (cell: Cell, more = 1_500): number => 3 * downMs(cell, PRIORITIES[2]) + more

export const only =
  (kinds: readonly DaemonKind[], reason: string) =>
  (cell: Cell): string | undefined =>
    kindsOf(cell).every((kind) => kinds.includes(kind)) ? undefined : reason
