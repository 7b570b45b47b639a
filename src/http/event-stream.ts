/**
 * Server-sent events as the answer to a request (HTML, "Server-sent events"). This file decides how many clients may
 * have a stream at the same time, how much unread data a client may have, and how long a stream lasts. A browser
 * reconnects by itself and sends the number of its last event. This file does not know the content of events.
 */
import type { ServerResponse } from 'node:http'

/** Content type of a stream. */
export const EVENTS = 'text/event-stream'

export type StreamedEvent = {
  /** Number of the event. A client that reconnects sends it as Last-Event-ID. */
  readonly id: number
  /** Content of the event, sent as JSON. */
  readonly data: unknown
}

export type StreamClient = {
  readonly tell: (event: StreamedEvent) => void
  /** Ends the event stream to this client. The client may request a new stream. */
  readonly end: () => void
}

/**
 * An HTTP answer that continues. `listen` is called when the client can receive. The function that it returns is called
 * once, when the client has disconnected.
 */
export type EventStream = { readonly listen: (client: StreamClient) => () => void }

/** Limit of open streams. Of the 32 connections (server.ts), the others are left for single requests. */
export const MOST_STREAMS = 8
/** Limit of octets that a client has not read yet. Node counts its own buffers, not those of the kernel. */
const MOST_BEHIND = 1 << 20
/** Milliseconds between comments that keep a stream open. Proxies and our own idle timeout close silent connections. */
const KEEP_ALIVE = 10_000
const LONGEST = 3_600_000
/** Milliseconds after which a browser opens the stream again. */
const RETRY = 1_000

export class EventStreams {
  #open = 0

  get full(): boolean {
    return this.#open >= MOST_STREAMS
  }

  /** Sends the head and the events of a stream. The client may have disconnected already. */
  open(response: ServerResponse, { listen }: EventStream): void {
    if (response.destroyed) return
    this.#open++
    response.writeHead(200, { 'content-type': EVENTS, 'cache-control': 'no-store', connection: 'close' })
    // An error of this client must not affect other clients.
    response.on('error', () => {})
    const write = (text: string): void => {
      if (response.writableEnded || response.destroyed) return
      response.write(text)
      if (response.writableLength > MOST_BEHIND) response.destroy()
    }
    write(`retry: ${RETRY}\n\n`)
    const alive = setInterval(() => write(':\n\n'), KEEP_ALIVE)
    const longest = setTimeout(() => response.end(), LONGEST)
    const forget = listen({
      tell: ({ id, data }) => write(`id: ${id}\ndata: ${JSON.stringify(data)}\n\n`),
      end: () => response.end(),
    })
    response.once('close', () => {
      this.#open--
      clearInterval(alive)
      clearTimeout(longest)
      forget()
    })
  }
}
