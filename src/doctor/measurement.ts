/**
 * What was measured, as plain values: the only thing that the judgements beside this file look at. Decided here: its
 * shape, which `--json` passes on under `measured` (docs/doctor.md). Refuses to know how any of it was found out, and what
 * it means.
 */

import type { DiscardReason } from '../vrrp/advertisement.ts'
import type { Address, Family } from '../wire/address.ts'
import type { Mac } from '../wire/mac.ts'
import type { ManagerState } from './manager-state.ts'

/** A virtual router of the configuration on this node, as far as a doctor needs to know it. */
export type PlannedRouter = {
  readonly name: string
  readonly vrid: number
  readonly family: Family
  readonly version: 2 | 3
  readonly priority: number
  readonly intervalMs: number
  /** Undefined: the configuration's choice found none. */
  readonly interface: string | undefined
  /** Why it cannot follow the address that it is to follow. */
  readonly cannotFollow?: string | undefined
  readonly source: Address | undefined
  /** Those of its packets. */
  readonly addresses: readonly Address[]
  /** All that it installs. */
  readonly held: readonly HeldAddress[]
  /** Priority 255, and the addresses are the node's own. */
  readonly owner: boolean
  readonly multicast: boolean
  readonly peers: readonly Address[]
  /** Of its advertisement, with the IP header. */
  readonly datagramOctets: number
}
export type HeldAddress = { readonly address: Address; readonly interface: string | undefined }

/** Milliseconds of one run of the timer that the engine uses. */
export type TimerRun = {
  /** As the kernel calls it. */
  readonly policy: string
  /** Of a real-time policy; 0 otherwise. */
  readonly priority: number
  readonly everyMs: number
  /** How late each deadline was noticed. */
  readonly lateness: readonly number[]
  /** CLOCK_REALTIME minus CLOCK_MONOTONIC, at each. */
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
  /** Names; of the running daemon, or of this command where no daemon runs. */
  readonly missingCapabilities: readonly string[]
  /** Process id of the daemon that answers at the control socket; `undefined`: none answers. */
  readonly daemon: number | undefined
  /** User that runs this command. */
  readonly user: number
  /** Real-time priority may be had: capability or limit. */
  readonly mayRealtime: boolean
  /** Bytes; undefined: not known. */
  readonly receiveBufferLimit: number | undefined
  /** The engine asks for so many, past the limit where it has CAP_NET_ADMIN. */
  readonly receiveBufferWanted: number
  readonly clockSource: string | undefined
  /** Of the run: share of time in which the hypervisor ran somebody else. */
  readonly stolenShare: number | undefined
  /** Times that the cgroup was stopped for its CPU quota, during the run. */
  readonly throttled: number | undefined
  /** PSI cpu some, ms of the run in which somebody waited for a processor. */
  readonly pressureMs: number | undefined
  readonly durationMs: number
  /** Nanoseconds that are added to CLOCK_MONOTONIC in this time namespace; 0: it is that of the machine. */
  readonly monotonicOffset: number
  /** Children get another time namespace than we have. */
  readonly timeNamespaceChanges: boolean
  /** What the kernel does not have, in words. */
  readonly missingFeatures: readonly string[]
  readonly ipForward: boolean | undefined
  readonly processes: readonly NeighbourProcess[]
  /** Sockets for VRRP whose process cannot be seen. */
  readonly unseenVrrpSockets: number
}

export type NeighbourProcess = {
  readonly pid: number
  readonly name: string
  /** It has a socket for VRRP in this network namespace. */
  readonly vrrp: boolean
  /** SCHED_OTHER, SCHED_RR, …; of those with such a socket. */
  readonly policy?: string
}

export type LanState = {
  readonly interface: string
  readonly mac: Mac
  readonly mtu: number
  readonly up: boolean
  readonly carrier: boolean
  /** What it is a port of. */
  readonly portOf: string | undefined
  readonly own: readonly OwnAddress[]
  readonly settings: LanSettings
  readonly manager: LanManager
  readonly listening: Readonly<Record<Family, Listening | Unmeasured>>
  /** Answers to our questions, and claims that came unasked, of others; each address and MAC once. */
  readonly claims: readonly { readonly address: Address; readonly mac: Mac }[]
  /** Of what was asked for: how often. */
  readonly asked: readonly { readonly address: Address; readonly times: number }[]
  /** IPv4. */
  readonly routes: readonly WayBack[]
}

/** From this node to a peer, or to somebody who was heard. */
export type WayBack = {
  readonly address: Address
  /** By the main table; undefined: it has no route. */
  readonly interface: string | undefined
  /** What the kernel says about a packet of theirs that comes in here; undefined: it did not say. */
  readonly refused: boolean | undefined
}

export type OwnAddress = {
  readonly address: Address
  readonly prefixLength: number
  /** Duplicate address detection has found another. */
  readonly dadFailed: boolean
  /** IPv6: preferred lifetime 0. */
  readonly deprecated: boolean
}

/** Undefined: could not be read. */
export type LanSettings = {
  readonly rpFilter: number | undefined
  readonly arpIgnore: number | undefined
  readonly arpFilter: number | undefined
  readonly disableIpv6: number | undefined
}

export type LanManager = {
  /** Undefined: it does not run, or is not to be seen from here. */
  readonly networkManager: ManagerState | undefined
  readonly networkd: ManagerState | undefined
}

export type Listening = {
  readonly forMs: number
  /** On the wire, before any filter of this node; never our own. */
  readonly heard: readonly HeardRouter[]
  /** VRRP packets of this node that were seen to leave. */
  readonly left: number
  /** In words, why the output rules of this node refuse a VRRP packet; it was one that no wire ever saw. */
  readonly refused: string | undefined
  /** They let that packet pass, or the daemon's; false: not tried, or refused. */
  readonly passedOutput: boolean
  /** That packet came back through the input rules of this node; undefined: not tried, a daemon would have heard it. */
  readonly looped: boolean | undefined
  readonly beacon: Beacon
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
  /** Of them, given to a socket of ours: the others were dropped on this node. */
  readonly delivered: number
  /** Why everybody discards it. */
  readonly discard: DiscardReason | undefined
}

/** What doctors say to each other: UDP to VRRP's group. */
export type Beacon = {
  readonly sent: number
  /** Of them, seen to leave the interface. */
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

/** Strict reverse path filtering drops what they send. Where the kernel did not say, the main table has to do. */
export const leadsElsewhere = ({ interface: by, refused }: WayBack, on: string): boolean => refused ?? by !== on

export const isUnmeasured = (one: object): one is Unmeasured => 'unmeasured' in one
