/**
 * Makes one attempt to post one event to a webhook. This file decides after which answers another attempt makes sense.
 * Only the status of an answer is read. The host name is resolved as for health checks (host-name.ts), because the
 * threads of getaddrinfo are shared with the rest of the process. This file knows nothing about the content of an
 * event, and the time of the next attempt.
 */

import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { messageOf } from '../base/message-of.ts'
import { HostName } from '../healthcheck/connection/host-name.ts'
import { RunCutoff } from '../healthcheck/cutoff.ts'
import { type Millis, millis } from '../wire/units.ts'
import type { WebhookDelivery, WebhookSpec } from './webhook.ts'

export type Outcome =
  | { readonly kind: 'delivered' }
  /** The receiver refused the event; another attempt would give the same answer. */
  | { readonly kind: 'refused'; readonly detail: string }
  /** The attempt failed. `retryAfter` is the pause that the receiver requests. */
  | { readonly kind: 'failed'; readonly detail: string; readonly retryAfter?: Millis }

/** Posts an event. `attempt` counts from 1. Never rejects. */
export type Post = (spec: WebhookSpec, delivery: WebhookDelivery, attempt: number) => Promise<Outcome>

/** HTTP statuses besides 5xx after which another attempt is made (RFC 9110 §15.5, RFC 6585 §4, RFC 8470 §5.2). */
const TRY_AGAIN = [408, 425, 429]

export function posting(userAgent: string): Post {
  let asked = ''
  let host = new HostName('localhost')
  return async (spec, delivery, attempt) => {
    const url = new URL(spec.url)
    if (url.hostname !== asked) {
      asked = url.hostname
      host = new HostName(asked)
    }
    const cutoff = new RunCutoff()
    const timer = setTimeout(() => cutoff.abort(), spec.timeout)
    try {
      const addresses = await host.addresses(cutoff)
      return await post(url, addresses, { spec, delivery, attempt, cutoff, userAgent })
    } catch (error) {
      const detail = messageOf(error)
      return {
        kind: 'failed',
        detail: cutoff.aborted
          ? `the receiver of the webhook did not answer within ${spec.timeout} ms (${detail})`
          : detail,
      }
    } finally {
      clearTimeout(timer)
    }
  }
}

type Attempt = {
  readonly spec: WebhookSpec
  readonly delivery: WebhookDelivery
  readonly attempt: number
  readonly cutoff: RunCutoff
  readonly userAgent: string
}

type Addresses = Awaited<ReturnType<HostName['addresses']>>

/** Posts an event over a new connection: events are rare, and an idle connection would have to be monitored. */
function post(url: URL, addresses: Addresses, { spec, delivery, attempt, cutoff, userAgent }: Attempt) {
  return new Promise<Outcome>((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps : requestHttp
    const body = Buffer.from(delivery.body)
    const sent = request(url, {
      method: 'POST',
      agent: false,
      lookup: (_name, _options, done) => done(null, [...addresses]),
      headers: {
        'user-agent': userAgent,
        ...spec.headers,
        'content-type': 'application/json',
        'content-length': body.length,
        'idempotency-key': delivery.id,
        'holdfast-attempt': attempt,
      },
    })
    cutoff.addEventListener('abort', () => sent.destroy(new Error('the receiver does not answer')))
    sent.once('error', reject)
    sent.once('response', (response) => {
      const { statusCode = 0, headers } = response
      resolve(outcomeOf(statusCode, headers['retry-after']))
      // The body of the receiver's answer is not read, so errors in it do not matter.
      response.on('error', () => {})
      sent.destroy()
    })
    sent.end(body)
  })
}

function outcomeOf(status: number, retryAfter: string | undefined): Outcome {
  if (status >= 200 && status < 300) return { kind: 'delivered' }
  const detail = `status ${status}`
  if (status < 500 && !TRY_AGAIN.includes(status)) return { kind: 'refused', detail }
  const seconds = /^\d{1,6}$/.test(retryAfter ?? '') ? Number(retryAfter) : undefined
  return seconds === undefined
    ? { kind: 'failed', detail }
    : { kind: 'failed', detail, retryAfter: millis(seconds * 1000) }
}
