/** Prints notify programs and the webhook in `holdfast status`. This file decides only the text. */
import type { NoticeSnapshot } from '../../daemon/telemetry/notice-account.ts'
import type { WebhookSnapshot } from '../../daemon/telemetry/snapshot.ts'
import { probeReasonText } from '../../events/check-reason-text.ts'
import { ago } from './status-time.ts'

export function formatNotifications(notifications: readonly NoticeSnapshot[], now: number): string[] {
  if (notifications.length === 0) return []
  return ['', ...notifications.map((each) => lineOf(each, now))]
}

/** Returns the line about the webhook. A daemon of an earlier version sends `undefined`. */
export function formatWebhook(webhook: WebhookSnapshot | null | undefined): string[] {
  if (webhook == null) return []
  const { to, failing, waiting, delivered, refused, expired, overflow } = webhook
  const lost = Object.entries({ refused, expired, overflow }).flatMap(([why, count]) =>
    count === 0 ? [] : [`, LOST ${count} (${why})`],
  )
  const now = failing ? 'DELIVERY FAILS, ' : ''
  return ['', `webhook ${to}: ${now}${delivered} events delivered, ${waiting} waiting${lost.join('')}`]
}

function lineOf({ kind, last, name, runs, waiting }: NoticeSnapshot, now: number): string {
  const who = kind === 'group' ? `sync group ${name}` : name
  const queue = waiting === 0 ? '' : `, ${waiting} running or waiting`
  if (last === null) return `notify ${who}: no program has run yet${queue}`
  const said = last.detail ?? probeReasonText(last.reason)
  const result = last.ok ? said : `FAILED: ${said}`
  const counts = Object.entries(runs).map(([reason, count]) => `${count} × ${probeReasonText(reason)}`)
  return `notify ${who}: ${last.event}, ${ago(now - Date.parse(last.at))}: ${result}; ${counts.join(', ')}${queue}`
}
