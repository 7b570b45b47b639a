/**
 * Defines what every test scenario needs of a VRRP daemon, so that a scenario can run with any daemon. States have the
 * names of RFC 9568. This file does not know configuration syntax and log texts.
 */
import type { Host, Lab } from '../lab.ts'
import type { Exit, LoggedLine } from '../logged-process.ts'

export type DaemonKind = 'holdfast' | 'keepalived' | 'frr'

export type RouterPlan = {
  readonly host: Host
  readonly priority: number
  readonly intervalMs: number
  /** The virtual address to which the test client sends. */
  readonly address: string
  /** All virtual addresses of the router, in the order of the configuration. If absent, only `address`. */
  readonly addresses?: readonly string[]
  readonly vrid?: number
  /** VRRP version; 3 if absent. */
  readonly version?: 2 | 3
  /** Password of the simple authentication of VRRP version 2; absent: no authentication. */
  readonly password?: string
  /** Unicast addresses of the other routers; if absent, the router sends to the multicast group. */
  readonly unicastPeers?: readonly string[]
  /** Source address of unicast advertisements; if absent, the host's IPv4 address. */
  readonly unicastSource?: string
  /** Addresses of the other routers of a multicast group, for holdfast's `peers`. */
  readonly peers?: readonly string[]
  readonly preempt?: boolean
  /** True to use the daemon's own option for real-time scheduling, with priority 20. */
  readonly realtime?: boolean
}

export type Daemon = {
  readonly kind: DaemonKind
  readonly plan: RouterPlan
  readonly lines: readonly LoggedLine[]
  readonly exited: Promise<Exit>
  /** Resolves when the daemon's state machine runs, in state Backup or Active. */
  ready(within?: number): Promise<void>
  /** Returns the state that the daemon reports: Initialize, Backup, Active, … */
  state(): Promise<string>
  /**
   * Stops the daemon as an operator does: with SIGTERM, unless the daemon has a better way. Returns the time of the
   * order in ms.
   */
  terminate(): number
  /**
   * Writes the plan into the daemon's configuration file and makes the daemon read that file (SIGHUP). Returns the time
   * of the signal in ms.
   */
  reload(plan: RouterPlan): number
  /**
   * Sends SIGKILL to the daemon's process that speaks VRRP. The parent of the killed process lives on. Returns the time
   * of the signal in ms.
   */
  killEngine(): number
  /** Sends SIGKILL to all processes of the daemon. Returns the time of the signal in ms. */
  killAll(): number
  /**
   * Sends SIGSTOP (SIGCONT with `thaw`) to the daemon's process that speaks VRRP. Returns the time of the signal in ms.
   */
  freeze(): number
  thaw(): number
  /**
   * Makes the daemon give its virtual addresses to another router for `forMs` milliseconds, and continue. Returns the
   * time of the request in ms. Absent if the daemon has no such order.
   */
  yieldFor?(forMs: number): Promise<number>
}

export type StartDaemon = (lab: Lab, plan: RouterPlan) => Daemon

/** Returns the Skew_Time of RFC 9568 §6.1 in ms, without rounding to centiseconds. */
export function skewTimeMs(priority: number, intervalMs: number): number {
  return ((256 - priority) * intervalMs) / 256
}

export function activeDownIntervalMs(priority: number, intervalMs: number): number {
  return 3 * intervalMs + skewTimeMs(priority, intervalMs)
}
