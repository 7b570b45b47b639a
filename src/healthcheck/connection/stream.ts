/**
 * A connection for one request, without Node's sockets, because those cause most of the cost of a successful check
 * (docs/adr/0040). This file decides that several addresses of a host name are tried one after the other. `stream.ts`
 * does not know how a connection is opened, or what is sent.
 */

export type StreamEvents = {
  /** Called with received octets, which are valid during the call only. */
  readonly onBytes: (bytes: Buffer) => void
  /**
   * Called at the end of the stream, or with an error that has a code. Called once, and never during the call that
   * opens the stream.
   */
  readonly onEnd: (error: Error | undefined) => void
}

export type Stream = {
  /** True if the connection is established, so that the request has been sent. */
  readonly connected: boolean
  /** Closes the stream. After close() no callback is called. A second call has no effect. */
  readonly close: () => void
}

/**
 * Connects, and sends the request `question` (at most LONGEST_QUESTION octets) as soon as possible. Throws Error with a
 * code.
 */
export type OpenStream = (address: string, port: number, question: Uint8Array, events: StreamEvents) => Stream

/** Octets of a request that any new connection accepts in one write. */
export const LONGEST_QUESTION = 4_096

/**
 * Milliseconds in which a host on loopback or a LAN answers. After this time the next address of a host name is tried.
 */
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
