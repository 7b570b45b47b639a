/**
 * The ports of sockets on one interface: advertisements, ARP and Neighbor Discovery frames, and changes of the neighbor
 * table.
 */
import type { Address, Family } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'

/**
 * Failure of a system call. `code` is stable (EPERM, ENETDOWN, …). `retryable` tells whether another attempt can
 * succeed.
 */
export type Failure = {
  readonly code: string
  readonly syscall: string
  readonly message: string
  readonly retryable: boolean
}

export type ReceivedPacket = {
  readonly family: Family
  readonly source: Address
  readonly destination: Address | undefined
  /** TTL or hop limit of the received packet; `undefined` if the kernel did not report the value. */
  readonly ttl: number | undefined
  /** The whole IP packet for IPv4, the VRRP message for IPv6. The octets are valid only during the call. */
  readonly bytes: Uint8Array
  /**
   * Time at which the kernel received the packet, on the monotonic clock. The present time if the kernel's time cannot
   * be trusted (ground rule 2: a waiting packet counts).
   */
  readonly receivedAt: Millis
}

export type DrainResult = {
  readonly packets: number
  /** True if the socket's queue was empty at the end of the drain, false if a limit ended the drain. */
  readonly empty: boolean
  /** Number of packets that the kernel has dropped since the last drain because the queue was full. */
  readonly lost: number
}

/** Packet to send. `ttl` is the TTL or hop limit of the packet; absent: 255. */
export type Datagram = { readonly destination: Address; readonly bytes: Uint8Array; readonly ttl?: number }
export type SendOutcome = { readonly ok: true } | { readonly ok: false; readonly failure: Failure }

/** A packet without its time of reception, and the time limits for its repetitions. Times are milliseconds. */
export type RepetitionOrder = Pick<ReceivedPacket, 'bytes' | 'destination' | 'source' | 'ttl'> & {
  readonly vrid: number
  /** Time of reception of the packet. */
  readonly heardAt: Millis
  /** Time after which each packet is delivered. */
  readonly until: number
  /** Smallest gap between two packets at which the later packet is delivered although it repeats the earlier one. */
  readonly within: number
  /** Time from the last packet to the call of `onOverdue`. */
  readonly delay: number
  /** Bounds by which the gaps are counted, ascending, at most 32. */
  readonly bounds: readonly number[]
}

/** Repetitions that were not delivered, since the last reading. */
export type Repetitions = {
  /** Time of the last repetition, or of the packet of the order. */
  readonly heardAt: Millis
  readonly count: number
  /** Sum of the gaps between the packets in milliseconds. */
  readonly sum: number
  /** Number of gaps up to each bound, and above the last one. */
  readonly cells: readonly number[]
}

/**
 * Watches for packets that say the same as an earlier one (docs/adr/0087). A repetition is not delivered and does not
 * wake the engine. Every other packet with the VRID is delivered, in the order of the kernel.
 */
export type RepetitionPort = {
  /** Starts a watch, or replaces the one with this VRID. Returns false if the packet cannot be watched. */
  watch(order: RepetitionOrder): boolean
  /** Returns what the watch of a VRID has noted since the last call; `undefined` without a watch. */
  read(vrid: number): Repetitions | undefined
  end(vrid: number): void
}

/** Socket of protocol 112 for one interface and family. The socket joins the VRRP group if one is given. */
export type AdvertisementSocket = {
  /**
   * Delivers the queued packets synchronously, at most `maxBatches` batches of 128. A batch other than the first one
   * starts only before `until`.
   */
  drain(maxBatches: number, deliver: (packet: ReceivedPacket) => void, until?: Millis): DrainResult
  /**
   * Sends all datagrams, with one system call where the kernel allows that. Returns one outcome for each datagram, in
   * the order of the datagrams.
   */
  send(datagrams: readonly Datagram[]): readonly SendOutcome[]
  /**
   * Joins a multicast group after a multicast router was added to a segment with unicast routers. No packet that waits
   * in the socket is lost.
   */
  join(group: Address): Failure | undefined
  /** Watches of repeated packets; absent: each packet is delivered. */
  readonly repetitions?: RepetitionPort | undefined
  close(): void
}

