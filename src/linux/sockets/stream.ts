/**
 * A TCP connection for one request: connect, send, receive, close. On a loopback interface the handshake is over when
 * connect(2) returns. For this reason the request is sent in the same turn, without a wake-up in between. This file
 * does not know the content of the request.
 */
import { getSystemErrorName } from 'node:util'
import { address as toAddress } from '../../wire/address.ts'
import type { NativeAddon, NativeSocket } from '../native.ts'
import { AF, ipSockaddr } from './sockaddr.ts'

const SOCK_STREAM = 1
const RECEIVED_AT_ONCE = 4_096
/**
 * Number of reads per wake-up. The event loop polls the socket again if more data is waiting, so timers and other
 * sockets run in between.
 */
const MOST_READS = 32
const EAGAIN = -11
const EINPROGRESS = -115

type Events = {
  readonly onBytes: (bytes: Buffer) => void
  readonly onEnd: (error: Error | undefined) => void
}

/**
 * Opens a stream and sends the request. Throws if socket(2) or epoll_ctl(2) fails, and reports every later error by
 * callback. The request fits into any send buffer.
 */
export function openStream(
  native: Pick<NativeAddon, 'NativeSocket'>,
  address: string,
  port: number,
  question: Uint8Array,
  events: Events,
): { readonly connected: boolean; readonly close: () => void } {
  const sockaddr = sockaddrOf(address, port)
  const family = sockaddr.length === 16 ? AF.inet : AF.inet6
  const socket = new native.NativeSocket(family, SOCK_STREAM, 0, 1, RECEIVED_AT_ONCE)
  const stream = new QuestionStream(socket, question, `${address}:${port}`, events)
  try {
    stream.begin(sockaddr)
  } catch (error) {
    stream.close()
    throw error
  }
  return stream
}

/** Socket addresses by their text, because the same few addresses are used repeatedly. */
const known = new Map<string, Uint8Array>()
const MOST_KNOWN = 64

function sockaddrOf(address: string, port: number): Uint8Array {
  const place = `${address} ${port}`
  const before = known.get(place)
  if (before !== undefined) return before
  const sockaddr = ipSockaddr(toAddress(address), 0)
  new DataView(sockaddr.buffer).setUint16(2, port, false)
  if (known.size >= MOST_KNOWN) known.clear()
  known.set(place, sockaddr)
  return sockaddr
}

class QuestionStream {
  readonly #socket: NativeSocket
  readonly #question: Uint8Array
  readonly #place: string
  readonly #events: Events
  readonly #length: DataView
  readonly #received: Buffer
  #connected = false
  #over = false

  constructor(socket: NativeSocket, question: Uint8Array, place: string, events: Events) {
    this.#socket = socket
    this.#question = question
    this.#place = place
    this.#events = events
    const { data, meta } = socket
    this.#length = new DataView(meta.buffer, meta.byteOffset, 4)
    this.#received = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  }

  get connected(): boolean {
    return this.#connected
  }

  close(): void {
    this.#over = true
    this.#socket.close()
  }

  begin(sockaddr: Uint8Array): void {
    const connecting = this.#socket.connect(sockaddr)
    const sent = connecting === 0 || connecting === EINPROGRESS ? this.#send() : connecting
    if (sent < 0 && sent !== EAGAIN) {
      // The end is reported later: the caller has no stream before this constructor returns.
      queueMicrotask(() => this.#end(sent))
      return
    }
    const read = () => this.#read()
    const failed = (errno: number) => {
      // Data before the error counts. After the error the kernel reports the end of the stream without a reason.
      this.#read(-errno)
      this.#end(-errno)
    }
    if (this.#connected) {
      this.#socket.start(read, failed)
      return
    }
    this.#socket.start(read, failed, () => {
      const result = this.#send()
      if (result < 0) this.#end(result)
    })
  }

  #send(): number {
    const sent = this.#socket.send([this.#question])?.[0] ?? this.#question.length
    this.#connected = sent >= 0
    return sent
  }

  /** Reads the queued data. `why`: errno that ends the stream, if known already. */
  #read(why?: number): void {
    for (let reads = 0; !this.#over && reads < MOST_READS; reads++) {
      const count = this.#socket.receive()
      if (count === 0) return
      if (count < 0) return this.#end(why ?? count)
      const length = this.#length.getUint32(0, true)
      if (length === 0) return this.#end(why)
      this.#events.onBytes(this.#received.subarray(0, length))
    }
  }

  #end(errno: number | undefined): void {
    if (this.#over) return
    this.close()
    if (errno === undefined) return this.#events.onEnd(undefined)
    const code = getSystemErrorName(errno)
    const what = `${this.#connected ? 'read' : 'connect'} ${code} ${this.#place}`
    this.#events.onEnd(Object.assign(new Error(what), { code }))
  }
}
