/**
 * The daemon under test as a parameter: what every scenario needs of a VRRP daemon. States have the RFC's names. This
 * file does not know configuration syntax and log texts.
 */
import type { Host, Lab } from '../lab.ts'
import type { Exit, LoggedLine } from '../logged-process.ts'

export type DaemonKind = 'holdfast' | 'keepalived' | 'frr'

export type RouterPlan = {
  readonly host: Host
  readonly priority: number
  readonly intervalMs: number
  /** The virtual address that a client asks. */
  readonly address: string
  /** All virtual addresses, in the order of the configuration. If absent, only `address`. */
  readonly addresses?: readonly string[]
  readonly vrid?: number
  /** VRRP version; absent: 3. */
  readonly version?: 2 | 3
  /** Version 2: password of the simple authentication. */
  readonly password?: string
  /** Addresses of the other routers for unicast; absent: multicast. */
  readonly unicastPeers?: readonly string[]
  /** Source address for unicast; absent: the host's IPv4 address. */
  readonly unicastSource?: string
  /** Addresses of other routers that holdfast knows although it sends multicast. */
  readonly peers?: readonly string[]
  readonly preempt?: boolean
  /** True if the daemon gets its own option for real-time priority, with 20. */
  readonly realtime?: boolean
}

export type Daemon = {
  readonly kind: DaemonKind
  readonly plan: RouterPlan
  readonly lines: readonly LoggedLine[]
  readonly exited: Promise<Exit>
  /** Resolves when the state machine runs (Backup or later). */
  ready(within?: number): Promise<void>
  /** Returns the state that the daemon reports: Initialize, Backup, Active, … */
  state(): Promise<string>
  /** Ends the daemon as an operator does (SIGTERM, unless it has a better way). Returns the time. */
  terminate(): number
  /**
   * Writes the plan as the daemon's configuration file and makes the daemon read it (SIGHUP). Returns the time of the
   * signal.
   */
  reload(plan: RouterPlan): number
  /** Sends SIGKILL to the process that speaks VRRP. Its parent lives. */
  killEngine(): number
  /** Sends SIGKILL to all processes of the daemon. Returns the time. */
  killAll(): number
  /** Sends SIGSTOP or SIGCONT to the process that speaks VRRP. */
  freeze(): number
  thaw(): number
  /**
   * Makes the daemon hand its addresses over and continue. Returns the time of the request. Absent if the daemon cannot
   * do that.
   */
  yieldFor?(forMs: number): Promise<number>
}

export type StartDaemon = (lab: Lab, plan: RouterPlan) => Daemon

/** Returns Skew_Time of RFC 9568 §6.1 without rounding to centiseconds. */
export function skewTimeMs(priority: number, intervalMs: number): number {
  return ((256 - priority) * intervalMs) / 256
}

export function activeDownIntervalMs(priority: number, intervalMs: number): number {
  return 3 * intervalMs + skewTimeMs(priority, intervalMs)
}
