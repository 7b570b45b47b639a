/**
 * What the daemon needs from the world, as types. linux/ implements them, tests give fakes. Nothing here blocks, and
 * nothing here throws for what the network or the kernel did: outcomes are values (a failed effect becomes an event).
 */
import type { NamedAddress } from '../config/named-address.ts'
import type { CheckSpec } from '../healthcheck/check.ts'
import type { Asked, CheckNews, Formerly } from '../healthcheck/check-message.ts'
import type { Lane, Notification, NotifyNews } from '../notify/notification.ts'
import type { Address, Family } from '../wire/address.ts'
import type { Mac } from '../wire/mac.ts'
import type { Millis } from '../wire/units.ts'

/** Monotonic milliseconds with fractions (CLOCK_MONOTONIC). */
export type Clock = {
  now(): Millis
  /** For how long the machine was suspended until now() was last asked, which leaves that out: a turn reads the clocks once. */
  asleep(): Millis
}

/** Ticks once, at the moment it was last set to or a little earlier; `now` is what the clock says. */
export type WakeUp = {
  set(at: Millis, now: Millis): void
  clear(): void
}
export type MakeWakeUp = (onTick: () => void) => WakeUp

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
  /** TTL or hop limit; undefined where the kernel did not say. */
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
  /** Packets the kernel dropped because the queue was full, since the last drain. */
  readonly lost: number
}

/** `ttl`: TTL or hop limit; absent = 255. */
export type Datagram = { readonly destination: Address; readonly bytes: Uint8Array; readonly ttl?: number }
export type SendOutcome = { readonly ok: true } | { readonly ok: false; readonly failure: Failure }

/** One per interface and family: protocol 112, joined to the group where multicast is asked for. */
export type AdvertisementSocket = {
  /**
   * Delivers what is queued, synchronously; at most `maxBatches` batches of 128, and none but the first that would begin at
   * or after `until`.
   */
  drain(maxBatches: number, deliver: (packet: ReceivedPacket) => void, until?: Millis): DrainResult
  /** One syscall for the batch where the kernel allows it; one outcome per datagram, in order. */
  send(datagrams: readonly Datagram[]): readonly SendOutcome[]
  /** A multicast router has come to a segment of unicast ones: the socket stays, nothing that waits in it is lost. */
  join(group: Address): Failure | undefined
  close(): void
}

export type AdvertisementSocketOptions = {
  readonly interfaceIndex: number
  readonly interfaceName: string
  readonly family: Family
  /** Source of what is sent; bound so that the pseudo-header and the wire agree. */
  readonly source: Address
  /** Join this group; undefined = unicast only. */
  readonly group: Address | undefined
  /** The queue has something: drain soon. */
  readonly onReadable: () => void
  /** ENETDOWN after link down and the like: the socket stays open, the daemon decides. */
  readonly onFailure: (failure: Failure) => void
}

/** ARP and Neighbor Discovery frames on one interface (AF_PACKET). */
export type FrameSocket = {
  send(frames: readonly Uint8Array[]): readonly SendOutcome[]
  /**
   * What may wake the engine from now on, of a socket that was not opened for nothing. At once: to close one takes the
   * kernel some 10 ms on a busy node (it waits for every CPU to have let go of it), and the engine stands still meanwhile.
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
  /** What may wake the engine. Nothing: this socket only sends, for good. */
  readonly hears: Hears
  /** A frame that came in, whole; valid only during the call. */
  readonly onFrame?: (frame: Uint8Array, receivedAt: Millis) => void
  readonly onFailure: (failure: Failure) => void
}

/**
 * Resolved: what is sent to it leaves. Probed: so it does, while the kernel makes sure. Unresolved: it waits in the kernel
 * until the neighbor answers, or is dropped there.
 */
export type NeighborResolution = 'resolved' | 'probed' | 'unresolved'

export type NeighborWatchOptions = {
  readonly interfaceIndex: number
  readonly interfaceName: string
  readonly family: Family
  /** It has just become so. Nothing is told of an entry that is new and not resolved yet. */
  readonly onNeighbor: (address: Address, resolution: NeighborResolution) => void
  /** Notifications were lost: what was known may be wrong. */
  readonly onLost: () => void
  readonly onFailure: (failure: Failure) => void
}

/** Changes of the kernel's neighbor table (ARP, Neighbor Discovery). */
export type NeighborWatch = { close(): void }

export type Link = {
  readonly index: number
  readonly name: string
  readonly mac: Mac
  readonly mtu: number
  /** Administratively up (IFF_UP). */
  readonly up: boolean
  /** Carrier (IFF_RUNNING). */
  readonly running: boolean
  /** What it is a port of, which takes everything that it receives: `bridge`, `openvswitch`, `bond`, `team`. */
  readonly portOf?: string | undefined
}

