/**
 * A LAN of routers as the shared scenarios see it: the operations that both a simulation and real network namespaces
 * offer. Time is the LAN's own (virtual or real milliseconds). Decides no scenario and knows no implementation.
 */
import type { Family } from '../../src/wire/address.ts'

export type LanNode = {
  readonly name: string
  readonly priority: number
  readonly preempt?: boolean
}

export type LanPlan = {
  readonly nodes: readonly LanNode[]
  /** Advertisement interval in ms: 10 and more, in steps of 10. */
  readonly interval: number
  /** Every node is configured with the addresses of the others (stagger). */
  readonly peers: boolean
  /** Every node runs a sync group: an IPv4 and an IPv6 router, instead of one. */
  readonly bothFamilies?: boolean
  /** IPv6 addresses descend in the order of the plan, where IPv4 addresses ascend: ties go the other way. */
  readonly reversed?: boolean
}

export type Lan = {
  /** Advertisement interval of the plan in ms: scenarios give waiting times in intervals. */
  readonly interval: number
  start(...names: string[]): Promise<void>
  /** Sends SIGTERM. Returns immediately; the node may need time until `Leaving` ends. */
  stop(name: string): Promise<void>
  /** Switches the power off: the node sends nothing more and answers nothing. */
  kill(name: string): Promise<void>
  /** Cuts the node off: no frame (of that family) gets in or out. The link stays up, so the node notices nothing else. */
  cut(name: string, family?: Family): Promise<void>
  heal(name: string): Promise<void>
  priority(name: string, value: number): Promise<void>
  wait(ms: number): Promise<void>
  /**
   * Nodes that report Active (with any of their routers), and nodes that have an address. Names are in the order of
   * the plan.
   */
  active(): Promise<readonly string[]>
  answering(): Promise<readonly string[]>
  /**
   * Waits until exactly these nodes are Active and answer for every address. Returns the ms it took; fails with the
   * last observed state.
   */
  until(active: readonly string[], within: number): Promise<number>
  /** All events so far, for the message of a failed scenario. */
  story(): Promise<string>
  close(): Promise<void>
}

export type OpenLan = (plan: LanPlan) => Promise<Lan>
