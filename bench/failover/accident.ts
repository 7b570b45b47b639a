/**
 * Defines the shape of an accident: its preconditions, how it is done to three routers, how long it is observed, and
 * which times the timers of RFC 9568 alone predict. This file decides the types that all kinds of accidents share. This
 * file does not know which accidents exist (scenario.ts), nor how the LAN is observed (observation.ts).
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

/** Priorities of the three preempting multicast routers r1, r2, r3. */
export const PRIORITIES = [200, 150, 100] as const
/** Priority of each unicast router whose configuration lists its peers. */
export const EQUAL = 100

/**
 * Daemons on r1 and on the other routers, by name. A group with two kinds of daemons is a group in the middle of a
 * migration.
 */
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

/**
 * Figures that only some scenarios have: `takeovers`, the number of takeovers without a reason, and `lastAnswer`, the
 * time in ms until the last of 255 addresses is answered.
 */
export type Figures = Readonly<Record<string, number>>
export type Run = Measurement & { readonly figures?: Figures }
export type Outcome = Run | { readonly unsupported: string }

/** Range that the VRRP protocol alone predicts for the figure `of`: milliseconds, or a number of takeovers. */
export type Theory = {
  readonly of: 'moved' | 'outage' | 'takeovers' | 'lastAnswer'
  readonly from: number
  readonly to: number
}

/** A lab before the accident, in which r1 is Active and answers the client. */
export type Stage = {
  readonly cell: Cell
  readonly lab: LabView
  /** Daemons of r1, r2 and r3, in that order. */
  readonly daemons: readonly Daemon[]
  readonly observation: Observation
  /** Starts the daemon of the router at this position again, with the same configuration. */
  restart(position: number): Daemon
  plan(position: number): RouterPlan
}

export type Group = {
  /** True for three unicast routers with equal priority. The router that starts first becomes Active. */
  readonly equal?: boolean
  /** True if the routers forward packets that are not for themselves, as a Kubernetes node does. */
  readonly forward?: boolean
  /** True if the client resolves the virtual address again (ARP or NDP) before each probe. */
  readonly freshNeighbour?: boolean
  readonly realtime?: boolean
}

/**
 * Time of the accident (monotonicMs()). `meanwhile`: figures that the client cannot observe, counted during the
 * measuring window.
 */
export type Struck = number | { readonly at: number; readonly meanwhile: Promise<Figures | undefined> }

type Common = {
  readonly name: string
  readonly title: string
  /** Returns the reason why the accident cannot be done in this cell; `undefined` if the accident can be done. */
  readonly unsupported?: (cell: Cell) => string | undefined
  readonly theory: (cell: Cell) => Theory
  /** Returns for how many milliseconds the LAN is observed after the accident. */
  readonly windowMs: (cell: Cell) => number
  /**
   * Limit for runs at the same time: the largest number of such runs. Only runs with the same limit are combined. If
   * absent, ANY.
   */
  readonly company?: Company
}

export type Company = { readonly kind: string; readonly most: number }
/** Limit for runs that neither disturb other runs nor are disturbed by them. */
export const ANY: Company = { kind: 'any', most: Number.POSITIVE_INFINITY }

export type Accident = Common & {
  readonly group?: Group
  /**
   * Name of the node that answers the client before the accident. If absent, r1; if absent and `prepare` is given, the
   * node that answers at that time.
   */
  readonly before?: string
  /** Does the steps before the accident, which are not measured. */
  readonly prepare?: (stage: Stage) => Promise<void>
  readonly strike: (stage: Stage) => Struck | Promise<Struck>
}

/** An accident that does not happen to the usual three routers r1, r2, r3, and measures itself. */
export type Special = Common & { readonly measure: (cell: Cell, turn: Turn) => Promise<Run> }

export const kindsOf = ({ lineUp }: Cell): readonly DaemonKind[] => LINE_UPS[lineUp]

/** Returns the Active_Down_Interval of the router that takes over from r1, in ms. */
export const downMs = ({ intervalMs }: Cell, priority: number = PRIORITIES[1]): number =>
  activeDownIntervalMs(priority, intervalMs)
export const skewMs = ({ intervalMs }: Cell, priority: number = PRIORITIES[1]): number =>
  skewTimeMs(priority, intervalMs)

/**
 * Returns the predicted time of the takeover after the Active falls silent. The Active's last advertisement was sent up
 * to one Advertisement_Interval before.
 */
export const silence = (cell: Cell, priority?: number): Theory => {
  const to = downMs(cell, priority)
  return { of: 'moved', from: to - cell.intervalMs, to }
}
/**
 * Returns the predicted time of the takeover after the Active announces its end: a Backup receives priority 0 and waits
 * for its Skew_Time.
 */
export const farewell = (cell: Cell): Theory => ({ of: 'moved', from: skewMs(cell), to: skewMs(cell) })
/** Returns the prediction that the client loses no answer. */
export const nothing = (): Theory => ({ of: 'outage', from: 0, to: 0 })

/**
 * Returns for how many milliseconds the LAN is observed after the address has moved. Further events may follow the
 * takeover: competing Actives, late announcements, or a restarted daemon that takes the address back.
 */
export const afterMove = (cell: Cell, more = 1_500): number => 3 * downMs(cell, PRIORITIES[2]) + more

export const only =
  (kinds: readonly DaemonKind[], reason: string) =>
  (cell: Cell): string | undefined =>
    kindsOf(cell).every((kind) => kinds.includes(kind)) ? undefined : reason