export type PresentAddress = {
  readonly interfaceIndex: number
  readonly address: Address
  readonly prefixLength: number
  /** IPv6: duplicate address detection still runs, or has failed; nothing can be sent from it. */
  readonly tentative: boolean
  /** IPv6: never chosen as a source, as every VIP of ours. Undefined: not known. */
  readonly deprecated?: boolean
  /** It has no lifetime in the kernel. Undefined: not known. */
  readonly permanent?: boolean
  /** IFA_F_…, as the kernel has them; for people. */
  readonly flags?: number
  /** IPv4: the interface's name where nobody chose another. Undefined: not known. */
  readonly label?: string
}

/** A way of the main table to one next hop; of several for one destination, each is one. */
export type PresentRoute = {
  readonly interfaceIndex: number
  readonly family: Family
  /** Undefined: the default route. */
  readonly destination: { readonly address: Address; readonly prefixLength: number } | undefined
  readonly gateway: Address | undefined
  /** RTA_PRIORITY; 0 where the kernel says nothing. Lower is better. */
  readonly metric: number
  /** Learnt from a router advertisement (RTPROT_RA). */
  readonly fromRouter: boolean
}

export type WantedAddress = {
  readonly interfaceIndex: number
  readonly address: Address
  readonly prefixLength: number
  /** IPv4: what the kernel is to call it; it says nothing about which address it is. */
  readonly label?: string
}

export type AddressStep =
  /** `lifetime`: valid seconds after which the kernel drops it, unless the guardian renews; undefined = never. */
  | ({ readonly action: 'add'; readonly lifetime?: number | undefined } & WantedAddress)
  | ({ readonly action: 'remove' } & WantedAddress)
/**
 * EEXIST on add and EADDRNOTAVAIL on remove are success (ground rule 6); then nothing `changed`, and the kernel notifies
 * nobody.
 */
export type AddressOutcome = { readonly step: AddressStep } & (
  | { readonly ok: true; readonly changed: boolean }
  | { readonly ok: false; readonly failure: Failure }
)

export type NetworkEvent =
  | { readonly kind: 'link'; readonly link: Link }
  | { readonly kind: 'linkGone'; readonly index: number; readonly name: string }
  | { readonly kind: 'addressAdded'; readonly present: PresentAddress }
  | { readonly kind: 'addressRemoved'; readonly present: PresentAddress }
  /** Notifications were lost (ENOBUFS): look at links() and addresses() again. */
  | { readonly kind: 'resync' }

/** Returns the name of an interface as last reported, without a question to the kernel; `undefined` if it is unknown. */
export type NameOf = (interfaceIndex: number) => string | undefined

/** Links and addresses of this network namespace (rtnetlink). Calls are synchronous: a request and its ACK. */
export type NetworkPort = {
  /** Undefined: the kernel gave no complete list; what was known before is nearer to the truth. A resync follows. */
  links(): readonly Link[] | undefined
  addresses(): readonly PresentAddress[] | undefined
  /** `nameOf` names the interface of a step that failed. */
  apply(steps: readonly AddressStep[], nameOf: NameOf): readonly AddressOutcome[]
  /** Returns when the kernel has finished what it is doing with the addresses of the interface; changes nothing. */
  settle(interfaceIndex: number): void
  /** Starts the watch; events already queued are delivered first. */
  watch(deliver: (event: NetworkEvent) => void): void
  /** Delivers queued notifications now, before a decision that depends on them. */
  drain(): void
  close(): void
}

export type SocketPort = {
  /** Failure is a value: the interface may be down, the capability missing. */
  openAdvertisementSocket(options: AdvertisementSocketOptions): AdvertisementSocket | Failure
  openFrameSocket(options: FrameSocketOptions): FrameSocket | Failure
  openNeighborWatch(options: NeighborWatchOptions): NeighborWatch | Failure
}

/**
 * What must happen when the engine is gone (docs/architecture.md, Processes and threads). `unit` is the sync group or the single router.
 * Addresses go first, then the packets.
 */
export type LastWill = {
  readonly unit: number
  readonly name: string
  readonly remove: readonly WantedAddress[]
  readonly packets: readonly {
    readonly family: Family
    readonly interfaceIndex: number
    readonly source: Address
    readonly datagrams: readonly Datagram[]
  }[]
  /** Absent: only the death of the engine executes it, and its addresses live for ever. */
  readonly guard?: WillGuard | undefined
}

/** `lifetime`: valid seconds from then on; undefined = it lives for ever, whatever it had before. */
export type Renewal = WantedAddress & { readonly lifetime: number | undefined }

