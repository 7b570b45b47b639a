/**
 * The notifications as the engine sees them: their programs run in the worker thread, and this is their port. Decided here:
 * that nothing is lost with a thread that dies or hangs: what it had not told to be done is posted to the next one, without
 * the programs that had ended. Refuses to know what is notified, and how a thread is made.
 */
import type { NotifyPort, NotifyPortNews } from '../daemon/ports.ts'
import type { Lane, Notification, NotifyNews, NotifyOrder } from '../notify/notification.ts'
import type { Launchers } from './launchers.ts'
import { ThreadPulse } from './thread-pulse.ts'
import type { WorkerGuest, WorkerThread } from './worker-thread.ts'

type Thread = Pick<WorkerThread, 'host' | 'keep' | 'post' | 'giveUp'>

export class NotifyThread implements NotifyPort {
  readonly #thread: Thread
  readonly #launchers: Pick<Launchers, 'permit'>
  readonly #guest: WorkerGuest
  readonly #pulse: ThreadPulse
  #lanes: readonly Lane[] = []
  /** By number, in the order in which they were posted. */
  readonly #pending = new Map<number, Notification>()
  #listener: (news: NotifyPortNews) => void = () => {}
  #running = false
  #closed = false

  constructor(thread: Thread, launchers: Pick<Launchers, 'permit'>, silentAfter?: number) {
    this.#thread = thread
    this.#launchers = launchers
    this.#pulse = new ThreadPulse(() => thread.giveUp(), silentAfter)
    this.#guest = {
      onStart: () => this.#begin(),
      onMessage: (message) => {
        if (message.kind === 'notify') this.#hear(message.news)
      },
      onEnd: () => this.#lost(),
    }
    thread.host(this.#guest)
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

  /** What runs as it was configured before a reload is still to be run. */
  #permit(): void {
    this.#launchers.permit(
      'notify',
      [...this.#lanes, ...this.#pending.values()].map(({ set }) => set),
    )
  }

  #settle(): void {
    const isNeeded = this.#lanes.length > 0 || this.#pending.size > 0
    if (isNeeded) return this.#running ? undefined : this.#thread.keep(this.#guest, true)
    this.#running = false
    this.#pulse.end()
    this.#thread.keep(this.#guest, false)
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
    // Of a daemon that has stopped waiting for it.
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
