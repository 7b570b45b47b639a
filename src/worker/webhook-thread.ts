/**
 * Events that are posted to a URL, as the engine sees it: an event goes to the worker thread after the turn in which it
 * happened, and is remembered here until it has arrived or is lost, so that a thread that dies loses none. Decided here:
 * which events go, how many may wait, and that whatever is lost is counted and told. Refuses to know HTTP, and what an event
 * means.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { WebhookSnapshot } from '../daemon/telemetry/snapshot.ts'
import type { JournalEvent } from '../events/event.ts'
import type { WebhookBody } from '../events/event-page.ts'
import { monotonicNow } from '../healthcheck/probe.ts'
import { publicEvent } from '../http/public-view.ts'
import {
  type WebhookDelivery,
  type WebhookNews,
  type WebhookOrder,
  type WebhookSpec,
  whereOf,
} from '../notify/webhook.ts'
import type { WorkerGuest, WorkerThread } from './worker-thread.ts'

type Thread = Pick<WorkerThread, 'host' | 'keep' | 'post'>
type WebhookFields = { readonly reason?: string; readonly waiting?: number }
/** One line for many: the recorder's. */
export type WebhookLog = (level: 'info' | 'warn', message: string, fields: WebhookFields) => void

/** Some 700 octets each, in both threads. */
export const MOST_WAITING = 1_000
/** Of what is about no virtual router. */
const NODE_LANE = 'node'

export class WebhookThread {
  readonly #thread: Thread
  readonly #guest: WorkerGuest
  readonly #log: WebhookLog
  #spec: WebhookSpec | undefined
  #kinds: ReadonlySet<string> = new Set()
  /** By id, in the order in which they happened. */
  readonly #waiting = new Map<string, WebhookDelivery>()
  /** Of this turn. */
  #fresh: JournalEvent[] = []
  #running = false
  /** The last attempt has failed. */
  #isFailing = false
  readonly #counts = { delivered: 0, refused: 0, expired: 0, overflow: 0, failedAttempts: 0 }
  #onEmpty: () => void = () => {}

  constructor(thread: Thread, log: WebhookLog) {
    this.#thread = thread
    this.#log = log
    this.#guest = {
      onStart: () => this.#begin(),
      onMessage: (message) => {
        if (message.kind === 'webhook') this.#hear(message.news)
      },
      onEnd: () => {
        this.#running = false
      },
    }
    thread.host(this.#guest)
  }

  /** Of the configuration in force. */
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

  /** Costs next to nothing now: it is called in the middle of a turn. */
  happened(event: JournalEvent): void {
    if (!this.#kinds.has(event.kind)) return
    this.#fresh.push(event)
    if (this.#fresh.length === 1) setImmediate(() => this.#take())
  }

  /** Settles when everything has arrived or is lost, or after so many ms. */
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
    if (this.#waiting.size > 0) this.#tell('warn', `${this.#waiting.size} events have not arrived: given up`, {})
  }

  /** Null: nobody is posted anything. */
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
      this.#lose(id, 'overflow', `more than ${MOST_WAITING} wait`)
    }
    this.#settle()
  }

  /** A thread is there from the first event on, and stays while there is a URL: the next one may be in a hurry. */
  #settle(): void {
    if (this.#spec === undefined) {
      this.#running = false
      this.#thread.keep(this.#guest, false)
    } else if (!this.#running && this.#waiting.size > 0) this.#thread.keep(this.#guest, true)
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
    // Of a thread before this one, or of a configuration.
    if (!this.#waiting.has(news.id)) return
    if (news.kind === 'failed') {
      this.#counts.failedAttempts++
      this.#isFailing = true
      return this.#tell('warn', `Cannot post an event: ${news.detail}; it is tried again`, {})
    }
    if (news.kind === 'lost') return this.#lose(news.id, news.reason, news.detail)
    this.#counts.delivered++
    if (this.#isFailing) this.#log('info', `Events arrive again at ${this.#where}`, {})
    this.#isFailing = false
    this.#forget(news.id)
  }

  #lose(id: string, reason: 'refused' | 'expired' | 'overflow', detail: string): void {
    this.#counts[reason]++
    this.#isFailing = true
    this.#tell('warn', `An event is lost: ${reason} (${detail})`, { reason })
    this.#forget(id)
  }

  #forget(id: string): void {
    this.#waiting.delete(id)
    if (this.#waiting.size === 0) this.#onEmpty()
  }

  #tell(level: 'warn', message: string, fields: WebhookFields): void {
    this.#log(level, `Webhook ${this.#where}: ${message}`, { ...fields, waiting: this.#waiting.size })
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
