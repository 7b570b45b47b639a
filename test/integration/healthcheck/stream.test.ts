/** Connections that a loopback interface never shows: slow ones, ones that fail later, and one of several addresses. */
import { expect, test } from 'vitest'
import { openInTurn, type Stream, type StreamEvents } from '../../../src/healthcheck/connection/stream.ts'
import { sleep } from '../../../src/lab/wait.ts'
import { MUTE_NATIVE } from '../../../src/linux/mute-native.ts'
import { META_SIZE, type NativeSocket } from '../../../src/linux/native.ts'
import { openStream } from '../../../src/linux/sockets/stream.ts'

const QUESTION = new Uint8Array([7, 8, 9])
const EAGAIN = -11
const EINPROGRESS = -115
const ECONNRESET = 104
const EHOSTUNREACH = 113

/** A socket whose connection is made when the test orders it. */
class SlowSocket implements NativeSocket {
  readonly meta = new Uint8Array(META_SIZE)
  readonly data = new Uint8Array(4_096)
  readonly sent: Uint8Array[] = []
  connected = false
  closed = false
  incoming: (string | 'end')[] = []
  onReadable = () => {}
  onError: (errno: number) => void = () => {}
  onWritable: (() => void) | undefined
  setOption(): void {}
  bind(): void {}
  attachFilter(): void {}
  stop(): void {}
  expect(): void {}
  expectedAt(): number {
    return 0
  }
  expectNothing(): void {}
  watchRepeated(): void {}
  readRepeated(): boolean {
    return false
  }
  endRepeated(): void {}
  dueRepeated(): void {}
  connect(): number {
    return EINPROGRESS
  }
  start(onReadable: () => void, onError: (errno: number) => void, onWritable?: () => void): void {
    Object.assign(this, { onReadable, onError, onWritable })
  }
  send(messages: readonly Uint8Array[]): Int32Array {
    if (!this.connected) return Int32Array.of(EAGAIN)
    this.sent.push(...messages)
    return Int32Array.from(messages, ({ length }) => length)
  }
  receive(): number {
    const next = this.incoming.shift()
    if (next === undefined) return 0
    const bytes = Buffer.from(next === 'end' ? '' : next)
    this.data.set(bytes)
    new DataView(this.meta.buffer).setUint32(0, bytes.length, true)
    return 1
  }
  close(): void {
    this.closed = true
  }
}

function opened() {
  const socket = new SlowSocket()
  const heard: string[] = []
  class Given extends SlowSocket {
    constructor() {
      super()
      // biome-ignore lint/correctness/noConstructorReturn: the addon is asked for a new one, the test holds this one
      return socket
    }
  }
  const stream = openStream({ ...MUTE_NATIVE, NativeSocket: Given }, '192.0.2.1', 80, QUESTION, {
    onBytes: (bytes) => heard.push(bytes.toString()),
    onEnd: (error) => heard.push(error === undefined ? 'end' : error.message),
  })
  return { socket, stream, heard }
}

test('a slow connection gets the request when it is open', () => {
  const { socket, stream, heard } = opened()
  expect([stream.connected, socket.sent]).toEqual([false, []])
  socket.connected = true
  socket.onWritable?.()
  expect([stream.connected, socket.sent]).toEqual([true, [QUESTION]])
  socket.incoming = ['abc', 'def', 'end']
  socket.onReadable()
  expect(heard).toEqual(['abc', 'def', 'end'])
  expect(socket.closed).toBe(true)
})

test('data before an error counts, and the error names the operation', () => {
  const { socket, heard } = opened()
  socket.connected = true
  socket.onWritable?.()
  // The kernel reports an error in this order: the reason once, then an end like any other.
  socket.incoming = ['abc', 'end']
  socket.onError(ECONNRESET)
  expect(heard).toEqual(['abc', 'read ECONNRESET 192.0.2.1:80'])

  const other = opened()
  other.socket.incoming = ['end']
  other.socket.onError(EHOSTUNREACH)
  expect(other.heard).toEqual(['connect EHOSTUNREACH 192.0.2.1:80'])
  other.socket.onError(ECONNRESET)
  expect(other.heard.length, 'events after the end').toBe(1)
})

test('data of a server that never stops sending is read in a bounded number of reads for each wake-up', () => {
  const { socket, heard } = opened()
  socket.connected = true
  socket.onWritable?.()
  socket.incoming = Array.from({ length: 1_000 }, () => 'x')
  socket.onReadable()
  const first = heard.length
  expect(first).toBeGreaterThan(0)
  expect(first).toBeLessThanOrEqual(64)
  socket.onReadable()
  expect(heard.length, 'reads after the next wake-up').toBe(2 * first)
})

test('a closed stream causes no event', () => {
  const { socket, stream, heard } = opened()
  stream.close()
  socket.incoming = ['abc']
  socket.onReadable()
  socket.onError(ECONNRESET)
  expect([heard, socket.closed]).toEqual([[], true])
})

function severalAddresses(addresses: readonly [string, ...string[]]) {
  const streams = new Map<string, { readonly events: StreamEvents; connected: boolean; closed: boolean }>()
  const heard: string[] = []
  const open = (address: string, _port: number, _question: Uint8Array, events: StreamEvents): Stream => {
    const each = { events, connected: false, closed: false }
    streams.set(address, each)
    return {
      get connected() {
        return each.connected
      },
      close: () => {
        each.closed = true
      },
    }
  }
  const stream = openInTurn(open, addresses, 80, QUESTION, {
    onBytes: (bytes) => heard.push(bytes.toString()),
    onEnd: (error) => heard.push(error === undefined ? 'end' : error.message),
  })
  return { stream, streams, heard }
}

test('after an address that refuses, the next is tried immediately, and the last refusal is reported', () => {
  const { streams, heard } = severalAddresses(['a', 'b'])
  expect([...streams.keys()]).toEqual(['a'])
  streams.get('a')?.events.onEnd(new Error('a refuses'))
  expect([...streams.keys()]).toEqual(['a', 'b'])
  streams.get('b')?.events.onEnd(new Error('b refuses'))
  expect(heard).toEqual(['b refuses'])
})

test('after an address that does not answer for 100 ms the next is tried, and after a connected one it is not', async () => {
  const silent = severalAddresses(['a', 'b', 'c'])
  const taken = severalAddresses(['a', 'b'])
  const first = taken.streams.get('a')
  if (first !== undefined) first.connected = true
  const left = severalAddresses(['a', 'b'])
  left.stream.close()
  await sleep(250)
  expect([...silent.streams.keys()].slice(0, 2)).toEqual(['a', 'b'])
  expect(silent.streams.get('a')?.closed, 'whether the connection to the silent address is closed').toBe(true)
  expect([...taken.streams.keys()]).toEqual(['a'])
  first?.events.onEnd(new Error('reset'))
  expect(taken.heard, 'error of a connection that was open and ended').toEqual(['reset'])
  expect([...left.streams.keys()], 'addresses that were tried').toEqual(['a'])
  silent.stream.close()
  expect([...silent.streams.values()].every(({ closed }) => closed)).toBe(true)
})
