/**
 * The package `raw-socket` (1.8) as far as holdfast uses it: one socket that is read and written at once. Decided here:
 * that its queue and its callbacks are not used. Its own send waits for a turn of the loop, and its receive hands over
 * one packet a turn; the binding inside does both when it is asked (ground rule 2 needs that). Its errors are
 * strerror(3) texts, so the numbers behind them are looked up here. Refused here: IP and VRRP.
 */
import { createRequire } from 'node:module'
import { ERRNO } from '../failure.ts'
import type { NativeSocket } from '../native.ts'
import { whyUnavailable } from '../optional-package.ts'

/** The C++ object. After close() recv and send would open a socket anew, so nobody may call them. */
type Binding = {
  setOption(level: number, name: number, value: Uint8Array, length: number): void
  getOption(level: number, name: number, value: Uint8Array, length: number): number
  recv(buffer: Uint8Array, deliver: (buffer: Uint8Array, length: number, source: string) => void): void
  send(buffer: Uint8Array, offset: number, length: number, address: string, sent: () => void): void
  pause(receiving: boolean, sending: boolean): void
  on(event: 'recvReady' | 'error', listener: () => void): void
  removeAllListeners(): void
  close(): void
}

export type RawSocketPackage = {
  createSocket(options: { protocol: number; addressFamily: number; bufferSize: number }): { readonly wrap: Binding }
}

/** Throws Error with code 'ERR_RAW_SOCKET'. */
export function loadRawSocketPackage(): RawSocketPackage {
  try {
    const require = createRequire(import.meta.url)
    const loaded: RawSocketPackage = require('raw-socket')
    return loaded
  } catch (cause) {
    const why = whyUnavailable('raw-socket', 'python3, make and a C++ compiler', cause)
    const message = `Cannot use "io: raw-socket": ${why}, or set "io: addon"`
    throw Object.assign(new Error(message, { cause }), { code: 'ERR_RAW_SOCKET' })
  }
}

/**
 * strerror(3) of glibc, and of musl where it differs. Only what these calls can answer; an unknown text counts as EIO.
 */
const ERRNO_OF_TEXT: Readonly<Record<string, number>> = {
  'Resource temporarily unavailable': ERRNO.EAGAIN,
  'Operation not permitted': ERRNO.EPERM,
  'Permission denied': ERRNO.EACCES,
  'Invalid argument': ERRNO.EINVAL,
  'Bad file descriptor': ERRNO.EBADF,
  'Too many open files': ERRNO.EMFILE,
  'No file descriptors available': ERRNO.EMFILE,
  'Cannot allocate memory': ERRNO.ENOMEM,
  'Out of memory': ERRNO.ENOMEM,
  'No such device': ERRNO.ENODEV,
  'No such device or address': ERRNO.ENXIO,
  'Network is down': ERRNO.ENETDOWN,
  'Network is unreachable': ERRNO.ENETUNREACH,
  'Network unreachable': ERRNO.ENETUNREACH,
  'No route to host': ERRNO.EHOSTUNREACH,
  'Host is unreachable': ERRNO.EHOSTUNREACH,
  'Connection refused': ERRNO.ECONNREFUSED,
  'Cannot assign requested address': ERRNO.EADDRNOTAVAIL,
  'Address not available': ERRNO.EADDRNOTAVAIL,
  'Address already in use': ERRNO.EADDRINUSE,
  'Address in use': ERRNO.EADDRINUSE,
  'No buffer space available': ERRNO.ENOBUFS,
  'Message too long': ERRNO.EMSGSIZE,
  'Message too large': ERRNO.EMSGSIZE,
  'Protocol not available': ERRNO.ENOPROTOOPT,
  'Protocol not supported': ERRNO.EPROTONOSUPPORT,
  'Address family not supported by protocol': ERRNO.EAFNOSUPPORT,
}

const NAMES = new Map(Object.entries(ERRNO).map(([code, number]) => [number, code]))
NAMES.set(ERRNO.EAGAIN, 'EAGAIN')

/** Positive. A wrong argument is a TypeError of the binding, so our bug, and goes on; strerror's texts are plain Errors. */
function errnoOf(thrown: unknown): number {
  if (!(thrown instanceof Error) || thrown.constructor !== Error) throw thrown
  return ERRNO_OF_TEXT[thrown.message] ?? ERRNO.EIO
}

/** Shaped as Node's own: negative `errno`, `code` and `syscall`. What is no system error is our bug and comes back. */
export function systemError(thrown: unknown, syscall: string): Error {
  const errno = errnoOf(thrown)
  const text = thrown instanceof Error ? thrown.message : ''
  return Object.assign(new Error(`${syscall}: ${text}`, { cause: thrown }), {
    code: NAMES.get(errno) ?? `E${errno}`,
    errno: -errno,
    syscall,
  })
}

