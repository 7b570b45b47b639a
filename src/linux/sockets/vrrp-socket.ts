/**
 * Advertisements in and out, one socket for each interface and family as the daemon sees it. Decided here: how a queue
 * is drained, dated and counted (ground rule 2). Refused here: VRRP. Not one octet of a message is read or checked, and
 * a packet that was cut is delivered cut.
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
import { BATCH, openReceiver, openSender, type Progress, SIZE } from './raw-socket.ts'
import { clockOffset, type DrainMark, receiveTime } from './receive-time.ts'
import { addressOfSockaddr, ipSockaddr } from './sockaddr.ts'
import { joinGroup } from './socket-option.ts'

/** What goes to the kernel. */
type Message = { readonly bytes: readonly Uint8Array[]; readonly addresses: readonly Uint8Array[] }

const SENT: SendOutcome = { ok: true }

export function openAdvertisementSocket(
  native: NativeAddon,
  clock: KernelClock,
  options: AdvertisementSocketOptions,
): AdvertisementSocket | Failure {
  let action = ''
  const progress: Progress = (next) => {
    action = next
  }
  let receiver: NativeSocket | undefined
  try {
    receiver = openReceiver(native, options, progress)
    const sender = openSender(native, options, progress)
    return assemble(receiver, sender, clock, options, (ttl) => openSender(native, options, progress, ttl))
  } catch (error) {
    receiver?.close()
    return failureFrom(error, action)
  }
}

function assemble(
  receiver: NativeSocket,
  sender: NativeSocket,
  clock: KernelClock,
  { family, interfaceIndex, interfaceName, onReadable, onFailure }: AdvertisementSocketOptions,
  openFor: (ttl: number) => NativeSocket,
): AdvertisementSocket {
  const meta = readMeta(receiver, SIZE[family])
  const targets = new Map<Address, Uint8Array>()
  const opened = clock.pair()
  let mark: DrainMark = { offset: clockOffset(opened), emptyAt: opened.monotonic }
  let overflow = 0
  let draining = false
  let closed = false

  const failed = (errno: number, syscall: string): void =>
    onFailure(failureOf(errno, { action: `receive on "${interfaceName}"`, syscall }))

  function packetAt(index: number, receivedAt: ReceivedPacket['receivedAt']): ReceivedPacket | undefined {
    // Queued between socket() and SO_BINDTODEVICE, from any interface.
    const arrival = meta.interfaceIndex(index)
    if (arrival !== 0 && arrival !== interfaceIndex) return undefined
    const source = addressOfSockaddr(meta.source(index))
    if (source === undefined) return undefined
    const destination = meta.destination(index, family)
    return { family, source, destination, ttl: meta.ttl(index), bytes: meta.bytes(index), receivedAt }
  }

  /** The kernel's counter wraps at 2³², and it is left out until the first drop. */
  function lostUntil(index: number): number {
    const counter = meta.overflow(index)
    if (counter === 0) return 0
    const lost = (counter - overflow) >>> 0
    overflow = counter
    return lost
  }

  /** With another TTL than 255 (VR-UC-03); few routers have one. */
  const senders = new Map<number, NativeSocket>()

  /** An Active says the same again and again. */
  let before: { readonly datagrams: readonly Datagram[] } & Message = { datagrams: [], bytes: [], addresses: [] }

  function messagesOf(datagrams: readonly Datagram[]): Message {
    if (before.datagrams === datagrams) return before
    const addresses = datagrams.map(({ destination }) => {
      const known = targets.get(destination) ?? ipSockaddr(destination, interfaceIndex)
      targets.set(destination, known)
      return known
    })
    before = { datagrams, bytes: datagrams.map(({ bytes }) => bytes), addresses }
    return before
  }

  function sendThrough(from: NativeSocket, datagrams: readonly Datagram[]): readonly SendOutcome[] {
    const { addresses, bytes } = messagesOf(datagrams)
    const results = from.send(bytes, addresses)
    if (results === undefined) return datagrams.map(() => SENT)
    return datagrams.map(({ destination }, i) => {
      const result = results[i] ?? 0
      if (result >= 0) return SENT
      const action = `send to ${destination} on "${interfaceName}"`
      return { ok: false, failure: failureOf(result, { action, syscall: 'sendmmsg' }) }
    })
  }

  function sendWith(ttl: number, datagrams: readonly Datagram[]): readonly SendOutcome[] {
    try {
      const from = senders.get(ttl) ?? openFor(ttl)
      senders.set(ttl, from)
      return sendThrough(from, datagrams)
    } catch (error) {
      const failure = failureFrom(error, `send with TTL ${ttl} on "${interfaceName}"`)
      return datagrams.map(() => ({ ok: false, failure }))
    }
  }

  const socket: AdvertisementSocket = {
    drain(maxBatches, deliver, until = millis(Number.POSITIVE_INFINITY)) {
      // The buffers are shared: a drain inside a delivery would overwrite the packet being delivered.
      if (draining) throw new Error('Cannot drain an advertisement socket while it delivers')
      let packets = 0
      let lost = 0
      let offset = mark.offset
      let emptyAt = mark.emptyAt
      let empty = closed
      draining = true
      try {
        for (let batch = 0; batch < maxBatches && !empty && !closed; batch++) {
          const clocks = clock.pair()
          if (batch > 0 && clocks.monotonic >= until) break
          const count = receiver.receive()
          offset = clockOffset(clocks)
          if (count < 0) failed(count, 'recvmmsg')
          for (let i = 0; i < count && !closed; i++) {
            lost += lostUntil(i)
            const packet = packetAt(i, receiveTime(meta.realtime(i), clocks, mark))
            if (packet === undefined) continue
            packets++
            deliver(packet)
          }
          if (count >= 0 && count < BATCH) {
            empty = true
            emptyAt = clocks.monotonic
          }
        }
      } finally {
        draining = false
        mark = { offset, emptyAt }
      }
      return { packets, empty, lost }
    },

    send(datagrams) {
      if (before.datagrams === datagrams || datagrams.every(({ ttl }) => ttl === undefined))
        return sendThrough(sender, datagrams)
      const sent = new Map<Datagram, SendOutcome>()
      for (const ttl of new Set(datagrams.map((datagram) => datagram.ttl))) {
        const those = datagrams.filter((datagram) => datagram.ttl === ttl)
        const outcomes = ttl === undefined ? sendThrough(sender, those) : sendWith(ttl, those)
        outcomes.forEach((outcome, i) => {
          const datagram = those[i]
          if (datagram !== undefined) sent.set(datagram, outcome)
        })
      }
      return datagrams.flatMap((datagram) => sent.get(datagram) ?? [])
    },

    join(group) {
      try {
        joinGroup(receiver, group, interfaceIndex)
        return undefined
      } catch (error) {
        return failureFrom(error, `join ${group} on "${interfaceName}"`)
      }
    },

    close() {
      closed = true
      receiver.close()
      sender.close()
      for (const each of senders.values()) each.close()
    },
  }
  receiver.start(onReadable, (errno) => failed(errno, 'poll'))
  return socket
}
