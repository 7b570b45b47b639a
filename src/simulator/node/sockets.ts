/**
 * Models the sockets of a daemon on a node: queues of packets with the kernel's time stamps, which are converted as the
 * product's socket code converts them. This file decides which packets a socket receives.
 */
import { isAnswerTo } from '../../arp/probe.ts'
import type {
  AdvertisementSocket,
  AdvertisementSocketOptions,
  Failure,
  FrameSocket,
  FrameSocketOptions,
  Hears,
  ReceivedPacket,
  SendOutcome,
  SocketPort,
} from '../../daemon/ports.ts'
import { clockOffset, type DrainMark, receiveTime } from '../../linux/sockets/receive-time.ts'
import { isMulticast } from '../../wire/address.ts'
import type { Mac } from '../../wire/mac.ts'
import { ipv4Packet } from '../ipv4-packet.ts'
import type { Carried } from '../wire.ts'
import type { LocalClock } from './local-clock.ts'

/** Largest number of packets that one recvmmsg call returns. */
const BATCH = 128
/** Number of packets that a receive buffer of 4 MiB holds, some 16 times the default. */
const MOST_QUEUED = 4_096
const DOWN: Failure = {
  code: 'ENETDOWN',
  syscall: 'sendmsg',
  message: 'Cannot send: interface is down',
  retryable: true,
}

type Vrrp = Extract<Carried, { kind: 'vrrp' }>
type Queued = { readonly packet: Vrrp; readonly stamp: number }
type Advertisements = {
  readonly options: AdvertisementSocketOptions
  queue: Queued[]
  lost: number
  mark: DrainMark
  group: boolean
}
type Frames = { readonly options: FrameSocketOptions; hears: Hears; queue: Uint8Array[] }

export type SocketsContext = {
  readonly clock: LocalClock
  readonly mac: Mac
  readonly carrier: () => boolean
  readonly send: (carried: Carried) => void
  readonly onReadable: () => void
}

export class Sockets {
  readonly #context: SocketsContext
  readonly #advertisements = new Set<Advertisements>()
  readonly #frames = new Set<Frames>()

  constructor(context: SocketsContext) {
    this.#context = context
  }

  /** Closes all sockets, because the process has ended. */
  closeAll(): void {
    this.#advertisements.clear()
    this.#frames.clear()
  }

  take(carried: Carried): void {
    if (carried.kind === 'vrrp') this.#takeVrrp(carried)
    else this.#takeFrame(carried.bytes)
  }

  get readable(): boolean {
    for (const { queue } of this.#advertisements) if (queue.length > 0) return true
    for (const { queue } of this.#frames) if (queue.length > 0) return true
    return false
  }

  /** Delivers all queued packets to the daemon, in one turn of its event loop. */
  poll(): void {
    for (const { queue, options } of [...this.#advertisements]) if (queue.length > 0) options.onReadable()
    for (const socket of [...this.#frames]) {
      const { options } = socket
      for (const frame of socket.queue.splice(0))
        if (socket.hears !== 'nothing') options.onFrame?.(frame, this.#context.clock.now())
    }
  }

  #takeVrrp(packet: Vrrp): void {
    for (const socket of this.#advertisements) {
      const { options } = socket
      if (options.family !== packet.family) continue
      if (isMulticast(packet.destination) ? !socket.group : packet.destination !== options.source) continue
      if (socket.queue.length >= MOST_QUEUED) socket.lost++
      else socket.queue.push({ packet, stamp: this.#context.clock.wall() })
      this.#context.onReadable()
    }
  }

  #takeFrame(frame: Uint8Array): void {
    for (const socket of this.#frames) {
      if (socket.hears === 'nothing') continue
      if ((frame[12] === 0x86) !== (socket.options.family === 'ipv6')) continue
      if (socket.hears === 'answers' && !isAnswerTo(frame, this.#context.mac)) continue
      socket.queue.push(frame)
      this.#context.onReadable()
    }
  }

  port(): SocketPort {
    return {
      openAdvertisementSocket: (options) => this.#openAdvertisements(options),
      openFrameSocket: (options) => this.#openFrames(options),
      openNeighborWatch: () => ({ close: () => {} }),
    }
  }

  #openAdvertisements(options: AdvertisementSocketOptions): AdvertisementSocket | Failure {
    const { carrier, send } = this.#context
    if (!carrier()) return DOWN
    const opened = this.#clocks()
    const mark = { offset: clockOffset(opened), emptyAt: opened.monotonic }
    const socket: Advertisements = { options, queue: [], lost: 0, mark, group: options.group !== undefined }
    this.#advertisements.add(socket)
    const { family, source } = options
    return {
      drain: (maxBatches, deliver) => this.#drain(socket, maxBatches, deliver),
      send: (datagrams) =>
        datagrams.map(({ bytes, destination, ttl = 255 }) => {
          const result = this.#outcome()
          if (result.ok) send({ kind: 'vrrp', family, source, destination, ttl, bytes: bytes.slice() })
          return result
        }),
      join: () => {
        socket.group = true
        return undefined
      },
      close: () => void this.#advertisements.delete(socket),
    }
  }

  #drain(
    socket: Advertisements,
    maxBatches: number,
    deliver: (packet: ReceivedPacket) => void,
  ): ReturnType<AdvertisementSocket['drain']> {
    const { family } = socket.options
    const clocks = this.#clocks()
    const taken = socket.queue.splice(0, maxBatches * BATCH)
    for (const { packet, stamp } of taken) {
      const { destination, source, ttl } = packet
      const receivedAt = receiveTime(stamp, clocks, socket.mark, clocks.monotonic)
      const bytes = family === 'ipv4' ? ipv4Packet(packet.bytes, packet) : packet.bytes
      deliver({ family, source, destination, ttl, bytes, receivedAt })
    }
    const empty = socket.queue.length === 0
    if (empty) socket.mark = { offset: clockOffset(clocks), emptyAt: clocks.monotonic }
    const { lost } = socket
    socket.lost = 0
    return { packets: taken.length, empty, lost }
  }

  #openFrames(options: FrameSocketOptions): FrameSocket | Failure {
    const { carrier, send } = this.#context
    if (!carrier()) return DOWN
    const socket: Frames = { options, hears: options.hears, queue: [] }
    this.#frames.add(socket)
    return {
      send: (frames) =>
        frames.map((frame) => {
          const result = this.#outcome()
          if (result.ok) send({ kind: 'frame', bytes: frame.slice() })
          return result
        }),
      hear: (hears) => {
        socket.hears = hears
      },
      close: () => void this.#frames.delete(socket),
    }
  }

  #clocks() {
    const { clock } = this.#context
    return { monotonic: clock.now(), realtime: clock.wall() }
  }

  #outcome(): SendOutcome {
    return this.#context.carrier() ? { ok: true } : { ok: false, failure: DOWN }
  }
}
