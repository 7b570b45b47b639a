/**
 * The worker thread of this program, and the ports that it serves. The worker thread is made before the engine, which
 * may need its checks immediately. This file decides that the thread starts before the engine if a router must wait for
 * the first result of a check. In all other cases the worker thread starts when it is needed, because the first
 * advertisement comes first.
 */

import type { Config } from '../config/config.ts'
import { healthchecksIn } from '../config/schema/track.ts'
import type { Daemon } from '../daemon/daemon.ts'
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import { sourceOf } from '../http/event-route.ts'
import { closeChannel, startLauncher } from '../linux/process/launcher.ts'
import { LOG } from '../log/log.ts'
import { CheckThread } from '../worker/check-thread.ts'
import { Launchers } from '../worker/launchers.ts'
import { NotifyThread } from '../worker/notify-thread.ts'
import { WebhookThread } from '../worker/webhook-thread.ts'
import { WorkerThread } from '../worker/worker-thread.ts'
import { VERSION } from './version.ts'

const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

/** Returns whether a router cannot start without the first result of a check (VR-TRK-05). */
const waitsForChecks = ({ virtualRouters, syncGroups }: Config): boolean =>
  [...virtualRouters, ...syncGroups].some(({ track }) => healthchecksIn(track).some(({ weight }) => weight === 0))

export type Workers = {
  readonly worker: WorkerThread
  readonly checks: CheckThread
  readonly notify: NotifyThread
  readonly webhook: WebhookThread
  /** Sets the engine for which the worker thread answers clients. The caller must set it before the engine starts. */
  attach(engine: Pick<Daemon, 'report'>): void
}

export function workersFor(config: Config, recorder: Recorder): Workers {
  let engine: Pick<Daemon, 'report'> | undefined
  const { listen, metricsCompat, peers, public: isPublic } = config.api
  const launchers = new Launchers({ start: startLauncher, closeChannel })
  const worker = new WorkerThread(
    ENTRY,
    { listen, isPublic, version: VERSION, metricsCompat, peers },
    {
      report: () => {
        if (engine === undefined) throw new Error('Cannot report: there is no engine yet')
        return engine.report()
      },
      events: sourceOf(recorder.chronicle),
      launchers,
      onListening: () => {
        if (listen !== false) recorder.log(LOG.metricsServed, `Serving /metrics on ${listen.host}:${listen.port}`)
      },
      onProblem: (message) => recorder.logLimited(`worker ${message}`, LOG.workerProblem, `API: ${message}`),
    },
  )
  const checks = new CheckThread(worker, launchers)
  if (waitsForChecks(config)) checks.prepare()
  const webhook = new WebhookThread(worker, (event, message, fields) => {
    // A lasting problem is logged at intervals, its end once.
    if (event === LOG.webhookWorks) recorder.log(event, message, { waiting: fields.waiting })
    else recorder.logLimited('webhook', event, message, fields)
  })
  webhook.set(config.notify?.webhook)
  recorder.chronicle.subscribe((event) => webhook.happened(event))
  const notify = new NotifyThread(worker, launchers)
  return {
    ...{ worker, checks, notify, webhook },
    attach(attached) {
      engine = attached
    },
  }
}
