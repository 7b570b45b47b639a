/**
 * What the agent writes to the cluster's API: server-side apply of the status of HostedNetServices, and Events. Decided
 * here: the requests, and what an answer means to whoever retries. Refuses to know credentials and connections: `Send` is
 * the client's.
 */

import { createHash } from 'node:crypto'
import { messageOf } from '../../../base/message-of.ts'
import type { FailoverEvent } from '../../decisions/status/failover.ts'
import { GROUP, KIND, PLURAL, SINGLETON, VERSION } from '../../decisions/status/published-status.ts'
import { ApiFailure } from '../api/api-failure.ts'
import type { ClusterClient } from '../api/cluster-client.ts'

export type ApiRequest = {
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** With its query. */
  readonly path: string
  readonly contentType?: string
  /** Sent as JSON, which is YAML. */
  readonly body?: unknown
}
export type ApiReply = { readonly status: number; readonly body: string }
/** Rejects with Error when there is no answer in time. */
export type Send = (request: ApiRequest) => Promise<ApiReply>

export type Written =
  | { readonly kind: 'done'; readonly object: unknown }
  /** There is no such object: nothing to say it in. */
  | { readonly kind: 'missing' }
  /** Another one was quicker, or it is there already. */
  | { readonly kind: 'conflict'; readonly why: string }
  /** 400, 401, 403, 422: it will not be taken the next time either, unless somebody changes something. */
  | { readonly kind: 'refused'; readonly why: string }
  /** No answer, 429, 5xx, garbage. */
  | { readonly kind: 'failed'; readonly why: string }

const OBJECT = `/apis/${GROUP}/${VERSION}/${PLURAL}/${SINGLETON}`
/** Kubernetes takes 128 characters; a node's name may have 253. */
const LONGEST_MANAGER = 128

/** Of what a node says as itself. */
export function managerOf(node: string): string {
  const name = `holdfast-agent/${node}`
  if (name.length <= LONGEST_MANAGER) return name
  const digest = createHash('sha256').update(node).digest('hex').slice(0, 12)
  return `${name.slice(0, LONGEST_MANAGER - digest.length - 1)}-${digest}`
}

/** Of what whoever is to speak for all says: the next one replaces it, and nothing of the one before stays. */
export const SPEAKER = 'holdfast-agent'

/** What the API answers is an answer, whatever its status. */
export const sendBy =
  (client: Pick<ClusterClient, 'ask'>): Send =>
  async (request) => {
    try {
      return { status: 200, body: JSON.stringify(await client.ask(request)) }
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status === undefined) throw error
      return { status: error.status, body: error.message }
    }
  }

export class StatusApi {
  readonly #send: Send

  constructor(send: Send) {
    this.#send = send
  }

  /** By force: who holds an address has it, whoever wrote so before. */
  applyStatus(manager: string, status: Readonly<Record<string, unknown>>): Promise<Written> {
    const query = new URLSearchParams({ fieldManager: manager, force: 'true' })
    const body = { apiVersion: `${GROUP}/${VERSION}`, kind: KIND, metadata: { name: SINGLETON }, status }
    return this.#write({
      ...{ method: 'PATCH', path: `${OBJECT}/status?${query}`, contentType: 'application/apply-patch+yaml' },
      body,
    })
  }

  createEvent(event: FailoverEvent): Promise<Written> {
    const path = `/api/v1/namespaces/${event.metadata.namespace}/events`
    return this.#write({ method: 'POST', path, contentType: 'application/json', body: event })
  }

  async #write(request: ApiRequest): Promise<Written> {
    try {
      const { body, status } = await this.#send(request)
      if (status >= 200 && status < 300) return { kind: 'done', object: JSON.parse(body) }
      const why = `${status}: ${messageIn(body)}`
      if (status === 404) return { kind: 'missing' }
      if (status === 409) return { kind: 'conflict', why }
      return { kind: status < 500 && status !== 429 && status !== 408 ? 'refused' : 'failed', why }
    } catch (error) {
      return { kind: 'failed', why: messageOf(error) }
    }
  }
}

/** Of a Status object; of anything else the beginning. */
function messageIn(body: string): string {
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value === 'object' && value !== null && 'message' in value) return String(value.message).slice(0, 300)
  } catch {
    // An HTML page of a proxy, for one.
  }
  return body.slice(0, 300)
}
