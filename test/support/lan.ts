/**
 * Defines a LAN of routers for the shared test scenarios: the operations that a simulation and real network namespaces
 * both offer. Time is the LAN's own, in virtual or real milliseconds. This file defines no scenario and knows no
 * implementation.
 */
import type { Family } from '../../src/wire/address.ts'

export type LanNode = {
  readonly name: string
  readonly priority: number
  readonly preempt?: boolean
}

export type LanPlan = {
  readonly nodes: readonly LanNode[]
  /** Advertisement interval in ms: at least 10, in steps of 10. */
  readonly interval: number
  /** True to configure every node with the addresses of the other nodes as its peers (stagger). */
  readonly peers: boolean
  /** True to give every node a sync group of an IPv4 and an IPv6 router, instead of one router. */
  readonly bothFamilies?: boolean
  /**
   * True if IPv6 addresses descend in the order of the nodes, while IPv4 addresses ascend. Between equal priorities,
   * another node then wins in IPv6.
   */
  readonly reversed?: boolean
}

export type Lan = {
  /** Advertisement interval of the routers in ms. Scenarios give their waiting times in intervals. */
  readonly interval: number
  start(...names: string[]): Promise<void>
  /** Sends SIGTERM to the node's daemon. Returns immediately; the node may need time until its state `Leaving` ends. */
  stop(name: string): Promise<void>
  /** Switches the power of the node off: the node sends nothing more and answers nothing. */
  kill(name: string): Promise<void>
  /**
   * Cuts the node off: no frame (of that address family) reaches or leaves the node. The link stays up, so the node
   * receives no other notice.
   */
  cut(name: string, family?: Family): Promise<void>
  heal(name: string): Promise<void>
  priority(name: string, value: number): Promise<void>
  wait(ms: number): Promise<void>
  /**
   * `active` returns the nodes that report Active for any of their routers. `answering` returns the nodes whose kernel
   * has an address. Names are in the order of the nodes.
   */
  active(): Promise<readonly string[]>
  answering(): Promise<readonly string[]>
  /**
   * Waits until exactly these nodes are Active and answer for every address. Returns how long this took, in ms. Throws
   * with the last observed state of the LAN.
   */
  until(active: readonly string[], within: number): Promise<number>
  /** Returns all events so far as a text, for the message of a failed scenario. */
  story(): Promise<string>
  close(): Promise<void>
}

export type OpenLan = (plan: LanPlan) => Promise<Lan>
