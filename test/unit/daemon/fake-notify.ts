/** Fake of the notify thread: it stores what the engine posts, and the test sets the results. */
import type { NotifyPort, NotifyPortNews } from '../../../src/daemon/ports.ts'
import type { Reason } from '../../../src/healthcheck/probe-result.ts'
import type { Lane, Notification } from '../../../src/notify/notification.ts'
import { millis } from '../../../src/wire/units.ts'

export class FakeNotify implements NotifyPort {
  lanes: readonly Lane[] = []
  readonly posted: Notification[] = []
  stopped = false
  onPost: ((notification: Notification) => void) | undefined
  #taken = 0
  #listener: ((news: NotifyPortNews) => void) | undefined

  set(lanes: readonly Lane[]): void {
    this.lanes = lanes
  }

  post(notification: Notification): void {
    this.onPost?.(notification)
    this.posted.push(notification)
  }

  onNews(listener: (news: NotifyPortNews) => void): void {
    this.#listener = listener
  }

  stop(): void {
    this.stopped = true
  }

  tell(news: NotifyPortNews): void {
    this.#listener?.(news)
  }

  /** Returns the posts since the last call, as command lines. */
  take(): string[] {
    const fresh = this.posted.slice(this.#taken)
    this.#taken = this.posted.length
    return fresh.flatMap(({ runs, set }) =>
      runs.map(({ index, number }) => {
        const argv = set.programs[index]?.argv ?? []
        return [...argv, ...(number === undefined ? [] : [number])].join(' ')
      }),
    )
  }

  /** Reports that all programs of a post have ended with this result. */
  end(notification: Notification, reason: Reason = 'ok', detail = 'ended with 0'): void {
    const { id, runs } = notification
    for (const { index } of runs) this.tell({ kind: 'ran', id, index, reason, detail, latency: millis(12) })
    this.tell({ kind: 'done', id })
  }
}
