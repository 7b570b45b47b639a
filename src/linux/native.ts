/**
 * The types of the C addon, and the search for its binary. This file decides the layout of the metadata record
 * (native/addon/metadata.h has the same offsets), and the error if this machine has no binary. Other
 * files of this folder have socket options, addresses and protocols.
 */
import { existsSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { RepetitionMethods } from './repetition-methods.ts'

/** Size of one metadata record in bytes. All its fields are in native byte order (little endian on x64 and arm64). */
export const META_SIZE = 128

/** Offsets inside a metadata record. */
export const META = {
  /** u32: number of valid bytes in `data`. */
  length: 0,
  /** u32: bits of FLAG (see below). */
  flags: 4,
  /** i32: TTL or hop limit of the packet; -1 = unknown. */
  ttl: 8,
  /** u32: interface index from the packet info control message or the sockaddr_ll; 0 = unknown. */
  interfaceIndex: 12,
  /** f64: CLOCK_REALTIME in ms when the kernel received the packet (SO_TIMESTAMPNS); 0 = unknown. */
  realtime: 16,
  /**
   * u32: number of packets that the full receive queue dropped so far (SO_RXQ_OVFL); 0 until the first drop, because
   * the kernel omits the number until then.
   */
  overflow: 24,
  /** 16 bytes: destination of the packet in network order, IPv4 in the first 4; all zero = unknown. */
  destination: 32,
  /** u32: number of valid bytes of `source`, 28 at most. */
  sourceLength: 48,
  /** sockaddr of the sender of the packet. */
  source: 52,
  /** u8: sll_pkttype of an AF_PACKET socket (4 = sent by this host). */
  packetType: 80,
  /** u32: VLAN tag that the kernel took off the frame (PACKET_AUXDATA), with the TPID in the high half; 0 = none. */
  vlan: 84,
} as const

export const FLAG = { truncated: 1, controlTruncated: 2, repeated: 4 } as const

/**
 * A single non-blocking socket. An error of the network or the kernel is returned as a number (negative errno). Only a
 * failed set-up call or a wrong argument throws: an `Error` with `code` 'EPERM', negative `errno` and `syscall`, like
 * Node's own errors.
 */
export type NativeSocket = RepetitionMethods & {
  /** Metadata records of the received packets, batch × META_SIZE bytes; receive() writes them. */
  readonly meta: Uint8Array
  /** Received packets, batch × size bytes; receive() writes them. Packet i begins at i × size. */
  readonly data: Uint8Array
  setOption(level: number, name: number, value: Uint8Array): void
  bind(sockaddr: Uint8Array): void
  /** Connects the socket. Returns 0 or -errno. After -EINPROGRESS, start() calls `onWritable` or `onError` later. */
  connect(sockaddr: Uint8Array): number
  /** Sets a socket filter: an array of struct sock_filter (8 bytes each). */
  attachFilter(program: Uint8Array): void
  /**
   * Watches the socket and keeps the event loop alive. Calls `onReadable` once per turn of the event loop while a
   * packet is queued. Calls `onError` with a positive errno (ENETDOWN after link down, ENOBUFS after a netlink overrun)
   * and goes on watching. Calls `onWritable` once, as soon as the socket can send (a stream is connected). An error
   * that a callback throws arrives at 'uncaughtException'. A second start() replaces the callbacks.
   */
  start(onReadable: () => void, onError: (errno: number) => void, onWritable?: () => void): void
  stop(): void
  /**
   * Drops frames that begin with these bytes (1 to 96), without a call of `onReadable`. A frame that comes more than
   * `within` ms after the last one is not dropped. `number`: 0 to 31. Throws RangeError.
   */
  expect(number: number, frame: Uint8Array, within: number): void
  /** Returns the time in ms of the last expected frame, or of expect(); 0 = none. */
  expectedAt(number: number): number
  expectNothing(): void
  /**
   * Calls recvmmsg() once and writes packets to `meta` and `data`. Returns the number of packets, 0 for an empty queue,
   * or -errno.
   */
  receive(): number
  /**
   * Sends at most 65 536 messages. Returns `undefined` if all were sent whole, otherwise one number for each message:
   * bytes sent, or -errno. Without `sockaddrs` the kernel uses the connected or default peer. A message that fails does
   * not stop the next messages.
   */
  send(messages: readonly Uint8Array[], sockaddrs?: readonly Uint8Array[]): Int32Array | undefined
  /**
   * Closes the socket. May be called again. After close() receive() returns -EBADF, and send() returns -EBADF for each
   * message.
   */
  close(): void
}

/** A timer of the kernel (timerfd) by CLOCK_MONOTONIC, with the resolution of that clock. */
export type NativeTimer = Pick<NativeSocket, 'start' | 'close'> & {
  /**
   * Calls `onReadable` once, at this time in ms; 0 = never. A later call replaces the time. Keeps the event loop alive.
   */
  set(at: number): void
}

/**
 * Publishes the engine's beat every second, and watches the guardian's beat, without JavaScript. Calls `onReadable` as
 * set() orders, and if this process did not run. Does not keep the event loop alive.
 */
export type BeatWatch = Pick<NativeSocket, 'start' | 'close'> & {
  /** Calls `onReadable` once: after `patience` ms without a beat of the guardian, and after `within` ms in any case. */
  set(patience: number, within: number): void
  /** Returns the last time in ms at which no beat could arrive, because this process did not run; 0 = none. */
  heardAt(): number
}

/**
 * Bits of a word in shared memory, as native/common/guardian-words.h has them. The higher bits are the generation of
 * the plan or of the order. `executed` is a bit of units only, `stopped` a bit of slots only.
 */
export const WORD = { armed: 1, busy: 2, executed: 4, stopped: 8 } as const

/** Indices of the numbers that slotRead() writes. */
export const SLOT = {
  /** CLOCK_MONOTONIC in ms at which the clock thread sent the slot's last frame. */
  sentAt: 0,
  /** CLOCK_MONOTONIC in ms at which the clock thread read the last packet of another router of the unit; 0 = none. */
  newsAt: 1,
  /** Number of rounds that the clock thread has sent for the slot since the guardian started. */
  sent: 2,
  /** Number of failed send calls of the clock thread for the slot since the guardian started. */
  failed: 3,
  /** Greatest lateness in ms of a round of the slot since the slot was read last. */
  latest: 4,
  word: 5,
} as const
export const SLOT_SIZE = 6
/** Number of slots. */
export const SLOTS = 16_384

/**
 * The memory that the guardian shares with the engine. `native/common/guardian-words.h` says whether guardian or engine
 * writes a field. Times are CLOCK_MONOTONIC in ms, 0 = none. `patience` is the longest time in ms that a call waits
 * (blocking) for a busy word.
 */
export type GuardianWords = {
  word(unit: number): number
  /**
   * Arms the unit. Returns the generation for the cleanup plan that is sent next. Returns 0, and arms nothing, if the
   * guardian executed the last plan.
   */
  arm(unit: number, patience: number): number
  /**
   * Disarms the unit, so that the guardian no longer renews its addresses. Returns the unit's word in shared memory
   * afterwards.
   */
  withdraw(unit: number, patience: number): number
  /**
   * Clears the bit `executed` in the unit's word in shared memory, unless the word stays busy. Returns the word
   * afterwards.
   */
  acknowledge(unit: number, patience: number): number
  /** Sets the deadline of a unit in shared memory. Returns the deadline that the unit had before. */
  deadline(unit: number, at: number): number
  /** Writes the time of the engine's beat to shared memory. Returns the time of the guardian's last beat. */
  beat(at: number): number
  /** Returns how many cleanup plans the guardian has begun to execute. */
  executions(): number
  /** Returns true if the other end of this channel (a descriptor) is closed. */
  hungUp(descriptor: number): boolean
  /**
   * Arms a slot of the guardian's clock. `sentAt` is the time of the router's last advertisement. Returns the generation
   * for the order that is sent next. Returns 0, and leaves the slot withdrawn, while the clock thread keeps it busy.
   */
  slotArm(slot: number, unit: number, sentAt: number): number
  /**
   * Ends the clock's rounds for a slot. Returns the slot's word afterwards: if it is busy, the frames of one round may
   * still be sent.
   */
  slotWithdraw(slot: number, patience: number): number
  /** Writes the SLOT_SIZE numbers of a slot to `out`, in the order of SLOT. Sets the slot's greatest lateness to 0. */
  slotRead(slot: number, out: Float64Array): void
  /**
   * Answers the questions of the clock thread on the event loop, without JavaScript, from now on by these sockets and
   * this alarm. A later call replaces them, and has the same `ask` (HOLDFAST_GUARDIAN_CLOCK). Call it in the turn in
   * which a socket is opened or closed. Makes `ask` close-on-exec. Throws EBADF and similar errors.
   */
  answer(ask: number, sockets: readonly Pick<NativeSocket, 'close'>[], alarm?: Pick<NativeTimer, 'close'>): void
  /**
   * Proves to the clock thread that this engine has read everything. Returns false, and proves nothing, if one of the
   * sockets of answer() has something to read, or if the alarm is overdue.
   */
  prove(): boolean
}

export type NativeAddon = {
  /**
   * Maps the shared memory behind a descriptor, which may be closed afterwards. Throws EINVAL or EPROTO for another
   * layout.
   */
  readonly GuardianWords: new (
    descriptor: number,
  ) => GuardianWords
  /** Watches the guardian's beat. Throws EMFILE and similar errors if the process cannot have another timer. */
  readonly BeatWatch: new (
    words: GuardianWords,
  ) => BeatWatch
  /**
   * Opens a socket with SOCK_CLOEXEC and SOCK_NONBLOCK. A single receive() reads at most `batch` packets (1 024) of
   * `size` bytes.
   */
  readonly NativeSocket: new (
    family: number,
    type: number,
    protocol: number,
    batch: number,
    size: number,
  ) => NativeSocket
  /** Watches a pidfd, which becomes readable when its process ends. Throws if pidfd_open(2) fails. */
  readonly ProcessEnd: new (
    pid: number,
  ) => Pick<NativeSocket, 'start' | 'close'>
  /** Watches an open descriptor of this process. The object owns the descriptor and closes it. Throws EBADF. */
  readonly ChannelEnd: new (
    descriptor: number,
  ) => Pick<NativeSocket, 'start' | 'close'>
  /**
   * Makes a timer, or watches an inherited timer that another process sets. An inherited one becomes close-on-exec.
   * Throws EMFILE and similar errors.
   */
  readonly NativeTimer: new (
    descriptor?: number,
  ) => NativeTimer
  /** Writes CLOCK_MONOTONIC, CLOCK_REALTIME and CLOCK_BOOTTIME to [0], [1] and [2], in milliseconds with fractions. */
  clocks(out: Float64Array): void
  /** Returns the index of an interface; 0 if this network namespace has no interface with that name. */
  interfaceIndex(name: string): number
  /**
   * Makes an inherited descriptor close-on-exec and moves it behind the other descriptors. Returns its new number. The
   * kernel closes the files of a dead process from the end, and needs some 10 ms for each packet socket. Throws EBADF.
   */
  keepLast(descriptor: number): number
}

/** Opens channels to child processes. */
export type Channels = {
  /** Returns two ends of a stream that no child inherits by accident. Throws if socketpair(2) fails. */
  streamPair(): [ours: number, theirs: number]
}

/** How this process ends. */
export type Exit = {
  /**
   * Ends the process with this exit status if it has not ended by itself after `ms`, even if a thread waits for a file
   * system that does not answer. Only the first call has an effect. Throws EAGAIN.
   */
  exitWithin(ms: number, status: number): void
}

/** Privileges of a thread and of the process, and identity of a peer (docs/adr/0019). */
export type Credentials = {
  /**
   * Removes every capability from the calling thread for good, and sets no_new_privs, for its future children too.
   * Throws EINVAL on the main thread, or if a capability is left.
   */
  dropPrivileges(): void
  /** Forbids core dumps: sets PR_SET_DUMPABLE to 0 for the whole process. */
  forbidDumps(): void
  /**
   * Returns pid and uid of the process that connected to this unix socket, or that listens at its other end
   * (SO_PEERCRED).
   */
  peerOf(descriptor: number): { readonly pid: number; readonly uid: number }
}

/** native/ lies beside src/ in the checkout and beside dist/ in the package. */
export const NATIVE = join(import.meta.dirname, '..', '..', 'native')

function available(): string {
  const directory = join(NATIVE, 'prebuilds')
  const platforms = existsSync(directory) ? readdirSync(directory, { withFileTypes: true }) : []
  const names = platforms.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return names.length > 0 ? names.join(', ') : 'none'
}

/**
 * Loads the binary of the addon for this platform. Throws an Error with code 'ERR_NATIVE_ADDON' if no binary can be
 * loaded.
 */
export function loadNative(): NativeAddon & Credentials & Channels & Exit {
  try {
    const require = createRequire(import.meta.url)
    const addon: NativeAddon & Credentials & Channels & Exit = require('node-gyp-build')(NATIVE)
    return addon
  } catch (cause) {
    const platform = `${process.platform}-${process.arch}`
    const why = cause instanceof Error ? (cause.message.split('\n', 1)[0] ?? '') : String(cause)
    const message = `Cannot load the native addon for ${platform} (built for: ${available()}): ${why}; build it with native/build.sh`
    throw Object.assign(new Error(message, { cause }), { code: 'ERR_NATIVE_ADDON' })
  }
}
