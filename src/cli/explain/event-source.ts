/**
 * Where the command line gets a node's events: from its daemon, which has the last thousand, and from the file, which has
 * more and is there when the daemon is not. Decided here: both are one list by their numbers, and what the daemon says of
 * its own file is believed. Refuses to know what the events are wanted for.
 */

import { dirname, join } from 'node:path'
import { messageOf } from '../../base/message-of.ts'
import type { JournalEvent } from '../../events/event.ts'
import { type EventPage, readEventPage } from '../../events/event-page.ts'
import { readJournalFile } from '../../events/journal-file.ts'
import { ask } from '../../files/control-client.ts'

const TIMEOUT = 3_000
/** A daemon keeps a thousand events, and tells a hundred at once at its port. */
const MOST_PAGES = 20

export type NodeEvents = {
  /** Undefined: the daemon does not answer. */
  readonly hostname: string | undefined
  /** Undefined: somebody is there who does not answer. */
  readonly running: boolean | undefined
  /** The daemon has taken the question, and has not answered it in time. */
  readonly stuck: boolean
  readonly events: readonly JournalEvent[]
  /** Its clocks when it answered. */
  readonly now: EventPage['now'] | undefined
  /** What could not be read, in words. */
  readonly problems: readonly string[]
}

/** `file`: read while the daemon does not answer; `undefined`: events.jsonl beside the socket. */
export type EventPlaces = { readonly socket: string; readonly file?: string | undefined }

/** The path of the events behind this number. */
export const eventPath = (after: number): string => `/v1/events?after=${after}`

/** All that a daemon has in memory, page by page; the first page with all events. Rejects with Error as `askPage` does. */
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

/** Throws Error when it is something else. Source: a daemon, perhaps of another version. */
export function eventPage(value: unknown): EventPage {
  const page = readEventPage(value)
  if (page === undefined) throw new Error('the answer is no page of events')
  return page
}

/** Never rejects. */
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
