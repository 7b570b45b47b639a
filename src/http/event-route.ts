/**
 * /v1/events: the event journal as a page, or as a stream for clients that accept text/event-stream. This file decides
 * the query (`after`, `limit`, Last-Event-ID), and that a stream neither misses nor repeats an event between the page
 * that was read and the events that follow. This file does not know the content of events.
 */
import type { Chronicle } from '../daemon/telemetry/chronicle.ts'
import type { JournalEvent } from '../events/event.ts'
import type { EventPage } from '../events/event-page.ts'
import { type EventQuestion, eventQuestion } from './event-question.ts'
import { EVENTS, type EventStream, type StreamClient } from './event-stream.ts'
import { type Asked, type Handler, json, text } from './server.ts'

export type EventSource = {
  /**
   * Returns the events after a number, the oldest first; without a number the last events. Rejects with Error if the
   * engine does not answer.
   */
  readonly events: (wanted: EventQuestion) => Promise<EventPage> | EventPage
  /** Calls the listener with each event from now on. Returns the function that removes the listener. */
  readonly listen: (listener: (event: JournalEvent) => void) => () => void
}

/**
 * Returns the journal of this thread as a source. Events are recorded before their effects are executed. The listener
 * is called after the effects, so that it does not delay them.
 */
export const sourceOf = (chronicle: Pick<Chronicle, 'read' | 'subscribe'>): EventSource => ({
  events: (wanted) => chronicle.read(wanted),
  listen: (listener) => {
    let ended = false
    const end = chronicle.subscribe((event) => {
      setImmediate(() => {
        if (!ended) listener(event)
      })
    })
    return () => {
      ended = true
      end()
    }
  },
})

/** Returns the route /v1/events. `most` is the number of events in a page; `after` requests the next page. */
export function eventRoute(source: EventSource, most: number): Handler {
  return async (asked) => {
    const question = eventQuestion(asked.query)
    if (typeof question === 'string') return text(400, question)
    if (!wantsStream(asked)) return json(await source.events(atMost(question, most)))
    const heard = eventQuestion(new URLSearchParams(lastHeard(asked)))
    if (typeof heard === 'string') return text(400, heard)
    return stream(source, { ...question, ...heard }, most)
  }
}

const atMost = (question: EventQuestion, most: number): EventQuestion => ({
  ...question,
  limit: Math.min(question.limit ?? most, most),
})

/** Tells whether the client accepts a stream, as a browser's EventSource does. Other clients get a page of events. */
const wantsStream = ({ headers }: Asked): boolean => headers.accept?.includes(EVENTS) === true

/**
 * Returns the query of an EventSource that lost its connection: the stream continues after the last event that the
 * client received.
 */
function lastHeard({ headers }: Asked): Record<string, string> {
  const id = headers['last-event-id']
  return typeof id === 'string' ? { after: id } : {}
}

/** Opens a stream of events. Without a number the stream contains only new events. */
async function stream({ events, listen }: EventSource, { after }: EventQuestion, most: number): Promise<EventStream> {
  const read = (from: number) => events({ after: from, limit: most })
  // The first page of events is requested before the stream begins. An engine that does not answer then gives status
  // 503, which a stream could not give.
  const first = await read(after ?? Number.MAX_SAFE_INTEGER)
  const latest = first.latest ?? 0
  // A number greater than that of the last event comes from before the journal was lost. After the loss of the journal,
  // all events are new to the client.
  const sent = after === undefined ? latest : after > latest ? 0 : after
  return {
    listen: (client) => {
      const follower = new Follower(client, sent)
      const end = listen((event) => follower.hear(event))
      void follower.catchUp(first, read).catch(() => client.end())
      return end
    },
  }
}

/** Sends the events of the journal's pages before the events that arrive in the meantime. */
class Follower {
  readonly #client: StreamClient
  #sent: number
  #waiting: JournalEvent[] | undefined = []

  constructor(client: StreamClient, sent: number) {
    this.#client = client
    this.#sent = sent
  }

  hear(event: JournalEvent): void {
    if (this.#waiting === undefined) this.#tell(event)
    else this.#waiting.push(event)
  }

  /** Reads pages of events until the stream has reached the events that have just arrived. */
  async catchUp(first: EventPage, read: (after: number) => Promise<EventPage> | EventPage): Promise<void> {
    let page = first
    for (;;) {
      for (const event of page.events) this.#tell(event)
      page = await read(this.#sent)
      if (page.events.length === 0) break
    }
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const event of waiting) this.#tell(event)
  }

  #tell(event: JournalEvent): void {
    if (event.seq <= this.#sent) return
    this.#sent = event.seq
    this.#client.tell({ id: event.seq, data: event })
  }
}
