/**
 * Measurements as plain values, which are the only input of the judges in this folder. This file decides the fields of
 * a measurement, which `--json` prints under `measured` (docs/doctor.md). This file knows nothing about how the values
 * are measured, and what they mean.
 */

import type { DiscardReason } from '../vrrp/advertisement.ts'
import type { Address, Family } from '../wire/address.ts'
import type { Mac } from '../wire/mac.ts'
import type { ManagerState } from './manager-state.ts'

/** A virtual router of the configuration on this node, with the values that the judges need. */
export type PlannedRouter = {
  readonly name: string
  readonly vrid: number
  readonly family: Family
  readonly version: 2 | 3
  readonly priority: number
  readonly intervalMs: number
  /** Interface of the measured router; `undefined` if no interface fits the configuration. */
  readonly interface: string | undefined
  /** Reason why the router cannot follow the address of `interface: { holding: … }`; absent if it can. */
  readonly cannotFollow?: string | undefined
  readonly source: Address | undefined
  /** Virtual addresses in the router's advertisements. */
  readonly addresses: readonly Address[]
  /** All virtual addresses that the router installs, with those outside of its advertisements. */
  readonly held: readonly HeldAddress[]
  /** True if the router has priority 255 and the addresses are the node's own. */
  readonly owner: boolean
  readonly multicast: boolean
  readonly peers: readonly Address[]
  /** Size of the router's advertisement with the IP header, in octets. */
  readonly datagramOctets: number
}
export type HeldAddress = { readonly address: Address; readonly interface: string | undefined }

/** Deadlines of one run of the engine's timer, in milliseconds. */
export type TimerRun = {
  /** Scheduling policy of the process, by the kernel's name. */
  readonly policy: string
  /** Priority of the process under a real-time policy, otherwise 0. */
  readonly priority: number
  readonly everyMs: number
  /** Lateness with which the timer of each deadline fired, in milliseconds. */
  readonly lateness: readonly number[]
  /** CLOCK_REALTIME minus CLOCK_MONOTONIC at each deadline, in milliseconds. */
  readonly offsets: readonly number[]
}
export type Timers = {
  readonly ordinary: TimerRun | Unmeasured
  readonly realtime: TimerRun | Unmeasured
}
export type Unmeasured = { readonly unmeasured: string }

export type MachineState = {
  readonly kernel: string
  readonly processors: number
  /** Names of missing capabilities: of the running daemon, or of this command if no daemon runs. */
  readonly missingCapabilities: readonly string[]
  /** Process id of the daemon that answers at the control socket. `undefined` if none answers. */
  readonly daemon: number | undefined
  /** User id of this command. */
  readonly user: number
  /** True if a process may get real-time priority, by capability or limit. */
  readonly mayRealtime: boolean
  /** Largest receive buffer that the kernel allows, in octets. `undefined` if unknown. */
  readonly receiveBufferLimit: number | undefined
  /** Octets of the receive buffer that the engine requests. With CAP_NET_ADMIN it may exceed the limit. */
  readonly receiveBufferWanted: number
  readonly clockSource: string | undefined
  /** Share of the measured time, from 0 to 1, in which the hypervisor ran other machines; `undefined` if unknown. */
  readonly stolenShare: number | undefined
  /**
   * Number of times that the CPU quota stopped the cgroup of the process during the measurement; `undefined` if
   * unknown.
   */
  readonly throttled: number | undefined
  /** Milliseconds of the measurement in which a process waited for a CPU (PSI `cpu some`); `undefined` if unknown. */
  readonly pressureMs: number | undefined
  readonly durationMs: number
  /** Nanoseconds added to CLOCK_MONOTONIC in this time namespace. 0 in the time namespace of the machine. */
  readonly monotonicOffset: number
  /** True if children of this process get another time namespace. */
  readonly timeNamespaceChanges: boolean
  /** Names of missing kernel features, as text. */
  readonly missingFeatures: readonly string[]
  /** True if the guardian of the running daemon has a seccomp filter of its own; `undefined` if that is not known. */
  readonly guardianConfined: boolean | undefined
  /**
   * Sentence of the running daemon about advertisements that the engine sends although `lease: on` is configured;
   * `undefined` if there are none, or if no daemon answers.
   */
  readonly lease: string | undefined
  readonly ipForward: boolean | undefined
  readonly processes: readonly NeighbourProcess[]
  /** Number of VRRP sockets whose process cannot be seen. */
  readonly unseenVrrpSockets: number
}