export type WillGuard = {
  /**
   * Of the addresses in `remove` those that we have not begun to take off; never an owner's (255). The guardian renews
   * them all every third of the shortest lifetime; if there is none, once. Another period than that of the will before:
   * the first time at once.
   */
  readonly renew: readonly Renewal[]
  /** The deadline until sent() says another; undefined = the one before, or none. */
  readonly absentAt?: Millis | undefined
  /** How long after a missed deadline priority 0 is still worth sending (Skew_Time): then another node has the VIP. */
  readonly grace: Millis
}

/** Executed: the guardian took the addresses off while we were away; ground rule 3 says how to come back. */
export type WillState = 'withdrawn' | 'armed' | 'executed'

export type LastWillPort = {
  /** Replaces the unit's will. False: the one before was executed and is not acknowledged; nothing was armed. */
  arm(will: LastWill): boolean
  /**
   * Before an address is taken off: afterwards none of the unit is renewed, no deadline is kept, and the death of the
   * engine takes addresses off without priority 0. Waits a few ms at most for a renewal that is under way; `late` = that
   * was not enough, an address may still appear and has to be removed again. What was executed is acknowledged with it.
   */
  stepDown(unit: number): { readonly executed: boolean; readonly late: boolean }
  /** When the addresses are off: the will is forgotten. Steps down where that was not done before. */
  withdraw(unit: number): void
  /** An advertisement of the unit was really sent: from `at` on this engine counts as absent (docs/architecture.md). */
  sent(unit: number, at: Millis): void
  /** Cheap: meant for before and after each batch of address changes. Without shared memory never `executed`. */
  state(unit: number): WillState
  /** Nothing is owned any more and the router knows: arm() works again. False: the guardian is not done, ask again. */
  acknowledge(unit: number): boolean
  /** How many wills the guardian has executed so far, of all units: a turn looks at the units when this has changed. */
  readonly executions: number
  /**
   * `onCall`: the guardian is gone, or calls because the machine was suspended; from the event loop. False: neither would
   * be heard, only seen by a look.
   */
  listen(onCall: () => void): boolean
  /** Tells the guardian that we live; how long it has been silent, undefined when there is none to hear. */
  beat(now: Millis): Millis | undefined
  /** False when shared memory is missing: no deadline is kept and no lifetime renewed, so do not install with one. */
  readonly guarded: boolean
  /** False when no guardian is listening (started without one, or it is gone). */
  readonly armed: boolean
}

/** What the engine hears of the checks. Process groups and the end of the thread are the port's own business. */
export type CheckPortNews =
  | Extract<CheckNews, { readonly kind: 'healthChanged' | 'checkBeat' | 'askedOnceMore' }>
  /** Whoever ran the checks died or hung. What was asked is not answered any more; the engine sets the checks again. */
  | { readonly kind: 'checksLost' }

/**
 * The health checks, which run elsewhere (docs/architecture.md): nothing here waits for a socket or a program, and news is told
 * from the event loop, never during a call. The port starts its thread again by itself; it keeps the last `set` for a
 * thread that is not there yet, and remembers nothing else.
 */
export type CheckPort = {
  /** From now on these. A check that means the same goes on; `formerly` is for those that start. */
  set(checks: readonly CheckSpec[], formerly: readonly Formerly[]): void
  /**
   * Each of them once more, a result against what is believed counts at once; `askedOnceMore` with the same id names who
   * answered in time.
   */
  askOnceMore(id: number, asked: Asked, within: Millis): void
  /** One listener, the engine. */
  onNews(listener: (news: CheckPortNews) => void): void
  /** No run begins any more and what is under way is ended. Settles soon, whatever hangs. */
  stop(): Promise<void>
}

/** What the engine hears of notifications. That a thread died in between is told, and is the port's to mend. */
export type NotifyPortNews =
  | Exclude<NotifyNews, { readonly kind: 'beat' }>
  | { readonly kind: 'postedAgain'; readonly ids: readonly number[] }

/**
 * Programs that are told of changes, run elsewhere: nothing here waits for one, and news is told from the event loop, never
 * during a call. What is posted is run, in the order of its lane, also when the thread that had it dies.
 */
export type NotifyPort = {
  /** From now on these are likely to be posted to. */
  set(lanes: readonly Lane[]): void
  post(notification: Notification): void
  /** One listener, the engine. */
  onNews(listener: (news: NotifyPortNews) => void): void
  /** Nothing is run any more, and what runs is killed. */
  stop(): void
}

/** Files that name an address of this node (`interface: { holding: FILE }`). */
export type AddressFilePort = {
  /** These and no others from now on. Returns what those say that were not followed before; later news come by `onNews`. */
  follow(
    files: readonly string[],
    onNews: (file: string, reading: NamedAddress['reading']) => void,
  ): ReadonlyMap<string, NamedAddress['reading']>
  close(): void
}
