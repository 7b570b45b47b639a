/**
 * The worker thread of this program, and the health checks in it: wiring. Made before the engine, because the engine may
 * need its checks at once; nothing runs in it until somebody asks. Refuses to decide anything.
 */
import { CheckThread } from '../api/check-thread.ts'
import { WorkerThread } from '../api/worker-thread.ts'
import type { Config } from '../config/config.ts'
import type { Recorder } from '../daemon/recorder.ts'
import type { Snapshot } from '../daemon/snapshot.ts'
import { closeChannel, startLauncher } from '../linux/launcher.ts'
import { VERSION } from './version.ts'

const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

export type WorkerRoom = { readonly worker: WorkerThread; readonly checks: CheckThread }

export function workerRoom({ listen }: Config['api'], recorder: Recorder, snapshot: () => Snapshot): WorkerRoom {
  const worker = new WorkerThread(
    ENTRY,
    { listen, version: VERSION },
    {
      snapshot,
      onListening: () => {
        if (listen !== false) recorder.log('info', `Serving /metrics on ${listen.host}:${listen.port}`)
      },
      onProblem: (message) => recorder.logLimited(`worker ${message}`, 'error', `API: ${message}`),
    },
  )
  return { worker, checks: new CheckThread(worker, { start: startLauncher, closeChannel }) }
}
