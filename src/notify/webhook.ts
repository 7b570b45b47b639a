/**
 * What engine and worker say to each other about events that are posted to a URL. Values only. This file does not know which
 * events there are, and how something is posted.
 */
import type { Millis } from '../wire/units.ts'

export type WebhookSpec = {
  /** http or https. It may hold credentials: whereOf() is what may be told. */
  readonly url: string
  /** Kinds of events of the journal. */
  readonly events: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  /** Of one attempt, from the question for its address to the status. */
  readonly timeout: Millis
  readonly retry: WebhookRetry
}

export type WebhookRetry = {
  /** Before the second attempt; doubled for each further one. */
  readonly first: Millis
  readonly most: Millis
  /** So old an event is not tried again. */
  readonly giveUpAfter: Millis
}

export type WebhookDelivery = {
  /** The same in every attempt, also of the next thread: who has seen it before has seen this event. */
  readonly id: string
  /** Those of one lane arrive in their order. */
  readonly lane: string
  /** JSON. */
  readonly body: string
  /** CLOCK_MONOTONIC. */
  readonly postedAt: Millis
}

export type WebhookOrder =
  /** Undefined: nobody is posted anything, and what waits is forgotten. */
  | { readonly kind: 'setWebhook'; readonly spec: WebhookSpec | undefined }
  | { readonly kind: 'deliver'; readonly delivery: WebhookDelivery }
  | { readonly kind: 'forget'; readonly id: string }
  /** The daemon ends: what waits for its next attempt is tried now. */
  | { readonly kind: 'hurry' }

/** Why something was not delivered: the receiver does not want it; it was too old; too many waited. */
export type WebhookLoss = 'refused' | 'expired' | 'overflow'

export type WebhookNews =
  | { readonly kind: 'delivered'; readonly id: string }
  | { readonly kind: 'lost'; readonly id: string; readonly reason: WebhookLoss; readonly detail: string }
  /** It is tried again. */
  | { readonly kind: 'failed'; readonly id: string; readonly detail: string }

/** Returns the scheme, host and port. Chat services have their secret in the path, so that it is never shown. */
export function whereOf({ url }: Pick<WebhookSpec, 'url'>): string {
  const { origin, pathname } = new URL(url)
  return pathname === '/' ? origin : `${origin}/…`
}
