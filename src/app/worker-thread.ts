/**
 * The worker thread of this program, and what runs in it: wiring. Made before the engine, because the engine may need its
 * checks at once. Decided here: the thread is started ahead of the engine where a router has to wait for what a
 * check finds; otherwise nothing runs in it until somebody asks, because the first advertisement comes first.
 */

import type { Config } from '../config/config.ts'
import { healthchecksIn } from '../config/schema/track.ts'
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import { sourceOf } from '../http/event-route.ts'
import { closeChannel, startLauncher } from '../linux/process/launcher.ts'
import { CheckThread } from '../worker/check-thread.ts'
import type { EngineSources } from '../worker/engine-answers.ts'
import { Launchers } from '../worker/launchers.ts'
import { NotifyThread } from '../worker/notify-thread.ts'
import { WebhookThread } from '../worker/webhook-thread.ts'
import { WorkerThread } from '../worker/worker-thread.ts'
import { VERSION } from './version.ts'

const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

/** Without a first result of one of its checks some router cannot begin (VR-TRK-05). */
const waitsForChecks = ({ virtualRouters, syncGroups }: Config): boolean =>
  [...virtualRouters, ...syncGroups].some(({ track }) => healthchecksIn(track).some(({ weight }) => weight === 0))

export type WorkerRoom = {
  readonly worker: WorkerThread
  readonly checks: CheckThread
  readonly notify: NotifyThread
  readonly webhook: WebhookThread
}

export function workerRoom(config: Config, recorder: Recorder, report: EngineSources['report']): WorkerRoom {
  const { listen, metricsCompat, peers, public: isPublic } = config.api
  const launchers = new Launchers({ start: startLauncher, closeChannel })
  const worker = new WorkerThread(
    ENTRY,
    { listen, isPublic, version: VERSION, metricsCompat, peers },
    {
      report,
      events: sourceOf(recorder.chronicle),
      launchers,
      onListening: () => {
        if (listen !== false) recorder.log('info', `Serving /metrics on ${listen.host}:${listen.port}`)
      },
      onProblem: (message) => recorder.logLimited(`worker ${message}`, 'error', `API: ${message}`),
    },
  )
  const checks = new CheckThread(worker, launchers)
  if (waitsForChecks(config)) checks.prepare()
  const webhook = new WebhookThread(worker, (level, message, fields) => {
    // What goes on is told now and then, what is over once.
    if (level === 'warn') recorder.logLimited('webhook', level, message, fields)
    else recorder.log(level, message, fields)
  })
  webhook.set(config.notify?.webhook)
  recorder.chronicle.subscribe((event) => webhook.happened(event))
  return { worker, checks, notify: new NotifyThread(worker, launchers), webhook }
}
