/** Sockets on one interface: advertisements, ARP and Neighbor Discovery frames, changes of the neighbor table. */
import type { Address, Family } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'

/** A failed syscall. `code` is stable (EPERM, ENETDOWN, …); `retryable` is the one classifier retry/fatal. */
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
  /** TTL or hop limit; `undefined` if the kernel did not report it. */
  readonly ttl: number | undefined
  /** IPv4: the whole IP packet as the raw socket gives it; IPv6: the VRRP message. Valid only during the call. */
  readonly bytes: Uint8Array
  /** Kernel receive time on the monotonic clock, or now where it cannot be trusted (ground rule 2). */
  readonly receivedAt: Millis
}

export type DrainResult = {
  readonly packets: number
  /** The queue was seen empty (false: a limit ended the drain). */
  readonly empty: boolean
  /** Packets that the kernel dropped because the queue was full, since the last drain. */
  readonly lost: number
}

/** `ttl`: TTL or hop limit; absent = 255. */
export type Datagram = { readonly destination: Address; readonly bytes: Uint8Array; readonly ttl?: number }
export type SendOutcome = { readonly ok: true } | { readonly ok: false; readonly failure: Failure }

/** One for each interface and family: protocol 112, joined to the group where multicast is asked for. */
export type AdvertisementSocket = {
  /**
   * Delivers what is queued, synchronously; at most `maxBatches` batches of 128, and none but the first that would begin at
   * or after `until`.
   */
  drain(maxBatches: number, deliver: (packet: ReceivedPacket) => void, until?: Millis): DrainResult
  /** Sends with one syscall where the kernel allows it. Returns one outcome for each datagram, in order. */
  send(datagrams: readonly Datagram[]): readonly SendOutcome[]
  /** Joins a group when a multicast router comes to a segment of unicast ones: nothing that waits in the socket is lost. */
  join(group: Address): Failure | undefined
  close(): void
}

export type AdvertisementSocketOptions = {
  readonly interfaceIndex: number
  readonly interfaceName: string
  readonly family: Family
  /** Source of what is sent; bound so that the pseudo-header and the wire agree. */
  readonly source: Address
  /** Group to join; `undefined` = unicast only. */
  readonly group: Address | undefined
  /** Called while packets wait: drain soon. */
  readonly onReadable: () => void
  /** Called after ENETDOWN after link down and the like: the socket stays open, the daemon decides. */
  readonly onFailure: (failure: Failure) => void
}

/** ARP and Neighbor Discovery frames on one interface (AF_PACKET). */
export type FrameSocket = {
  send(frames: readonly Uint8Array[]): readonly SendOutcome[]
  /**
   * Changes which frames wake the engine, of a socket that was not opened with `nothing`. Returns immediately, unlike a close,
   * which takes the kernel some 10 ms on a busy node (it waits for every CPU to have let go of the socket).
   */
  hear(hears: Hears): void
  close(): void
}

/**
 * Answers: ARP replies, of which a host gets few. Claims: every ARP packet, of which a LAN is full. IPv6: solicited
 * Neighbor Advertisements, and all of them.
 */
export type Hears = 'nothing' | 'answers' | 'claims'

export type FrameSocketOptions = {
  readonly interfaceIndex: number
  readonly interfaceName: string
  readonly family: Family
  /** Frames that wake the engine. `nothing`: this socket only sends, for good. */
  readonly hears: Hears
  /** Called with a whole frame, valid only during the call. */
  readonly onFrame?: (frame: Uint8Array, receivedAt: Millis) => void
  readonly onFailure: (failure: Failure) => void
}

/**
 * Resolved: what is sent to the neighbor leaves. Probed: so it does, while the kernel makes sure. Unresolved: it waits in the
 * kernel until the neighbor answers, or is dropped there.
 */
export type NeighborResolution = 'resolved' | 'probed' | 'unresolved'

export type NeighborWatchOptions = {
  readonly interfaceIndex: number
  readonly interfaceName: string
  readonly family: Family
  /** Called when a neighbor has become so; not for an entry that is new and not resolved yet. */
  readonly onNeighbor: (address: Address, resolution: NeighborResolution) => void
  /** Called when notifications were lost: what was known may be wrong. */
  readonly onLost: () => void
  readonly onFailure: (failure: Failure) => void
}

/** Changes of the kernel's neighbor table (ARP, Neighbor Discovery). */
export type NeighborWatch = { close(): void }

export type SocketPort = {
  /** Failure is a value: the interface may be down, the capability missing. */
  openAdvertisementSocket(options: AdvertisementSocketOptions): AdvertisementSocket | Failure
  openFrameSocket(options: FrameSocketOptions): FrameSocket | Failure
  openNeighborWatch(options: NeighborWatchOptions): NeighborWatch | Failure
}