export type AdvertisementSocketOptions = {
  readonly interfaceIndex: number
  readonly interfaceName: string
  readonly family: Family
  /**
   * Source address of sent packets. The socket is bound to this address, so that the address matches the pseudo-header.
   */
  readonly source: Address
  /** Multicast group that the socket joins; `undefined`: unicast only. */
  readonly group: Address | undefined
  /** Called while packets wait in the socket, so that the engine drains it soon. */
  readonly onReadable: () => void
  /** Called when a watched packet was not repeated in time. Packets may still wait in the socket. */
  readonly onOverdue?: () => void
  /** Called after a failure of the socket such as ENETDOWN. The socket stays open until the daemon closes it. */
  readonly onFailure: (failure: Failure) => void
}

/** Socket for ARP and Neighbor Discovery frames on one interface (AF_PACKET). */
export type FrameSocket = {
  send(frames: readonly Uint8Array[]): readonly SendOutcome[]
  /**
   * Changes which frames wake the engine. Must not be called for a socket that was opened with `nothing`. Returns
   * immediately. (Closing the socket instead takes some 10 ms on a busy node, because the kernel waits for every CPU.)
   */
  hear(hears: Hears): void
  /**
   * Keeps further frames that are the same as this answer from waking the engine. An answer that comes more than
   * `within` ms after the last one wakes the engine. Without this method every answer wakes the engine.
   */
  expect?(from: Address, answer: Uint8Array, within: number): void
  /** Returns the time of the last expected answer of a host; `undefined` if no answer of the host is expected. */
  answeredAt?(from: Address): Millis | undefined
  /** Ends the effect of expect() for all hosts. */
  expectNothing?(): void
  close(): void
}

/**
 * Frames that a socket receives. `answers`: ARP replies, of which a host receives few, or solicited Neighbor
 * Advertisements. `claims`: every ARP packet, of which a LAN has many, or all Neighbor Advertisements.
 */
export type Hears = 'nothing' | 'answers' | 'claims'

export type FrameSocketOptions = {
  readonly interfaceIndex: number
  readonly interfaceName: string
  readonly family: Family
  /** Frames that wake the engine. A socket with `nothing` only sends, and its setting cannot be changed. */
  readonly hears: Hears
  /** Called with a whole frame, which is valid only during the call. */
  readonly onFrame?: (frame: Uint8Array, receivedAt: Millis) => void
  readonly onFailure: (failure: Failure) => void
}

/**
 * State of a neighbor. `resolved`: packets to the neighbor are sent. `probed`: packets are sent while the kernel checks
 * the neighbor. `unresolved`: packets wait in the kernel until the neighbor answers, or are dropped there.
 */
export type NeighborResolution = 'resolved' | 'probed' | 'unresolved'

export type NeighborWatchOptions = {
  readonly interfaceIndex: number
  readonly interfaceName: string
  readonly family: Family
  /** Called when a neighbor's entry in the kernel changes to this state; not for a new entry that is unresolved. */
  readonly onNeighbor: (address: Address, resolution: NeighborResolution) => void
  /** Called when notifications of the kernel were lost, so that the known states may be wrong. */
  readonly onLost: () => void
  readonly onFailure: (failure: Failure) => void
}

/** Changes of the kernel's neighbor table (ARP, Neighbor Discovery). */
export type NeighborWatch = { close(): void }

export type SocketPort = {
  /** Opens a socket, or returns the failure: the interface may be down, or the capability missing. */
  openAdvertisementSocket(options: AdvertisementSocketOptions): AdvertisementSocket | Failure
  openFrameSocket(options: FrameSocketOptions): FrameSocket | Failure
  openNeighborWatch(options: NeighborWatchOptions): NeighborWatch | Failure
}
