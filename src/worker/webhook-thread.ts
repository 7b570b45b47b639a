/**
 * Posts events to a URL. An event goes to the worker thread after the turn in which it happened. The engine stores the
 * event until it has arrived or is lost, so a thread that dies loses no event. This file decides which events are
 * posted and how many may wait. Each lost event is counted and logged. This file knows nothing about HTTP, and the
 * meaning of an event.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { WebhookSnapshot } from '../daemon/telemetry/snapshot.ts'
import type { JournalEvent } from '../events/event.ts'
import type { WebhookBody } from '../events/event-page.ts'
import { monotonicNow } from '../healthcheck/probe.ts'
import { publicEvent } from '../http/public-view.ts'
import { LOG } from '../log/log.ts'
import {
  type WebhookDelivery,
  type WebhookNews,
  type WebhookOrder,
  type WebhookSpec,
  whereOf,
} from '../notify/webhook.ts'
import type { WorkerClient, WorkerThread } from './worker-thread.ts'

type Thread = Pick<WorkerThread, 'register' | 'keep' | 'post'>
type WebhookFields = { readonly reason?: string; readonly waiting?: number }
/** Writes a log line; the recorder limits their number. */
export type WebhookLog = (event: WebhookEvent, message: string, fields: WebhookFields) => void
type WebhookEvent = (typeof LOG)['webhookDropped' | 'webhookEventLost' | 'webhookFailed' | 'webhookWorks']

/** Largest number of waiting events. A waiting event needs about 700 octets, in both threads. */
export const MOST_WAITING = 1_000
/** Lane of events that belong to no virtual router. */
const NODE_LANE = 'node'

export class WebhookThread {
  readonly #thread: Thread
  readonly #client: WorkerClient
  readonly #log: WebhookLog
  #spec: WebhookSpec | undefined
  #kinds: ReadonlySet<string> = new Set()
  /** Events that are not delivered yet, by id, in the order in which they happened. */
  readonly #waiting = new Map<string, WebhookDelivery>()
  /** Events of the present turn, which are passed to the worker thread after the turn. */
  #fresh: JournalEvent[] = []
  #running = false
  /** True if the last attempt to post an event failed. */
  #isFailing = false
  readonly #counts = { delivered: 0, refused: 0, expired: 0, overflow: 0, failedAttempts: 0 }
  #onEmpty: () => void = () => {}

  constructor(thread: Thread, log: WebhookLog) {
    this.#thread = thread
    this.#log = log
    this.#client = {
      onStart: () => this.#begin(),
      onMessage: (message) => {
        if (message.kind === 'webhook') this.#hear(message.news)
      },
      onEnd: () => {
        this.#running = false
      },
    }
    thread.register(this.#client)
  }

  /** Sets the webhook of the configuration in force. */
  set(spec: WebhookSpec | undefined): void {
    this.#spec = spec
    this.#kinds = new Set(spec?.events)
    if (spec === undefined) {
      this.#waiting.clear()
      this.#fresh = []
    }
    if (this.#running) this.#order({ kind: 'setWebhook', spec })
    this.#settle()
  }

  /** Adds an event for the webhook. The method is called in the middle of a turn, so it must cost almost nothing. */
  happened(event: JournalEvent): void {
    if (!this.#kinds.has(event.kind)) return
    this.#fresh.push(event)
    if (this.#fresh.length === 1) setImmediate(() => this.#take())
  }

  /** Settles when every event has arrived or is lost, or after `within` milliseconds. */
  async finish(within: number): Promise<void> {
    this.#take()
    if (this.#waiting.size === 0) return
    if (this.#running) this.#order({ kind: 'hurry' })
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, within)
      this.#onEmpty = () => {
        clearTimeout(late)
        resolve()
      }
    })
    if (this.#waiting.size > 0)
      this.#tell(
        LOG.webhookDropped,
        `holdfast stops: ${this.#waiting.size} events have not reached the receiver and are dropped`,
        {},
      )
  }

  /** Returns the state of the webhook; `null` if no URL is configured. */
  snapshot(): WebhookSnapshot | null {
    if (this.#spec === undefined) return null
    return { to: whereOf(this.#spec), failing: this.#isFailing, waiting: this.#waiting.size, ...this.#counts }
  }

  #take(): void {
    for (const event of this.#fresh.splice(0)) {
      const delivery = deliveryOf(event)
      this.#waiting.set(delivery.id, delivery)
      if (this.#running) this.#order({ kind: 'deliver', delivery })
    }
    while (this.#waiting.size > MOST_WAITING) {
      const [id = ''] = this.#waiting.keys()
      if (this.#running) this.#order({ kind: 'forget', id })
      this.#lose(id, 'overflow', `more than ${MOST_WAITING} events are waiting`)
    }
    this.#settle()
  }

  /**
   * Requests a worker thread from the first event on, while there is a webhook, so that the next event is posted
   * without delay.
   */
  #settle(): void {
    if (this.#spec === undefined) {
      this.#running = false
      this.#thread.keep(this.#client, false)
    } else if (!this.#running && this.#waiting.size > 0) this.#thread.keep(this.#client, true)
  }

  #begin(): void {
    this.#running = true
    this.#order({ kind: 'setWebhook', spec: this.#spec })
    for (const delivery of this.#waiting.values()) this.#order({ kind: 'deliver', delivery })
  }

  #order(order: WebhookOrder): void {
    this.#thread.post({ kind: 'webhookOrder', order })
  }

  #hear(news: WebhookNews): void {
    // The event belongs to an earlier worker thread or an earlier configuration.
    if (!this.#waiting.has(news.id)) return
    if (news.kind === 'failed') {
      this.#counts.failedAttempts++
      this.#isFailing = true
      return this.#tell(LOG.webhookFailed, `Cannot post an event: ${news.detail}; holdfast tries again`, {})
    }
    if (news.kind === 'lost') return this.#lose(news.id, news.reason, news.detail)
    this.#counts.delivered++
    if (this.#isFailing) this.#tell(LOG.webhookWorks, 'events arrive again', {})
    this.#isFailing = false
    this.#forget(news.id)
  }

  #lose(id: string, reason: 'refused' | 'expired' | 'overflow', detail: string): void {
    this.#counts[reason]++
    this.#isFailing = true
    this.#tell(LOG.webhookEventLost, `an event is lost: ${reason} (${detail})`, { reason })
    this.#forget(id)
  }

  #forget(id: string): void {
    this.#waiting.delete(id)
    if (this.#waiting.size === 0) this.#onEmpty()
  }

  #tell(event: WebhookEvent, message: string, fields: WebhookFields): void {
    this.#log(event, `Webhook ${this.#where}: ${message}`, { ...fields, waiting: this.#waiting.size })
  }

  get #where(): string {
    return this.#spec === undefined ? '' : whereOf(this.#spec)
  }
}

function deliveryOf(event: JournalEvent): WebhookDelivery {
  const id = randomUUID()
  const body: WebhookBody = { version: 1, id, node: hostname(), event: publicEvent(event) }
  const lane = 'router' in event && event.router !== undefined ? event.router : NODE_LANE
  return { id, lane, body: JSON.stringify(body), postedAt: monotonicNow() }
}
