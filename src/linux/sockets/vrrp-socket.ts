/**
 * Sends and receives advertisements, one socket for each interface and family. This file decides how a queue is
 * drained, dated and counted (ground rule 2: a waiting packet counts). This file does not know VRRP: no octet of a
 * message is read or checked, and a cut packet is delivered cut.
 */
import type {
  AdvertisementSocket,
  AdvertisementSocketOptions,
  Datagram,
  Failure,
  ReceivedPacket,
  SendOutcome,
} from '../../daemon/ports.ts'
import type { Address } from '../../wire/address.ts'
import { millis } from '../../wire/units.ts'
import type { KernelClock } from '../clock.ts'
import { failureFrom, failureOf } from '../failure.ts'
import type { NativeAddon, NativeSocket } from '../native.ts'
import { readMeta } from './meta-record.ts'
import { BATCH, joinLate, openNewsSocket, openReceiver, openSender, type Progress, SIZE } from './raw-socket.ts'
import { ReadSockets } from './read-sockets.ts'
import { clockOffset, type DrainMark, receiveTime } from './receive-time.ts'
import { RepetitionWatch } from './repetitions.ts'
import { addressOfSockaddr, ipSockaddr } from './sockaddr.ts'

/** Messages and their destinations, in the form in which the addon sends them. */
type Message = { readonly bytes: readonly Uint8Array[]; readonly addresses: readonly Uint8Array[] }

const SENT: SendOutcome = { ok: true }

export function openAdvertisementSocket(
  native: NativeAddon,
  clock: KernelClock,
  options: AdvertisementSocketOptions,
  read = new ReadSockets(),
): AdvertisementSocket | Failure {
  let action = ''
  const progress: Progress = (next) => {
    action = next
  }
  let receiver: NativeSocket | undefined
  try {
    receiver = openReceiver(native, options, progress)
    const sender = openSender(native, options, progress)
    const senders = new Senders(sender, options, (ttl) => openSender(native, options, progress, ttl))
    return new KernelAdvertisementSocket(receiver, senders, clock, { ...options, native, read })
  } catch (error) {
    receiver?.close()
    return failureFrom(error, action)
  }
}

/** The sockets for sending: one socket, and one more for each TTL other than 255 (VR-UC-03), which few routers have. */
class Senders {
  readonly #sender: NativeSocket
  readonly #interfaceIndex: number
  readonly #interfaceName: string
  readonly #openFor: (ttl: number) => NativeSocket
  readonly #byTtl = new Map<number, NativeSocket>()
  readonly #targets = new Map<Address, Uint8Array>()
  /** Messages of the last send call, kept because an Active sends the same list repeatedly. */
  #before: { readonly datagrams: readonly Datagram[] } & Message = { datagrams: [], bytes: [], addresses: [] }

  constructor(
    sender: NativeSocket,
    { interfaceIndex, interfaceName }: AdvertisementSocketOptions,
    openFor: (ttl: number) => NativeSocket,
  ) {
    this.#sender = sender
    this.#interfaceIndex = interfaceIndex
    this.#interfaceName = interfaceName
    this.#openFor = openFor
  }

  send(datagrams: readonly Datagram[]): readonly SendOutcome[] {
    if (this.#before.datagrams === datagrams || datagrams.every(({ ttl }) => ttl === undefined))
      return this.#sendThrough(this.#sender, datagrams)
    const sent = new Map<Datagram, SendOutcome>()
    for (const ttl of new Set(datagrams.map((datagram) => datagram.ttl))) {
      const those = datagrams.filter((datagram) => datagram.ttl === ttl)
      const outcomes = ttl === undefined ? this.#sendThrough(this.#sender, those) : this.#sendWith(ttl, those)
      outcomes.forEach((outcome, i) => {
        const datagram = those[i]
        if (datagram !== undefined) sent.set(datagram, outcome)
      })
    }
    return datagrams.flatMap((datagram) => sent.get(datagram) ?? [])
  }

  close(): void {
    this.#sender.close()
    for (const each of this.#byTtl.values()) each.close()
  }

  #sendWith(ttl: number, datagrams: readonly Datagram[]): readonly SendOutcome[] {
    try {
      const from = this.#byTtl.get(ttl) ?? this.#openFor(ttl)
      this.#byTtl.set(ttl, from)
      return this.#sendThrough(from, datagrams)
    } catch (error) {
      const failure = failureFrom(error, `send with TTL ${ttl} on "${this.#interfaceName}"`)
      return datagrams.map(() => ({ ok: false, failure }))
    }
  }

  #sendThrough(from: NativeSocket, datagrams: readonly Datagram[]): readonly SendOutcome[] {
    const { addresses, bytes } = this.#messagesOf(datagrams)
    const results = from.send(bytes, addresses)
    if (results === undefined) return datagrams.map(() => SENT)
    return datagrams.map(({ destination }, i) => {
      const result = results[i] ?? 0
      if (result >= 0) return SENT
      const action = `send to ${destination} on "${this.#interfaceName}"`
      return { ok: false, failure: failureOf(result, { action, syscall: 'sendmmsg' }) }
    })
  }

