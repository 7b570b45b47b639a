/**
 * The end of a daemon that has left. Decided here: how long it waits for a webhook, a disk and a reader of the log, and that
 * the control socket closes last: `holdfast stop` may start another daemon as soon as the socket is gone.
 */
import type { EngineProcess } from './compose.ts'
import type { Facilities } from './facilities.ts'

/** Milliseconds for events on their way to a webhook; the addresses are off by then, and so is every router. */
const LAST_EVENTS = 2_000

/** Milliseconds for a configuration that was handed over shortly before. */
const LAST_MEMORY = 1_000

/** Resolves with the exit status when nothing of the daemon is left. Call it when every router has left. */
export async function shutDown(engine: EngineProcess, facilities: Facilities): Promise<number> {
  const { compatibility, departure, journal, ledger, live, lock, orders, recorder, tapes, webhook } = engine
  recorder.log('info', 'holdfast has left')
  recorder.chronicle.record({ kind: 'stopped' })
  orders.close()
  await webhook.finish(LAST_EVENTS)
  await Promise.all([facilities.log.flush(), journal.flush(), ledger.flush(), live.flush(LAST_MEMORY), tapes.finish()])
  lock.release()
  await compatibility?.close()
  await facilities.listeners.close()
  return departure.exitStatus
}
