/** The ports of work on other threads: health checks, notifications, and the reading of address files. */
import type { NamedAddress } from '../../config/named-address.ts'
import type { CheckSpec } from '../../healthcheck/check.ts'
import type { Asked, CheckNews, Formerly } from '../../healthcheck/check-message.ts'
import type { Lane, Notification, NotifyNews } from '../../notify/notification.ts'
import type { Millis } from '../../wire/units.ts'

/** News of the health checks for the engine. The port itself handles the end of the worker thread. */
export type CheckPortNews =
  | Extract<CheckNews, { readonly kind: 'healthChanged' | 'checkBeat' | 'askedOnceMore' }>
  /**
   * The thread of the health checks died or hung. Requests to repeat checks stay unanswered. The engine sets the checks
   * again.
   */
  | { readonly kind: 'checksLost' }

/**
 * Port of the health checks. No call waits for a socket or a program, and news arrives from the event loop, never
 * during a call. The port restarts its worker thread by itself. For a worker that does not exist yet, the port keeps
 * only the last `set`.
 */
export type CheckPort = {
  /**
   * Runs these health checks from now on. A check without a difference continues. `formerly` has earlier results for
   * checks that start.
   */
  set(checks: readonly CheckSpec[], formerly: readonly Formerly[]): void
  /**
   * Runs each of the health checks in `asked` once more. A run that differs from the check's current result counts
   * immediately. `askedOnceMore` with the same id lists the checks that ran in time.
   */
  askOnceMore(id: number, asked: Asked, within: Millis): void
  /** Sets the engine's listener for reports of the worker. The worker has only one listener. */
  onNews(listener: (news: CheckPortNews) => void): void
  /** Ends all runs of health checks and starts no more. Settles soon, even if a run hangs. */
  stop(): Promise<void>
}

/** News of notifications for the engine. If the worker thread dies, the port reports that and starts a new worker. */
export type NotifyPortNews =
  | Exclude<NotifyNews, { readonly kind: 'beat' }>
  | { readonly kind: 'postedAgain'; readonly ids: readonly number[] }

/**
 * Port of the programs that are notified of changes. No call waits for a program, and news arrives from the event loop,
 * never during a call. A posted notification runs in the order of its lane, even if the worker thread that should run
 * it dies.
 */
export type NotifyPort = {
  /** Sets the lanes to which notifications may be posted from now on. */
  set(lanes: readonly Lane[]): void
  post(notification: Notification): void
  /** Sets the engine's listener for reports of the worker. The worker has only one listener. */
  onNews(listener: (news: NotifyPortNews) => void): void
  /** Stops all notify programs and starts no more. */
  stop(): void
}

/** Files that name an address of this node (`interface: { holding: FILE }`). */
export type AddressFilePort = {
  /**
   * Follows these address files and no others. Returns the content of files that were not followed before. Later
   * changes arrive by `onNews`.
   */
  follow(
    files: readonly string[],
    onNews: (file: string, reading: NamedAddress['reading']) => void,
  ): ReadonlyMap<string, NamedAddress['reading']>
  close(): void
}
