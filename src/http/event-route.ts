/**
 * /v1/events: the journal as a page, or, for who asks for text/event-stream, from there on as it goes. Decided here: what
 * a question may say (`after`, `limit`, Last-Event-ID), and that a listener misses nothing and hears nothing twice between
 * what is read and what is heard. Refuses to know where events come from and what they say.
 */
import type { Chronicle } from '../daemon/telemetry/chronicle.ts'
import type { JournalEvent } from '../events/event.ts'
import type { EventPage } from '../events/event-page.ts'
import { type EventQuestion, eventQuestion } from './event-question.ts'
import { EVENTS, type EventStream, type StreamClient } from './event-stream.ts'
import { type Asked, type Handler, json, text } from './server.ts'

export type EventSource = {
  /** Those after a number, the oldest first; without one the last ones. Rejects with Error when nobody answers. */
  readonly events: (wanted: EventQuestion) => Promise<EventPage> | EventPage
  /** Each from now on. Returns how to end it. */
  readonly listen: (listener: (event: JournalEvent) => void) => () => void
}

/**
 * The journal of this very thread. Its events are recorded between a decision and what follows from it: whoever listens
 * hears of them when that is done.
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

/** `most`: events of one page; what is more is asked for with `after`. */
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

/** A browser's EventSource says so; who asks for everything gets a page. */
const wantsStream = ({ headers }: Asked): boolean => headers.accept?.includes(EVENTS) === true

/** Of an EventSource that has lost its connection: it goes on from there, wherever it began. */
function lastHeard({ headers }: Asked): Record<string, string> {
  const id = headers['last-event-id']
  return typeof id === 'string' ? { after: id } : {}
}

/** Without a number to begin after: only what happens from now on. */
async function stream({ events, listen }: EventSource, { after }: EventQuestion, most: number): Promise<EventStream> {
  const read = (from: number) => events({ after: from, limit: most })
  // Asked first: an engine that does not answer is said to be dead, which a stream could not say.
  const first = await read(after ?? Number.MAX_SAFE_INTEGER)
  const latest = first.latest ?? 0
  // Numbers from before the journal was lost: then all that there is is new.
  const told = after === undefined ? latest : after > latest ? 0 : after
  return {
    listen: (client) => {
      const follower = new Follower(client, told)
      const end = listen((event) => follower.hear(event))
      void follower.catchUp(first, read).catch(() => client.end())
      return end
    },
  }
}

/** What was read comes before what is heard meanwhile. */
class Follower {
  readonly #client: StreamClient
  #told: number
  #waiting: JournalEvent[] | undefined = []

  constructor(client: StreamClient, told: number) {
    this.#client = client
    this.#told = told
  }

  hear(event: JournalEvent): void {
    if (this.#waiting === undefined) this.#tell(event)
    else this.#waiting.push(event)
  }

  /** Also what has happened between the first page and the first event heard. */
  async catchUp(first: EventPage, read: (after: number) => Promise<EventPage> | EventPage): Promise<void> {
    let page = first
    for (;;) {
      for (const event of page.events) this.#tell(event)
      page = await read(this.#told)
      if (page.events.length === 0) break
    }
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const event of waiting) this.#tell(event)
  }

  #tell(event: JournalEvent): void {
    if (event.seq <= this.#told) return
    this.#told = event.seq
    this.#client.tell({ id: event.seq, data: event })
  }
}
