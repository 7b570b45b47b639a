/**
 * A simulated history as a value: nodes with their configurations, and faults with their times. A history is made from
 * a seed, a failed history is saved in this form, and simulation.ts runs it. Durations are in milliseconds.
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
  /** Duration of the fault in milliseconds; 0 = a moment. For a crash, the time until the restart. */
  readonly ms: number
  readonly kind: FaultKind
  /** Node of the fault; absent: the whole LAN. */
  readonly node?: string
  /** Amount of the fault. loss, duplicates: from 0 to 1; delay: largest ms; clock step: ms; demoted: the priority. */
  readonly amount?: number
  /** Names of the affected checks, for the fault `service down`; absent: all checks. */
  readonly checks?: readonly string[]
}

/** keepalived: a model of it (keepalived-node.ts), whose document could come from a keepalived file. */
export type DaemonKind = 'holdfast' | 'keepalived'

export type NodeSpec = {
  readonly name: string
  /** Daemon on the node; absent: holdfast. */
  readonly daemon?: DaemonKind
  /** Addresses of the node itself, with prefix lengths. */
  readonly addresses: readonly string[]
  /** Millionths by which the node's clock is fast. */
  readonly drift: number
  /** Time in milliseconds of the simulation at which the node starts. */
  readonly startsAt: number
  /** Configuration of the daemon: a document as in a configuration file. */
  readonly config: Readonly<Record<string, unknown>>
}

export type Scenario = {
  readonly seed: number
  /** Largest lateness in milliseconds with which a timer of a node fires. */
  readonly lateness: number
  readonly nodes: readonly NodeSpec[]
  readonly faults: readonly Fault[]
  readonly ms: number
}
