/** Sockets of an engine that is recorded: the tape gets what is received, sent and opened (taped-ports.ts). */
import type { AdvertisementSocket, Failure, FrameSocket, ReceivedPacket, SocketPort } from '../daemon/ports.ts'
import * as outputs from './outputs.ts'
import { messageStart } from './secrets.ts'
import type { Tape } from './tape.ts'

export function tapedSockets(tape: Tape, sockets: SocketPort): SocketPort {
  let opened = 0
  const failing = (socket: number, onFailure: (failure: Failure) => void) => (failure: Failure) =>
    tape.enter({ in: 'failed', socket, failure }, () => onFailure(failure))
  const closing = (socket: number, open: { close(): void }) => () => {
    tape.output({ out: 'closeSocket', socket })
    open.close()
  }
  return {
    openAdvertisementSocket(options) {
      const socket = ++opened
      const open = sockets.openAdvertisementSocket({
        ...options,
        onReadable: () => tape.enter({ in: 'readable', socket }, options.onReadable),
        onFailure: failing(socket, options.onFailure),
      })
      tape.output({ ...outputs.opened(socket, 'advertisements', options), ...answered(open) })
      return 'code' in open ? open : { ...tapedAdvertisements(tape, socket, open), close: closing(socket, open) }
    },
    openFrameSocket(options) {
      const socket = ++opened
      const { onFrame } = options
      const open = sockets.openFrameSocket({
        ...options,
        ...(onFrame === undefined
          ? {}
          : {
              onFrame: (frame: Uint8Array, at) =>
                tape.enter({ in: 'frame', socket, at, hex: outputs.plainHex(frame) }, () => onFrame(frame, at)),
            }),
        onFailure: failing(socket, options.onFailure),
      })
      tape.output({ ...outputs.opened(socket, 'frames', options), ...answered(open) })
      return 'code' in open ? open : { ...tapedFrames(tape, socket, open), close: closing(socket, open) }
    },
    openNeighborWatch(options) {
      const socket = ++opened
      const { onLost, onNeighbor } = options
      const open = sockets.openNeighborWatch({
        ...options,
        onNeighbor: (address, is) => tape.enter({ in: 'neighbor', socket, address, is }, () => onNeighbor(address, is)),
        onLost: () => tape.enter({ in: 'neighborsLost', socket }, onLost),
        onFailure: failing(socket, options.onFailure),
      })
      tape.output({ ...outputs.opened(socket, 'neighbors', options), ...answered(open) })
      return 'code' in open ? open : { close: closing(socket, open) }
    },
  }
}

const answered = (open: object | Failure): { readonly answer?: Failure } => ('code' in open ? { answer: open } : {})

const tapedAdvertisements = (
  tape: Tape,
  socket: number,
  open: AdvertisementSocket,
): Omit<AdvertisementSocket, 'close'> => ({
  drain(maxBatches, deliver, until) {
    if (!tape.isOn) return open.drain(maxBatches, deliver, until)
    const taped = (packet: ReceivedPacket) => {
      const { bytes, destination, family, receivedAt, source, ttl } = packet
      const hex = tape.hexOf(bytes, messageStart(family, bytes))
      tape.enter({ in: 'packet', socket, family, from: source, to: destination, ttl, at: receivedAt, hex }, () =>
        deliver(packet),
      )
    }
    const result = open.drain(maxBatches, taped, until)
    const { empty, lost } = result
    if (!empty || lost > 0) tape.answer({ in: 'drained', socket, empty, lost })
    return result
  },
  send(datagrams) {
    const outcomes = open.send(datagrams)
    if (tape.isOn)
      tape.output({ ...outputs.sent(socket, datagrams, tape.messageHex), answer: outputs.sendAnswer(outcomes) })
    return outcomes
  },
  join(group) {
    const failure = open.join(group)
    tape.output({ out: 'join', socket, group, answer: failure })
    return failure
  },
})

const tapedFrames = (tape: Tape, socket: number, open: FrameSocket): Omit<FrameSocket, 'close'> => ({
  send(frames) {
    const outcomes = open.send(frames)
    if (tape.isOn) tape.output({ ...outputs.framed(socket, frames), answer: outputs.sendAnswer(outcomes) })
    return outcomes
  },
  hear(hears) {
    tape.output({ out: 'hear', socket, hears })
    open.hear(hears)
  },
})
