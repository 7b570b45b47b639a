/**
 * The functions of the package `raw-socket` (1.8) that holdfast uses: one socket that is read and written immediately.
 * This file decides that the queue and the callbacks of the package are not used. The package's own send waits for a
 * turn of the event loop, and its receive delivers one packet a turn. The C++ binding inside sends and receives
 * immediately, as ground rule 2 needs. Errors of the package are texts of strerror(3), so raw-socket-package.ts looks
 * up their numbers. This file does not know IP and VRRP.
 */
import { createRequire } from 'node:module'
import { ERRNO } from '../failure.ts'
import type { NativeSocket } from '../native.ts'
import { whyUnavailable } from '../optional-package.ts'

/**
 * The C++ object of the package. After close(), its recv and send would open another socket, so no caller may use them.
 */
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

/** Loads the package raw-socket. Throws an Error with code 'ERR_RAW_SOCKET'. */
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
 * Errno numbers by the text of strerror(3) in glibc, and in musl if its text differs. An unknown text counts as EIO.
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

/**
 * Returns the positive errno of a plain Error with a text of strerror(3). A TypeError means a wrong argument: such an
 * error is a defect of holdfast and is thrown again.
 */
function errnoOf(thrown: unknown): number {
  if (!(thrown instanceof Error) || thrown.constructor !== Error) throw thrown
  return ERRNO_OF_TEXT[thrown.message] ?? ERRNO.EIO
}

/**
 * Returns an error with negative `errno`, `code` and `syscall`, like Node's own errors. Throws again if the thrown
 * value is no system error.
 */
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

/**
 * A socket of the package with the interface of NativeSocket: errors of the network are numbers (negative errno), and
 * failed set-up calls throw.
 */
export type PackageSocket = Pick<NativeSocket, 'setOption'> & {
  /**
   * Calls `onReadable` once a turn of the event loop while a packet is queued. Calls `onError` with a positive errno
   * and goes on watching.
   */
  start(onReadable: () => void, onError: (errno: number) => void): void
  /** Calls recvfrom() once. Returns the octets written to `buffer`, or -EAGAIN for an empty queue. */
  receive(buffer: Uint8Array): number
  /** Source address of the last received packet; an IPv6 address has no zone. */
  readonly source: string
  /** Returns the number of packets that a full receive queue dropped so far. The number wraps at 2³². */
  drops(): number
  /** Calls sendto() once. Returns 0 or -errno. */
  send(bytes: Uint8Array, destination: string): number
  close(): void
}

const SO_ERROR = [1, 4] as const
const SO_MEMINFO = [1, 55] as const
/** Offset of SK_MEMINFO_DROPS, the ninth number. */
const DROPS = 8 * 4
const nothing = (): void => {}

/**
 * Calls the binding. Returns 0, or the negative errno of the thrown error. For every empty queue the binding throws.
 * Without its stack an exception costs a fifth, and a flood causes 20 000 exceptions a second.
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
  // The package's own listener would receive packets into another buffer.
  wrap.removeAllListeners()
  return new BindingSocket(wrap)
}

class BindingSocket implements PackageSocket {
  readonly #binding: Binding
  readonly #meminfo = new Uint8Array(DROPS + 4)
  readonly #pending = new Uint8Array(4)
  #length = 0
  #dropped = 0
  /** True while the kernel reports the number of dropped packets (SO_MEMINFO). */
  #counts = true
  #source = ''
  #isScheduled = false
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
   * The binding calls outside of any callback scope of Node, so promises that are settled there would wait for another
   * event. An immediate runs in the same turn of the event loop, after all sockets.
   */
  start(onReadable: () => void, onError: (errno: number) => void): void {
    this.#binding.on('recvReady', () => {
      if (this.#isScheduled) return
      this.#isScheduled = true
      setImmediate(() => {
        this.#isScheduled = false
        if (!this.#isClosed) onReadable()
      })
    })
    this.#binding.on('error', () => {
      setImmediate(() => {
        if (this.#isClosed) return
        // Reading the socket option SO_ERROR clears the error.
        attempt('getsockopt', () => this.#binding.getOption(...SO_ERROR, this.#pending, this.#pending.length))
        // After an error libuv has stopped watching the socket. The socket itself still works.
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

  /** Returns the number of dropped packets, or the last known number if the kernel does not report one. */
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
