/**
 * The port of the notifications in the engine; their programs run in the worker thread. If the thread dies or hangs, no
 * notification is lost: those that it has not reported as done are posted to the next thread, without the programs that
 * have ended. This file knows nothing about the content of a notification, and how a thread is started.
 */
import type { NotifyPort, NotifyPortNews } from '../daemon/ports.ts'
import type { Lane, Notification, NotifyNews, NotifyOrder } from '../notify/notification.ts'
import type { Launchers } from './launchers.ts'
import { ThreadPulse } from './thread-pulse.ts'
import type { WorkerClient, WorkerThread } from './worker-thread.ts'

type Thread = Pick<WorkerThread, 'register' | 'keep' | 'post' | 'giveUp'>

export class NotifyThread implements NotifyPort {
  readonly #thread: Thread
  readonly #launchers: Pick<Launchers, 'permit'>
  readonly #client: WorkerClient
  readonly #pulse: ThreadPulse
  #lanes: readonly Lane[] = []
  /** Pending notifications by number, in the order in which they were posted. */
  readonly #pending = new Map<number, Notification>()
  #listener: (news: NotifyPortNews) => void = () => {}
  #running = false
  #closed = false

  constructor(thread: Thread, launchers: Pick<Launchers, 'permit'>, silentAfter?: number) {
    this.#thread = thread
    this.#launchers = launchers
    this.#pulse = new ThreadPulse(() => thread.giveUp(), silentAfter)
    this.#client = {
      onStart: () => this.#begin(),
      onMessage: (message) => {
        if (message.kind === 'notify') this.#hear(message.news)
      },
      onEnd: () => this.#lost(),
    }
    thread.register(this.#client)
  }

  onNews(listener: (news: NotifyPortNews) => void): void {
    this.#listener = listener
  }

  set(lanes: readonly Lane[]): void {
    if (this.#closed) return
    this.#lanes = lanes
    this.#permit()
    if (this.#running) this.#order({ kind: 'setLanes', lanes })
    this.#settle()
  }

  post(notification: Notification): void {
    if (this.#closed) return
    const wasIdle = this.#pending.size === 0
    this.#pending.set(notification.id, notification)
    this.#permit()
    if (!this.#running) return this.#settle()
    this.#order({ kind: 'notify', notification })
    if (wasIdle) this.#pulse.begin()
  }

  stop(): void {
    this.#closed = true
    this.#lanes = []
    this.#pending.clear()
    this.#permit()
    if (this.#running) this.#order({ kind: 'endLanes' })
    this.#settle()
  }

  #order(order: NotifyOrder): void {
    this.#thread.post({ kind: 'notifyOrder', order })
  }

  /** Permits the programs of pending notifications as well, because a notification from before a reload still runs. */
  #permit(): void {
    this.#launchers.permit(
      'notify',
      [...this.#lanes, ...this.#pending.values()].map(({ set }) => set),
    )
  }

  #settle(): void {
    const isNeeded = this.#lanes.length > 0 || this.#pending.size > 0
    if (isNeeded) return this.#running ? undefined : this.#thread.keep(this.#client, true)
    this.#running = false
    this.#pulse.end()
    this.#thread.keep(this.#client, false)
  }

  #begin(): void {
    this.#running = true
    this.#order({ kind: 'setLanes', lanes: this.#lanes })
    for (const notification of this.#pending.values()) this.#order({ kind: 'notify', notification })
    if (this.#pending.size > 0) this.#pulse.begin()
  }

  #hear(news: NotifyNews): void {
    this.#pulse.hear()
    if (news.kind === 'beat') return
    const notification = this.#pending.get(news.id)
    // The notification was dropped when the daemon stopped.
    if (notification === undefined) return
    if (news.kind === 'ran') {
      const runs = notification.runs.filter(({ index }) => index !== news.index)
      this.#pending.set(news.id, { ...notification, runs })
    } else {
      this.#pending.delete(news.id)
      this.#permit()
      if (this.#pending.size === 0) this.#pulse.end()
      this.#settle()
    }
    this.#listener(news)
  }

  #lost(): void {
    this.#running = false
    this.#pulse.end()
    if (this.#pending.size > 0) this.#listener({ kind: 'postedAgain', ids: [...this.#pending.keys()] })
  }
}