  #messagesOf(datagrams: readonly Datagram[]): Message {
    if (this.#before.datagrams === datagrams) return this.#before
    const addresses = datagrams.map(({ destination }) => {
      const known = this.#targets.get(destination) ?? ipSockaddr(destination, this.#interfaceIndex)
      this.#targets.set(destination, known)
      return known
    })
    this.#before = { datagrams, bytes: datagrams.map(({ bytes }) => bytes), addresses }
    return this.#before
  }
}

type ReadingOptions = AdvertisementSocketOptions & {
  readonly native: NativeAddon
  /** List of all sockets that the process reads. */
  readonly read: ReadSockets
}

class KernelAdvertisementSocket implements AdvertisementSocket {
  readonly #receiver: NativeSocket
  readonly #senders: Senders
  readonly #clock: KernelClock
  readonly #options: ReadingOptions
  readonly #meta: ReturnType<typeof readMeta>
  readonly repetitions: RepetitionWatch | undefined
  #mark: DrainMark
  #overflow = 0
  #isDraining = false
  #isClosed = false

  constructor(receiver: NativeSocket, senders: Senders, clock: KernelClock, options: ReadingOptions) {
    this.#receiver = receiver
    this.#senders = senders
    this.#clock = clock
    this.#options = options
    this.#meta = readMeta(receiver, SIZE[options.family])
    const opened = clock.pair()
    this.#mark = { offset: clockOffset(opened), emptyAt: opened.monotonic }
    const { interfaceIndex, native, onOverdue, read } = options
    const openNews = () => openNewsSocket(native, options)
    this.repetitions = onOverdue && new RepetitionWatch({ native, receiver, openNews, interfaceIndex, read, onOverdue })
    receiver.start(options.onReadable, (errno) => this.#failed(errno, 'poll'))
    read.add(receiver)
  }

  drain(
    maxBatches: number,
    deliver: (packet: ReceivedPacket) => void,
    until = millis(Number.POSITIVE_INFINITY),
  ): ReturnType<AdvertisementSocket['drain']> {
    // The receive buffers are shared. A drain inside of a delivery would overwrite the packet that is being delivered.
    if (this.#isDraining) throw new Error('Cannot drain an advertisement socket while it delivers')
    const mark = this.#mark
    const meta = this.#meta
    let packets = 0
    let lost = 0
    let { offset, emptyAt } = mark
    let empty = this.#isClosed
    this.#isDraining = true
    try {
      for (let batch = 0; batch < maxBatches && !empty && !this.#isClosed; batch++) {
        const clocks = this.#clock.pair()
        if (batch > 0 && clocks.monotonic >= until) break
        const count = this.#receiver.receive()
        const ended = this.#clock.now()
        if (count < 0) this.#failed(count, 'recvmmsg')
        for (let i = 0; i < count && !this.#isClosed; i++) {
          lost += this.#lostUntil(i)
          // The addon has noted the packet in its watch.
          if (meta.repeated(i)) {
            packets++
            continue
          }
          const packet = this.#packetAt(i, receiveTime(meta.realtime(i), clocks, mark, ended))
          if (packet === undefined) continue
          packets++
          deliver(packet)
        }
        if (count >= 0 && count < BATCH) {
          empty = true
          emptyAt = clocks.monotonic
          offset = clockOffset(clocks)
        }
      }
    } finally {
      this.#isDraining = false
      this.#mark = { offset, emptyAt }
    }
    return { packets, empty, lost }
  }

  send(datagrams: readonly Datagram[]): readonly SendOutcome[] {
    return this.#senders.send(datagrams)
  }

  join(group: Address): Failure | undefined {
    return joinLate(this.#receiver, group, this.#options)
  }

  close(): void {
    this.#isClosed = true
    this.#options.read.remove(this.#receiver)
    this.repetitions?.close()
    this.#receiver.close()
    this.#senders.close()
  }

  #failed(errno: number, syscall: string): void {
    const { interfaceName, onFailure } = this.#options
    onFailure(failureOf(errno, { action: `receive on "${interfaceName}"`, syscall }))
  }

  #packetAt(index: number, receivedAt: ReceivedPacket['receivedAt']): ReceivedPacket | undefined {
    const { family, interfaceIndex } = this.#options
    const meta = this.#meta
    // The packet may have come between socket() and SO_BINDTODEVICE, from any interface.
    const arrival = meta.interfaceIndex(index)
    if (arrival !== 0 && arrival !== interfaceIndex) return undefined
    const source = addressOfSockaddr(meta.source(index))
    if (source === undefined) return undefined
    const destination = meta.destination(index, family)
    return { family, source, destination, ttl: meta.ttl(index), bytes: meta.bytes(index), receivedAt }
  }

  /**
   * Returns the number of packets that the kernel dropped before this packet. The kernel's counter wraps at 2³²,
   * and is omitted until the first drop.
   */
  #lostUntil(index: number): number {
    const counter = this.#meta.overflow(index)
    if (counter === 0) return 0
    const lost = (counter - this.#overflow) >>> 0
    this.#overflow = counter
    return lost
  }
}
