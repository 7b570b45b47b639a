/**
 * Ends a daemon whose routers have stopped. This file decides how long the daemon waits for the webhook, the disk and
 * the reader of the log. The process ends even if a disk does not answer. The control socket closes last: `holdfast
 * stop` may start another daemon as soon as the socket is gone.
 */
import type { Exit } from '../linux/native.ts'
import { LOG } from '../log/log.ts'
import type { EngineProcess } from './compose.ts'
import type { Facilities } from './facilities.ts'

/** Milliseconds for sending events that wait for the webhook. The addresses are removed before. */
const LAST_EVENTS = 2_000

/** Milliseconds for writing a configuration to its file that was handed over shortly before. */
const LAST_MEMORY = 1_000

/**
 * Milliseconds for the exit of the process. The exit joins every thread, and a thread that waits for a dead disk never
 * ends.
 */
const LAST_EXIT = 1_000
/** Milliseconds for shutDown() and the exit together. After this time a thread of the addon ends the process. */
const LONGEST_END = LAST_EVENTS + LAST_MEMORY + LAST_EXIT

/** Ends the process with the exit status if its normal exit takes too long. Returns the status. */
export function limitExit(native: Exit, status: number): number {
  native.exitWithin(LAST_EXIT, status)
  return status
}

/**
 * Resolves with the exit status when all parts of the daemon are closed. The caller must wait until every router has
 * stopped.
 */
export async function shutDown(engine: EngineProcess, facilities: Facilities, native: Exit): Promise<number> {
  const { compatibility, departure, journal, ledger, live, lock, orders, recorder, tapes, webhook } = engine
  native.exitWithin(LONGEST_END, departure.exitStatus)
  recorder.log(LOG.stopped, 'holdfast has stopped')
  recorder.chronicle.record({ kind: 'stopped' })
  orders.close()
  await webhook.finish(LAST_EVENTS)
  await Promise.all([facilities.log.flush(), journal.flush(), ledger.flush(), live.flush(LAST_MEMORY), tapes.finish()])
  lock.release()
  await compatibility?.close()
  await facilities.listeners.close()
  return departure.exitStatus
}
