/**
 * Server-sent events as the answer to a request (HTML, "Server-sent events"). Decided here: how many clients may have a
 * stream at the same time, how much unread data a client may have, and how long a stream lasts. A browser reconnects by
 * itself and sends the number of its last event. This file does not know the content of events.
 */
import type { ServerResponse } from 'node:http'

/** Content type of a stream. */
export const EVENTS = 'text/event-stream'

export type StreamedEvent = {
  /** Number that a reconnecting client sends as Last-Event-ID. */
  readonly id: number
  /** Content, sent as JSON. */
  readonly data: unknown
}

export type StreamClient = {
  readonly tell: (event: StreamedEvent) => void
  /** Ends the stream. The client may request a new one. */
  readonly end: () => void
}

/**
 * An answer that continues. `listen` is called when the client can receive; its result is called once, when the client
 * is gone.
 */
export type EventStream = { readonly listen: (client: StreamClient) => () => void }

/** Limit of streams. Of the 32 connections (server.ts), the others are left for single requests. */
export const MOST_STREAMS = 8
/** Limit of unread octets of a client. Node counts what it buffers, not what is in the kernel. */
const MOST_BEHIND = 1 << 20
/**
 * Milliseconds between comments that keep the connection open. Proxies and our own idle timeout close silent
 * connections.
 */
const KEEP_ALIVE = 10_000
const LONGEST = 3_600_000
/** Milliseconds after which a browser reconnects. */
const RETRY = 1_000

export class EventStreams {
  #open = 0

  get full(): boolean {
    return this.#open >= MOST_STREAMS
  }

  /** Sends the head and the events. The client may already be gone. */
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