function attempt<T>(syscall: string, action: () => T): T {
  try {
    return action()
  } catch (thrown) {
    throw systemError(thrown, syscall)
  }
}

/** As NativeSocket: outcomes of the network are numbers (negative errno), failed set-up calls throw. */
export type PackageSocket = Pick<NativeSocket, 'setOption'> & {
  /** `onReadable` once a loop turn while something is queued; `onError` with a positive errno, and watching goes on. */
  start(onReadable: () => void, onError: (errno: number) => void): void
  /** One recvfrom: octets written to `buffer`, -EAGAIN when the queue is empty. */
  receive(buffer: Uint8Array): number
  /** Of the packet that receive() wrote last; IPv6 without its zone. */
  readonly source: string
  /** Packets dropped so far because the queue was full; it wraps at 2³². */
  drops(): number
  /** One sendto at once: 0 or -errno. */
  send(bytes: Uint8Array, destination: string): number
  close(): void
}

const SO_ERROR = [1, 4] as const
const SO_MEMINFO = [1, 55] as const
/** SK_MEMINFO_DROPS: the ninth number. */
const DROPS = 8 * 4
const nothing = (): void => {}

/**
 * 0, or the errno of what was thrown, negative. Every empty queue is an exception of the binding: without its stack it
 * costs a fifth, and a flood makes 20 000 of them a second.
 */
function outcomeOf(call: () => void): number {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    call()
    return 0
  } catch (thrown) {
    return -errnoOf(thrown)
  } finally {
    Error.stackTraceLimit = limit
  }
}

export function openPackageSocket(
  { createSocket }: RawSocketPackage,
  addressFamily: number,
  protocol: number,
): PackageSocket {
  const { wrap } = attempt('socket', () => createSocket({ protocol, addressFamily, bufferSize: 1 }))
  // The package's own listener would receive into a buffer of its own.
  wrap.removeAllListeners()
  return new BindingSocket(wrap)
}

class BindingSocket implements PackageSocket {
  readonly #binding: Binding
  readonly #meminfo = new Uint8Array(DROPS + 4)
  readonly #pending = new Uint8Array(4)
  #length = 0
  #dropped = 0
  /** The kernel says how many packets it has dropped. */
  #counts = true
  #source = ''
  #isTold = false
  #isClosed = false
  readonly #received = (_: Uint8Array, octets: number, from: string): void => {
    this.#length = octets
    this.#source = from
  }

  constructor(binding: Binding) {
    this.#binding = binding
  }

  setOption(level: number, name: number, value: Uint8Array): void {
    attempt('setsockopt', () => this.#binding.setOption(level, name, value, value.length))
  }

  /**
   * The binding calls from outside of any callback scope of Node: promises that are settled there would wait for another
   * event. An immediate runs in the same turn of the loop, after all sockets have been looked at.
   */
  start(onReadable: () => void, onError: (errno: number) => void): void {
    this.#binding.on('recvReady', () => {
      if (this.#isTold) return
      this.#isTold = true
      setImmediate(() => {
        this.#isTold = false
        if (!this.#isClosed) onReadable()
      })
    })
    this.#binding.on('error', () => {
      setImmediate(() => {
        if (this.#isClosed) return
        // Reading it clears it.
        attempt('getsockopt', () => this.#binding.getOption(...SO_ERROR, this.#pending, this.#pending.length))
        // libuv has stopped watching; the socket itself is as good as before.
        this.#binding.pause(false, true)
        onError(new DataView(this.#pending.buffer).getUint32(0, true))
      })
    })
  }

  receive(buffer: Uint8Array): number {
    if (this.#isClosed) return -ERRNO.EBADF
    const failed = outcomeOf(() => this.#binding.recv(buffer, this.#received))
    return failed === 0 ? this.#length : failed
  }

  get source(): string {
    return this.#source
  }

  /** Goes on with the last number where the kernel does not tell. */
  drops(): number {
    if (this.#isClosed || !this.#counts) return this.#dropped
    const failed = outcomeOf(() => this.#binding.getOption(...SO_MEMINFO, this.#meminfo, this.#meminfo.length))
    if (failed === 0) this.#dropped = new DataView(this.#meminfo.buffer).getUint32(DROPS, true)
    else this.#counts = false
    return this.#dropped
  }

  send(bytes: Uint8Array, destination: string): number {
    if (this.#isClosed) return -ERRNO.EBADF
    return outcomeOf(() => this.#binding.send(bytes, 0, bytes.length, destination, nothing))
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#binding.removeAllListeners()
    this.#binding.close()
  }
}
