/**
 * A LAN of routers as the shared scenarios see it: the least that both a simulation and real network namespaces can do.
 * Time is the LAN's own (virtual or real milliseconds). Decides no scenario and knows no implementation.
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
  /** Every node is told the addresses of the others (stagger). */
  readonly peers: boolean
  /** Every node runs a sync group: an IPv4 and an IPv6 router, instead of one. */
  readonly bothFamilies?: boolean
  /** IPv6 addresses descend in the order of the plan, where IPv4 addresses ascend: ties go the other way. */
  readonly reversed?: boolean
}

export type Lan = {
  /** As planned, in ms: scenarios say how long they wait in intervals. */
  readonly interval: number
  start(...names: string[]): Promise<void>
  /** SIGTERM. Returns at once; the node may take until `Leaving` ends. */
  stop(name: string): Promise<void>
  /** The node is gone without a word and answers nothing: power off. */
  kill(name: string): Promise<void>
  /** Nothing (of that family) gets in or out; the link stays up, so the node notices nothing else. */
  cut(name: string, family?: Family): Promise<void>
  heal(name: string): Promise<void>
  priority(name: string, value: number): Promise<void>
  wait(ms: number): Promise<void>
  /** Who says that it is Active (with any of its routers), and who has the address (or any of them), by name in the order of the plan. */
  active(): Promise<readonly string[]>
  answering(): Promise<readonly string[]>
  /** Until exactly these are Active and answer, with everything they have; fails with what was seen instead. Returns the ms it took. */
  until(active: readonly string[], within: number): Promise<number>
  /** Everything that happened so far, for the message of a failed scenario. */
  story(): Promise<string>
  close(): Promise<void>
}

export type OpenLan = (plan: LanPlan) => Promise<Lan>
