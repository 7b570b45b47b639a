/**
 * Messages between engine and worker about events that are posted to a URL. Messages are values only. This file knows
 * nothing about which events exist, and how they are posted.
 */
import type { Millis } from '../wire/units.ts'

export type WebhookSpec = {
  /**
   * URL of the webhook with http or https. The URL may contain credentials; whereOf() returns the part that may be
   * shown.
   */
  readonly url: string
  /** Kinds of events of the event journal that are posted. */
  readonly events: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  /** Timeout of one attempt, from the name lookup to the status of the answer. */
  readonly timeout: Millis
  readonly retry: WebhookRetry
}

export type WebhookRetry = {
  /** Pause before the second attempt to post an event. The pause doubles for each further attempt. */
  readonly first: Millis
  readonly most: Millis
  /** Age of an event after which it is not tried again. */
  readonly giveUpAfter: Millis
}

export type WebhookDelivery = {
  /**
   * Identifier of the event, the same in every attempt, also after a restart of the thread. By this identifier the
   * receiver recognizes a repeated event.
   */
  readonly id: string
  /** Events of one lane are delivered in their order. */
  readonly lane: string
  /** Body of the request, in JSON. */
  readonly body: string
  /** Time at which the event was posted to the worker, by CLOCK_MONOTONIC. */
  readonly postedAt: Millis
}

export type WebhookOrder =
  /** Sets the webhook. `undefined` removes the webhook and all events that wait for it. */
  | { readonly kind: 'setWebhook'; readonly spec: WebhookSpec | undefined }
  | { readonly kind: 'deliver'; readonly delivery: WebhookDelivery }
  | { readonly kind: 'forget'; readonly id: string }
  /** Retries waiting events now, because the daemon stops. */
  | { readonly kind: 'hurry' }

/** Reason why an event was not delivered: refused by the receiver, too old, or too many waited. */
export type WebhookLoss = 'refused' | 'expired' | 'overflow'

export type WebhookNews =
  | { readonly kind: 'delivered'; readonly id: string }
  | { readonly kind: 'lost'; readonly id: string; readonly reason: WebhookLoss; readonly detail: string }
  /** The attempt to deliver an event failed and is repeated later. */
  | { readonly kind: 'failed'; readonly id: string; readonly detail: string }

/**
 * Returns scheme, host and port of the webhook's URL. The path is never shown, because chat services have their secret
 * in the path.
 */
export function whereOf({ url }: Pick<WebhookSpec, 'url'>): string {
  const { origin, pathname } = new URL(url)
  return pathname === '/' ? origin : `${origin}/…`
}
