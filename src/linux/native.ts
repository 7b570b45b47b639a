/**
 * The C addon as types, and how its binary is found. Decided here: the layout of the metadata record (native/addon/metadata.h
 * writes the same offsets) and what is said when there is no binary for this machine.
 * Refuses to know: socket options, addresses and protocols; the files beside this one do.
 */
import { existsSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** Bytes of one metadata record. All fields are in native byte order (little endian on x64 and arm64). */
export const META_SIZE = 128

/** Offsets inside a metadata record. */
export const META = {
  /** u32: bytes in `data`. */
  length: 0,
  /** u32: see FLAG. */
  flags: 4,
  /** i32: TTL or hop limit, -1 unknown. */
  ttl: 8,
  /** u32: from the packet info control message or the sockaddr_ll, 0 unknown. */
  interfaceIndex: 12,
  /** f64: CLOCK_REALTIME in ms when the kernel received it (SO_TIMESTAMPNS), 0 unknown. */
  realtime: 16,
  /** u32: packets dropped so far (SO_RXQ_OVFL); the kernel leaves it out, so 0, until the first drop. */
  overflow: 24,
  /** 16 bytes, network order, IPv4 in the first 4, all zero unknown. */
  destination: 32,
  /** u32: bytes of `source` that are valid (28 at most). */
  sourceLength: 48,
  /** sockaddr of the sender. */
  source: 52,
  /** u8: sll_pkttype of an AF_PACKET socket (4 = sent by this host). */
  packetType: 80,
  /** u32: VLAN tag that the kernel took off the frame (PACKET_AUXDATA), TPID in the high half; 0 none. */
  vlan: 84,
} as const

export const FLAG = { truncated: 1, controlTruncated: 2 } as const

/**
 * One non-blocking socket. What the network or the kernel does afterwards is a number (negative errno); an exception is
 * a failed set-up call (`Error` with `code` 'EPERM', negative `errno` and `syscall`, as Node's own) or a wrong argument.
 */
export type NativeSocket = {
  /** batch × META_SIZE bytes, written by receive(). */
  readonly meta: Uint8Array
  /** batch × size bytes, written by receive(): packet i begins at i × size. */
  readonly data: Uint8Array
  setOption(level: number, name: number, value: Uint8Array): void
  bind(sockaddr: Uint8Array): void
  /** 0, or -errno: -EINPROGRESS means that `onWritable` of start() or its `onError` will tell. */
  connect(sockaddr: Uint8Array): number
  /** An array of struct sock_filter (8 bytes each). */
  attachFilter(program: Uint8Array): void
  /**
   * Watches the socket and keeps the event loop alive. `onReadable` comes once per loop turn while something is queued;
   * `onError` gets a positive errno (ENETDOWN after link down, ENOBUFS after a netlink overrun) and watching goes on.
   * `onWritable` comes once, as soon as something can be sent (a stream is connected).
   * What they throw arrives at 'uncaughtException'. A second start() replaces the callbacks.
   */
  start(onReadable: () => void, onError: (errno: number) => void, onWritable?: () => void): void
  stop(): void
  /** One recvmmsg: packets written to meta and data, 0 = the queue is empty, negative = -errno. */
  receive(): number
  /**
   * Undefined: all were sent whole. Otherwise one result per message: bytes sent, or -errno. Without `sockaddrs` the
   * kernel takes the connected or default peer. A message that fails does not stop the ones behind it. At most 65 536
   * messages.
   */
  send(messages: readonly Uint8Array[], sockaddrs?: readonly Uint8Array[]): Int32Array | undefined
  /** Idempotent. Afterwards receive() gives -EBADF, and so does each message of send(). */
  close(): void
}

/** One timer of the kernel (timerfd), by CLOCK_MONOTONIC and without a coarser grain than the clock's. */
export type NativeTimer = Pick<NativeSocket, 'start' | 'close'> & {
  /** Calls `onReadable` once, when it is so late, in ms; 0 = never. The last one counts. Keeps the event loop alive. */
  set(at: number): void
}

/** Bits of a word, as native/common/guardian-words.h has them; above them the generation of the will. */
export const WORD = { armed: 1, busy: 2, executed: 4 } as const

/**
 * The memory that the guardian shares with us; see native/common/guardian-words.h for who may write what. Moments are
 * CLOCK_MONOTONIC in ms, 0 = none. `patience` is how many ms (blocking) a busy word is waited for.
 */
export type GuardianWords = {
  word(unit: number): number
  /** The generation that the will must carry which is sent next; 0 = the last one was executed: nothing is armed. */
  arm(unit: number, patience: number): number
  /** Never renewed from here on. The word afterwards. */
  withdraw(unit: number, patience: number): number
  /** Clears `executed` unless the word stays busy. The word afterwards. */
  acknowledge(unit: number, patience: number): number
  /** Sets the deadline; returns the one before. */
  deadline(unit: number, at: number): number
  /** Sets our beat; returns the guardian's. */
  beat(at: number): number
  /** How many words the guardian has claimed so far. */
  executions(): number
  /** Nobody holds the other end of this channel any more. */
  hungUp(descriptor: number): boolean
}

export type NativeAddon = {
  /** Maps the memory behind the descriptor, which may be closed then. EINVAL, EPROTO: it is not what we know. */
  readonly GuardianWords: new (
    descriptor: number,
  ) => GuardianWords
  /** socket(2) with SOCK_CLOEXEC and SOCK_NONBLOCK; `batch` packets (at most 1 024) of `size` bytes per receive(). */
  readonly NativeSocket: new (
    family: number,
    type: number,
    protocol: number,
    batch: number,
    size: number,
  ) => NativeSocket
  /** pidfd_open(2) with what a socket does when it is readable, which a pidfd is from the end of its process on. */
  readonly ProcessEnd: new (
    pid: number,
  ) => Pick<NativeSocket, 'start' | 'close'>
  /** The same for a descriptor of ours that is neither; it is the object's from now on, which closes it. Throws EBADF. */
  readonly ChannelEnd: new (
    descriptor: number,
  ) => Pick<NativeSocket, 'start' | 'close'>
  /** Throws EMFILE and the like. */
  readonly NativeTimer: new () => NativeTimer
  /** Milliseconds with fractions: [0] CLOCK_MONOTONIC, [1] CLOCK_REALTIME, [2] CLOCK_BOOTTIME. */
  clocks(out: Float64Array): void
  /** 0 when there is no interface of that name in this network namespace. */
  interfaceIndex(name: string): number
  /**
   * An inherited descriptor that our children must not inherit, moved to the end of ours: the kernel closes a dead process's
   * files from there, and each packet socket takes it some 10 ms. Returns its new number. Throws EBADF.
   */
  keepLast(descriptor: number): number
}

/** Channels to children. */
export type Channels = {
  /** Two ends of a stream, that no child inherits unasked. Throws as socketpair(2) fails. */
  streamPair(): [ours: number, theirs: number]
}

/** What a thread, the process and its peers may do (docs/adr/0019). */
export type Credentials = {
  /**
   * Takes every capability from the calling thread and sets no_new_privs, for it and its future children and for good.
   * Throws EINVAL on the main thread, and when something is left afterwards.
   */
  dropPrivileges(): void
  /** PR_SET_DUMPABLE 0 for the whole process. */
  forbidDumps(): void
  /** SO_PEERCRED: who connected to this end of a unix socket, or listens at the other one. */
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

/** Loads the binary for this platform. Throws Error with code 'ERR_NATIVE_ADDON' when there is none that loads. */
export function loadNative(): NativeAddon & Credentials & Channels {
  try {
    const require = createRequire(import.meta.url)
    const addon: NativeAddon & Credentials & Channels = require('node-gyp-build')(NATIVE)
    return addon
  } catch (cause) {
    const platform = `${process.platform}-${process.arch}`
    const why = cause instanceof Error ? (cause.message.split('\n', 1)[0] ?? '') : String(cause)
    const message = `Cannot load the native addon for ${platform} (built for: ${available()}): ${why}; build it with native/build.sh`
    throw Object.assign(new Error(message, { cause }), { code: 'ERR_NATIVE_ADDON' })
  }
}
