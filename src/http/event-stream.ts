/**
 * Server-sent events as the answer to a request (HTML, "Server-sent events"). Decided here: how many clients may listen
 * at once, how far one may fall behind before it is cut off, and how long it may stay; a browser comes back by itself
 * and says which event it has heard last. Refuses to know what an event is, and who makes them.
 */
import type { ServerResponse } from 'node:http'

/** The content type. */
export const EVENTS = 'text/event-stream'

export type StreamedEvent = {
  /** Comes back as Last-Event-ID. */
  readonly id: number
  /** JSON as it stands. */
  readonly data: unknown
}

export type StreamClient = {
  readonly tell: (event: StreamedEvent) => void
  /** There is nothing more to come; it may ask again. */
  readonly end: () => void
}

/** An answer that goes on. `listen` is called when the client can hear; what it returns, once, when the client is gone. */
export type EventStream = { readonly listen: (client: StreamClient) => () => void }

/** Of 32 connections (server.ts): the others are for those who ask once. */
export const MOST_STREAMS = 8
/** Octets that a client has not read yet. Node counts what it has taken, not what is in the kernel. */
const MOST_BEHIND = 1 << 20
/** Proxies, and our own idle timeout, close what is silent. */
const KEEP_ALIVE = 10_000
const LONGEST = 3_600_000
/** Before a browser asks again. */
const RETRY = 1_000

export class EventStreams {
  #open = 0

  get full(): boolean {
    return this.#open >= MOST_STREAMS
  }

  /** The head is not sent yet; the client may have gone. */
  open(response: ServerResponse, { listen }: EventStream): void {
    if (response.destroyed) return
    this.#open++
    response.writeHead(200, { 'content-type': EVENTS, 'cache-control': 'no-store', connection: 'close' })
    // Nobody may be hurt by what a client does at the same moment.
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
