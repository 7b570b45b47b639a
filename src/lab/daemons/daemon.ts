/**
 * The daemon under test as a parameter: what every scenario asks of a VRRP daemon, whichever it is. States carry the
 * RFC's names. Refuses to know configuration syntax and log texts of any of them.
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
  /** All virtual addresses, in the order of the configuration. Absent: only `address`. */
  readonly addresses?: readonly string[]
  readonly vrid?: number
  /** Absent: 3. */
  readonly version?: 2 | 3
  /** Version 2: simple authentication. */
  readonly password?: string
  /** Absent: multicast. */
  readonly unicastPeers?: readonly string[]
  /** Absent: the host's IPv4 address. */
  readonly unicastSource?: string
  /** Multicast: the other routers, a hint to holdfast. */
  readonly peers?: readonly string[]
  readonly preempt?: boolean
  /** With the daemon's own option for real-time priority, 20. */
  readonly realtime?: boolean
}

export type Daemon = {
  readonly kind: DaemonKind
  readonly plan: RouterPlan
  readonly lines: readonly LoggedLine[]
  readonly exited: Promise<Exit>
  /** Resolves when its state machine runs (Backup or later). */
  ready(within?: number): Promise<void>
  /** By its own account: Initialize, Backup, Active, … */
  state(): Promise<string>
  /** The operator's way to end it (SIGTERM, unless the daemon has a better one); returns when. */
  terminate(): number
  /** Writes the plan as its file and has it read that (SIGHUP); returns when it was told. */
  reload(plan: RouterPlan): number
  /** SIGKILL of the process that speaks VRRP, alone; its parent lives. */
  killEngine(): number
  /** SIGKILL of all its processes. */
  killAll(): number
  /** SIGSTOP, SIGCONT of the process that speaks VRRP. */
  freeze(): number
  thaw(): number
  /** Hands its addresses over and stays; absent: it cannot be asked to. Returns when it was asked. */
  yieldFor?(forMs: number): Promise<number>
}

export type StartDaemon = (lab: Lab, plan: RouterPlan) => Daemon

/** RFC 9568 §6.1, exact (no rounding to centiseconds). */
export function skewTimeMs(priority: number, intervalMs: number): number {
  return ((256 - priority) * intervalMs) / 256
}

export function activeDownIntervalMs(priority: number, intervalMs: number): number {
  return 3 * intervalMs + skewTimeMs(priority, intervalMs)
}