export type NeighbourProcess = {
  readonly pid: number
  readonly name: string
  /** True if the process has a socket for VRRP in this network namespace. */
  readonly vrrp: boolean
  /** Scheduling policy SCHED_OTHER, SCHED_RR, …; only for processes with a VRRP socket. */
  readonly policy?: string
}

export type LanState = {
  readonly interface: string
  readonly mac: Mac
  readonly mtu: number
  readonly up: boolean
  readonly carrier: boolean
  /** Kind of device (bridge, bond …) that has this interface as a port; `undefined` if none has. */
  readonly portOf: string | undefined
  readonly own: readonly OwnAddress[]
  readonly settings: LanSettings
  readonly manager: LanManager
  readonly listening: Readonly<Record<Family, Listening | Unmeasured>>
  /** Answers and unsolicited claims of other hosts for our addresses. Each pair of address and MAC occurs once. */
  readonly claims: readonly { readonly address: Address; readonly mac: Mac }[]
  /** Number of ARP or NDP questions for each address. */
  readonly asked: readonly { readonly address: Address; readonly times: number }[]
  /** Routes from this node to peers and to routers that were heard, IPv4 only. */
  readonly routes: readonly WayBack[]
}

/** Route from this node to a peer or to a router that was heard. */
export type WayBack = {
  readonly address: Address
  /** Interface of the route in the main table; `undefined` without a route. */
  readonly interface: string | undefined
  /**
   * True if the kernel would refuse a packet of that host on this interface. `undefined` if the kernel did not answer.
   */
  readonly refused: boolean | undefined
}

export type OwnAddress = {
  readonly address: Address
  readonly prefixLength: number
  /** True if the kernel's duplicate address detection has found another host with the address. */
  readonly dadFailed: boolean
  /** True if the preferred lifetime of the address is 0 (IPv6 only). */
  readonly deprecated: boolean
}

/** Kernel settings of the interface. `undefined` if a setting could not be read. */
export type LanSettings = {
  readonly rpFilter: number | undefined
  readonly arpIgnore: number | undefined
  readonly arpFilter: number | undefined
  readonly disableIpv6: number | undefined
}

export type LanManager = {
  /** Whether NetworkManager manages the interface; `undefined` if NetworkManager does not run or cannot be seen. */
  readonly networkManager: ManagerState | undefined
  readonly networkd: ManagerState | undefined
}

export type Listening = {
  readonly forMs: number
  /**
   * VRRP routers that were heard on the wire, before any packet filter of this node. This node itself is never one of
   * them.
   */
  readonly heard: readonly HeardRouter[]
  /** Number of VRRP packets of this node that left the node on the interface. */
  readonly left: number
  /**
   * Reason why the packet filter blocks outgoing VRRP packets. A test packet that never reaches a wire shows the
   * reason.
   */
  readonly refused: string | undefined
  /**
   * True if the test packet or a packet of the daemon passed this node's output rules; false if none was tried, or none
   * passed.
   */
  readonly passedOutput: boolean
  /**
   * True if the test packet came back through the input rules of this node. `undefined` if no test packet was sent,
   * because a running daemon would receive the packet.
   */
  readonly looped: boolean | undefined
  readonly messages: MessageCounts
}

export type HeardRouter = {
  readonly source: Address
  readonly mac: Mac
  readonly vrid: number
  readonly version: number
  readonly priority: number
  readonly intervalMs: number
  readonly addresses: readonly Address[]
  readonly group: boolean
  readonly packets: number
  /** Number of the router's packets that reached a socket of this node. The node dropped the other packets. */
  readonly delivered: number
  /** Reason why every receiver discards the router's packets; `undefined` if a receiver may accept them. */
  readonly discard: DiscardReason | undefined
}

/** Counts of the messages between doctors of several nodes: UDP to the VRRP group. */
export type MessageCounts = {
  readonly sent: number
  /** Number of this doctor's messages that left the interface. */
  readonly left: number
  readonly failure: string | undefined
  readonly heard: readonly { readonly from: Address; readonly packets: number; readonly hearsUs: boolean }[]
}

export type Measured = {
  readonly durationMs: number
  readonly timers: Timers
  readonly machine: MachineState
  readonly lans: readonly LanState[]
  readonly routers: readonly PlannedRouter[]
}

/**
 * Tells whether strict reverse path filtering drops packets of that host. If the kernel did not answer, the main table
 * decides.
 */
export const leadsElsewhere = ({ interface: by, refused }: WayBack, on: string): boolean => refused ?? by !== on

export const isUnmeasured = (one: object): one is Unmeasured => 'unmeasured' in one
