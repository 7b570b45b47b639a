/**
 * Two kinds of rtnetlink sockets. A request socket sends a request and reads the answer in one call: the kernel works
 * during send(), so the answer is queued when send() returns. A monitor socket receives changes that any program makes.
 * The two sockets are separate, because a socket in multicast groups would receive its own notifications between
 * request and ACK. This file decides how long a caller waits for an answer, and what an overrun means. Other files
 * decide what links and addresses are used for.
 */
import type { AddressStep, PresentAddress } from '../../daemon/ports.ts'
import type { KernelClock } from '../clock.ts'
import { ERRNO } from '../failure.ts'
import type { NativeAddon, NativeSocket } from '../native.ts'
import { readMeta } from '../sockets/meta-record.ts'
import { AF, netlinkPort, netlinkSockaddr } from '../sockets/sockaddr.ts'
import { OPTION, setNumber, setReceiveBuffer } from '../sockets/socket-option.ts'
import { type Envelope, type NetlinkMessage, parseMessages } from './message.ts'
import { RepeatFilter } from './repeat-filter.ts'

const SOCK_RAW = 3
const NETLINK_ROUTE = 0
/** Multicast groups RTMGRP_LINK, RTMGRP_IPV4_IFADDR and RTMGRP_IPV6_IFADDR. */
const GROUPS = 0x001 | 0x010 | 0x100
/** Octets of the buffer for an answer. The kernel fills dumps up to 32 KiB a datagram. */
const REQUEST_SIZE = 32 * 1024
const REQUEST_BATCH = 8
const MONITOR_SIZE = 16 * 1024
const MONITOR_BATCH = 32
const RECEIVE_BUFFER = 4 * 1024 * 1024
/**
 * Number of requests in flight. The ACKs of these requests must fit into the receive buffer, even if its size may not
 * be raised (208 KiB hold about 256 ACKs).
 */
const IN_FLIGHT = 128
const ANSWER_LIMIT_MS = 100
const DUMP_ATTEMPTS = 5
/** Batches of messages per wake-up, so that a storm of changes does not delay advertisements. */
const MAX_BATCHES = 64

export type MakeRequest = (sequence: number) => Uint8Array

export type RequestSocket = {
  /** Sends requests. Returns one errno for each request, in order: 0 = success, ETIMEDOUT = no answer. */
  ask(requests: readonly MakeRequest[]): readonly number[]
  /** Returns all messages of a dump; `undefined` if every attempt was incomplete. */
  dump(request: MakeRequest): readonly NetlinkMessage[] | undefined
  close(): void
}

/** Messages of one receive call. `undefined` messages are not from the kernel or were cut. */
type Received = { readonly count: number; envelopes(packet: number): readonly Envelope[] | undefined }

export function openSocket(native: NativeAddon, batch: number, size: number) {
  const socket = new native.NativeSocket(AF.netlink, SOCK_RAW, NETLINK_ROUTE, batch, size)
  setReceiveBuffer(socket, RECEIVE_BUFFER)
  const meta = readMeta(socket, size)
  const receive = (): Received => ({
    count: socket.receive(),
    envelopes: (packet) => {
      // Any privileged process can send to a netlink socket. Port 0 is the kernel.
      if (netlinkPort(meta.source(packet)) !== 0) return []
      return meta.truncated(packet) ? undefined : parseMessages(meta.bytes(packet))
    },
  })
  return { socket, receive }
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))
const pause = (): void => {
  Atomics.wait(sleeper, 0, 0, 1)
}

/** Opens a request socket. Throws the addon's Error (EPERM, EMFILE …): without rtnetlink the engine cannot work. */
export function openRequestSocket(native: NativeAddon, clock: KernelClock): RequestSocket {
  const { socket, receive } = openSocket(native, REQUEST_BATCH, REQUEST_SIZE)
  // With this option, the ACK of a failed request does not contain the request and stays small.
  setNumber(socket, OPTION.netlinkCapAck, 1)
  return new Requests(socket, receive, clock)
}

class Requests implements RequestSocket {
  readonly #socket: NativeSocket
  readonly #receive: () => Received
  readonly #clock: KernelClock
  #sequence = 0

  constructor(socket: NativeSocket, receive: () => Received, clock: KernelClock) {
    this.#socket = socket
    this.#receive = receive
    this.#clock = clock
  }

  ask(requests: readonly MakeRequest[]): readonly number[] {
    const answers: number[] = []
    for (let at = 0; at < requests.length; at += IN_FLIGHT) {
      answers.push(...this.#askSome(requests.slice(at, at + IN_FLIGHT)))
    }
    return answers
  }

  dump(request: MakeRequest): readonly NetlinkMessage[] | undefined {
    for (let attempt = 0; attempt < DUMP_ATTEMPTS; attempt++) {
      const messages = this.#dumpOnce(request)
      if (messages !== undefined) return messages
    }
    return undefined
  }

  close(): void {
    this.#socket.close()
  }

  #next(): number {
    this.#sequence = (this.#sequence + 1) >>> 0
    return this.#sequence
  }

