/**
 * Delivers events to the URL of a webhook, in the worker thread. This file decides that events of one lane (a virtual
 * router) are delivered one after the other, so the last event that arrives has the current state. This file also
 * decides the number of parallel attempts, and the time of the next attempt, with growing and random pauses. This file
 * knows nothing about HTTP.
 */
import { monotonicNow } from '../healthcheck/probe.ts'
import type { Millis } from '../wire/units.ts'
import type { WebhookDelivery, WebhookNews, WebhookOrder, WebhookRetry, WebhookSpec } from './webhook.ts'
import type { Outcome, Post } from './webhook-post.ts'

/** Limit of parallel attempts, so that a takeover of 255 virtual routers does not overload the receiver. */
const MOST_AT_ONCE = 4
/** Largest number of times that the pause is doubled. More would overflow. */
const MOST_DOUBLINGS = 30

type Lane = {
  readonly waiting: WebhookDelivery[]
  /** Number of attempts to deliver the first waiting event. */
  attempts: number
  /** True if an attempt runs, or waits for its turn or its time. */
  isBusy: boolean
  timer: NodeJS.Timeout | undefined
}

export class WebhookService {
  readonly #tell: (news: WebhookNews) => void
  readonly #post: Post
  readonly #random: () => number
  readonly #lanes = new Map<string, Lane>()
  #spec: WebhookSpec | undefined
  /** Lanes with a waiting event, in the order in which they may post. */
  #ready: Lane[] = []
  #underWay = 0

  constructor(tell: (news: WebhookNews) => void, post: Post, random: () => number = Math.random) {
    this.#tell = tell
    this.#post = post
    this.#random = random
  }

  obey(order: WebhookOrder): void {
    switch (order.kind) {
      case 'setWebhook':
        this.#spec = order.spec
        if (order.spec === undefined) for (const lane of this.#lanes.values()) lane.waiting.length = 0
        return this.#hurry()
      case 'deliver':
        return this.#deliver(order.delivery)
      case 'forget':
        for (const { waiting } of this.#lanes.values()) {
          const at = waiting.findIndex(({ id }) => id === order.id)
          if (at >= 0) waiting.splice(at, 1)
        }
        return
      case 'hurry':
        return this.#hurry()
    }
  }

  #deliver(delivery: WebhookDelivery): void {
    let lane = this.#lanes.get(delivery.lane)
    if (lane === undefined) {
      lane = { waiting: [], attempts: 0, isBusy: false, timer: undefined }
      this.#lanes.set(delivery.lane, lane)
    }
    lane.waiting.push(delivery)
    if (!lane.isBusy) this.#turn(lane)
  }

  #turn(lane: Lane): void {
    lane.isBusy = true
    lane.timer = undefined
    this.#ready.push(lane)
    this.#pump()
  }

  /** Retries all waiting events immediately, because the receiver has changed, or the daemon stops. */
  #hurry(): void {
    for (const lane of this.#lanes.values()) {
      if (lane.timer === undefined) continue
      clearTimeout(lane.timer)
      this.#turn(lane)
    }
  }

  #pump(): void {
    while (this.#underWay < MOST_AT_ONCE) {
      const lane = this.#ready.shift()
      if (lane === undefined) return
      void this.#attempt(lane)
    }
  }

  async #attempt(lane: Lane): Promise<void> {
    const [delivery] = lane.waiting
    const spec = this.#spec
    if (delivery === undefined || spec === undefined) return this.#rest(lane)
    this.#underWay++
    lane.attempts++
    const outcome = await this.#post(spec, delivery, lane.attempts)
    this.#underWay--
    // The event may have been removed from the lane during the attempt.
    if (lane.waiting[0] === delivery) this.#settle(lane, delivery, spec.retry, outcome)
    else this.#next(lane)
    this.#pump()
  }

  #settle(lane: Lane, { id }: WebhookDelivery, retry: WebhookRetry, outcome: Outcome): void {
    if (outcome.kind === 'failed') return this.#again(lane, retry, outcome)
    if (outcome.kind === 'delivered') this.#tell({ kind: 'delivered', id })
    else this.#tell({ kind: 'lost', id, reason: 'refused', detail: outcome.detail })
    lane.waiting.shift()
    this.#next(lane)
  }

  /** Schedules the next attempt. Drops events that will be too old by then. */
  #again(lane: Lane, retry: WebhookRetry, { detail, retryAfter }: Extract<Outcome, { kind: 'failed' }>): void {
    const wait = this.#waitOf(lane.attempts, retry, retryAfter)
    const oldest = monotonicNow() + wait - retry.giveUpAfter
    const [first] = lane.waiting
    // Events are in the order in which they were posted.
    const young = lane.waiting.findIndex(({ postedAt }) => postedAt >= oldest)
    for (const { id } of lane.waiting.splice(0, young < 0 ? lane.waiting.length : young))
      this.#tell({ kind: 'lost', id, reason: 'expired', detail })
    const [next] = lane.waiting
    if (next === undefined) return this.#rest(lane)
    if (next === first) this.#tell({ kind: 'failed', id: next.id, detail })
    lane.timer = setTimeout(() => this.#turn(lane), wait)
  }

  #next(lane: Lane): void {
    if (lane.waiting.length === 0) return this.#rest(lane)
    lane.attempts = 0
    this.#turn(lane)
  }

  #rest(lane: Lane): void {
    lane.attempts = 0
    lane.isBusy = false
    for (const [name, each] of this.#lanes) if (each === lane && lane.waiting.length === 0) this.#lanes.delete(name)
  }

  #waitOf(attempts: number, { first, most }: WebhookRetry, retryAfter: Millis | undefined): number {
    const doubled = Math.min(most, first * 2 ** Math.min(attempts - 1, MOST_DOUBLINGS))
    return Math.max(doubled * (0.5 + this.#random() / 2), Math.min(retryAfter ?? 0, most))
  }
}
