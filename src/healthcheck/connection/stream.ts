/**
 * A connection for one request, without Node's sockets, which are most of the cost of a successful check
 * (docs/adr/0040). Decided here: several addresses of a name are tried one after the other. This file does not know how
 * a connection is opened, or what is sent.
 */

export type StreamEvents = {
  /** Received octets, valid during the call. */
  readonly onBytes: (bytes: Buffer) => void
  /**
   * Called once at the end of the stream, or with an error that has a code. Never during the call that opens the
   * stream.
   */
  readonly onEnd: (error: Error | undefined) => void
}

export type Stream = {
  /** Whether the connection is established, so that the request is on its way. */
  readonly connected: boolean
  /** Closes the stream; no further calls follow. May be called again. */
  readonly close: () => void
}

/** Connects, and sends `question` (at most LONGEST_QUESTION octets) as soon as possible. Throws Error with a code. */
export type OpenStream = (address: string, port: number, question: Uint8Array, events: StreamEvents) => Stream

/** Octets that any new connection accepts at once. */
export const LONGEST_QUESTION = 4_096

/** Milliseconds in which loopback and a LAN answer. After that the next address of a name is tried. */
export const NEXT_ADDRESS_AFTER = 100

/** Opens a stream to the first address that accepts the connection. Of several errors the last one is reported. */
export function openInTurn(
  open: OpenStream,
  [address, ...others]: readonly [string, ...string[]],
  port: number,
  question: Uint8Array,
  events: StreamEvents,
): Stream {
  const [next, ...rest] = others
  if (next === undefined) return open(address, port, question, events)
  let deadline: NodeJS.Timeout | undefined
  let now: Stream
  let closed = false
  const goOn = () => {
    now.close()
    try {
      now = openInTurn(open, [next, ...rest], port, question, events)
    } catch (error) {
      events.onEnd(error instanceof Error ? error : new Error(String(error)))
    }
  }
  const first = open(address, port, question, {
    onBytes: events.onBytes,
    onEnd: (error) => {
      clearTimeout(deadline)
      if (error === undefined || first.connected) events.onEnd(error)
      else goOn()
    },
  })
  now = first
  if (!first.connected) {
    deadline = setTimeout(() => closed || first.connected || goOn(), NEXT_ADDRESS_AFTER)
  }
  return {
    get connected() {
      return now.connected
    },
    close() {
      closed = true
      clearTimeout(deadline)
      now.close()
    },
  }
}
