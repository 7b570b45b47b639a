/** What runs on other threads: health checks, notifications, and the reading of files that name an address. */
import type { NamedAddress } from '../../config/named-address.ts'
import type { CheckSpec } from '../../healthcheck/check.ts'
import type { Asked, CheckNews, Formerly } from '../../healthcheck/check-message.ts'
import type { Lane, Notification, NotifyNews } from '../../notify/notification.ts'
import type { Millis } from '../../wire/units.ts'

/** News of the checks for the engine. Process groups and the end of the thread are the port's own business. */
export type CheckPortNews =
  | Extract<CheckNews, { readonly kind: 'healthChanged' | 'checkBeat' | 'askedOnceMore' }>
  /** The thread that ran the checks died or hung. No question is answered any more; the engine sets the checks again. */
  | { readonly kind: 'checksLost' }

/**
 * The health checks: nothing here waits for a socket or a program, and news comes from the event loop, never during a call.
 * The port starts its thread again by itself; it keeps the last `set` for a thread that is not there yet, and remembers
 * nothing else.
 */
export type CheckPort = {
  /** Runs these checks from now on. A check that means the same goes on; `formerly` is for those that start. */
  set(checks: readonly CheckSpec[], formerly: readonly Formerly[]): void
  /**
   * Runs each of them once more; a result against the current one counts immediately. `askedOnceMore` with the same id
   * names the checks that answered in time.
   */
  askOnceMore(id: number, asked: Asked, within: Millis): void
  /** Takes one listener, the engine. */
  onNews(listener: (news: CheckPortNews) => void): void
  /** Begins no run any more and ends those under way. Settles soon, even if one hangs. */
  stop(): Promise<void>
}

/** News of notifications for the engine. The port reports a thread that died, and mends it. */
export type NotifyPortNews =
  | Exclude<NotifyNews, { readonly kind: 'beat' }>
  | { readonly kind: 'postedAgain'; readonly ids: readonly number[] }

/**
 * Programs that are notified of changes: nothing here waits for one, and news comes from the event loop, never during a
 * call. A posted notification is run, in the order of its lane, also when the thread that had it dies.
 */
export type NotifyPort = {
  /** These lanes are likely to be posted to from now on. */
  set(lanes: readonly Lane[]): void
  post(notification: Notification): void
  /** Takes one listener, the engine. */
  onNews(listener: (news: NotifyPortNews) => void): void
  /** Runs nothing any more, and kills what runs. */
  stop(): void
}

/** Files that name an address of this node (`interface: { holding: FILE }`). */
export type AddressFilePort = {
  /** Follows these files and no others. Returns the content of those that were not followed before; later news come by `onNews`. */
  follow(
    files: readonly string[],
    onNews: (file: string, reading: NamedAddress['reading']) => void,
  ): ReadonlyMap<string, NamedAddress['reading']>
  close(): void
}
