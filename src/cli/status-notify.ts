/**
 * Notify programs in `holdfast status`. Decided here: the words alone. Refuses to know where a snapshot comes from.
 */
import type { NoticeSnapshot } from '../daemon/notice-account.ts'

export function formatNotifications(notifications: readonly NoticeSnapshot[], now: number): string[] {
  if (notifications.length === 0) return []
  return ['', ...notifications.map((each) => lineOf(each, now))]
}

function lineOf({ kind, last, name, runs, waiting }: NoticeSnapshot, now: number): string {
  const who = kind === 'group' ? `sync group ${name}` : name
  const queue = waiting === 0 ? '' : `, ${waiting} under way or waiting`
  if (last === null) return `notify ${who}: nothing run so far${queue}`
  const ago = Math.max(0, now - Date.parse(last.at))
  const result = last.ok ? last.detail : `FAILED (${last.reason}): ${last.detail}`
  const counts = Object.entries(runs).map(([key, count]) => `${key} ${count}`)
  return `notify ${who}: ${last.event}, ${ago} ms ago: ${result}; ${counts.join(', ')}${queue}`
}
