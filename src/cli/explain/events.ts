/**
 * `holdfast events`: prints the events of this node, one line each. While the daemon is down, the events come from the
 * journal file. This file decides the format of a line, and that --follow continues after the daemon has started again.
 */

import { EXIT } from '../../app/exit-code.ts'
import { refusedValue } from '../../base/refused-value.ts'
import { parseDuration } from '../../config/schema/duration.ts'
import { type JournalEvent, readEvent } from '../../events/event.ts'
import { listen } from '../../files/control-client.ts'
import type { CommandResult } from '../command.ts'
import { type EventPlaces, eventPath, nodeEvents } from './event-source.ts'

/** Number of the last event that was printed or skipped. */
export type Reached = { readonly latest: number }

/** Milliseconds until the next attempt to reach a daemon. */
const AGAIN_AFTER = 500

export type EventsOptions = EventPlaces & {
  readonly json: boolean
  /** Start of the printed period: a duration before now, or a time; `undefined`: the oldest event. */
  readonly since: string | undefined
}

export async function eventsCommand(options: EventsOptions, now = Date.now()): Promise<CommandResult & Reached> {
  const since = momentOf(options.since, now)
  if (since === undefined) return { ...wrongSince(options.since), latest: 0 }
  const { hostname, events, problems } = await nodeEvents(options)
  const shown = events.filter(({ at }) => Date.parse(at) >= since)
  const nothing = hostname === undefined && events.length === 0
  return {
    exitCode: nothing ? EXIT.unreachable : EXIT.ok,
    stdout: shown.map((event) => lineOf(event, options.json)).join(''),
    stderr: problems.map((problem) => `holdfast: ${problem}\n`).join(''),
    latest: events.at(-1)?.seq ?? 0,
  }
}

/**
 * Prints new events after eventsCommand(), also across a restart of the daemon. Passes each line to `write`. Resolves
 * when `signal` aborts.
 */
export async function followEvents(
  { socket, json }: Pick<EventsOptions, 'socket' | 'json'>,
  after: number,
  write: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let last = after
  while (!signal.aborted) {
    const hear = (data: string) => {
      const event = readEvent(JSON.parse(data))
      if (event === undefined) return
      last = event.seq
      write(lineOf(event, json))
    }
    // If no daemon answers now, the next attempt may find one.
    await listen(socket, eventPath(last), hear, signal).catch(() => {})
    await pause(AGAIN_AFTER, signal)
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}

/** Returns a time in milliseconds since the epoch. `undefined` if the text is neither a duration nor a time. */
export function momentOf(since: string | undefined, now: number): number | undefined {
  if (since === undefined) return Number.NEGATIVE_INFINITY
  const ago = parseDuration(since)
  if (ago !== undefined) return now - ago
  const at = Date.parse(since)
  return Number.isNaN(at) ? undefined : at
}

export const wrongSince = (since: string | undefined): CommandResult => ({
  exitCode: EXIT.usage,
  stdout: '',
  stderr: `holdfast: ${refusedValue('--since', since, 'a duration such as 12h, or a time such as 2026-11-22T03:00:00Z')}\n`,
})

export function lineOf(event: JournalEvent, json: boolean): string {
  if (json) return `${JSON.stringify(event)}\n`
  const { at, because, kind, monotonicMs, seq, ...rest } = event
  const fields = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const cause = because === undefined ? '' : ` (because of ${because})`
  return `${[seq, at, kind, ...fields].join(' ')}${cause}\n`
}
