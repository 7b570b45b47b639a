/** Sends Kubernetes Events one after the other, as slowly as the queue allows (decisions/status/event-queue.ts). */
import { aged, type EventQueue, emptyQueue, nextOf, offer, settled } from '../../decisions/status/event-queue.ts'
import type { KubernetesEvent } from '../../decisions/status/failover.ts'
import type { StatusApi } from './status-api.ts'

export class EventPublisher {
  readonly #api: Pick<StatusApi, 'createEvent'>
  #queue: EventQueue<KubernetesEvent> = emptyQueue(performance.now())
  #isSending = false
  #ended = false

  constructor(api: Pick<StatusApi, 'createEvent'>) {
    this.#api = api
  }

  get counts(): Pick<EventQueue<KubernetesEvent>, 'told' | 'dropped'> & { readonly waiting: number } {
    const { dropped, told, waiting } = this.#queue
    return { dropped, told, waiting: waiting.length }
  }

  offer(event: KubernetesEvent): void {
    this.#queue = offer(this.#queue, event.metadata.name, event, performance.now())
  }

  /** Sends the events that may be sent now. A failed event waits for the next call. */
  async send(): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    for (;;) {
      this.#queue = aged(this.#queue, performance.now())
      const next = nextOf(this.#queue)
      if (next === undefined || this.#ended) break
      const written = await this.#api.createEvent(next.event)
      // The next call of this function sends the event again.
      if (written.kind === 'failed') break
      const ended = written.kind === 'done' || written.kind === 'conflict' ? 'told' : 'dropped'
      this.#queue = settled(this.#queue, next.name, ended)
    }
    this.#isSending = false
  }

  end(): void {
    this.#ended = true
  }
}
