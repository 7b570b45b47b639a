/**
 * Sends the writes of one term of the operator. This file decides that no write outlives its term, because the next operator
 * may begin then: no write begins after the end, and a write without an answer is aborted.
 */
import type { ClusterClient } from '../api/cluster-client.ts'
import { type ApiReply, type ApiRequest, type Send, StatusApi, sendBy } from '../status/status-api.ts'

export class TermWriter {
  readonly #ending = new AbortController()
  readonly #open = new Set<Promise<ApiReply>>()
  readonly #send: Send
  readonly api: StatusApi

  constructor(client: Pick<ClusterClient, 'ask'>) {
    this.#send = sendBy({ ask: (question) => client.ask(question, this.#ending.signal) })
    this.api = new StatusApi((request) => this.#tracked(request))
  }

  /** Ends the term. Resolves when no write is left. */
  async end(): Promise<void> {
    this.#ending.abort()
    await Promise.allSettled(this.#open)
  }

  async #tracked(request: ApiRequest): Promise<ApiReply> {
    this.#ending.signal.throwIfAborted()
    const sent = this.#send(request)
    this.#open.add(sent)
    return sent.finally(() => this.#open.delete(sent))
  }
}
