/**
 * Reads the events of a node: from its daemon, which keeps the last thousand in memory, and from the journal file. The
 * file has more events and can be read while the daemon is down. This file decides that events of daemon and file are
 * joined by their numbers, and the daemon's answer names the file. This file knows nothing about the use of the events.
 */

import { dirname, join } from 'node:path'
import { messageOf } from '../../base/message-of.ts'
import type { JournalEvent } from '../../events/event.ts'
import { type EventPage, readEventPage } from '../../events/event-page.ts'
import { readJournalFile } from '../../events/journal-file.ts'
import { ask } from '../../files/control-client.ts'

const TIMEOUT = 3_000
/**
 * Largest number of pages of events that are read from one daemon. A daemon keeps a thousand events, and one page has a
 * hundred.
 */
const MOST_PAGES = 20

export type NodeEvents = {
  /** Host name of the node with these events; `undefined` if its daemon does not answer. */
  readonly hostname: string | undefined
  /** True if the daemon answers; `undefined` if a process accepts connections but does not answer. */
  readonly running: boolean | undefined
  /** True if the daemon accepted the request but did not answer in time. */
  readonly stuck: boolean
  readonly events: readonly JournalEvent[]
  /** Wall clock and monotonic clock of the daemon when it answered; `undefined` if it did not answer. */
  readonly now: EventPage['now'] | undefined
  /** Text about each source of events that could not be read. */
  readonly problems: readonly string[]
}

/** Where to read events. `file` is read if the daemon does not answer. `undefined`: events.jsonl beside the socket. */
export type EventPlaces = { readonly socket: string; readonly file?: string | undefined }

/** Returns the path of a request for the events after this number. */
export const eventPath = (after: number): string => `/v1/events?after=${after}`

/**
 * Reads all events that a daemon has in memory, page by page. Returns the first page with all events. Rejects with
 * Error as `askPage` does.
 */
export async function allPages(askPage: (after: number) => Promise<EventPage>): Promise<EventPage> {
  const first = await askPage(0)
  const events = [...first.events]
  let page = first
  for (let pages = 1; pages < MOST_PAGES; pages++) {
    const last = page.events.at(-1)?.seq
    if (last === undefined || last >= (page.latest ?? 0)) break
    page = await askPage(last)
    events.push(...page.events)
  }
  return { ...first, events }
}

async function pageOf(socket: string, after: number): Promise<EventPage> {
  const { status, body } = await ask(socket, { path: eventPath(after), within: TIMEOUT })
  if (status !== 200) throw new Error(`it answered ${status}: ${body.trim()}`)
  return eventPage(JSON.parse(body))
}

/**
 * Returns the value as a page of events. Throws Error if the value has another form, because the daemon may have
 * another version.
 */
export function eventPage(value: unknown): EventPage {
  const page = readEventPage(value)
  if (page === undefined) throw new Error('the answer is no page of events')
  return page
}

/**
 * Reads the events of a node from its daemon and from its journal file. Never rejects; the returned value contains the
 * problems.
 */
export async function nodeEvents({ socket, file }: EventPlaces): Promise<NodeEvents> {
  const problems: string[] = []
  let running: boolean | undefined = true
  let stuck = false
  const page = await allPages((after) => pageOf(socket, after)).catch((error: unknown) => {
    problems.push(`Cannot reach the daemon at ${socket}: ${messageOf(error)}`)
    const code = codeOf(error)
    running = code === 'ENOENT' || code === 'ECONNREFUSED' ? false : undefined
    stuck = code === 'ETIMEDOUT'
    return undefined
  })
  const path = page === undefined ? (file ?? join(dirname(socket), 'events.jsonl')) : page.file
  const written =
    path === null
      ? []
      : await readJournalFile(path).catch((error: unknown) => {
          problems.push(`Cannot read ${path}: ${messageOf(error)}`)
          return []
        })
  const live = page?.events ?? []
  const oldest = live[0]?.seq ?? Number.POSITIVE_INFINITY
  const events = [...written.filter(({ seq }) => seq < oldest), ...live]
  return { hostname: page?.hostname, running, stuck, events, now: page?.now, problems }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)
