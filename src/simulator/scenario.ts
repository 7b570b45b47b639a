/**
 * Defines a simulated history as a value: nodes with their configurations, and faults with their times. A history is
 * made from a seed or read from a file, and simulation.ts runs it. A failed history is saved in this form. Durations
 * are in milliseconds.
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
  /** Duration of the fault in ms; 0 for a fault without a duration. For a crash: the time until the restart. */
  readonly ms: number
  readonly kind: FaultKind
  /** Name of the node to which the fault happens; absent: the fault happens to the whole LAN. */
  readonly node?: string
  /**
   * Amount of the fault. Faults loss and duplicates: share from 0 to 1; delay: longest delay in ms; clock step: ms;
   * demoted: the priority.
   */
  readonly amount?: number
  /** Names of the checks whose service fails, for the fault `service down`; absent: all checks. */
  readonly checks?: readonly string[]
}

/**
 * Kind of daemon. `keepalived` is a model (keepalived-node.ts), whose configuration could come from a keepalived file.
 */
export type DaemonKind = 'holdfast' | 'keepalived'

export type NodeSpec = {
  readonly name: string
  /** Daemon on the node; absent: holdfast. */
  readonly daemon?: DaemonKind
  /** The node's own addresses with their prefix lengths. */
  readonly addresses: readonly string[]
  /** Parts per million by which the node's clock is fast. */
  readonly drift: number
  /** Time in ms at which the daemon of the node starts. */
  readonly startsAt: number
  /** Configuration of the node, as the content of a configuration file. */
  readonly config: Readonly<Record<string, unknown>>
}

export type Scenario = {
  readonly seed: number
  /** Longest time in ms by which a timer of a node fires too late. */
  readonly lateness: number
  readonly nodes: readonly NodeSpec[]
  readonly faults: readonly Fault[]
  readonly ms: number
}
