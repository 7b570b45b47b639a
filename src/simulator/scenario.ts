/**
 * A history as a value: nodes with their configurations, and faults with their times. What a seed makes, what a failing one
 * is saved as, and what simulation.ts runs. Durations are in ms.
 */

export const FAULT_KINDS = [
  'crash engine',
  'crash guardian',
  'crash both',
  'power off',
  'stop',
  'freeze engine',
  'freeze guardian',
  'freeze both',
  'pause',
  'suspend',
  'link down',
  'cut off',
  'routers parted',
  'deaf',
  'mute',
  'deaf to VRRP',
  'mute in VRRP',
  'loss',
  'delay',
  'duplicates',
  'clock step',
  'service down',
  'VIP deleted',
  'demoted',
  'yield',
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

export type Fault = {
  readonly at: number
  /** How long; 0 = a moment. Of what is crashed: until it is started again. */
  readonly ms: number
  readonly kind: FaultKind
  /** Absent: all of the LAN. */
  readonly node?: string
  /** loss, duplicates: from 0 to 1; delay: most ms; clock step: ms; demoted: the priority. */
  readonly amount?: number
  /** service down: of these checks alone. */
  readonly checks?: readonly string[]
}

/** keepalived: a model of it (keepalived-node.ts); its document is one that a keepalived file could have become. */
export type DaemonKind = 'holdfast' | 'keepalived'

export type NodeSpec = {
  readonly name: string
  /** What runs on it. Absent: holdfast. */
  readonly daemon?: DaemonKind
  /** Its own addresses, with their prefix. */
  readonly addresses: readonly string[]
  /** How many millionths its clock is fast. */
  readonly drift: number
  /** Starts so late. */
  readonly startsAt: number
  /** A document as in a configuration file. */
  readonly config: Readonly<Record<string, unknown>>
}

export type Scenario = {
  readonly seed: number
  /** Up to so many ms a timer fires late. */
  readonly lateness: number
  readonly nodes: readonly NodeSpec[]
  readonly faults: readonly Fault[]
  readonly ms: number
}
