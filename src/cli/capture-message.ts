/**
 * What the capturing child says to its parent over a pipe: frames as octets, everything else as a word. Both ends are
 * this file. Decides the framing (kind, length, payload); refuses to know what is in a frame.
 */

export type CaptureMessage =
  | { readonly kind: 'frame' /** CLOCK_REALTIME, ms. */; readonly at: number; readonly frame: Uint8Array }
  | { readonly kind: 'listening' }
  /** It cannot capture; the text continues "Cannot …: ". */
  | { readonly kind: 'failed'; readonly why: string }

const KINDS = ['frame', 'listening', 'failed'] as const
const HEADER = 5

export function encodeMessage(message: CaptureMessage): Uint8Array {
  const payload =
    message.kind === 'frame'
      ? message.frame
      : message.kind === 'failed'
        ? new TextEncoder().encode(message.why)
        : new Uint8Array()
  const stamp = message.kind === 'frame' ? 8 : 0
  const bytes = new Uint8Array(HEADER + stamp + payload.length)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, KINDS.indexOf(message.kind))
  view.setUint32(1, stamp + payload.length, true)
  if (message.kind === 'frame') view.setFloat64(HEADER, message.at, true)
  bytes.set(payload, HEADER + stamp)
  return bytes
}

/** Takes chunks as they come and hands on whole messages. */
export class MessageReader {
  #rest = new Uint8Array()

  push(chunk: Uint8Array, deliver: (message: CaptureMessage) => void): void {
    const bytes = new Uint8Array(this.#rest.length + chunk.length)
    bytes.set(this.#rest)
    bytes.set(chunk, this.#rest.length)
    const view = new DataView(bytes.buffer)
    let at = 0
    while (bytes.length - at >= HEADER) {
      const end = at + HEADER + view.getUint32(at + 1, true)
      if (bytes.length < end) break
      const payload = bytes.subarray(at + HEADER, end)
      const kind = KINDS[view.getUint8(at)]
      if (kind === 'frame') {
        deliver({ kind, at: view.getFloat64(at + HEADER, true), frame: payload.subarray(8) })
      } else if (kind === 'failed') deliver({ kind, why: new TextDecoder().decode(payload) })
      else deliver({ kind: 'listening' })
      at = end
    }
    this.#rest = bytes.slice(at)
  }
}
