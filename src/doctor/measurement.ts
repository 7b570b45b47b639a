/**
 * Measurements as plain values, which are the only input of the judges in this folder. Decided here: their shape, which
 * `--json` prints under `measured` (docs/doctor.md). This file does not know how the values are measured, or what they
 * mean.
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
  /** `undefined` if no interface fits the configuration. */
  readonly interface: string | undefined
  /** Reason why the router cannot follow its address. */
  readonly cannotFollow?: string | undefined
  readonly source: Address | undefined
  /** Addresses in its advertisements. */
  readonly addresses: readonly Address[]
  /** All addresses that the router installs. */
  readonly held: readonly HeldAddress[]
  /** Whether the router has priority 255 and the addresses are the node's own. */
  readonly owner: boolean
  readonly multicast: boolean
  readonly peers: readonly Address[]
  /** Size of its advertisement with the IP header. */
  readonly datagramOctets: number
}
export type HeldAddress = { readonly address: Address; readonly interface: string | undefined }

/** Times of one run of the engine's timer, in milliseconds. */
export type TimerRun = {
  /** Scheduling policy, by the kernel's name. */
  readonly policy: string
  /** Priority of a real-time policy, otherwise 0. */
  readonly priority: number
  readonly everyMs: number
  /** Lateness of each deadline. */
  readonly lateness: readonly number[]
  /** CLOCK_REALTIME minus CLOCK_MONOTONIC at each deadline. */
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
  /** Process id of the daemon at the control socket. `undefined` if none answers. */
  readonly daemon: number | undefined
  /** User id of this command. */
  readonly user: number
  /** Whether real-time priority is possible, by capability or limit. */
  readonly mayRealtime: boolean
  /** Octets. `undefined` if unknown. */
  readonly receiveBufferLimit: number | undefined
  /** Octets that the engine requests. With CAP_NET_ADMIN it exceeds the limit. */
  readonly receiveBufferWanted: number
  readonly clockSource: string | undefined
  /** Share of the measured time in which the hypervisor ran other machines. */
  readonly stolenShare: number | undefined
  /** Times that the CPU quota stopped the cgroup during the measurement. */
  readonly throttled: number | undefined
  /** Milliseconds of the measurement in which a process waited for a CPU (PSI `cpu some`). */
  readonly pressureMs: number | undefined
  readonly durationMs: number
  /** Nanoseconds added to CLOCK_MONOTONIC in this time namespace. 0 in the time namespace of the machine. */
  readonly monotonicOffset: number
  /** Whether children of this process get another time namespace. */
  readonly timeNamespaceChanges: boolean
  /** Missing kernel features, as text. */
  readonly missingFeatures: readonly string[]
  readonly ipForward: boolean | undefined
  readonly processes: readonly NeighbourProcess[]
  /** Number of VRRP sockets whose process cannot be seen. */
  readonly unseenVrrpSockets: number
}

export type NeighbourProcess = {
  readonly pid: number
  readonly name: string
  /** Whether it has a socket for VRRP in this network namespace. */
  readonly vrrp: boolean
  /** SCHED_OTHER, SCHED_RR, …; only of processes with such a socket. */
  readonly policy?: string
}

export type LanState = {
  readonly interface: string
  readonly mac: Mac
  readonly mtu: number
  readonly up: boolean
  readonly carrier: boolean
  /** Kind of device whose port this interface is. */
  readonly portOf: string | undefined
  readonly own: readonly OwnAddress[]
  readonly settings: LanSettings
  readonly manager: LanManager
  readonly listening: Readonly<Record<Family, Listening | Unmeasured>>
  /** Answers and unsolicited claims of other hosts; each pair of address and MAC once. */
  readonly claims: readonly { readonly address: Address; readonly mac: Mac }[]
  /** Number of questions for each address. */
  readonly asked: readonly { readonly address: Address; readonly times: number }[]
  /** IPv4 only. */
  readonly routes: readonly WayBack[]
}

/** Route from this node to a peer or to a router that was heard. */
export type WayBack = {
  readonly address: Address
  /** Interface by the main table. `undefined` without a route. */
  readonly interface: string | undefined
  /**
   * Whether the kernel would refuse a packet of that host on this interface. `undefined` if the kernel did not answer.
   */
  readonly refused: boolean | undefined
}

export type OwnAddress = {
  readonly address: Address
  readonly prefixLength: number
  /** Whether duplicate address detection has found another host. */
  readonly dadFailed: boolean
  /** IPv6 only: the preferred lifetime is 0. */
  readonly deprecated: boolean
}

/** Kernel settings. `undefined` if a setting could not be read. */
export type LanSettings = {
  readonly rpFilter: number | undefined
  readonly arpIgnore: number | undefined
  readonly arpFilter: number | undefined
  readonly disableIpv6: number | undefined
}

export type LanManager = {
  /** `undefined` if it does not run or cannot be seen. */
  readonly networkManager: ManagerState | undefined
  readonly networkd: ManagerState | undefined
}

export type Listening = {
  readonly forMs: number
  /** Routers that were heard on the wire, before any filter of this node. Never this node itself. */
  readonly heard: readonly HeardRouter[]
  /** Number of VRRP packets of this node that left the interface. */
  readonly left: number
  /** Reason why the packet filter blocks outgoing VRRP packets. A test packet shows it that never reaches a wire. */
  readonly refused: string | undefined
  /** Whether the test packet or a packet of the daemon passed the output rules. False if not tried, or refused. */
  readonly passedOutput: boolean
  /**
   * Whether the test packet came back through the input rules. `undefined` if not tried, because a running daemon would
   * receive it.
   */
  readonly looped: boolean | undefined
  readonly beacon: MessageCounts
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
  /** Number of these packets that reached a socket. The other ones were dropped on this node. */
  readonly delivered: number
  /** Reason why every router discards the packets. */
  readonly discard: DiscardReason | undefined
}

/** Messages between doctors: UDP to the VRRP group. */
export type MessageCounts = {
  readonly sent: number
  /** Number of these that left the interface. */
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
 * Returns whether strict reverse path filtering drops packets of that host. If the kernel did not answer, the main
 * table decides.
 */
export const leadsElsewhere = ({ interface: by, refused }: WayBack, on: string): boolean => refused ?? by !== on

export const isUnmeasured = (one: object): one is Unmeasured => 'unmeasured' in one