  /** Receives messages until `take` returns true. Returns false if no message arrived for ANSWER_LIMIT_MS. */
  #collect(take: (envelopes: readonly Envelope[] | undefined) => boolean): boolean {
    let limit = this.#clock.now() + ANSWER_LIMIT_MS
    while (this.#clock.now() < limit) {
      const { count, envelopes } = this.#receive()
      if (count === -ERRNO.EBADF) return false
      for (let i = 0; i < count; i++) if (take(envelopes(i))) return true
      if (count > 0) limit = this.#clock.now() + ANSWER_LIMIT_MS
      else pause()
    }
    return false
  }

  #askSome(requests: readonly MakeRequest[]): readonly number[] {
    const open = new Map<number, number>()
    const answers: number[] = requests.map(() => ERRNO.ETIMEDOUT)
    const messages = requests.map((make, i) => {
      const number = this.#next()
      open.set(number, i)
      return make(number)
    })
    const first = this.#sequence - requests.length + 1
    for (const [i, result] of this.#socket.send(messages)?.entries() ?? []) {
      if (result >= 0) continue
      answers[i] = -result
      open.delete((first + i) >>> 0)
    }
    if (open.size === 0) return answers
    this.#collect((envelopes) => {
      for (const { sequence: number, message } of envelopes ?? []) {
        const i = open.get(number)
        if (i === undefined || message.kind !== 'ack') continue
        answers[i] = message.errno
        open.delete(number)
      }
      return open.size === 0
    })
    return answers
  }

  #dumpOnce(request: MakeRequest): readonly NetlinkMessage[] | undefined {
    const number = this.#next()
    const messages: NetlinkMessage[] = []
    let whole = true
    const sent = this.#socket.send([request(number)])?.[0] ?? 0
    if (sent < 0) return undefined
    const finished = this.#collect((envelopes) => {
      if (envelopes === undefined) whole = false
      for (const { sequence: answers, interrupted, message } of envelopes ?? []) {
        if (answers !== number) continue
        if (interrupted || message.kind === 'malformed') whole = false
        if (message.kind === 'ack' || message.kind === 'done') {
          whole &&= message.errno === 0
          return true
        }
        messages.push(message)
      }
      return false
    })
    return finished && whole ? messages : undefined
  }
}

export type MonitorSocket = {
  /** Calls `onReadable` whenever a netlink message is queued. */
  start(onReadable: () => void): void
  /**
   * Returns the queued netlink messages. `lost`: the kernel dropped notifications, and the queue was empty afterwards.
   * `stale`: the last flags of an address may be missing among the messages.
   */
  take(): { readonly messages: readonly NetlinkMessage[]; readonly lost: boolean; readonly stale: boolean }
  /** Returns those of the node's addresses whose flags no message has reported. */
  takeUnreported(addresses: readonly PresentAddress[]): readonly PresentAddress[]
  /** Notes address changes of the engine, so that the kernel's reports about them are not dropped as repeats. */
  expect(steps: readonly AddressStep[]): void
  close(): void
}

/**
 * Opens a monitor socket. The monitor socket joins its multicast groups immediately, so a change between a dump and
 * start() is queued and not lost.
 */
export function openMonitorSocket(native: NativeAddon): MonitorSocket {
  const { socket, receive } = openSocket(native, MONITOR_BATCH, MONITOR_SIZE)
  socket.bind(netlinkSockaddr(GROUPS))
  const repeats = new RepeatFilter((program) => socket.attachFilter(program))
  let overrun = false

  function takeQueued(socketQueue: NetlinkMessage[]): boolean {
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      const { count, envelopes } = receive()
      if (count === -ERRNO.EBADF) return false
      // ENOBUFS arrived instead of a message. The next receive call gets the following messages.
      if (count < 0) overrun = true
      for (let i = 0; i < count; i++) {
        const parsed = envelopes(i)
        if (parsed === undefined) overrun = true
        for (const { message } of parsed ?? []) {
          if (message.kind === 'overrun' || message.kind === 'malformed') overrun = true
          if (message.kind === 'address' || message.kind === 'addressGone') repeats.note(message.kind, message.present)
          socketQueue.push(message)
        }
      }
      if (count >= 0 && count < MONITOR_BATCH) return true
    }
    return false
  }

  return {
    start(onReadable) {
      socket.start(onReadable, () => {
        overrun = true
        onReadable()
      })
    },
    take() {
      const messages: NetlinkMessage[] = []
      const empty = takeQueued(messages)
      // Until the queue is empty, the kernel drops notifications without another error. A dump before that moment could
      // miss changes.
      const lost = overrun && empty
      if (lost) {
        overrun = false
        repeats.forget()
      }
      return { messages, lost, stale: repeats.settle() }
    },
    takeUnreported: (addresses) => repeats.takeUnreported(addresses),
    expect: (steps) => repeats.expect(steps),
    close: () => socket.close(),
  }
}
