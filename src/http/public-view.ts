/**
 * Returns the parts of status and events that every client of the port may read without authentication. Texts of health
 * check targets and programs are left out, and paths of URLs, which may contain a token. The reason of a check's result
 * is from a fixed list and stays; its detail is left out.
 */
import type { Snapshot } from '../daemon/telemetry/snapshot.ts'
import type { JournalEvent } from '../events/event.ts'
import type { EventPage } from '../events/event-page.ts'
import { whereOf } from '../notify/webhook.ts'

export function publicStatus(snapshot: Snapshot): Snapshot {
  return {
    ...snapshot,
    healthchecks: snapshot.healthchecks.map((check) => ({
      ...check,
      target: check.kind === 'http' ? withoutPath(check.target) : check.target,
      last: withoutDetail(check.last),
    })),
    notifications: snapshot.notifications.map((notice) => ({ ...notice, last: withoutDetail(notice.last) })),
  }
}

/** Returns the target of an HTTP check without its path. A target is a URL, or "URL at SOCKET". */
function withoutPath(target: string): string {
  const [url = '', ...rest] = target.split(' ')
  return [URL.canParse(url) ? whereOf({ url }) : url, ...rest].join(' ')
}

export const publicPage = (page: EventPage): EventPage => ({ ...page, events: page.events.map(publicEvent) })

export function publicEvent(event: JournalEvent): JournalEvent {
  if (event.kind !== 'checkChanged') return event
  const { detail: _, ...rest } = event
  return rest
}

function withoutDetail<T extends { readonly detail?: string }>(last: T | null): Omit<T, 'detail'> | null {
  if (last === null) return null
  const { detail: _, ...rest } = last
  return rest
}
