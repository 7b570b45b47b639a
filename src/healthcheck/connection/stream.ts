/**
 * A connection for one question, as the system offers it without Node's sockets around it: these are most of what a poll
 * of a healthy service costs (docs/adr/0040). Decided here: a name with several addresses has them tried one after the
 * other. Refuses to know how a connection is opened, and what is asked.
 */

export type StreamEvents = {
  /** Valid during the call. */
  readonly onBytes: (bytes: Buffer) => void
  /** The other side says nothing more, or an error with a code; nothing follows. Never during the call that opens. */
  readonly onEnd: (error: Error | undefined) => void
}

export type Stream = {
  /** What was given to it is on its way. */
  readonly connected: boolean
  /** Nothing is heard of it any more. Idempotent. */
  readonly close: () => void
}

/** Connects, and sends `question` (at most LONGEST_QUESTION bytes) as soon as it can. Throws Error with a code. */
export type OpenStream = (address: string, port: number, question: Uint8Array, events: StreamEvents) => Stream

/** What any new connection takes at once. */
export const LONGEST_QUESTION = 4_096

/** Loopback and a LAN answer within this; the next address of a name is tried then. */
export const NEXT_ADDRESS_AFTER = 100

/** The first address that takes the connection; of several failures the last one is told. */
export function openInTurn(
  open: OpenStream,
  [address, ...others]: readonly [string, ...string[]],
  port: number,
  question: Uint8Array,
  events: StreamEvents,
): Stream {
  const [next, ...rest] = others
  if (next === undefined) return open(address, port, question, events)
  let patience: NodeJS.Timeout | undefined
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
      clearTimeout(patience)
      if (error === undefined || first.connected) events.onEnd(error)
      else goOn()
    },
  })
  now = first
  if (!first.connected) {
    patience = setTimeout(() => closed || first.connected || goOn(), NEXT_ADDRESS_AFTER)
  }
  return {
    get connected() {
      return now.connected
    },
    close() {
      closed = true
      clearTimeout(patience)
      now.close()
    },
  }
}
