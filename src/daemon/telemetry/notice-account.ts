/**
 * Counts the runs of notify programs, for log, status and metrics. The log has one line for each run, up to a limit. A
 * reload does not reset the counters of a router or group whose name stays. This file knows nothing about the reason of
 * a notification.
 */
import { LOG } from '../../log/log.ts'
import { atOtherLevel } from '../../log/log-event.ts'
import type { LogFields } from '../../log/log-fields.ts'
import type { NotifyEvent, NotifySubject } from '../../notify/notification.ts'
import type { Millis } from '../../wire/units.ts'
import type { NotifyPortNews } from '../ports.ts'
import { Counters, type Recorder } from './recorder.ts'
import { RATES, suppressedField, TokenBucket } from './token-bucket.ts'

export type NoticeSnapshot = {
  readonly kind: NotifySubject['kind']
  readonly name: string
  /** Number of notifications that run or wait. */
  readonly waiting: number
  /** Number of runs of notify programs by result. `superseded` and `postedAgain` count notifications, not runs. */
  readonly runs: Readonly<Record<string, number>>
  /** Last run of a notify program; `null` before the first run. */
  readonly last: {
    readonly at: string
    readonly event: NotifyEvent
    readonly ok: boolean
    readonly reason: string
    /** Text for people: the notify program and its output. Readers without authorization never see this text. */
    readonly detail?: string
    readonly latencyMs: number
  } | null
}

export type OpenNotice = { readonly subject: NotifySubject; readonly lane: string; readonly event: NotifyEvent }

type Account = {
  readonly subject: NotifySubject
  readonly runs: Counters
  readonly bucket: TokenBucket
  last: NoticeSnapshot['last']
}

export class NoticeAccounts {
  readonly #recorder: Recorder
  readonly #accounts = new Map<string, Account>()
  readonly #open = new Map<number, OpenNotice>()

  constructor(recorder: Recorder) {
    this.#recorder = recorder
  }

  /** Removes the counters of lanes that are neither in the configuration nor in use. */
  keep(lanes: readonly { readonly lane: string; readonly subject: NotifySubject }[]): void {
    const names = new Set([...lanes, ...this.#open.values()].map(({ lane }) => lane))
    for (const lane of this.#accounts.keys()) if (!names.has(lane)) this.#accounts.delete(lane)
    for (const each of lanes) this.#accountOf(each)
  }

  open(id: number, notice: OpenNotice): void {
    this.#open.set(id, notice)
  }

  hear(news: NotifyPortNews, now: Millis): void {
    if (news.kind === 'postedAgain') return this.#tellPostedAgain(news.ids)
    const notice = this.#open.get(news.id)
    if (notice === undefined) return
    const account = this.#accountOf(notice)
    if (news.kind === 'ran') return this.#tellRun(account, notice, news, now)
    this.#open.delete(news.id)
    if (news.kind === 'done') return
    account.runs.add('superseded')
    const { event, subject } = notice
    const message = `${subject.name}: notify ${event}: not run, because a later notification replaced it`
    this.#line(account, now, LOG.notifySuperseded, message, { notification: event, result: 'superseded' })
  }

  snapshot(): readonly NoticeSnapshot[] {
    const waiting = new Map<string, number>()
    for (const { lane } of this.#open.values()) waiting.set(lane, (waiting.get(lane) ?? 0) + 1)
    return [...this.#accounts].map(([lane, { last, runs, subject }]) => ({
      ...subject,
      waiting: waiting.get(lane) ?? 0,
      runs: runs.toJSON(),
      last,
    }))
  }

  #tellRun(
    account: Account,
    { event, subject }: OpenNotice,
    run: Extract<NotifyPortNews, { kind: 'ran' }>,
    now: Millis,
  ) {
    const { detail, latency, reason } = run
    const ok = reason === 'ok'
    const latencyMs = Math.round(latency * 10) / 10
    account.runs.add(reason)
    account.last = { at: new Date().toISOString(), event, ok, reason, detail, latencyMs }
    this.#line(account, now, atOtherLevel(LOG.notifyRun, !ok), `${subject.name}: notify ${event}: ${detail}`, {
      notification: event,
      result: reason,
      latencyMs,
    })
  }

  #tellPostedAgain(ids: readonly number[]): void {
    const notices = ids.flatMap((id) => this.#open.get(id) ?? [])
    for (const notice of notices) this.#accountOf(notice).runs.add('postedAgain')
    const which = notices.map(({ event, subject }) => `${subject.name} ${event}`).join(', ')
    this.#recorder.log(LOG.notifyPostedAgain, `Notify thread died; posted again to the new thread: ${which}`)
  }

  #line(
    account: Account,
    now: Millis,
    event: typeof LOG.notifyRun | typeof LOG.notifySuperseded,
    message: string,
    fields: LogFields<'notification' | 'result' | 'latencyMs'>,
  ): void {
    const { bucket, subject } = account
    const refused = bucket.take(now)
    if (refused === undefined) return
    const named = subject.kind === 'router' ? { router: subject.name } : { group: subject.name }
    this.#recorder.log(event, message, { ...named, ...fields, ...suppressedField(refused) })
  }

  #accountOf({ lane, subject }: { readonly lane: string; readonly subject: NotifySubject }): Account {
    const known = this.#accounts.get(lane)
    if (known !== undefined) return known
    const bucket = new TokenBucket(RATES.notification)
    const account: Account = { subject, runs: new Counters(), bucket, last: null }
    this.#accounts.set(lane, account)
    return account
  }
}
