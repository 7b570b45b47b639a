/**
 * The worker thread of this program, and what runs in it: wiring. Made before the engine, because the engine may need its
 * checks at once. Decided here: the thread is started ahead of the engine where a router has to wait for what a
 * check finds; otherwise nothing runs in it until somebody asks, because the first advertisement comes first.
 */
import { CheckThread } from '../api/check-thread.ts'
import { Launchers } from '../api/launchers.ts'
import { NotifyThread } from '../api/notify-thread.ts'
import { WorkerThread } from '../api/worker-thread.ts'
import type { Config } from '../config/config.ts'
import { healthchecksIn } from '../config/track.ts'
import type { Recorder } from '../daemon/recorder.ts'
import type { Snapshot } from '../daemon/snapshot.ts'
import { closeChannel, startLauncher } from '../linux/launcher.ts'
import { VERSION } from './version.ts'

const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

/** Without a first result of one of its checks some router cannot begin (VR-TRK-05). */
const waitsForChecks = ({ virtualRouters, syncGroups }: Config): boolean =>
  [...virtualRouters, ...syncGroups].some(({ track }) => healthchecksIn(track).some(({ weight }) => weight === 0))

export type WorkerRoom = {
  readonly worker: WorkerThread
  readonly checks: CheckThread
  readonly notify: NotifyThread
}

export function workerRoom(config: Config, recorder: Recorder, snapshot: () => Snapshot): WorkerRoom {
  const { listen } = config.api
  const launchers = new Launchers({ start: startLauncher, closeChannel })
  const worker = new WorkerThread(
    ENTRY,
    { listen, version: VERSION },
    {
      snapshot,
      launchers,
      onListening: () => {
        if (listen !== false) recorder.log('info', `Serving /metrics on ${listen.host}:${listen.port}`)
      },
      onProblem: (message) => recorder.logLimited(`worker ${message}`, 'error', `API: ${message}`),
    },
  )
  const checks = new CheckThread(worker, launchers)
  if (waitsForChecks(config)) checks.prepare()
  return { worker, checks, notify: new NotifyThread(worker, launchers) }
}
