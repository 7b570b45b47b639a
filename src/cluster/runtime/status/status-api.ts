/**
 * Writes to the cluster's API: server-side apply of the status of HostedNetServices, and Events. This file decides the
 * requests, and whether an answer allows another attempt. Credentials and connections belong to `Send`.
 */

import { createHash } from 'node:crypto'
import { messageOf } from '../../../base/message-of.ts'
import type { KubernetesEvent } from '../../decisions/status/failover.ts'
import { GROUP, KIND, PLURAL, SINGLETON, VERSION } from '../../decisions/status/published-status.ts'
import { ApiFailure } from '../api/api-failure.ts'
import type { ClusterClient } from '../api/cluster-client.ts'

export type ApiRequest = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT'
  /** Path of the API request, with its query. */
  readonly path: string
  readonly contentType?: string
  /** Body of the request, sent as JSON, which is valid YAML. */
  readonly body?: unknown
}
export type ApiReply = { readonly status: number; readonly body: string }
/** Sends a request to the API. Rejects with Error if no answer arrives in time. */
export type Send = (request: ApiRequest) => Promise<ApiReply>

export type Written =
  | { readonly kind: 'done'; readonly object: unknown }
  /** The API has no such object. */
  | { readonly kind: 'missing' }
  /** The API refused the write (409): another client wrote first, or the object exists already. */
  | { readonly kind: 'conflict'; readonly why: string }
  /**
   * The API answered 400, 401, 403 or 422: another attempt has the same outcome until an administrator changes
   * something.
   */
  | { readonly kind: 'refused'; readonly why: string }
  /** The write failed: no answer, 429, 5xx, or an invalid answer. */
  | { readonly kind: 'failed'; readonly why: string }

const OBJECT = `/apis/${GROUP}/${VERSION}/${PLURAL}/${SINGLETON}`
/** Longest name of a field manager in Kubernetes. The name of a node may have 253 characters. */
const LONGEST_MANAGER = 128

/** Returns the field manager for a node's own entries. */
export function managerOf(node: string): string {
  const name = `holdfast-agent/${node}`
  if (name.length <= LONGEST_MANAGER) return name
  const digest = createHash('sha256').update(node).digest('hex').slice(0, 12)
  return `${name.slice(0, LONGEST_MANAGER - digest.length - 1)}-${digest}`
}

/**
 * Field manager of the conditions. All nodes use the same name, so each write replaces the conditions of the node that
 * published before.
 */
export const SPEAKER = 'holdfast-agent'

/** Returns a function that sends requests to the API. Every HTTP status counts as an answer. */
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

  /** Writes the status with force: the holder overwrites earlier entries. */
  applyStatus(manager: string, status: Readonly<Record<string, unknown>>): Promise<Written> {
    const query = new URLSearchParams({ fieldManager: manager, force: 'true' })
    const body = { apiVersion: `${GROUP}/${VERSION}`, kind: KIND, metadata: { name: SINGLETON }, status }
    return this.write({
      ...{ method: 'PATCH', path: `${OBJECT}/status?${query}`, contentType: 'application/apply-patch+yaml' },
      body,
    })
  }

  createEvent(event: KubernetesEvent): Promise<Written> {
    const path = `/api/v1/namespaces/${event.metadata.namespace}/events`
    return this.write({ method: 'POST', path, contentType: 'application/json', body: event })
  }

  /** Sends a request. Resolves with its outcome; no failure rejects. */
  async write(request: ApiRequest): Promise<Written> {
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

/** Returns the message of a Status object, or the start of another text. */
function messageIn(body: string): string {
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value === 'object' && value !== null && 'message' in value) return String(value.message).slice(0, 300)
  } catch {
    // The answer is not JSON; it may be the HTML page of a proxy.
  }
  return body.slice(0, 300)
}
